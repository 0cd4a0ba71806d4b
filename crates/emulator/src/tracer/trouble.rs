//! What can go wrong while a thread is worked on.

use std::io;

/// Why work on a thread broke off.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The thread is gone, or runs another program now: its report says so,
    /// or will.
    Gone,
    /// What should not be: the emulation ends.
    Broken(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.raw_os_error() {
            Some(libc::ESRCH) => Trouble::Gone,
            _ => Trouble::Broken(error.to_string()),
        }
    }
}

impl Trouble {
    /// The same, with what was being done.
    pub(crate) fn doing(self, what: &str) -> Trouble {
        match self {
            Trouble::Gone => Trouble::Gone,
            Trouble::Broken(text) => Trouble::Broken(format!("{what}: {text}")),
        }
    }
}
