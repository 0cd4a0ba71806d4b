//! Wakes a thread in poll(2), or a task of the runtime, without a lock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

#[derive(Debug)]
pub(crate) struct WakeReceiver(OwnedFd);

/// A pipe whose ends never wait.
pub(crate) fn waker() -> io::Result<(Waker, WakeReceiver)> {
    let (wake_receiver, waker) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((Waker(Arc::new(waker)), WakeReceiver(wake_receiver)))
}

impl Waker {
    pub(crate) fn ring(&self) {
        // Fails where the pipe is full, and so rings already, or where nobody
        // hears any more.
        let _heard = rustix::io::write(&*self.0, &[0]);
    }
}

impl WakeReceiver {
    /// Clears the wake-up; what happened before is to be looked at after.
    pub(crate) fn clear(&self) {
        let mut rings = [0; 256];
        // Fails where it does not ring.
        while rustix::io::read(&self.0, &mut rings).is_ok_and(|read| read == rings.len()) {}
    }
}

impl AsFd for WakeReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<WakeReceiver> for OwnedFd {
    fn from(wake_receiver: WakeReceiver) -> OwnedFd {
        wake_receiver.0
    }
}
