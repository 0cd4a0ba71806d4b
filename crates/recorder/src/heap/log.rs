//! The session's end of the memory: makes it, and reads the records in it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use perfdata::HeapLogRecord;
use perfdata::heap_log::{
    ATTACHED, BEGUN, FRONT, LONGEST, MADE, MAGIC, NUMBER, RATE, READ, ROOM, SLOT, STACK, STOPPED,
    VARIABLE, WORDS, room, slot,
};
use rustix::fs::{FallocateFlags, fallocate};

use super::memory_limit::memory_limit;
use super::{HeapSettings, LibraryFile};
use crate::sys::mapping::SharedWords;

/// How long a thread may be interrupted in the middle of a record: others are ready to run.
const STALL_TIMEOUT: Duration = Duration::from_millis(200);

/// Of what a control group may have, the log takes so small a part.
const SHARE: u64 = 8;
/// Slots that there are however little memory there is: more than one record takes.
const MIN_SLOTS: usize = 4 * LONGEST;
/// No program makes more calls in a hundred years: a count above was scribbled there.
const MAX_MADE: u64 = 1 << 60;

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

#[derive(Debug)]
pub struct HeapLog {
    file: OwnedFd,
    words: SharedWords,
    settings: HeapSettings,
    library: LibraryFile,
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
    pub(crate) fn create(
        settings: HeapSettings,
        library: LibraryFile,
        root: &Path,
    ) -> io::Result<HeapLog> {
        let (file, words) = SharedWords::create("hardmeter-heap", WORDS)?;
        // Pages that are there cost a program nothing but to find them. Where there are none to be
        // had, they are made when they are written.
        let room = fitting(room(settings.rate), memory_limit(root));
        let used = (FRONT + room * SLOT) * size_of::<u64>();
        let _later = fallocate(&file, FallocateFlags::empty(), 0, used as u64);
        let (next, stalled, read, stack) = (0, None, [0; 3], Vec::new());
        let log = HeapLog { file, words, settings, library, room, next, stalled, read, stack };
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
        preload.push(self.library.path());
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

    pub fn settings(&self) -> &HeapSettings {
        &self.settings
    }

    pub fn stop(&self) {
        self.word(STOPPED).store(1, Ordering::Relaxed);
    }

    /// What came so far; what waits to be read is not read.
    pub fn account(&self) -> HeapAccount {
        let word = |index: usize| self.word(index).load(Ordering::Relaxed);
        let [allocations, releases, mappings] = self.read;
        let made = |index: usize| word(index).min(MAX_MADE);
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
        now.saturating_duration_since(since) < STALL_TIMEOUT
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
    let most = 1 << slots.max(MIN_SLOTS as u64).ilog2();
    room.min(most)
}

#[cfg(test)]
mod tests {
    use perfdata::{
        AllocatorCall, Attr, Cpu, HeapChange, MappingCall, MappingChange, Misc, Pid, RecordHeader,
        SampleLayout, SampleType, Task, Tid, Time,
    };

    use super::*;
    use crate::heap::{HeapSample, HeapSampler};
    use crate::request::StackBytes;
    use crate::sys::event::NATIVE_ORDER;
    use perfdata::heap_log::{FEW_SLOTS, LoggedCall, SLOTS};

    fn settings() -> HeapSettings {
        HeapSettings {
            rate: 1000,
            stack: StackBytes::new(160).unwrap(),
            libraries: Vec::new(),
            embedded: &[],
        }
    }

    fn record(call: AllocatorCall, stack: usize) -> HeapLogRecord {
        record_of(LoggedCall::Allocator(call), stack)
    }

    fn record_of(call: LoggedCall, stack: usize) -> HeapLogRecord {
        HeapLogRecord {
            time: Time(70),
            task: Task { pid: Pid(5), tid: Tid(6) },
            cpu: Cpu(1),
            call,
            slots: 1 + stack.div_ceil(SLOT),
            stack,
            address: 0x7000,
            size: 100,
            old: 0,
            began: Time(69),
            registers: [1, 2, 3, 4, 5, 6, 7, 8],
        }
    }

    /// As a program writes it; the stack's words are their numbers.
    fn write(words: &SharedWords, number: u64, record: &HeapLogRecord) {
        let words = words.words();
        let room = usize::try_from(words[ROOM].load(Ordering::Relaxed)).unwrap();
        let slot = |number| slot(number, room);
        for (index, value) in record.encode().into_iter().enumerate() {
            words[slot(number) + index].store(value, Ordering::Relaxed);
        }
        for index in 0..record.stack {
            let at = slot(number + 1 + (index / SLOT) as u64) + index % SLOT;
            words[at].store(index as u64, Ordering::Relaxed);
        }
        words[slot(number) + NUMBER].store(number + 1, Ordering::Release);
        words[BEGUN].store(number + record.slots as u64, Ordering::Release);
        words[MADE + record.call.event()].fetch_add(1, Ordering::Relaxed);
    }

    fn drained(log: &mut HeapLog) -> Vec<(HeapLogRecord, Vec<u64>)> {
        let mut all = Vec::new();
        log.drain(Instant::now(), |record, stack| all.push((*record, stack.to_vec())));
        all
    }

    #[test]
    fn what_programs_write_is_read_in_order_round_the_end() {
        for rate in [1, 1 << 16] {
            is_read_in_order(HeapSettings { rate, ..settings() });
        }
    }

    fn is_read_in_order(settings: HeapSettings) {
        let rate = settings.rate;
        let mut log =
            HeapLog::create(settings, LibraryFile::default(), Path::new("/nowhere")).unwrap();
        assert_eq!(log.room, if rate == 1 { SLOTS } else { FEW_SLOTS });
        let mut number = 0;
        let (block, end) = (record(AllocatorCall::Allocate, 20), record(AllocatorCall::Release, 0));
        let gone = record_of(LoggedCall::Mapping(MappingCall::Unmap), 0);
        let mut read = 0;
        while number < log.room as u64 + 100 {
            write(&log.words, number, &block);
            write(&log.words, number + 3, &end);
            write(&log.words, number + 4, &gone);
            number += 5;
            read += 1;
            let all = drained(&mut log);
            let stack: Vec<u64> = (0..20).collect();
            assert_eq!(all, [(block, stack), (end, Vec::new()), (gone, Vec::new())]);
            assert_eq!(log.words.words()[READ].load(Ordering::Relaxed), number);
        }
        let account = log.account();
        assert_eq!(account.read, [read; 3]);
        assert_eq!(account.lost(), [0; 3]);
    }

    #[test]
    fn what_was_begun_and_not_finished_is_given_up() {
        let mut log =
            HeapLog::create(settings(), LibraryFile::default(), Path::new("/nowhere")).unwrap();
        let block = record(AllocatorCall::Allocate, 20);
        write(&log.words, 0, &block);
        write(&log.words, 3, &block);
        log.words.words()[slot(0, log.room) + NUMBER].store(0, Ordering::Relaxed);
        let mut behind = 0;
        let start = Instant::now();
        for later in [0, 100, 199] {
            assert!(!log.drain(start + Duration::from_millis(later), |_, _| behind += 1));
            assert_eq!(behind, 0, "it may yet come");
        }
        assert!(log.drain(start + Duration::from_millis(200), |_, _| behind += 1));
        assert_eq!(behind, 1, "the one behind it");
        assert_eq!(log.account().lost(), [1, 0, 0]);
    }

    #[test]
    fn what_a_program_scribbles_as_counts_can_be_added_up() {
        let log =
            HeapLog::create(settings(), LibraryFile::default(), Path::new("/nowhere")).unwrap();
        log.words
            .words()
            .iter()
            .skip(MADE)
            .take(3)
            .for_each(|it| it.store(u64::MAX, Ordering::Relaxed));
        let lost = log.account().lost();
        assert_eq!(lost.iter().try_fold(0u64, |sum, lost| sum.checked_add(*lost)), Some(3 << 60));
    }

    #[test]
    fn the_log_leaves_most_of_a_small_group_to_the_program() {
        assert_eq!(fitting(SLOTS, None), SLOTS);
        assert_eq!(fitting(SLOTS, Some(1 << 40)), SLOTS);
        for mib in [30, 60, 64, 100, 500, 513] {
            let slots = fitting(SLOTS, Some(mib << 20));
            let bytes = (slots * SLOT * size_of::<u64>()) as u64;
            assert!(slots.is_power_of_two() && bytes * SHARE <= mib << 20, "{mib} MiB: {bytes}");
            assert!(bytes * SHARE * 2 > mib << 20, "{mib} MiB: {bytes}");
        }
        // A record fits, whatever the limit.
        assert!(fitting(SLOTS, Some(0)) * 7 / 8 > LONGEST);
    }

    #[test]
    fn whatever_a_program_scribbles_ends() {
        let mut log =
            HeapLog::create(settings(), LibraryFile::default(), Path::new("/nowhere")).unwrap();
        let mut random = fastrand_like(7);
        for _ in 0..30 {
            for word in log.words.words().iter().skip(8).take(60_000) {
                word.store(random(), Ordering::Relaxed);
            }
            let words = log.words.words();
            let next = log.next;
            for number in (next..next + 2000).step_by(3) {
                words[slot(number, log.room) + NUMBER].store(number + 1, Ordering::Relaxed);
            }
            let account = log.account();
            assert!(account.made[0] >= account.read[0]);
            let _some = drained(&mut log);
        }
    }

    fn fastrand_like(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    #[test]
    fn samples_are_laid_out_as_their_attr_says() {
        let base = SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::RAW;
        let chains = SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
        let mask = perfdata::heap_log::REGISTERS.iter().fold(0, |mask, bit| mask | 1 << bit);
        let allocation = Attr {
            sample_type: base | chains,
            sample_regs_user: mask,
            sample_stack_user: 160,
            ..Attr::default()
        };
        let mut sampler = HeapSampler::default();
        let (record, stack) = (record(AllocatorCall::Allocate, 20), (0..20).collect::<Vec<u64>>());
        let mut periods = 0;
        for _ in 0..1000 {
            let mut out = Vec::new();
            let (attr, record, stack) = (&allocation, &record, &stack[..]);
            let sample = HeapSample { attr, id: 9, record, stack, rate: 1000 };
            assert!(sampler.append(sample, &mut out));
            assert_eq!(out.len() % 8, 0);
            let layout = SampleLayout::new(&allocation, NATIVE_ORDER).unwrap();
            let sample = layout.decode(Misc(0x4002), &out[RecordHeader::SIZE..]).unwrap();
            assert_eq!((sample.ip, sample.addr), (Some(1), Some(0x7000)));
            let change = HeapChange::decode(sample.raw.unwrap()).unwrap();
            assert_eq!((change.size, change.call), (100, Some(AllocatorCall::Allocate)));
            periods += sample.period.unwrap();
        }
        // A block of 100 bytes, at one sample each 1000.
        let right = 1000.0 / (1.0 - (-0.1f64).exp());
        assert!((periods as f64 - right).abs() <= 1.0, "{periods}, {right}");
    }

    #[test]
    fn a_mapping_is_laid_out_as_one() {
        let attr = Attr {
            sample_type: SampleType::IDENTIFIER
                | SampleType::IP
                | SampleType::TID
                | SampleType::TIME
                | SampleType::ADDR
                | SampleType::CPU
                | SampleType::PERIOD
                | SampleType::RAW,
            ..Attr::default()
        };
        let record = record_of(LoggedCall::Mapping(MappingCall::Remap), 0);
        let record = HeapLogRecord { old: 0x5000, began: Time(4096), ..record };
        let mut out = Vec::new();
        let sample = HeapSample { attr: &attr, id: 9, record: &record, stack: &[], rate: 1000 };
        assert!(HeapSampler::default().append(sample, &mut out));
        let layout = SampleLayout::new(&attr, NATIVE_ORDER).unwrap();
        let sample = layout.decode(Misc(0x4002), &out[RecordHeader::SIZE..]).unwrap();
        let change = MappingChange::decode(sample.raw.unwrap()).unwrap();
        let right =
            MappingChange { call: MappingCall::Remap, length: 100, old: 0x5000, old_length: 4096 };
        assert_eq!((sample.addr, sample.period, change), (Some(0x7000), Some(1), right));
    }
}
