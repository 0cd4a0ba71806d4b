//! What the supervisor gives a worker, and has back when that drops it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use recorder::ProcVisibility;

use super::kernel::{BrokeredKernel, BrokeredView};
use super::{Broker, BrokerError, BrokerRequest};

/// Bytes that are set aside for this worker while this is held.
#[derive(Debug)]
pub(crate) struct Reservation {
    broker: Arc<Broker>,
    number: u64,
    bytes: u64,
}

impl Reservation {
    /// Asks for so many bytes, for a session or for a client of one.
    /// `reader`: who reads a standing session, from what that user may have.
    pub(crate) fn reserve(
        broker: &Arc<Broker>,
        bytes: u64,
        session: bool,
        reader: Option<u32>,
    ) -> Result<Reservation, BrokerError> {
        let request = BrokerRequest::Reserve { bytes, session, reader };
        let number = broker.call_for_number(&request)?;
        broker.reserved.fetch_add(bytes, Ordering::Relaxed);
        Ok(Reservation { broker: Arc::clone(broker), number, bytes })
    }

    pub(crate) fn kernel(&self, grant: Option<&GrantLease>) -> BrokeredKernel<'_> {
        let (grant, reservation) = (grant.map(|grant| grant.number), self.number);
        BrokeredKernel { broker: &self.broker, grant, reservation }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.broker.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
        self.broker.notify(&BrokerRequest::Free { reservation: self.number });
    }
}

#[derive(Debug)]
pub(crate) struct GrantLease {
    broker: Arc<Broker>,
    number: u64,
}

impl GrantLease {
    pub(crate) fn new(broker: &Arc<Broker>, number: u64) -> GrantLease {
        GrantLease { broker: Arc::clone(broker), number }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.broker.is_silent()
    }

    /// How processes and the kernel are looked at under it, as long as it
    /// lasts.
    pub(crate) fn proc_visibility(&self) -> ProcVisibility {
        ProcVisibility::of_daemon(Some(Arc::new(BrokeredView {
            broker: Arc::clone(&self.broker),
            grant: self.number,
        })))
    }
}

impl Drop for GrantLease {
    fn drop(&mut self) {
        self.broker.release(self.number);
    }
}
