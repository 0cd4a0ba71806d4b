//! The thread that supervises the target by ptrace(2).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::emulation::{Account, Ended, Fault, Settings, Standing, StartError, Target, Woken};

/// The other threads' end of the supervisor.
#[derive(Debug)]
pub(crate) struct Handle {
    ring: OwnedFd,
    bell: OwnedFd,
}

impl Handle {
    pub(crate) fn start(_target: Target, settings: Settings) -> Result<Handle, StartError> {
        let system = |doing| {
            move |error: rustix::io::Errno| StartError::System { doing, error: error.into() }
        };
        let ring =
            memfd_create("hardmeter ring", MemfdFlags::CLOEXEC).map_err(system("memfd_create"))?;
        let bytes = (u64::from(settings.ring_pages) + 1) * 4096;
        rustix::fs::ftruncate(&ring, bytes).map_err(system("ftruncate"))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(system("eventfd"))?;
        Ok(Handle { ring, bell })
    }

    pub(crate) fn ring(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub(crate) fn wait(&self, _timeout: Duration) -> Woken {
        Woken { records: false, standing: self.standing() }
    }

    pub(crate) fn stop(&self) {}

    pub(crate) fn ended(&self) -> Option<Ended> {
        None
    }

    pub(crate) fn standing(&self) -> Standing {
        Standing::Gone
    }

    pub(crate) fn finish(self) -> Result<Account, Fault> {
        Ok(Account::default())
    }
}
