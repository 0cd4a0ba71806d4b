//! Directories on the way to an output: opened and made one name at a time.
//!
//! The kernel's rule for links in sticky directories holds for the last name of a path alone. A
//! folder that is written to is never the last one, so the rule is kept here for every name.

use super::{FOLDER, LOOK, MOST_LINKS, check_owner};
use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, mkdirat, openat, readlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Makes a directory below TMPDIR that only this user can enter, whatever the umask: what another
/// user puts into it would be written through. It is removed when dropped.
///
/// # Errors
///
/// TMPDIR is missing, full, or closed to this user.
pub(crate) fn private_folder(prefix: &str) -> io::Result<TempDir> {
    let permissions = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir()
}

/// Opens a directory, to find names in it. A relative path begins at `from`.
///
/// # Errors
///
/// A name that is missing, no directory, or closed to this user; another user's link in a sticky
/// directory.
pub(crate) fn open_folder(from: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    walk(from, path, false)
}

/// The same, and makes the directories that are missing.
///
/// # Errors
///
/// As of [`open_folder`], and where one cannot be made.
pub(crate) fn create_folder(from: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    walk(from, path, true)
}

fn walk(from: impl AsFd, path: &Path, is_made: bool) -> io::Result<OwnedFd> {
    let mut folder = openat(from, ".", FOLDER, Mode::empty())?;
    let mut path = path.to_owned();
    let mut links = 0;
    loop {
        let mut names = path.components();
        let Some(name) = names.next() else { return Ok(folder) };
        let rest = names.as_path();
        folder = match name {
            Component::CurDir => folder,
            // Below /proc links are the kernel's own, which it alone can follow.
            Component::Normal(name) if fstatfs(&folder)?.f_type != PROC_SUPER_MAGIC => {
                if let Some(target) = link(&folder, name, is_made)? {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    path = target.join(rest);
                    continue;
                }
                // Another may have taken the name meanwhile: a link is refused.
                let flags = FOLDER.union(OFlags::NOFOLLOW);
                openat(&folder, name, flags, Mode::empty())?
            }
            name => openat(&folder, name.as_os_str(), FOLDER, Mode::empty())?,
        };
        path = rest.to_owned();
    }
}

/// Where a name leads if it is a link that may be followed.
fn link(folder: &OwnedFd, name: &OsStr, is_made: bool) -> io::Result<Option<PathBuf>> {
    // The link itself is held, so that no other can take its place meanwhile.
    let held = match openat(folder, name, LOOK, Mode::empty()) {
        Err(Errno::NOENT) if is_made => match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => openat(folder, name, LOOK, Mode::empty())?,
            Err(errno) => return Err(errno.into()),
        },
        held => held?,
    };
    let about = fstat(&held)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    check_owner(folder, &about)?;
    let target = readlinkat(&held, "", Vec::new())?;
    Ok(Some(PathBuf::from(OsStr::from_bytes(target.as_bytes()))))
}
