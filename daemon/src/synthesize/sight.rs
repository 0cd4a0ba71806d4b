//! How running processes and the kernel are looked at, to be described.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::broker::{Broker, KernelFile};

/// With whose rights, and whether mapped files are opened for their build
/// ids.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    how: How,
}

#[derive(Clone, Debug, Default)]
enum How {
    /// As this process may; build ids from the files.
    #[default]
    Files,
    /// No file of a target is opened: the kernel tells build ids. What this
    /// process may not look at, policy may have granted.
    Kernel(Option<(Arc<Broker>, u64)>),
}

impl Sight {
    /// The daemon's, with the grant that the session has.
    pub(crate) fn of_daemon(granted: Option<(Arc<Broker>, u64)>) -> Sight {
        Sight { how: How::Kernel(granted) }
    }

    /// Whether mapped files may be opened.
    pub(super) fn opens_files(&self) -> bool {
        matches!(self.how, How::Files)
    }

    /// The mappings of a process whose directory in /proc is `directory`.
    pub(super) fn maps(&self, directory: &Path, pid: i32) -> io::Result<File> {
        let own = File::open(directory.join("maps"));
        match (&self.how, own) {
            (How::Kernel(Some((broker, grant))), Err(error)) if is_refused(&error) => {
                broker.maps(*grant, pid).map(File::from)
            }
            (_, own) => own,
        }
    }

    /// A list of the kernel's own, in `proc`. It hides addresses from whom
    /// they are not for, so who has a grant asks first.
    pub(super) fn kernel(&self, proc: &Path, file: KernelFile) -> io::Result<File> {
        if let How::Kernel(Some((broker, grant))) = &self.how
            && let Ok(granted) = broker.kernel(*grant, file)
        {
            return Ok(granted.into());
        }
        File::open(proc.join(file.name()))
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}
