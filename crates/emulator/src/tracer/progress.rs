//! What the tracer's thread tells the others.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::account::{Ended, TargetStanding};

/// Shared by the tracer and the handle.
#[derive(Debug)]
pub(crate) struct TracerProgress {
    state: Mutex<State>,
    full: AtomicBool,
    /// An eventfd.
    pub(crate) bell: OwnedFd,
}

#[derive(Debug)]
struct State {
    standing: TargetStanding,
    ended: Option<Ended>,
    left: bool,
}

impl TracerProgress {
    pub(crate) fn new(bell: OwnedFd) -> TracerProgress {
        let state = State { standing: TargetStanding::Emulated, ended: None, left: false };
        TracerProgress { state: Mutex::new(state), full: AtomicBool::new(false), bell }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self) {
        // It can only fail when the count is full: then it is readable.
        let _readable = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    pub(crate) fn heard(&self) {
        let mut count = [0; 8];
        let _none = rustix::io::read(&self.bell, &mut count);
    }

    pub(crate) fn end(&self, how: Ended) {
        self.state().ended = Some(how);
        self.ring();
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.state().ended
    }

    pub(crate) fn leave(&self) {
        self.state().left = true;
    }

    pub(crate) fn left(&self) -> bool {
        self.state().left
    }

    pub(crate) fn stand(&self, standing: TargetStanding) {
        self.state().standing = standing;
        self.ring();
    }

    pub(crate) fn standing(&self) -> TargetStanding {
        self.state().standing
    }

    /// A thread waits for room in the ring.
    pub(crate) fn fill(&self) {
        self.full.store(true, Ordering::Relaxed);
        self.ring();
    }

    /// Whether one did since this was last asked.
    pub(crate) fn filled(&self) -> bool {
        self.full.swap(false, Ordering::Relaxed)
    }
}
