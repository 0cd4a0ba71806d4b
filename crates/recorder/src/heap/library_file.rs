//! The library as a file that the loader of the command opens: one that is installed, or the one
//! that `ebs` carries, unpacked.
//!
//! The loader runs whatever is at the path at that time. A path is used only where no user but
//! root and ours could put something else there, now or later.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, set_permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::HeapSettings;

/// Our folder in the cache directory.
const FOLDER: &str = "hardmeter";
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_PASS: u32 = 0o001;
const STICKY: u32 = 0o1000;
/// Others may have to read root's file. The folder keeps them from ours.
const FILE_MODE: u32 = 0o444;

#[derive(Debug, Default)]
pub(crate) struct LibraryFile {
    path: PathBuf,
    /// Where it is ours alone and goes with the session.
    _folder: Option<TempDir>,
}

impl LibraryFile {
    /// The first that is installed, or the embedded one.
    ///
    /// # Errors
    /// There is no place for it: each that was tried, and why not.
    pub(crate) fn find(settings: &HeapSettings) -> Result<LibraryFile, String> {
        match settings.installed() {
            Some(path) => Ok(LibraryFile { path, _folder: None }),
            None => UnpackPlaces::of_environment().unpack(settings.embedded),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether LD_PRELOAD can name it: spaces and colons end a name there, `$` begins a variable.
pub(super) fn is_preloadable(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b" \t\n\r\x0b\x0c:$".contains(byte))
}

/// Where the library may be unpacked.
#[derive(Debug)]
struct UnpackPlaces {
    /// The user's cache directory.
    cache: Option<PathBuf>,
    /// Folders for a folder that is gone at the end.
    temporary: Vec<PathBuf>,
    /// The owner of what is unpacked.
    user: u32,
    /// Root's command may become another user, whose loader has to read the file, too.
    for_all: bool,
}

impl UnpackPlaces {
    fn of_environment() -> UnpackPlaces {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let user = geteuid().as_raw();
        UnpackPlaces {
            cache: absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))),
            temporary: std::iter::once(std::env::temp_dir())
                .chain(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from))
                .collect(),
            user,
            for_all: user == 0,
        }
    }

    /// # Errors
    /// Why no place will do.
    fn unpack(&self, library: &[u8]) -> Result<LibraryFile, String> {
        let cache = self.cache.iter().map(|at| (at, self.unpack_in_cache(at, library)));
        let temporary = self.temporary.iter().map(|at| (at, self.unpack_in_temporary(at, library)));
        let mut refused = Vec::new();
        for (at, unpacked) in cache.chain(temporary) {
            match unpacked {
                Ok(file) => return Ok(file),
                Err(error) => refused.push(format!("{}: {error}", at.display())),
            }
        }
        refused.dedup();
        Err(refused.join("; "))
    }

    fn unpack_in_cache(&self, cache: &Path, library: &[u8]) -> io::Result<LibraryFile> {
        let cache = match self.trusted(cache) {
            // The first program that caches something makes it.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (parent, name) = cache.parent().zip(cache.file_name()).ok_or(error)?;
                let cache = self.trusted(parent)?.join(name);
                self.make(&cache)?;
                self.trusted(&cache)?
            }
            found => found?,
        };
        let folder = cache.join(FOLDER);
        self.make(&folder)?;
        let known = folder.symlink_metadata()?;
        if !known.is_dir() || known.uid() != self.user || known.mode() & OTHERS_WRITE != 0 {
            let why = "is a link, another user's, or may be written by others";
            return Err(io::Error::other(format!("{FOLDER} {why}")));
        }
        self.set_mode(&folder)?;
        Ok(LibraryFile { path: self.put(&folder, library)?, _folder: None })
    }

    fn unpack_in_temporary(&self, folder: &Path, library: &[u8]) -> io::Result<LibraryFile> {
        let folder =
            tempfile::Builder::new().prefix("hardmeter-heap-").tempdir_in(self.trusted(folder)?)?;
        self.set_mode(folder.path())?;
        Ok(LibraryFile { path: self.put(folder.path(), library)?, _folder: Some(folder) })
    }

    /// Puts the file into a folder that only we write to, over anything else at its name.
    fn put(&self, folder: &Path, library: &[u8]) -> io::Result<PathBuf> {
        let hash: String =
            Sha256::digest(library).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = folder.join(HeapSettings::LIBRARY.replace(".so", &format!("-{hash}.so")));
        if !self.is_whole(&path, library) {
            let mut file = tempfile::Builder::new().prefix(".").tempfile_in(folder)?;
            file.write_all(library)?;
            file.as_file().set_permissions(Permissions::from_mode(FILE_MODE))?;
            file.persist(&path).map_err(|error| error.error)?;
            if !self.is_whole(&path, library) {
                return Err(io::Error::other("it reads otherwise than it was written"));
            }
        }
        Ok(path)
    }

    /// Whether it is our file with these bytes: its hash is that of its name.
    fn is_whole(&self, path: &Path, library: &[u8]) -> bool {
        let mut options = OpenOptions::new();
        // A pipe in its place would be waited for.
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
        let is_ours = |file: &File| {
            let known = file.metadata().ok()?;
            let (is_file, size, mode) = (known.is_file(), known.len(), known.mode());
            let is_read_only = mode & OTHERS_WRITE == 0 && mode & FILE_MODE == FILE_MODE;
            Some(
                is_file && known.uid() == self.user && is_read_only && size == library.len() as u64,
            )
        };
        let Ok(file) = options.open(path) else { return false };
        let mut found = Vec::new();
        is_ours(&file) == Some(true)
            && file.take(library.len() as u64 + 1).read_to_end(&mut found).is_ok()
            && found == library
    }

    fn mode(&self) -> u32 {
        if self.for_all { 0o755 } else { 0o700 }
    }

    /// A folder, unless there is something already.
    fn make(&self, folder: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(self.mode()).create(folder) {
            Ok(()) => self.set_mode(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives a folder of ours its mode, whatever umask(2) made of it.
    fn set_mode(&self, folder: &Path) -> io::Result<()> {
        if folder.symlink_metadata()?.mode() & 0o777 == self.mode() {
            return Ok(());
        }
        set_permissions(folder, Permissions::from_mode(self.mode()))
    }

    /// The folder that a path means, without links, if no other user can change what the loader
    /// finds there. Folders are checked from the root down: once a parent passes, no other user
    /// can replace the folder in it, so the check still holds when the loader opens the file.
    fn trusted(&self, path: &Path) -> io::Result<PathBuf> {
        let refused = |at: &Path, why: &str| {
            Err(io::Error::other(match at == path {
                true => why.to_owned(),
                false => format!("{} {why}", at.display()),
            }))
        };
        // The owner of / can replace all that is below it. In a user namespace that is not user 0.
        let owners = [0, self.user, Path::new("/").metadata()?.uid()];
        let from_root = |path: &Path| -> Vec<PathBuf> {
            let mut all: Vec<_> = path.ancestors().map(Path::to_path_buf).collect();
            all.reverse();
            all
        };
        for at in from_root(path).iter().filter(|at| !at.as_os_str().is_empty()) {
            let known = at.symlink_metadata()?;
            if known.is_symlink() && !owners.contains(&known.uid()) {
                return refused(at, "is a link of another user");
            }
        }
        let real = path.canonicalize()?;
        for at in &from_root(&real) {
            let known = at.symlink_metadata()?;
            if !known.is_dir() {
                return refused(at, "is no folder");
            }
            if !owners.contains(&known.uid()) {
                return refused(at, &format!("is of user {}", known.uid()));
            }
            // In a sticky folder, others can only rename what they own.
            if known.mode() & OTHERS_WRITE != 0 && known.mode() & STICKY == 0 {
                return refused(at, "may be written by others");
            }
            if self.for_all && known.mode() & OTHERS_PASS == 0 {
                return refused(at, "is closed to the users that root may run the command as");
            }
        }
        if !is_preloadable(&real) {
            return refused(&real, "has a space, a colon or a $ in its name");
        }
        if statvfs(&real)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return refused(&real, "is mounted noexec");
        }
        Ok(real)
    }
}

#[cfg(test)]
mod tests;
