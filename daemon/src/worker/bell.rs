//! Wakes whoever sleeps in poll(2), or a task of the runtime, without a lock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<OwnedFd>);

#[derive(Debug)]
pub(crate) struct Ear(OwnedFd);

/// A pipe, neither end of which ever waits.
pub(crate) fn bell() -> io::Result<(Bell, Ear)> {
    let (ear, bell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((Bell(Arc::new(bell)), Ear(ear)))
}

impl Bell {
    pub(crate) fn ring(&self) {
        // Fails where the pipe is full, and so rings already, or where nobody
        // hears any more.
        let _heard = rustix::io::write(&*self.0, &[0]);
    }
}

impl Ear {
    /// Silences the bell; what happened before is to be looked at after.
    pub(crate) fn hush(&self) {
        let mut rings = [0; 256];
        // Fails where it does not ring.
        while rustix::io::read(&self.0, &mut rings).is_ok_and(|read| read == rings.len()) {}
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<Ear> for OwnedFd {
    fn from(ear: Ear) -> OwnedFd {
        ear.0
    }
}
