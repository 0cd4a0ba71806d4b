//! One emulation: a thread that traces the target, and the ring that
//! the target fills.

mod account;
mod burst;
mod coverage;
mod error;
mod settings;

pub use account::{EmulationAccount, Work};
pub use burst::Burst;
pub use coverage::Coverage;
pub use error::{Fault, StartError};
pub use settings::{EmulationSettings, EmulationTarget, Ended, TargetStanding};

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A target that runs under the emulated PMU. Dropping it stops it.
#[derive(Debug)]
pub struct Emulation {
    inner: crate::tracer::Handle,
}

/// What [`Emulation::wait`] saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationWake {
    /// A quarter of the ring is filled, or a thread waits for room in it.
    pub records: bool,
    /// Where the target stands.
    pub standing: TargetStanding,
}

impl Emulation {
    /// Takes hold of the target: a held command stays held, and is emulated
    /// from its exec on; the threads of a process are emulated at once. All
    /// tracing is done by a thread of its own, which reaps the target's
    /// process: do not wait(2) for it unless it [was left](TargetStanding::Left).
    ///
    /// # Errors
    /// [`StartError`]; the target is as it was.
    pub fn start(
        target: EmulationTarget,
        settings: EmulationSettings,
    ) -> Result<Emulation, StartError> {
        crate::tracer::Handle::start(target, settings).map(|inner| Emulation { inner })
    }

    /// The memory of the ring: a page laid out as the kernel's
    /// perf_event_mmap_page, data pages behind it. To be mapped shared and
    /// writable; samples and side records as the kernel writes them.
    pub fn ring(&self) -> BorrowedFd<'_> {
        self.inner.ring()
    }

    /// Readable (poll(2)) when [`wait`](Emulation::wait) would return at
    /// once: something has come to pass since it last did.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.inner.bell()
    }

    /// Waits until records should be drained or the target's standing
    /// changes, at most `timeout`. Threads fill the ring without telling:
    /// drain at every return.
    pub fn wait(&self, timeout: Duration) -> EmulationWake {
        self.inner.wait(timeout)
    }

    /// Lets every thread run on natively; returns at once, and
    /// [`TargetStanding::Left`] says when it is done.
    pub fn stop(&self) {
        self.inner.stop();
    }

    /// A pipe to which a byte is written to the same end, from a signal's
    /// handler say; None: it was stopped already.
    ///
    /// # Errors
    /// No descriptor is left for a copy of it.
    pub fn stopper(&self) -> io::Result<Option<OwnedFd>> {
        self.inner.stopper()
    }

    /// How the target's own process ended, once it has while it was traced.
    pub fn ended(&self) -> Option<Ended> {
        self.inner.ended()
    }

    /// Where the target stands now.
    pub fn standing(&self) -> TargetStanding {
        self.inner.standing()
    }

    /// Stops, waits until all is left or gone, and gives the books. The ring
    /// must have been drained before, or room in it is waited for one
    /// second.
    ///
    /// # Errors
    /// [`Fault`] when the emulation broke off before.
    pub fn finish(self) -> Result<EmulationAccount, Fault> {
        self.inner.finish()
    }
}

impl AsFd for Emulation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell()
    }
}
