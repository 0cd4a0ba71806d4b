//! Control groups (cgroups(7)) as targets: of the hierarchy that perf knows,
//! version 2.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fstatfs, openat};

/// CGROUP2_SUPER_MAGIC of include/uapi/linux/magic.h.
const CGROUP2: u64 = 0x6367_7270;
/// Groups below one that are looked at; hierarchies are some five deep.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub struct Cgroup {
    directory: OwnedFd,
    /// Below the hierarchy's root.
    path: PathBuf,
}

impl Cgroup {
    /// The group of a path below the hierarchy's root (`/system.slice/x.service`,
    /// as /proc/PID/cgroup shows it), of the machine whose /proc is in `root`.
    ///
    /// # Errors
    /// There is no such group, or no hierarchy of version 2.
    pub fn open(root: &Path, path: &Path) -> io::Result<Cgroup> {
        let below = path.strip_prefix("/").unwrap_or(path);
        if below.components().any(|part| part == std::path::Component::ParentDir) {
            return Err(io::Error::other(format!("{}: a path without ..", path.display())));
        }
        Cgroup::at(&mount(root)?, below)
    }

    /// The group of a systemd unit, wherever in the hierarchy it is.
    ///
    /// # Errors
    /// NotFound: the unit has no group now, as it does not run.
    pub fn of_unit(root: &Path, unit: &str) -> io::Result<Cgroup> {
        let mount = mount(root)?;
        let found = find(&mount, unit, MAX_DEPTH);
        let missing = || {
            let text = format!("{unit} has no control group below {}", mount.display());
            io::Error::new(io::ErrorKind::NotFound, text)
        };
        let found = found.ok_or_else(missing)?;
        Cgroup::at(&mount, found.strip_prefix(&mount).map_err(io::Error::other)?)
    }

    /// Nothing on the way is a link or of another file system. Not by
    /// openat2(2), whose flags no filter of system calls can see.
    fn at(mount: &Path, below: &Path) -> io::Result<Cgroup> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let mut directory = rustix::fs::open(mount, flags, Mode::empty())?;
        let mut path = mount.to_owned();
        check(&directory, &path)?;
        for name in below {
            path.push(name);
            directory = openat(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
            check(&directory, &path)?;
        }
        Ok(Cgroup { directory, path: below.to_owned() })
    }

    /// Its path below the hierarchy's root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its number, which programs in the kernel know it by
    /// (bpf_get_current_cgroup_id(), include/uapi/linux/bpf.h).
    ///
    /// # Errors
    /// fstat(2) failed.
    pub fn id(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.directory)?.st_ino)
    }

    /// Whether it has been removed; a unit that starts again gets another.
    pub fn is_gone(&self) -> bool {
        openat(&self.directory, "cgroup.procs", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .is_err_and(|errno| {
                matches!(errno, rustix::io::Errno::NODEV | rustix::io::Errno::NOENT)
            })
    }

    /// The processes that are in it now, or in a group below.
    pub fn processes(&self) -> Vec<i32> {
        let mut processes = Vec::new();
        collect(self.directory.as_fd(), MAX_DEPTH, &mut processes);
        processes
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

fn check(directory: &OwnedFd, path: &Path) -> io::Result<()> {
    let magic = fstatfs(directory)?.f_type;
    if u64::try_from(magic) == Ok(CGROUP2) {
        return Ok(());
    }
    Err(io::Error::other(format!("{}: no control group of version 2", path.display())))
}

/// Where version 2 is mounted: often /sys/fs/cgroup, or `unified` in it.
fn mount(root: &Path) -> io::Result<PathBuf> {
    let text = fs::read_to_string(root.join("proc/self/mountinfo"))?;
    // ID PARENT MAJ:MIN ROOT MOUNT-POINT OPTIONS... - TYPE SOURCE OPTIONS
    let point = text.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let kind = after.split(' ').next()?;
        (kind == "cgroup2").then(|| before.split(' ').nth(4)).flatten()
    });
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no cgroup2 file system is mounted");
    Ok(PathBuf::from(point.ok_or_else(missing)?))
}

/// systemd puts `_` before names that the kernel could take for its own.
fn find(directory: &Path, unit: &str, deepest: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.map_while(Result::ok);
    let groups: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    let is_it = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name == unit || name.strip_prefix('_') == Some(unit)
    };
    let here = groups.iter().find(is_it).cloned();
    let below = || groups.iter().find_map(|group| find(group, unit, deepest.checked_sub(1)?));
    here.or_else(below)
}

fn collect(directory: BorrowedFd<'_>, deepest: usize, processes: &mut Vec<i32>) {
    let open = |name: &std::ffi::CStr, flags| {
        openat(directory, name, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    };
    let mut text = String::new();
    // A group that has been removed meanwhile, or one of threads, has none.
    if let Ok(list) = open(c"cgroup.procs", OFlags::empty())
        && fs::File::from(list).read_to_string(&mut text).is_ok()
    {
        processes.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    }
    let (Ok(entries), Some(deepest)) = (Dir::read_from(directory), deepest.checked_sub(1)) else {
        return;
    };
    for entry in entries.map_while(Result::ok) {
        let name = entry.file_name();
        if entry.file_type() == FileType::Directory
            && !name.to_bytes().starts_with(b".")
            && let Ok(below) = open(name, OFlags::DIRECTORY)
        {
            collect(below.as_fd(), deepest, processes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_among_others() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let info = dir.path().join("proc/self/mountinfo");
        fs::write(
            &info,
            "24 1 0:22 / /sys/fs/cgroup rw,relatime shared:9 - tmpfs tmpfs rw\n\
             25 24 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             36 24 0:31 / /sys/fs/cgroup/unified rw,relatime shared:1 master:2 - cgroup2 cgroup2 rw\n",
        )
        .unwrap();
        assert_eq!(mount(dir.path()).unwrap(), Path::new("/sys/fs/cgroup/unified"));
        fs::write(&info, "25 24 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n").unwrap();
        assert_eq!(mount(dir.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_unit_is_found_below_any_slice() {
        let dir = tempfile::tempdir().unwrap();
        let unit = dir.path().join("user.slice/user-1.slice/_cgroup.service");
        fs::create_dir_all(&unit).unwrap();
        fs::create_dir_all(dir.path().join("system.slice/b.service")).unwrap();
        let find = |unit| find(dir.path(), unit, MAX_DEPTH);
        assert_eq!(find("cgroup.service"), Some(unit));
        assert_eq!(find("b.service"), Some(dir.path().join("system.slice/b.service")));
        assert_eq!(find("c.service"), None);
    }

    #[test]
    fn another_directory_is_no_group() {
        let other = Cgroup::at(Path::new("/proc"), Path::new("tty")).unwrap_err();
        assert_eq!(other.to_string(), "/proc: no control group of version 2");
        let outside = Cgroup::open(Path::new("/"), Path::new("/../../proc")).unwrap_err();
        assert!(outside.to_string().contains("..") || outside.kind() == io::ErrorKind::NotFound);
    }
}
