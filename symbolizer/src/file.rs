//! Opening files that others own.

use record::Pid;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Opens `path` (absolute) as if `root` were `/`: absolute symbolic links
/// inside a container lead to the container's files. Only regular files are
/// opened, without waiting for a writer of a FIFO.
pub(crate) fn open_within(root: &Path, path: &[u8]) -> io::Result<File> {
    let relative = Path::new(std::ffi::OsStr::from_bytes(path));
    let relative = relative.strip_prefix("/").unwrap_or(relative);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let base =
        rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let opened = openat2(&base, relative, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    let file = match opened {
        // Kernels before 5.6, and seccomp filters that do not know it.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            File::from(rustix::fs::openat(&base, relative, flags, Mode::empty())?)
        }
        other => File::from(other?),
    };
    regular(file)
}

/// Opens what a link of /proc leads to: the link itself is the way in, even
/// when the file has no name any more.
pub(crate) fn open_link(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    regular(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// `root`/proc/PID.
pub(crate) fn process(root: &Path, pid: Pid) -> PathBuf {
    root.join("proc").join(pid.to_string())
}

/// Whether inode numbers of mappings and of stat are the same thing on the
/// file system that holds the file. On overlayfs, btrfs and network file
/// systems they are not.
pub(crate) fn has_plain_inodes(file: &File) -> bool {
    // ext2 to ext4, XFS, tmpfs (statfs(2)).
    const PLAIN: [i64; 3] = [0xef53, 0x5846_5342, 0x0102_1994];
    rustix::fs::fstatfs(file).is_ok_and(|system| PLAIN.contains(&system.f_type))
}
