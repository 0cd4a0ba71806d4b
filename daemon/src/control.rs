//! What goes over one of the lines between the supervisor and a worker
//! ([`crate::line`]): orders to the worker, and its reports. Each has its
//! fixed size; neither side ever waits for the other.

mod report;
mod status;
mod tally;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fixed_size;
use crate::line::SupervisorEnd;

pub(crate) use report::{DRAIN_BOUNDS, FILL_BOUNDS, REPORT_BYTES, WorkerMetric, WorkerReport};
pub(crate) use status::{
    NAME_BYTES, StandingEntry, StandingStatus, State, Status, Stored, fitting, text,
};
pub(crate) use tally::{ClientSamples, ReportedCounts, WorkerTally};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WorkerOrder {
    /// Serve the client whose connection comes along; `elsewhere`: and behind
    /// it the client's pid namespace, which is not the daemon's.
    Client {
        elsewhere: bool,
    },
    /// Write what a reader of the standing session is to be sent into the pipe
    /// that comes along.
    Follow(Follow),
    Report,
    /// End: the user's permissions have changed.
    Revoked,
}

/// Bytes of every order: what the longest needs, which is about a reader.
pub(crate) const ORDER_BYTES: usize = 32;

impl WorkerOrder {
    fn encode(self) -> [u8; ORDER_BYTES] {
        fixed_size::encode(&self)
    }

    /// None: no order.
    pub(crate) fn decode(bytes: &[u8; ORDER_BYTES]) -> Option<WorkerOrder> {
        fixed_size::decode(bytes)
    }

    /// Sends it, where there is room at once.
    ///
    /// # Errors
    /// As sendmsg(2); `WouldBlock`: the worker takes no orders.
    pub(crate) fn send(self, line: &SupervisorEnd, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        line.send(&self.encode(), fds)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Follow {
    /// From so long ago on; None: nothing of what was recorded, if live
    /// records are wanted, else all.
    pub(crate) since: Option<Duration>,
    pub(crate) live: bool,
    /// Who reads; None: the superuser, or who started the daemon, whom no
    /// other readers keep out.
    pub(crate) reader: Option<u32>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn orders_come_out_as_they_went_in() {
        let longest = Follow { since: Some(Duration::MAX), live: true, reader: Some(u32::MAX) };
        for order in [
            WorkerOrder::Client { elsewhere: false },
            WorkerOrder::Client { elsewhere: true },
            WorkerOrder::Follow(longest),
            WorkerOrder::Follow(Follow { since: None, live: false, reader: None }),
            WorkerOrder::Report,
            WorkerOrder::Revoked,
        ] {
            assert_eq!(WorkerOrder::decode(&order.encode()), Some(order));
        }
        assert_eq!(WorkerOrder::decode(&[9; ORDER_BYTES]), None);
    }
}
