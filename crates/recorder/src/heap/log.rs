//! The session's end of the memory: makes it, and reads the records in it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use perfdata::HeapLogRecord;
use perfdata::heap_log::{
    ATTACHED, BEGUN, FRONT, LONGEST, MADE, MAGIC, NUMBER, RATE, READ, ROOM, SLOT, STACK, STOPPED,
    VARIABLE, WORDS, room, slot,
};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};

use super::HeapSettings;
use super::memory_limit::memory_limit;
use crate::sys::shared_words::SharedWords;

/// How long a thread may be interrupted in the middle of a record: others are ready to run.
const PATIENCE: Duration = Duration::from_millis(200);

/// Of what a control group may have, the log takes so small a part.
const SHARE: u64 = 8;
/// Slots that there are however little memory there is: more than one record takes.
const FEWEST_SLOTS: usize = 4 * LONGEST;
/// No program makes more calls in a hundred years: a count above was scribbled there.
const MOST_MADE: u64 = 1 << 60;

/// What came through a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapAccount {
    /// Programs that the library was loaded into.
    pub attached: u64,
    /// Allocations that were to be told, releases, and calls about mappings.
    pub made: [u64; 3],
    /// Of these, those that were read.
    pub read: [u64; 3],
}

impl HeapAccount {
    /// What is missing, of each. A program that writes another number there is believed no less
    /// than was read.
    pub fn lost(&self) -> [u64; 3] {
        let [allocations, releases, mappings] = self.made;
        let [read, given_back, mapped] = self.read;
        [
            allocations.saturating_sub(read),
            releases.saturating_sub(given_back),
            mappings.saturating_sub(mapped),
        ]
    }
}

/// The memory, and how far it was read.
#[derive(Debug)]
pub struct HeapLog {
    file: OwnedFd,
    words: SharedWords,
    settings: HeapSettings,
    /// Slots that are used.
    room: usize,
    /// Slots that were read or given up: what the memory says of it is told to programs, and not
    /// believed.
    next: u64,
    /// The slot whose record was not finished when it was looked at, and since when.
    stalled: Option<(u64, Instant)>,
    read: [u64; 3],
    stack: Vec<u64>,
}

impl HeapLog {
    /// A log of this process, to be found under its number. `root` is that of /proc and /sys.
    ///
    /// # Errors
    /// memfd_create(2) or mmap(2) failed.
    pub fn create(settings: HeapSettings, root: &Path) -> io::Result<HeapLog> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("hardmeter-heap", flags)?;
        ftruncate(&file, (WORDS * size_of::<u64>()) as u64)?;
        // Who maps it cannot be cut off by somebody who makes it smaller.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let words = SharedWords::map(file.as_fd(), WORDS)?;
        // Pages that are there cost a program nothing but to find them. Where there are none to be
        // had, they are made when they are written.
        let room = fitting(room(settings.rate), memory_limit(root));
        let used = (FRONT + room * SLOT) * size_of::<u64>();
        let _later = fallocate(&file, FallocateFlags::empty(), 0, used as u64);
        let (next, stalled, read, stack) = (0, None, [0; 3], Vec::new());
        let log = HeapLog { file, words, settings, room, next, stalled, read, stack };
        log.word(ROOM).store(room as u64, Ordering::Relaxed);
        log.word(RATE).store(log.settings.rate.max(1), Ordering::Relaxed);
        log.word(STACK).store(log.settings.stack.get().into(), Ordering::Relaxed);
        log.word(0).store(MAGIC, Ordering::Release);
        Ok(log)
    }

    /// What a program's environment needs, `NAME=VALUE` each: what it would preload otherwise it
    /// preloads behind ours.
    pub fn variables(&self) -> Vec<OsString> {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        let mut preload = OsString::from("LD_PRELOAD=");
        preload.push(self.settings.library().unwrap_or_default());
        if let Some(own) = std::env::var_os("LD_PRELOAD").filter(|own| !own.is_empty()) {
            preload.push(":");
            preload.push(own);
        }
        // AddressSanitizer wants to be the first library, and ends a program where it is not: what
        // it wants to intercept is intercepted behind ours, too.
        let mut sanitizer = OsString::from("ASAN_OPTIONS=verify_asan_link_order=0");
        if let Some(own) = std::env::var_os("ASAN_OPTIONS").filter(|own| !own.is_empty()) {
            sanitizer.push(":");
            sanitizer.push(own);
        }
        vec![format!("{VARIABLE}={path}").into(), preload, sanitizer]
    }

    /// How blocks are told.
    pub fn settings(&self) -> &HeapSettings {
        &self.settings
    }

    /// Nothing is told any more.
    pub fn stop(&self) {
        self.word(STOPPED).store(1, Ordering::Relaxed);
    }

    /// What came so far; what waits to be read is not read.
    pub fn account(&self) -> HeapAccount {
        let word = |index: usize| self.word(index).load(Ordering::Relaxed);
        let [allocations, releases, mappings] = self.read;
        let made = |index: usize| word(index).min(MOST_MADE);
        let made = [
            made(MADE).max(allocations),
            made(MADE + 1).max(releases),
            made(MADE + 2).max(mappings),
        ];
        HeapAccount { attached: word(ATTACHED), made, read: self.read }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.words.words()[index]
    }

    /// Gives the records that are there, each with the words of its stack, in the order in which
    /// they were begun. One that its thread has begun and not finished holds up those behind it:
    /// until 0.2 s are over this returns false, and what comes later may be older than what
    /// was given.
    pub fn drain(&mut self, now: Instant, mut take: impl FnMut(&HeapLogRecord, &[u64])) -> bool {
        let mut is_behind = false;
        let begun = self.word(BEGUN).load(Ordering::Acquire);
        // Others may write anything: no more than there can be is looked at.
        let begun = begun.min(self.next.saturating_add(self.room as u64));
        while self.next < begun {
            let number = self.next;
            let mut front = [0; SLOT];
            let is_whole = self.copy(number, &mut front) == number + 1;
            if !is_whole && self.is_awaited(number, now) {
                is_behind = true;
                break;
            }
            // Behind one whose thread was killed in the middle the next is found by its number.
            let record = HeapLogRecord::decode(&front).filter(|_| is_whole);
            let Some(record) = record else {
                self.next += 1;
                self.stalled = self.stalled.map(|(_, since)| (self.next, since));
                continue;
            };
            self.stalled = None;
            self.take_stack(&record);
            self.next += record.slots as u64;
            let read = &mut self.read[record.call.event()];
            *read += 1;
            take(&record, &self.stack);
        }
        self.word(READ).store(self.next, Ordering::Release);
        !is_behind
    }

    /// Whether the thread that has begun a record may yet finish it.
    fn is_awaited(&mut self, number: u64, now: Instant) -> bool {
        let (_, since) = *self.stalled.get_or_insert((number, now));
        now.saturating_duration_since(since) < PATIENCE
    }

    /// A slot, and what it says is its number.
    fn copy(&self, number: u64, front: &mut [u64; SLOT]) -> u64 {
        let at = slot(number, self.room);
        let words = &self.words.words()[at..at + SLOT];
        let said = words[NUMBER].load(Ordering::Acquire);
        front.iter_mut().zip(words).for_each(|(to, from)| *to = from.load(Ordering::Relaxed));
        said
    }

    /// No more of it than was asked for.
    fn take_stack(&mut self, record: &HeapLogRecord) {
        let most = self.settings.stack.get() as usize / size_of::<u64>();
        let count = record.stack.min(most);
        self.stack.clear();
        let words = self.words.words();
        let first = self.next + 1;
        for number in first..first + count.div_ceil(SLOT) as u64 {
            let at = slot(number, self.room);
            let left = (count - self.stack.len()).min(SLOT);
            let part = words[at..at + left].iter().map(|word| word.load(Ordering::Relaxed));
            self.stack.extend(part);
        }
    }
}

/// Slots that are used, of so many that would be: no more than a part of what the control groups
/// may have, which the program needs. A power of two, as both are.
fn fitting(room: usize, limit: Option<u64>) -> usize {
    let Some(limit) = limit else { return room };
    let slots = limit / SHARE / (SLOT * size_of::<u64>()) as u64;
    let most = 1 << slots.max(FEWEST_SLOTS as u64).ilog2();
    room.min(most)
}

#[cfg(test)]
mod tests;
