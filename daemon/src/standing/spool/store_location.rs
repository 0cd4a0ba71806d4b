//! Where a recording lies on disk.

use std::io;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, fstat, mkdirat, open, openat};

use crate::store::Directory;

pub(in crate::standing) trait StoreLocation: std::fmt::Debug + Send {
    /// The directory, made anew where somebody has removed it.
    fn open(&self) -> io::Result<Directory>;

    /// Fails where a test has a disk fail.
    fn fault(&self, _call: DiskCall) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::standing) enum DiskCall {
    Write,
    Sync,
}

#[derive(Debug)]
pub(in crate::standing) struct Subdirectory {
    pub(in crate::standing) directory: PathBuf,
    pub(in crate::standing) name: String,
}

impl StoreLocation for Subdirectory {
    fn open(&self) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let wrong = |why: &str| {
            io::Error::other(format!("{}: {why}", self.directory.join(&self.name).display()))
        };
        let parent = open(&self.directory, flags, Mode::empty())?;
        let uid = rustix::process::getuid().as_raw();
        let stat = fstat(&parent)?;
        if ![0, uid].contains(&stat.st_uid) || stat.st_mode & 0o022 != 0 {
            return Err(wrong("others could put something of theirs there: chown and chmod go-w"));
        }
        match mkdirat(&parent, &self.name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let fd = openat(&parent, &self.name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        if fstat(&fd)?.st_uid != uid {
            return Err(wrong("owned by somebody else than the session's user: chown it"));
        }
        Ok(Directory::new(fd))
    }
}
