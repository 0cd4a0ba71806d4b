//! Signals as descriptors, so that one poll(2) waits for everything.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

#[derive(Debug)]
pub(super) struct Signals {
    end: PipeReader,
    reload: PipeReader,
}

impl Signals {
    /// From now on SIGTERM and SIGINT end the daemon in order, and SIGHUP
    /// has it read its configuration anew.
    pub(super) fn install() -> io::Result<Signals> {
        Ok(Signals { end: self_pipe(&[SIGTERM, SIGINT])?, reload: self_pipe(&[SIGHUP])? })
    }

    /// Readable once the daemon is to end.
    pub(super) fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Readable once the configuration is to be read.
    pub(super) fn reload(&self) -> BorrowedFd<'_> {
        self.reload.as_fd()
    }

    /// Forgets all orders to reload so far: one reload does what all of them
    /// ask for, if it begins after this.
    pub(super) fn reload_begins(&self) {
        let mut bytes = [0; 1024];
        while rustix::io::read(&self.reload, &mut bytes).is_ok_and(|read| read == bytes.len()) {}
    }
}

fn self_pipe(signals: &[i32]) -> io::Result<PipeReader> {
    let (receiver, waker) = io::pipe()?;
    rustix::io::ioctl_fionbio(&receiver, true)?;
    for &signal in signals {
        pipe::register(signal, OwnedFd::from(waker.try_clone()?))?;
    }
    Ok(receiver)
}
