//! The directory of the cache: one index per build id.

use crate::locate::hex;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What an index is called: its build id and this.
const SUFFIX: &str = ".index";
/// What one is called while it is written.
const UNFINISHED: &str = ".unfinished-";
/// After this time nobody writes it any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Bytes that all indexes together may have, unless told otherwise.
pub const LIMIT: u64 = 2 << 30;

/// The cache of one user.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    open: OwnedFd,
}

/// An index of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// In hexadecimal.
    pub build_id: String,
    /// Bytes.
    pub size: u64,
    /// When an address was last looked up in it.
    pub used: SystemTime,
}

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made or opened.
    #[error("{path} cannot be used: {error}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Somebody else could put files there.
    #[error("{path} is not used: {why}; make it yours alone (chmod 700), or set XDG_CACHE_HOME")]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// Whose it is, or who can write to it.
        why: String,
    },
}

/// Where the cache lies: below XDG_CACHE_HOME if that is absolute, else below
/// `.cache` of HOME. None: neither is set.
pub fn path(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let base = xdg_cache_home.and_then(absolute);
    let base = base.or_else(|| home.and_then(absolute).map(|home| home.join(".cache")));
    base.map(|base| base.join("hardmeter"))
}

impl Folder {
    /// Opens the directory. None: there is none yet.
    ///
    /// # Errors
    /// It is no directory, belongs to somebody else, or others can write to
    /// it.
    pub fn open(path: &Path) -> Result<Option<Folder>, FolderError> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |error: io::Error| FolderError::Io { path: path.to_owned(), error };
        let open = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            other => other.map_err(|error| failed(error.into()))?,
        };
        let file = File::from(open);
        let metadata = file.metadata().map_err(failed)?;
        if let Some(why) = others_may(&metadata) {
            return Err(FolderError::Unsafe { path: path.to_owned(), why });
        }
        Ok(Some(Folder { path: path.to_owned(), open: file.into() }))
    }

    /// The same; makes the directory if there is none.
    ///
    /// # Errors
    /// Those of [`Folder::open`], and what the system says.
    pub fn make(path: &Path) -> Result<Folder, FolderError> {
        let failed = |error: io::Error| FolderError::Io { path: path.to_owned(), error };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
        Folder::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a build, and that it is used now. None: there is none.
    ///
    /// # Errors
    /// It is no regular file of this user's, or the system says why; in
    /// words.
    pub fn find(&self, build_id: &[u8]) -> Result<Option<File>, String> {
        let Some(file) = self.open_entry(&name(build_id))? else { return Ok(None) };
        let now = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        // On a read-only disk the oldest are just not known.
        let _ = rustix::fs::futimens(&file, &now);
        Ok(Some(file))
    }

    fn open_entry(&self, name: &str) -> Result<Option<File>, String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.open, name, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP) => return Err("it is a symbolic link".to_owned()),
            other => File::from(other.map_err(|error| io::Error::from(error).to_string())?),
        };
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        match others_may(&metadata) {
            _ if !metadata.is_file() => Err("it is no regular file".to_owned()),
            Some(why) => Err(why),
            None => Ok(Some(file)),
        }
    }

    /// Puts an index there, whole or not at all, and removes those used
    /// longest ago until all have at most `limit` bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn put(&self, build_id: &[u8], index: &[u8], limit: u64) -> io::Result<()> {
        let unfinished = format!("{UNFINISHED}{}-{:x}", std::process::id(), moment());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.open, &*unfinished, flags | OFlags::CLOEXEC, mode)?;
        let written = File::from(file).write_all(index).and_then(|()| {
            Ok(rustix::fs::renameat(&self.open, &*unfinished, &self.open, name(build_id))?)
        });
        if written.is_err() {
            self.remove(&unfinished)?;
        }
        written?;
        self.shrink(limit)
    }

    fn shrink(&self, limit: u64) -> io::Result<()> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.used);
        let mut size: u64 = entries.iter().map(|entry| entry.size).sum();
        // The newest stays, however large.
        entries.pop();
        for entry in entries {
            if size <= limit {
                break;
            }
            self.remove(&format!("{}{SUFFIX}", entry.build_id))?;
            size -= entry.size;
        }
        let old = |age: Duration| age > ABANDONED;
        for (unfinished, used) in self.names()?.filter(|(name, _)| name.starts_with(UNFINISHED)) {
            if used.elapsed().is_ok_and(old) {
                self.remove(&unfinished)?;
            }
        }
        Ok(())
    }

    /// Every index, in no order.
    ///
    /// # Errors
    /// What the system says.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (name, used) in self.names()? {
            let Some(build_id) = name.strip_suffix(SUFFIX) else { continue };
            let stat = rustix::fs::statat(&self.open, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            entries.push(Entry { build_id: build_id.to_owned(), size, used });
        }
        Ok(entries)
    }

    /// Removes everything that the cache put there. Gives how many, and
    /// their bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn clear(&self) -> io::Result<(u64, u64)> {
        let (mut count, mut size) = (0, 0);
        for entry in self.entries()? {
            self.remove(&format!("{}{SUFFIX}", entry.build_id))?;
            count += 1;
            size += entry.size;
        }
        for (name, _) in self.names()?.filter(|(name, _)| name.starts_with(UNFINISHED)) {
            self.remove(&name)?;
        }
        Ok((count, size))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.open, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Files with names of ours, and when they were last used.
    fn names(&self) -> io::Result<impl Iterator<Item = (String, SystemTime)> + use<>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.open)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let is_ours = name.starts_with(UNFINISHED) || is_index(name);
            let stat = rustix::fs::statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            // What is no file, say a link, is listed and removed as well.
            if is_ours && FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
                let used = Duration::new(u64::try_from(stat.st_mtime).unwrap_or(0), nanoseconds);
                names.push((name.to_owned(), SystemTime::UNIX_EPOCH + used));
            }
        }
        Ok(names.into_iter())
    }
}

fn name(build_id: &[u8]) -> String {
    format!("{}{SUFFIX}", hex(build_id))
}

fn is_index(name: &str) -> bool {
    let id = name.strip_suffix(SUFFIX);
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Who but this user may write to a file, or whose it is.
fn others_may(metadata: &std::fs::Metadata) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own {
        return Some(format!("it belongs to user {}, not to {own}", metadata.uid()));
    }
    let mode = metadata.mode() & 0o777;
    (mode & 0o022 != 0).then(|| format!("others may write to it (mode {mode:o})"))
}

/// Tells apart what one process writes.
fn moment() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
