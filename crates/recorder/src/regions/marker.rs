//! The program's end: finds the memory, and writes marks into it.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use perfdata::RegionSide;
use perfdata::region::LONGEST_NAME;
use rustix::fs::{Mode, OFlags, SealFlags, fcntl_get_seals, fstat, open};
use rustix::time::{ClockId, clock_gettime};

use super::layout::{
    BEGIN, BEGUN, END, MAGIC, NO_ROOM, NUMBER, READ, SLOT, SLOTS, TASK, TIME, WHAT, WORDS, slot,
};
use crate::sys::mapping::SharedWords;

#[derive(Debug, thiserror::Error)]
pub enum RegionMarkerError {
    #[error(
        "the log of regions {path} cannot be opened: {error}; is the ebs that made it still there, and of the same user?"
    )]
    Open { path: String, error: io::Error },
    #[error(
        "{path} is no log of regions that this version of hardmeter writes; use the library of the ebs that runs the program"
    )]
    Foreign { path: String },
}

/// Writes marks of all threads of this process, and of those it forks.
#[derive(Debug)]
pub struct RegionMarker {
    pub(super) words: SharedWords,
}

impl RegionMarker {
    /// The log at a path.
    ///
    /// # Errors
    /// There is none that can be written.
    pub fn open(path: &Path) -> Result<RegionMarker, RegionMarkerError> {
        let named = || path.display().to_string();
        let failed = |error: io::Error| RegionMarkerError::Open { path: named(), error };
        let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        let size = fstat(&file).map_err(|errno| failed(errno.into()))?.st_size;
        let seals = fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
        let is_whole =
            u64::try_from(size).is_ok_and(|size| size == (WORDS * size_of::<u64>()) as u64);
        if !is_whole || !seals.contains(SealFlags::SHRINK) {
            return Err(RegionMarkerError::Foreign { path: named() });
        }
        let words = SharedWords::map(file.as_fd(), WORDS).map_err(failed)?;
        if words.words()[0].load(Ordering::Acquire) != MAGIC {
            return Err(RegionMarkerError::Foreign { path: named() });
        }
        Ok(RegionMarker { words })
    }

    /// The calling thread has come to a side of a region. Never waits: a mark
    /// that finds no room is counted as lost. A longer name is cut at
    /// [`LONGEST_NAME`] bytes; a begin without a name is none.
    pub fn mark(&self, side: RegionSide, name: &[u8]) {
        if name.is_empty() && side == RegionSide::Begin {
            return;
        }
        let Some(number) = self.take_slot() else { return };
        let at = slot(number);
        let words = &self.words.words()[at..at + SLOT];
        let name = &name[..name.len().min(LONGEST_NAME)];
        let now = clock_gettime(ClockId::Monotonic);
        let nanoseconds = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        let number_of = |raw: i32| u64::from(raw.cast_unsigned());
        let pid = number_of(rustix::process::getpid().as_raw_nonzero().get());
        let tid = number_of(rustix::thread::gettid().as_raw_nonzero().get());
        let side = match side {
            RegionSide::Begin => BEGIN,
            RegionSide::End => END,
        };
        put(words, TIME, nanoseconds);
        put(words, TASK, pid << 32 | tid);
        put(words, WHAT, side << 32 | name.len() as u64);
        for (piece, index) in name.chunks(8).zip(WHAT + 1..) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            put(words, index, u64::from_ne_bytes(word));
        }
        words[NUMBER].store(number + 1, Ordering::Release);
    }

    /// The number of a mark whose slot nobody else writes.
    fn take_slot(&self) -> Option<u64> {
        let words = self.words.words();
        let has_room = |begun: u64| {
            let read = words[READ].load(Ordering::Acquire);
            (begun.wrapping_sub(read) < SLOTS as u64).then(|| begun.wrapping_add(1))
        };
        let taken = words[BEGUN].fetch_update(Ordering::AcqRel, Ordering::Relaxed, has_room);
        if taken.is_err() {
            words[NO_ROOM].fetch_add(1, Ordering::Relaxed);
        }
        taken.ok()
    }
}

fn put(words: &[AtomicU64], index: usize, value: u64) {
    words[index].store(value, Ordering::Relaxed);
}
