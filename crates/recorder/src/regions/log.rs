//! The session's end: makes the memory, and reads the marks in it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use perfdata::region::LONGEST_NAME;
use perfdata::{Pid, RegionMark, RegionSide, Task, Tid, Time};

use super::VARIABLE;
use super::layout::{
    BEGIN, BEGUN, END, MAGIC, NAME, NO_ROOM, NUMBER, READ, SLOT, SLOTS, TASK, TIME, WHAT, WORDS,
    slot,
};
use crate::sys::mapping::SharedWords;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionLogAccount {
    pub read: u64,
    /// Marks that found no room, or that nobody finished.
    pub lost: u64,
}

#[derive(Debug)]
pub struct RegionLog {
    file: OwnedFd,
    words: SharedWords,
    account: RegionLogAccount,
    /// Marks that were read or given up: what the memory says of it is told to
    /// programs, and not believed.
    next: u64,
    /// The mark that was begun and not finished when it was last looked at.
    stalled: Option<u64>,
}

impl RegionLog {
    /// A log of this process, to be found under its number.
    ///
    /// # Errors
    /// memfd_create(2) or mmap(2) failed.
    pub fn create() -> io::Result<RegionLog> {
        let (file, words) = SharedWords::create("hardmeter-regions", WORDS)?;
        words.words()[0].store(MAGIC, Ordering::Release);
        Ok(RegionLog { file, words, account: RegionLogAccount::default(), next: 0, stalled: None })
    }

    /// Where a process of the same user finds it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// What a program's environment needs, `NAME=PATH`.
    pub fn variable(&self) -> OsString {
        format!("{VARIABLE}={}", self.path()).into()
    }

    pub fn account(&self) -> RegionLogAccount {
        let no_room = self.word(NO_ROOM).load(Ordering::Relaxed);
        RegionLogAccount { lost: self.account.lost.saturating_add(no_room), ..self.account }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.words.words()[index]
    }

    /// Gives the marks that are there, in the order in which they were begun.
    /// One that its thread has begun and not finished holds up those behind it
    /// until the next look but one.
    pub fn drain(&mut self, mut take: impl FnMut(&RegionMark<'_>)) {
        let first = self.next;
        let begun = self.word(BEGUN).load(Ordering::Acquire);
        // Others may write anything: no more than there can be is looked at.
        let begun = begun.min(first.saturating_add(SLOTS as u64));
        let mut number = first;
        while number < begun {
            let at = slot(number);
            let words = &self.words.words()[at..at + SLOT];
            if words[NUMBER].load(Ordering::Acquire) == number + 1 {
                let mut name = [0; LONGEST_NAME + 1];
                match read(words, &mut name) {
                    Some(mark) => {
                        self.account.read += 1;
                        take(&mark);
                    }
                    None => self.account.lost += 1,
                }
            } else if self.stalled == Some(number) {
                // Its thread was killed in the middle, as a rule.
                self.account.lost += 1;
            } else {
                self.stalled = Some(number);
                break;
            }
            number += 1;
        }
        self.next = number;
        self.word(READ).store(number, Ordering::Release);
    }
}

fn read<'n>(words: &[AtomicU64], name: &'n mut [u8; LONGEST_NAME + 1]) -> Option<RegionMark<'n>> {
    let word = |index: usize| words[index].load(Ordering::Relaxed);
    for (piece, index) in name.chunks_exact_mut(8).zip(WHAT + 1..=WHAT + NAME) {
        piece.copy_from_slice(&word(index).to_ne_bytes());
    }
    let [task, what] = [word(TASK), word(WHAT)];
    let side = match what >> 32 {
        BEGIN => RegionSide::Begin,
        END => RegionSide::End,
        _ => return None,
    };
    let length = usize::try_from(what & u64::from(u32::MAX)).ok()?;
    if length > LONGEST_NAME || (length == 0 && side == RegionSide::Begin) {
        return None;
    }
    let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0).cast_signed();
    let task = Task { pid: Pid(half(task >> 32)), tid: Tid(half(task)) };
    Some(RegionMark { time: Time(word(TIME)), task, side, name: &name[..length] })
}
