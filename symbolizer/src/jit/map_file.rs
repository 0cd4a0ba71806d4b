//! Finding /tmp/perf-PID.map, and judging whether to believe it.
//!
//! Anybody may put a file of that name into /tmp. It names the process's code
//! only if the process, or root, wrote it, and nobody else could have.

use super::map::{MapRoom, PerfMap, PerfMapError};
use crate::file::open_itself;
use rustix::process::geteuid;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What /proc says of a living process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Living {
    /// The user that files it makes belong to (its fsuid), as we see it.
    pub(crate) uid: u32,
    /// Its number as it sees itself: in the innermost pid namespace.
    pub(crate) inner: u32,
    /// When it began, nanoseconds since boot.
    pub(crate) began: u64,
}

impl Living {
    /// `directory`: /proc/PID.
    pub(crate) fn read(directory: &Path) -> Option<Living> {
        let status = std::fs::read_to_string(directory.join("status")).ok()?;
        let last = |key: &str| -> Option<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_ascii_whitespace().last()?.parse().ok()
        };
        let stat = std::fs::read(directory.join("stat")).ok()?;
        let began = crate::code::process::began(&stat)?;
        // Kernels before 4.1 do not tell NSpid.
        let inner = last("NSpid:").or_else(|| last("Tgid:"))?;
        Some(Living { uid: last("Uid:")?, inner, began })
    }
}

/// Who may have written a map.
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
pub(crate) struct MapFile {
    pub(crate) file: File,
    /// For messages: the path as its process sees it.
    pub(crate) path: String,
}

/// `/tmp/perf-NUMBER.map`.
pub(crate) fn path_of(number: u32) -> String {
    format!("/tmp/perf-{number}.map")
}

/// Opens a map, or says why it is not believed. None: there is none, or we
/// may not look.
pub(crate) fn open(root: &Path, path: String, owner: Owner) -> Option<Result<MapFile, Refused>> {
    let refused = |why: String| Some(Err(Refused { file: path.clone(), why }));
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
        Ok(()) => Some(Ok(MapFile { file, path })),
        Err(why) => refused(why),
    }
}

/// Why a map is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
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

impl MapFile {
    /// When it was last written.
    pub(crate) fn written(&self) -> Option<SystemTime> {
        let seconds = self.file.metadata().ok()?.mtime();
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
    }

    /// What it says, if there is room for that.
    pub(crate) fn read(self, room: MapRoom) -> Result<PerfMap, PerfMapError> {
        PerfMap::read(BufReader::with_capacity(1 << 16, self.file), room)
    }
}

/// `root`/proc/PID/root.
pub(crate) fn root_of(directory: &Path) -> PathBuf {
    directory.join("root")
}
