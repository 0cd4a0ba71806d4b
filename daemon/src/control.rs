//! What goes over one of the lines between the supervisor and a worker
//! ([`crate::line`]): orders to the worker, and its reports. Each has its
//! fixed size; neither side ever waits for the other.

mod follow;
mod report;
mod status;
mod tally;

use std::io;
use std::os::fd::BorrowedFd;

use crate::line::SupervisorEnd;

pub(crate) use follow::Follow;
pub(crate) use report::{DRAIN_BOUNDS, FILL_BOUNDS, REPORT_BYTES, Report, Word};
pub(crate) use status::{Line, NAME_BYTES, STATUS_WORDS, State, Status, Stored, text};
pub(crate) use tally::{Tally, Told};

/// What the supervisor tells a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Serve the client whose connection comes along; `elsewhere`: and behind
    /// it the client's pid namespace, which is not the daemon's.
    Client { elsewhere: bool },
    /// Write what a reader of the standing session is to be sent into the pipe
    /// that comes along: what that is, says what comes behind the byte.
    Follow,
    /// Say how it goes.
    Report,
    /// End: the user's permissions have changed.
    Revoked,
}

/// Bytes of an order at most.
pub(crate) const ORDER_BYTES: usize = Follow::BYTES;

impl Order {
    const ALL: [Order; 5] = [
        Order::Client { elsewhere: false },
        Order::Client { elsewhere: true },
        Order::Follow,
        Order::Report,
        Order::Revoked,
    ];

    fn byte(self) -> u8 {
        match self {
            Order::Client { elsewhere: false } => b'c',
            Order::Client { elsewhere: true } => b'n',
            Order::Follow => b'f',
            Order::Report => b'r',
            Order::Revoked => b'e',
        }
    }

    /// None: no order.
    pub(crate) fn of(byte: u8) -> Option<Order> {
        Order::ALL.into_iter().find(|one| one.byte() == byte)
    }

    /// Sends it, where there is room at once.
    ///
    /// # Errors
    /// As sendmsg(2); `WouldBlock`: the worker takes no orders.
    pub(crate) fn send(self, line: &SupervisorEnd, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        line.tell(&[self.byte()], fds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_bytes_of_their_own() {
        for order in Order::ALL {
            assert_eq!(Order::of(order.byte()), Some(order));
        }
        assert_eq!(Order::of(0), None);
    }
}
