//! Opening files that others own.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Opens `path` (absolute) as if `root` were `/`: absolute symbolic links
/// inside a container lead to the container's files. What is no regular file
/// is never opened: opening a device or a FIFO may do something.
pub(crate) fn open_within(root: &Path, path: &[u8]) -> io::Result<File> {
    open_below(root, path, OFlags::empty())
}

/// Like [`open_within`], but what the path itself names, never what a
/// symbolic link there leads to.
pub(crate) fn open_itself(root: &Path, path: &[u8]) -> io::Result<File> {
    open_below(root, path, OFlags::NOFOLLOW)
}

fn open_below(root: &Path, path: &[u8], more: OFlags) -> io::Result<File> {
    let relative = Path::new(std::ffi::OsStr::from_bytes(path));
    let relative = relative.strip_prefix("/").unwrap_or(relative);
    let base =
        rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    open_regular(|flags| {
        let flags = flags | more;
        match openat2(&base, relative, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // Kernels before 5.6, and seccomp filters that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => {
                rustix::fs::openat(&base, relative, flags, Mode::empty())
            }
            other => other,
        }
    })
}

/// Opens what a link of /proc leads to: the link itself is the way in, even
/// when the file has no name any more. Regular files only.
pub(crate) fn open_link(path: &Path) -> io::Result<File> {
    open_regular(|flags| rustix::fs::open(path, flags, Mode::empty()))
}

fn open_regular(open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>) -> io::Result<File> {
    let found = regular(open(OFlags::PATH | OFlags::CLOEXEC)?)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    match rustix::fs::open(again, flags, Mode::empty()) {
        // No /proc here. The path may lead elsewhere by now.
        Err(Errno::NOENT) => regular(open(flags)?),
        other => Ok(File::from(other?)),
    }
}

fn regular(file: OwnedFd) -> io::Result<File> {
    let file = File::from(file);
    match file.metadata()?.file_type() {
        found if found.is_file() => Ok(file),
        found if found.is_symlink() => Err(io::Error::other("it is a symbolic link")),
        _ => Err(io::Error::other("not a regular file")),
    }
}

/// The same file with a position of its own.
pub(crate) fn reopened(file: &File) -> Option<File> {
    let again = format!("/proc/self/fd/{}", file.as_raw_fd());
    open_link(Path::new(&again)).or_else(|_| file.try_clone()).ok()
}

/// Where an open file lies now; none where that cannot be told.
pub(crate) fn opened_path(file: &File) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Whether inode numbers of mappings and of stat are the same thing on the
/// file system that holds the file. On overlayfs, btrfs and network file
/// systems they are not.
pub(crate) fn has_plain_inodes(file: &File) -> bool {
    // ext2 to ext4, XFS, tmpfs (statfs(2)).
    const PLAIN: [i64; 3] = [0xef53, 0x5846_5342, 0x0102_1994];
    rustix::fs::fstatfs(file).is_ok_and(|system| PLAIN.contains(&system.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::io::Read;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn regular_files_are_opened_through_links_of_their_root() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("file"), "inside").unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink("/file", path("link")).unwrap();
        let read = |file: io::Result<File>| {
            let mut text = String::new();
            file.unwrap().read_to_string(&mut text).unwrap();
            text
        };
        for name in [b"/file".as_slice(), b"/link", b"file"] {
            assert_eq!(read(open_within(root.path(), name)), "inside");
        }
        assert_eq!(read(open_link(&path("file"))), "inside");
        let absent = open_within(root.path(), b"/absent").unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        for other in [open_within(root.path(), b"/folder"), open_link(Path::new("/dev/null"))] {
            assert_eq!(other.unwrap_err().to_string(), "not a regular file");
        }
    }

    /// Whoever waits to write to a FIFO goes on once a reader opens it.
    #[test]
    fn a_fifo_is_not_opened() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (sender, receiver) = channel();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                let file = File::options().write(true).open(path);
                sender.send(()).unwrap();
                file
            }
        });
        std::thread::sleep(Duration::from_millis(200));
        assert!(open_within(root.path(), b"/fifo").is_err());
        assert!(open_link(&path).is_err());
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err(), "it was opened");
        drop(File::open(&path).unwrap());
        writer.join().unwrap().unwrap();
    }
}
