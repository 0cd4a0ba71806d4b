//! The line between the supervisor and a worker: orders go to the worker,
//! reports come back. Each is one message of a SOCK_SEQPACKET socket and of
//! fixed size; neither side ever waits at it.

mod report;
mod tally;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::passing;

pub(crate) use report::{DRAIN_BOUNDS, FILL_BOUNDS, REPORT_BYTES, Report, Word};
pub(crate) use tally::{Tally, Told};

/// What the supervisor tells a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Serve the client whose connection comes along.
    Client,
    /// Let the client whose connection comes along read the standing session:
    /// what of it, says what comes behind the byte.
    Follow,
    /// Say how it goes.
    Report,
    /// End: the user's permissions have changed.
    Revoked,
}

/// Bytes of an order at most.
pub(crate) const ORDER_BYTES: usize = crate::standing::Follow::BYTES;

impl Order {
    fn byte(self) -> u8 {
        match self {
            Order::Client => b'c',
            Order::Follow => b'f',
            Order::Report => b'r',
            Order::Revoked => b'e',
        }
    }

    /// None: no order.
    pub(crate) fn of(byte: u8) -> Option<Order> {
        [Order::Client, Order::Follow, Order::Report, Order::Revoked]
            .into_iter()
            .find(|one| one.byte() == byte)
    }

    /// Sends it, where there is room at once.
    ///
    /// # Errors
    /// As sendmsg(2); `WouldBlock`: the worker takes no orders.
    pub(crate) fn send(self, line: impl AsFd, stream: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let fds: Vec<BorrowedFd<'_>> = stream.into_iter().collect();
        passing::send(line, &[self.byte()], &fds).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_bytes_of_their_own() {
        for order in [Order::Client, Order::Follow, Order::Report, Order::Revoked] {
            assert_eq!(Order::of(order.byte()), Some(order));
        }
        assert_eq!(Order::of(0), None);
    }
}
