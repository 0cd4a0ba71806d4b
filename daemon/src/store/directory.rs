//! The directory of one recording: files of ours by number, whatever else
//! lies there is left alone.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use perfdata::segment::{HEADER, PackedSegment, SegmentHeader, SegmentReadError};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fstat, fstatvfs, openat, renameat, statat, unlinkat,
};

/// The state of a segment's file, which the end of its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SegmentState {
    /// It is written, or was when its writer died.
    Open,
    Closed,
    /// Whole, and zstd.
    Packed,
    /// It is being packed, or was when its writer died.
    Packing,
}

impl SegmentState {
    const ALL: [SegmentState; 4] =
        [SegmentState::Open, SegmentState::Closed, SegmentState::Packed, SegmentState::Packing];

    fn ending(self) -> &'static str {
        match self {
            SegmentState::Open => ".open",
            SegmentState::Closed => ".seg",
            SegmentState::Packed => ".seg.zst",
            SegmentState::Packing => ".tmp",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListedSegment {
    pub(crate) number: u64,
    pub(crate) state: SegmentState,
    pub(crate) bytes: u64,
}

/// Digits of a segment's number in its file's name.
const DIGITS: usize = 10;

pub(crate) fn name(number: u64, state: SegmentState) -> String {
    format!("{number:0DIGITS$}{}", state.ending())
}

fn parse(name: &str) -> Option<(u64, SegmentState)> {
    let (digits, _) = name.split_once('.')?;
    let number = digits.parse().ok()?;
    let state = SegmentState::ALL.into_iter().find(|state| name == self::name(number, *state))?;
    Some((number, state))
}

/// What a segment's file begins with.
pub(crate) fn header(
    mut file: File,
    state: SegmentState,
) -> Result<SegmentHeader, SegmentReadError> {
    if state == SegmentState::Packed {
        return PackedSegment::header(file);
    }
    let mut first = Vec::new();
    file.by_ref().take(HEADER as u64).read_to_end(&mut first)?;
    Ok(SegmentHeader::decode(&first)?)
}

/// An open directory. Nothing in it is followed that is a link, or taken
/// that is another user's.
#[derive(Debug)]
pub(crate) struct Directory {
    fd: OwnedFd,
    uid: u32,
}

impl Directory {
    /// For files of this process's user.
    pub(crate) fn new(fd: OwnedFd) -> Directory {
        Directory { fd, uid: rustix::process::getuid().as_raw() }
    }

    /// All segments, by number.
    pub(crate) fn list(&self) -> io::Result<Vec<ListedSegment>> {
        let mut listed = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let Some((number, state)) = entry.file_name().to_str().ok().and_then(parse) else {
                continue;
            };
            let Ok(stat) = statat(&self.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if !is_file || stat.st_uid != self.uid {
                let name = entry.file_name().to_string_lossy();
                tracing::warn!(%name, "a file that is no segment of ours is left alone");
                continue;
            }
            listed.push(ListedSegment {
                number,
                state,
                bytes: u64::try_from(stat.st_size).unwrap_or(0),
            });
        }
        listed.sort_unstable();
        Ok(listed)
    }

    pub(crate) fn create(&self, number: u64, state: SegmentState) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_with(number, state, flags)
    }

    /// A file that is there, for reading.
    pub(crate) fn open(&self, number: u64, state: SegmentState) -> io::Result<File> {
        self.checked(self.open_with(number, state, OFlags::RDONLY)?)
    }

    /// The same, for cutting off what is damaged.
    pub(crate) fn open_for_repair(&self, number: u64, state: SegmentState) -> io::Result<File> {
        self.checked(self.open_with(number, state, OFlags::RDWR)?)
    }

    fn open_with(&self, number: u64, state: SegmentState, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(openat(&self.fd, name(number, state), flags, mode)?.into())
    }

    /// Looked at again once it is open: names can change.
    fn checked(&self, file: File) -> io::Result<File> {
        let stat = fstat(&file)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_uid != self.uid {
            return Err(io::Error::other("no file of the recording's owner"));
        }
        Ok(file)
    }

    pub(crate) fn rename(
        &self,
        number: u64,
        from: SegmentState,
        to: SegmentState,
    ) -> io::Result<()> {
        Ok(renameat(&self.fd, name(number, from), &self.fd, name(number, to))?)
    }

    pub(crate) fn remove(&self, number: u64, state: SegmentState) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name(number, state), AtFlags::empty())?)
    }

    /// Bytes that the file system has free for users.
    pub(crate) fn free(&self) -> io::Result<u64> {
        let fs = fstatvfs(&self.fd)?;
        Ok(fs.f_bavail.saturating_mul(fs.f_frsize))
    }

    pub(crate) fn is_removed(&self) -> bool {
        fstat(&self.fd).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// Names that were made or changed outlive a crash of the machine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let again = openat(self.fd.as_fd(), ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(rustix::fs::fsync(again)?)
    }

    /// Makes it this one's alone, and of those that are cloned from it.
    pub(crate) fn lock(&self) -> io::Result<()> {
        use rustix::fs::{FlockOperation, flock};
        flock(&self.fd, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            rustix::io::Errno::WOULDBLOCK => {
                io::Error::other("a worker of a daemon before still writes there")
            }
            errno => errno.into(),
        })
    }

    pub(crate) fn try_clone(&self) -> io::Result<Directory> {
        Ok(Directory { fd: self.fd.try_clone()?, uid: self.uid })
    }
}
