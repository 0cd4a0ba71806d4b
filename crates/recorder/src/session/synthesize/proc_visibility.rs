//! How running processes and the kernel are looked at, to be described.

use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// A file of /proc that hides addresses from whom they are not for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelFile {
    /// kallsyms.
    Symbols,
    Modules,
}

impl KernelFile {
    /// Its name in /proc.
    pub fn name(self) -> &'static str {
        match self {
            KernelFile::Symbols => "kallsyms",
            KernelFile::Modules => "modules",
        }
    }
}

/// Who opens what this process may not look at, within what was granted.
pub trait GrantedView: Debug + Send + Sync {
    /// /proc/PID/maps.
    ///
    /// # Errors
    /// The process is not of the grant, or has gone.
    fn maps(&self, pid: i32) -> io::Result<OwnedFd>;

    /// A list of the kernel's, with its addresses.
    ///
    /// # Errors
    /// The grant is not for kernel mode.
    fn kernel(&self, file: KernelFile) -> io::Result<OwnedFd>;
}

/// With whose rights, and whether mapped files are opened for their build
/// ids.
#[derive(Clone, Debug, Default)]
pub struct ProcVisibility {
    method: AccessMethod,
}

#[derive(Clone, Debug, Default)]
enum AccessMethod {
    /// As this process may; build ids from the files.
    #[default]
    Files,
    /// No file of a target is opened: the kernel tells build ids. What this
    /// process may not look at, policy may have granted.
    Kernel(Option<Arc<dyn GrantedView>>),
}

impl ProcVisibility {
    /// The daemon's, with the grant that the session has.
    pub fn of_daemon(granted: Option<Arc<dyn GrantedView>>) -> ProcVisibility {
        ProcVisibility { method: AccessMethod::Kernel(granted) }
    }

    pub(super) fn opens_files(&self) -> bool {
        matches!(self.method, AccessMethod::Files)
    }

    /// The mappings of a process whose directory in /proc is `directory`.
    pub(super) fn maps(&self, directory: &Path, pid: i32) -> io::Result<File> {
        let own = File::open(directory.join("maps"));
        match (&self.method, own) {
            (AccessMethod::Kernel(Some(view)), Err(error)) if is_refused(&error) => {
                view.maps(pid).map(File::from)
            }
            (_, own) => own,
        }
    }

    /// A list of the kernel's own, in `proc`. It hides addresses from whom
    /// they are not for, so who has a grant asks first.
    pub(super) fn kernel(&self, proc: &Path, file: KernelFile) -> io::Result<File> {
        if let AccessMethod::Kernel(Some(view)) = &self.method
            && let Ok(granted) = view.kernel(file)
        {
            return Ok(granted.into());
        }
        File::open(proc.join(file.name()))
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}
