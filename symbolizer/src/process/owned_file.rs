//! Files in which a process tells of itself, and whether to believe them.
//!
//! Anybody may put a file of that name into /tmp. It tells of the process
//! only if the process, or root, wrote it, and nobody else could have.

use crate::files::opening::open_itself;
use rustix::process::geteuid;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Who may have written a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The process's user.
    Process(u32),
    /// Its process is not there to ask: our own user.
    Unknown,
}

impl Owner {
    fn allows(self, uid: u32) -> bool {
        uid == 0
            || match self {
                Owner::Process(owner) => uid == owner,
                Owner::Unknown => uid == geteuid().as_raw(),
            }
    }
}

/// A file whose owner and mode are in order, not read yet.
#[derive(Debug)]
pub(crate) struct OwnedFile {
    pub(crate) file: File,
    /// For messages: the path as its process sees it.
    pub(crate) path: String,
}

/// `/tmp/perf-NUMBER.map`.
pub(crate) fn map_path(number: u32) -> String {
    format!("/tmp/perf-{number}.map")
}

/// NUMBER of `.../jit-NUMBER.dump`; None: the path is not that of a jitdump
/// file.
pub(crate) fn dump_number(path: &[u8]) -> Option<u32> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let digits = name.strip_prefix(b"jit-")?.strip_suffix(b".dump")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Opens one, or says why it is not believed. None: there is none, or we
/// may not look.
pub(crate) fn open(
    root: &Path,
    path: String,
    owner: Owner,
) -> Option<Result<OwnedFile, RefusedFile>> {
    let refused = |why: String| Some(Err(RefusedFile { file: path.clone(), why }));
    let file = match open_itself(root, path.as_bytes()) {
        Ok(file) => file,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return None,
            // Whose root we may not look into may have one or not.
            io::ErrorKind::PermissionDenied if root.metadata().is_err() => return None,
            _ => return refused(error.to_string()),
        },
    };
    match judge(&file, owner) {
        Ok(()) => Some(Ok(OwnedFile { file, path })),
        Err(why) => refused(why),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedFile {
    pub(crate) file: String,
    pub(crate) why: String,
}

/// Whether nobody but `owner` and root can have written the open file.
pub(crate) fn judge(file: &File, owner: Owner) -> Result<(), String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    let (uid, mode) = (found.uid(), found.mode() & 0o7777);
    match owner {
        _ if owner.allows(uid) => {}
        Owner::Process(process) => {
            return Err(format!(
                "it belongs to uid {uid}, neither to root nor to the process's uid {process}"
            ));
        }
        Owner::Unknown => {
            return Err(format!(
                "it belongs to uid {uid}, neither to root nor to this user ({}), and its process \
                 is not there any more to ask for its own; run as that user, or chown it",
                geteuid().as_raw()
            ));
        }
    }
    match mode & 0o002 {
        0 => Ok(()),
        _ => Err(format!("anybody may write to it (mode {mode:o})")),
    }
}

impl OwnedFile {
    pub(crate) fn written(&self) -> Option<SystemTime> {
        let seconds = self.file.metadata().ok()?.mtime();
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
    }
}
