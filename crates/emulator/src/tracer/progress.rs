//! What the tracer's thread tells the others.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::account::{EmulationState, TaskExit};

/// Shared by the tracer and the handle.
#[derive(Debug)]
pub(crate) struct TracerProgress {
    state: Mutex<State>,
    full: AtomicBool,
    /// An eventfd.
    pub(crate) wake_fd: OwnedFd,
}

#[derive(Debug)]
struct State {
    state: EmulationState,
    ended: Option<TaskExit>,
    left: bool,
}

impl TracerProgress {
    pub(crate) fn new(wake_fd: OwnedFd) -> TracerProgress {
        let state = State { state: EmulationState::Emulated, ended: None, left: false };
        TracerProgress { state: Mutex::new(state), full: AtomicBool::new(false), wake_fd }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self) {
        // It can only fail when the count is full: then it is readable.
        let _readable = rustix::io::write(&self.wake_fd, &1u64.to_ne_bytes());
    }

    pub(crate) fn clear_wake(&self) {
        let mut count = [0; 8];
        let _none = rustix::io::read(&self.wake_fd, &mut count);
    }

    pub(crate) fn end(&self, how: TaskExit) {
        self.lock().ended = Some(how);
        self.ring();
    }

    pub(crate) fn ended(&self) -> Option<TaskExit> {
        self.lock().ended
    }

    pub(crate) fn leave(&self) {
        self.lock().left = true;
    }

    pub(crate) fn left(&self) -> bool {
        self.lock().left
    }

    pub(crate) fn set_state(&self, state: EmulationState) {
        self.lock().state = state;
        self.ring();
    }

    pub(crate) fn state(&self) -> EmulationState {
        self.lock().state
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
