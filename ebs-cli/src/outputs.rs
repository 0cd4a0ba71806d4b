//! Files that a user names to be written: how a name leads to one of them.
//!
//! The kernel keeps root from writing where another user's link or FIFO in a sticky directory leads
//! (fs.protected_symlinks and fs.protected_fifos, proc_sys_fs(5)), but only in open(2), and only
//! where the sysctl is set. A file that another replaces is not opened. So every output is found
//! here, name by name below an open directory, and the kernel's rule holds for each of them.

mod folder;
mod patient_writer;
mod replacement;

pub(crate) use folder::{create_folder, open_folder, private_folder};
pub(crate) use patient_writer::PatientWriter;
pub(crate) use replacement::{FolderName, Replacement, sync};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fcntl_getfl, fcntl_setfl, fstat,
    fstatfs, openat, readlinkat, statat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Links that lead on to each other, as many as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;
/// A FIFO without a reader is tried again after so long.
const RETRY: Duration = Duration::from_millis(50);
/// A sticky directory in which everybody may make files, such as /tmp.
const EVERYBODYS: u32 = 0o1002;

/// Where an output's name leads, links followed.
#[derive(Debug)]
pub(crate) struct NamedOutput {
    folder: OwnedFd,
    name: OsString,
    found: Option<Stat>,
    /// The name is one of the kernel's own links, such as /proc/self/fd/1, which open(2) alone can
    /// follow.
    is_of_kernel: bool,
}

impl NamedOutput {
    /// Follows a path. Only a name that does not exist counts as absent.
    ///
    /// # Errors
    ///
    /// A directory; a directory on the way that is missing or closed to this user; another user's
    /// link or FIFO in a sticky directory.
    pub(crate) fn find(path: &Path) -> io::Result<NamedOutput> {
        NamedOutput::find_in(CWD, path)
    }

    fn find_in(folder: impl AsFd, path: &Path) -> io::Result<NamedOutput> {
        let mut folder = openat(folder, ".", FOLDER, Mode::empty())?;
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some((parent, name)) = split(&path) else {
                open_folder(&folder, &path)?;
                return Err(Errno::ISDIR.into());
            };
            folder = open_folder(&folder, parent)?;
            let is_of_kernel = fstatfs(&folder)?.f_type == PROC_SUPER_MAGIC;
            let found = match is_of_kernel {
                true => statat(&folder, name, AtFlags::empty()).map(|about| (None, about)),
                // The link itself is held, so that no other can take its place meanwhile.
                false => openat(&folder, name, LOOK, Mode::empty())
                    .and_then(|held| fstat(&held).map(|about| (Some(held), about))),
            };
            let (held, about) = match found {
                Ok(found) => found,
                Err(Errno::NOENT) => {
                    let name = name.to_owned();
                    return Ok(NamedOutput { folder, name, found: None, is_of_kernel });
                }
                Err(errno) => return Err(errno.into()),
            };
            let kind = FileType::from_raw_mode(about.st_mode);
            if !matches!(kind, FileType::Directory | FileType::RegularFile) {
                check_owner(&folder, &about)?;
            }
            match (kind, held) {
                (FileType::Directory, _) => return Err(Errno::ISDIR.into()),
                (FileType::Symlink, Some(link)) => {
                    let target = readlinkat(&link, "", Vec::new())?;
                    path = PathBuf::from(OsStr::from_bytes(target.as_bytes()));
                }
                _ => {
                    let (name, found) = (name.to_owned(), Some(about));
                    return Ok(NamedOutput { folder, name, found, is_of_kernel });
                }
            }
        }
        Err(Errno::LOOP.into())
    }

    pub(crate) fn found(&self) -> Option<&Stat> {
        self.found.as_ref()
    }

    /// Whether another file can take its place: it is absent or a file, and its name is its own.
    pub(crate) fn is_replaceable(&self) -> bool {
        !self.is_of_kernel && self.found.as_ref().is_none_or(is_file)
    }

    /// What the file holds, which may be believed, such as an account of earlier runs; None: the
    /// name is absent.
    ///
    /// # Errors
    ///
    /// Another user's file in a sticky directory; those of open(2) and read(2).
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        if self.found.is_none() {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut file = File::from(openat(&self.folder, &self.name, flags, Mode::empty())?);
        // Of the file that is read: another may have taken the name meanwhile.
        check_owner(&self.folder, &fstat(&file)?)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Opens it to be written in place; a file that exists keeps its bytes. A FIFO is waited for
    /// until it has a reader, or `ended` says that there is no use.
    ///
    /// # Errors
    ///
    /// Those of open(2); Interrupted: `ended` said so; another user's file in a sticky directory.
    pub(crate) fn open(&self, ended: &mut dyn FnMut() -> bool) -> io::Result<File> {
        let mut flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
        // A terminal must not become that of a session's leader.
        flags |= OFlags::NOCTTY;
        if !self.is_of_kernel {
            flags |= OFlags::NOFOLLOW;
        }
        let file = loop {
            let opened = openat(&self.folder, &self.name, flags, Mode::from_raw_mode(0o666));
            let is_fifo = || self.found.as_ref().is_some_and(|it| is_of(it, FileType::Fifo));
            match opened {
                Err(Errno::NXIO) if is_fifo() && !ended() => sleep(RETRY),
                Err(Errno::NXIO) if is_fifo() => {
                    let why = "a signal came before the FIFO had a reader";
                    return Err(io::Error::new(io::ErrorKind::Interrupted, why));
                }
                Err(Errno::INTR) => {}
                opened => break opened?,
            }
        };
        // Another file may have taken the name meanwhile.
        if !self.is_of_kernel {
            check_owner(&self.folder, &fstat(&file)?)?;
        }
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(File::from(file))
    }

    /// The same, emptied where it is a file.
    ///
    /// # Errors
    ///
    /// As of [`NamedOutput::open`].
    pub(crate) fn open_anew(&self, ended: &mut dyn FnMut() -> bool) -> io::Result<File> {
        let file = self.open(ended)?;
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(file)
    }
}

/// Opens a file to be written in place, emptied. Signals end the program meanwhile.
///
/// # Errors
///
/// As of [`NamedOutput::find`] and [`NamedOutput::open`].
pub(crate) fn create(path: &Path) -> io::Result<File> {
    create_in(CWD, path)
}

/// The same; a relative path begins at a folder.
///
/// # Errors
///
/// As of [`create`].
pub(crate) fn create_in(folder: impl AsFd, path: &Path) -> io::Result<File> {
    NamedOutput::find_in(folder, path)?.open_anew(&mut || false)
}

pub(crate) fn is_file(about: &Stat) -> bool {
    is_of(about, FileType::RegularFile)
}

fn is_of(about: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(about.st_mode) == kind
}

/// A directory to go on from.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A look at what has a name, which is not followed.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directory and the name in it; None: it can name a directory alone.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let text = path.as_os_str().as_bytes();
    let name = path.file_name().filter(|name| text.ends_with(name.as_bytes()))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")), name))
}

/// The kernel's rule of may_follow_link (fs/namei.c), for whatever was found.
fn check_owner(folder: &OwnedFd, about: &Stat) -> io::Result<()> {
    let around = fstat(folder)?;
    let is_everybodys = around.st_mode & EVERYBODYS == EVERYBODYS;
    let own = rustix::process::geteuid().as_raw();
    if !is_everybodys || [own, around.st_uid].contains(&about.st_uid) {
        return Ok(());
    }
    let what = match FileType::from_raw_mode(about.st_mode) {
        FileType::Symlink => "link",
        FileType::Fifo => "FIFO",
        _ => "file",
    };
    let why = format!(
        "user {} owns this {what} in a directory that everybody may write to; name another file",
        about.st_uid
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests;
