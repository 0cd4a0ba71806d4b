//! One channel between the supervisor and a worker ([`crate::channel`]):
//! orders to the worker, and its reports. Neither side ever waits for the
//! other.

mod report;
mod status;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use report::{ClientSamples, DRAIN_BOUNDS, FILL_BOUNDS, WorkerMetric, WorkerReport};
pub(crate) use status::{
    NAME_BYTES, StandingEntry, StandingState, StandingStatus, StoredCounts, truncated,
};

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

/// Counts that the threads of a worker share.
#[derive(Debug, Default)]
pub(crate) struct SharedCounts<T>(Mutex<T>);

impl<T> SharedCounts<T> {
    /// To be held for a moment only.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // A thread that panicked with it left counts that are right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::passed;

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
            assert_eq!(passed(&order), Some(order));
        }
    }
}
