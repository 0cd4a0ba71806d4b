//! A file that takes another's name once it is whole.

use super::{NamedOutput, check_owner, is_file};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, linkat, openat,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Permissions that a file keeps: none of set-user-ID and its like.
const PERMISSIONS: u32 = 0o777;

/// A file beside the one that it becomes. It is removed when dropped before.
#[derive(Debug)]
pub(crate) struct Replacement {
    file: File,
    folder: OwnedFd,
    name: OsString,
    becomes: OsString,
    is_kept: bool,
}

impl Replacement {
    /// Makes it. A file that it replaces leaves it owner and permissions as far as this user may
    /// give them, and never wider ones; a new one has at most those of `most`, less the umask.
    ///
    /// # Errors
    ///
    /// No file can be made there.
    pub(crate) fn new(output: NamedOutput, most: u32) -> io::Result<Replacement> {
        let NamedOutput { folder, name: becomes, found, .. } = output;
        let found = found.filter(is_file);
        let own = rustix::process::geteuid().as_raw();
        let is_own = found.is_some_and(|found| found.st_uid == own);
        // What it holds is readable by nobody else before its permissions are right.
        let mode = match found {
            Some(_) if is_own => 0o600,
            Some(found) => 0o666 & found.st_mode & most,
            None => 0o666 & most,
        };
        let (file, name) = make(&folder, mode)?;
        let new = Replacement { file, folder, name, becomes, is_kept: false };
        if let Some(found) = found {
            // Whoever put the file there does not widen what may be read.
            let most = if is_own { PERMISSIONS } else { most };
            new.take_after(&found, is_own, most)?;
        }
        Ok(new)
    }

    /// Makes a new file in a folder, to be given a name elsewhere by
    /// [`Replacement::keep_as_new`].
    ///
    /// # Errors
    ///
    /// No file can be made in it.
    pub(crate) fn in_folder(folder: OwnedFd) -> io::Result<Replacement> {
        let (file, name) = make(&folder, 0o666)?;
        Ok(Replacement { file, folder, becomes: name.clone(), name, is_kept: false })
    }

    fn take_after(&self, found: &Stat, is_own: bool, most: u32) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
        let mut mode = found.st_mode & PERMISSIONS & most;
        if !is_own {
            // Anybody may have put it into /tmp: what is written is not theirs.
            let is_given = check_owner(&self.folder, found).is_ok()
                && fchown(&self.file, Some(uid), Some(gid)).is_ok();
            if !is_given {
                return Ok(());
            }
        } else if fstat(&self.file)?.st_gid != found.st_gid
            && fchown(&self.file, None, Some(gid)).is_err()
        {
            // Another group's permissions.
            mode &= !0o070;
        }
        Ok(fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// What removes it, whoever has the file.
    ///
    /// # Errors
    ///
    /// Too many open files.
    pub(crate) fn remover(&self) -> io::Result<impl Fn() + Send + use<>> {
        let (folder, name) = (self.folder.try_clone()?, self.name.clone());
        // It may be whole and have another name by now.
        Ok(move || {
            let _gone = unlinkat(&folder, &name, AtFlags::empty());
        })
    }

    /// It is whole: gives it its name.
    ///
    /// # Errors
    ///
    /// It cannot be renamed; it is removed then.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        renameat(&self.folder, &self.name, &self.folder, &self.becomes)?;
        self.is_kept = true;
        Ok(())
    }

    /// It is whole: gives it a name that no other has; false: one has it.
    ///
    /// # Errors
    ///
    /// It cannot be renamed.
    pub(crate) fn keep_as_new(&mut self, to: FolderName<'_>) -> io::Result<bool> {
        let from = FolderName { folder: &self.folder, name: Path::new(&self.name) };
        self.is_kept = from.rename_to_new(to)?;
        Ok(self.is_kept)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_kept {
            // It may have gone with its directory.
            let _gone = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderName<'a> {
    pub(crate) folder: &'a OwnedFd,
    pub(crate) name: &'a Path,
}

impl FolderName<'_> {
    /// Gives the file a name that no other has; false: one has it.
    ///
    /// # Errors
    ///
    /// It cannot be renamed.
    pub(crate) fn rename_to_new(self, to: FolderName<'_>) -> io::Result<bool> {
        let flags = RenameFlags::NOREPLACE;
        let renamed = match renameat_with(self.folder, self.name, to.folder, to.name, flags) {
            // Of an older kernel or a file system that cannot do that.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(self.folder, self.name, to.folder, to.name, AtFlags::empty())
                    .and_then(|()| unlinkat(self.folder, self.name, AtFlags::empty()))
            }
            renamed => renamed,
        };
        match renamed {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Makes the names in a folder outlive a crash of the machine.
///
/// # Errors
///
/// The folder cannot be opened for reading, or not be written to the disk.
pub(crate) fn sync(folder: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    File::from(openat(folder, ".", flags, Mode::empty())?).sync_all()
}

/// A file under a name that no other has.
fn make(folder: &OwnedFd, mode: u32) -> io::Result<(File, OsString)> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let mut bytes = [0; 8];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let name = OsString::from(format!(".ebs-{:016x}", u64::from_ne_bytes(bytes)));
        match openat(folder, &name, flags, Mode::from_raw_mode(mode)) {
            Err(Errno::EXIST | Errno::INTR) => {}
            made => return Ok((File::from(made?), name)),
        }
    }
}
