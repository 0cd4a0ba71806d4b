//! Directories that the daemon puts files and sockets into, by a name that
//! anybody can guess.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fchmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Others could put something of theirs in its place, or a link, which
    /// the daemon would follow.
    #[error(
        "{}: its directory is user {owner}'s, mode {mode:o}: others than the daemon's user could put \
         {what} of theirs in its place; put it into another",
        .path.display()
    )]
    Others { path: PathBuf, what: &'static str, owner: u32, mode: u32 },
    #[error("{}: no name of a file; give a path that ends in one", .path.display())]
    NoName { path: PathBuf },
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// An open directory in which only the daemon's user and the superuser can
/// change what is theirs, and what is to be put there.
#[derive(Debug)]
pub(super) struct TrustedDirectory {
    fd: OwnedFd,
    path: PathBuf,
    name: PathBuf,
}

impl TrustedDirectory {
    /// The directory of this path, at which `what` is to be put. What is
    /// looked at is what is used: its name may become another's.
    pub(super) fn of(path: &Path, what: &'static str) -> Result<TrustedDirectory, DirectoryError> {
        let owned = || path.to_owned();
        let io = |errno: Errno| DirectoryError::Io { path: owned(), error: errno.into() };
        let name = path.file_name().ok_or(DirectoryError::NoName { path: owned() })?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let parent = parent.unwrap_or(Path::new("."));
        let fd = rustix::fs::open(parent, flags, Mode::empty()).map_err(io)?;
        let Stat { st_uid: owner, st_mode, .. } = fstat(&fd).map_err(io)?;
        let mode = st_mode & 0o7777;
        let own = rustix::process::geteuid().as_raw();
        // Writable for others and not sticky: names in it are theirs. Of
        // another user: that user's.
        let is_others = mode & 0o022 != 0 && mode & 0o1000 == 0;
        if is_others || ![0, own].contains(&owner) {
            return Err(DirectoryError::Others { path: owned(), what, owner, mode });
        }
        Ok(TrustedDirectory { fd, name: name.into(), path: owned() })
    }

    /// Puts a file there that anybody may read. Who reads sees the old text or
    /// the new one. A link of that name is replaced, not followed.
    pub(super) fn replace(&self, text: &[u8]) -> Result<(), DirectoryError> {
        let io = |error| DirectoryError::Io { path: self.path.clone(), error };
        // Not to be taken for one that is whole: readers go by the ending.
        let new = self.name.with_extension("new");
        let written = self.create(&new).and_then(|fd| {
            io::Write::write_all(&mut std::fs::File::from(fd), text)?;
            Ok(renameat(&self.fd, &new, &self.fd, &self.name)?)
        });
        if written.is_err() {
            // It may be what failed.
            let _gone = unlinkat(&self.fd, &new, AtFlags::empty());
        }
        written.map_err(io)
    }

    /// A file that was not there: what has its name is taken away, whatever
    /// it is, and not opened. A daemon that was killed may have left one.
    fn create(&self, name: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let fd = match openat(&self.fd, name, flags, mode) {
            Err(Errno::EXIST) => {
                unlinkat(&self.fd, name, AtFlags::empty())?;
                openat(&self.fd, name, flags, mode)?
            }
            opened => opened?,
        };
        // Whatever the umask, as of a service that keeps its files to itself.
        fchmod(&fd, mode)?;
        Ok(fd)
    }
}

/// Makes a directory where there is none, and gives it to a user where it is
/// the superuser's. It is looked at and given by what was opened: a name may
/// become another's in between.
pub(super) fn give_directory(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    use rustix::fs::{fchown, mkdir};
    let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
    match mkdir(path, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty())?;
    if fstat(&fd)?.st_uid == 0 && uid != 0 {
        let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
        fchown(&fd, Some(uid), Some(gid))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn put(path: &Path, text: &str) -> Result<(), String> {
        let directory = TrustedDirectory::of(path, "a file");
        directory.and_then(|it| it.replace(text.as_bytes())).map_err(|error| error.to_string())
    }

    #[test]
    fn what_lies_at_the_name_is_neither_followed_nor_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("precious"), "mine").unwrap();
        let new = at("ebsd.new");
        // What somebody may have put there, or a daemon that was killed.
        symlink(at("precious"), &new).unwrap();
        put(&at("ebsd.prom"), "1").unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &new,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        put(&at("ebsd.prom"), "2").unwrap();
        fs::hard_link(at("precious"), &new).unwrap();
        put(&at("ebsd.prom"), "3").unwrap();
        assert_eq!(fs::read_to_string(at("ebsd.prom")).unwrap(), "3");
        fs::remove_file(at("ebsd.prom")).unwrap();
        symlink(at("precious"), at("ebsd.prom")).unwrap();
        put(&at("ebsd.prom"), "4").unwrap();
        assert!(fs::symlink_metadata(at("ebsd.prom")).unwrap().is_file());
        assert_eq!(fs::read_to_string(at("precious")).unwrap(), "mine");
        // A directory stays, and is told.
        fs::create_dir(&new).unwrap();
        assert!(put(&at("ebsd.prom"), "5").unwrap_err().contains("ebsd.prom: "));
        fs::remove_dir(&new).unwrap();
        fs::create_dir(at("taken")).unwrap();
        put(&at("taken"), "6").unwrap_err();
        assert!(!at("taken.new").exists(), "it is tidied up");
    }

    #[test]
    fn anybody_may_read_it_whatever_the_umask() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ebsd.prom");
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        let written = put(&path, "1");
        rustix::process::umask(before);
        written.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    }

    #[test]
    fn directories_of_others_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        for (mode, good) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
            fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(put(&path, "x").is_ok(), good, "{mode:o}");
        }
        if rustix::process::geteuid().is_root() {
            fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(directory.path(), Some(4321), None).unwrap();
            assert!(put(&path, "x").unwrap_err().contains("user 4321's, mode 755"));
        } else {
            eprintln!("skipped a directory of another user's: root alone can make one");
        }
        assert!(put(Path::new("/proc/self/.."), "x").unwrap_err().contains("no name of a file"));
        assert!(put(Path::new("/nowhere/x"), "x").unwrap_err().contains("No such file"));
    }

    #[test]
    fn a_directory_is_given_away_and_nothing_that_took_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let own = rustix::process::geteuid().as_raw();
        let uid = if own == 0 { 4321 } else { own };
        give_directory(&at("new"), uid, uid).unwrap();
        give_directory(&at("new"), uid, uid).unwrap();
        let made = fs::metadata(at("new")).unwrap();
        assert_eq!((made.uid(), made.mode() & 0o777 & !0o755), (uid, 0));
        fs::create_dir(at("precious")).unwrap();
        symlink(at("precious"), at("link")).unwrap();
        fs::write(at("file"), "mine").unwrap();
        for name in ["link", "file"] {
            give_directory(&at(name), uid, uid).unwrap_err();
            assert_eq!(fs::symlink_metadata(at(name)).unwrap().uid(), own, "{name}");
        }
        assert_eq!(fs::metadata(at("precious")).unwrap().uid(), own);
    }
}
