//! What the supervisor gives a worker, and has back when that drops it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use recorder::ProcVisibility;

use super::kernel::BrokeredView;
use super::{Broker, BrokerRequest, BrokeredKernel};
use crate::guard::LimitReached;

/// So long it is held, nobody else is given these bytes.
#[derive(Debug)]
pub(crate) struct Reservation {
    broker: Arc<Broker>,
    number: u64,
    bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReservationError {
    #[error(transparent)]
    LimitReached(#[from] LimitReached),
    #[error("the supervisor does not answer: {0}")]
    Silent(#[from] io::Error),
}

impl Reservation {
    /// Asks for so many bytes, for a session or for a client of one.
    pub(crate) fn reserve(
        broker: &Arc<Broker>,
        bytes: u64,
        session: bool,
    ) -> Result<Reservation, ReservationError> {
        Reservation::of(broker, BrokerRequest::Reserve { bytes, session, reader: None }, bytes)
    }

    /// The same for who reads a standing session, from what that user may
    /// have.
    pub(crate) fn of_reader(
        broker: &Arc<Broker>,
        bytes: u64,
        reader: Option<u32>,
    ) -> Result<Reservation, ReservationError> {
        Reservation::of(broker, BrokerRequest::Reserve { bytes, session: false, reader }, bytes)
    }

    fn of(
        broker: &Arc<Broker>,
        request: BrokerRequest,
        bytes: u64,
    ) -> Result<Reservation, ReservationError> {
        let (answer, _) = broker.call(&request)?;
        if answer.errno == 0 {
            broker.reserved.fetch_add(bytes, Ordering::Relaxed);
            return Ok(Reservation { broker: Arc::clone(broker), number: answer.value, bytes });
        }
        Err(match answer.limit_reached(bytes) {
            Some(full) => full.into(),
            None => io::Error::from_raw_os_error(answer.errno).into(),
        })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn broker(&self) -> &Broker {
        &self.broker
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

    pub(crate) fn kernel(&self, reserved: &Reservation) -> BrokeredKernel<'_> {
        let (grant, reservation) = (Some(self.number), reserved.number());
        BrokeredKernel { broker: &self.broker, grant, reservation }
    }
}

impl Drop for GrantLease {
    fn drop(&mut self) {
        self.broker.release(self.number);
    }
}
