//! What programs that run natively tell of their heap: words of memory that the session makes and
//! the preloaded library (`heap-preload/`) maps.
//!
//! | word | what |
//! |---|---|
//! | 0 | [`MAGIC`] |
//! | 1 | [`RATE`]: a sample each so many bytes on average; 1: every block |
//! | 2 | [`STACK`]: bytes of the stack that are copied at most |
//! | 3 | [`ROOM`]: slots that are used |
//! | 8 | [`STOPPED`]: 1: nothing is told any more |
//! | 16 | [`BEGUN`]: slots that were taken |
//! | 24 | [`READ`]: slots that may be taken again |
//! | 32 | [`MADE`]: allocations that were sampled, with or without room; 33: releases; 34: calls about mappings |
//! | 40 | [`ATTACHED`]: programs that the library was loaded into |
//! | 48 | [`WAITED`]: at which READ programs began to wait for room, and when |
//! | 64 on | [`SLOTS`] slots of [`SLOT`] words, of which the first [`ROOM`] are used |
//!
//! Allocations leave an eighth of the slots to releases: what is not known to be gone would
//! be taken for what comes to its place.
//!
//! A record is one slot, and as many behind it as its copy of the stack takes; past the last slot that is used
//! comes the first. Everything in it is the program's to scribble over: nobody may believe it.

use crate::{AllocatorCall, Cpu, MappingCall, Pid, Task, Tid, Time};

/// The variable of the environment that names the memory: a path.
pub const VARIABLE: &str = "HARDMETER_HEAP";
/// "HMHEAP4\0": in those before it each process waits by itself.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HMHEAP4\0");
/// Bytes for each sample.
pub const RATE: usize = 1;
/// Bytes of the stack.
pub const STACK: usize = 2;
/// Slots that are used, from the first on.
pub const ROOM: usize = 3;
/// Whether it is over.
pub const STOPPED: usize = 8;
/// Slots taken.
pub const BEGUN: usize = 16;
/// Slots read.
pub const READ: usize = 24;
/// Records made: of allocations, in the next word of releases, behind that of mappings.
pub const MADE: usize = 32;
/// Programs that write.
pub const ATTACHED: usize = 40;
/// The wait for room that programs share: READ plus 1, modulo 2^32, in the upper half; the
/// milliseconds of CLOCK_MONOTONIC when it began, modulo 2^32, in the lower one.
pub const WAITED: usize = 48;
/// Words before the first slot.
pub const FRONT: usize = 64;
/// Words of a slot.
pub const SLOT: usize = 16;
/// Slots: 64 MiB of them; a power of two.
pub const SLOTS: usize = 1 << 19;
/// Slots that are used where some blocks alone are told: 8 MiB, that they lie in a cache.
pub const FEW_SLOTS: usize = 1 << 16;
/// All words.
pub const WORDS: usize = FRONT + SLOTS * SLOT;
/// Slots of the longest record.
pub const LONGEST: usize = 512;
/// Registers of a record, as `asm/perf_regs.h` numbers them: ip, sp, bp, bx, r12 to r15.
pub const REGISTERS: [u32; 8] = [8, 7, 6, 1, 20, 21, 22, 23];

/// Word of a record that holds its number, its first slot's plus 1, written last.
pub const NUMBER: usize = 0;

/// What a program called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedCall {
    /// A function of an allocator.
    Allocator(AllocatorCall),
    /// One of those of mmap(2).
    Mapping(MappingCall),
}

impl LoggedCall {
    pub fn number(self) -> u8 {
        match self {
            LoggedCall::Allocator(call) => call as u8,
            LoggedCall::Mapping(call) => call as u8,
        }
    }

    pub fn of_number(number: u8) -> Option<LoggedCall> {
        let allocator = AllocatorCall::of_number(number).map(LoggedCall::Allocator);
        allocator.or_else(|| MappingCall::of_number(number).map(LoggedCall::Mapping))
    }

    /// Which of the three events tells of it: 0 allocations, 1 releases, 2 mappings.
    pub fn event(self) -> usize {
        match self {
            LoggedCall::Allocator(call) => usize::from(call == AllocatorCall::Release),
            LoggedCall::Mapping(_) => 2,
        }
    }
}

/// The first slot of a record, but for its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapLogRecord {
    /// When, CLOCK_MONOTONIC.
    pub time: Time,
    pub task: Task,
    pub cpu: Cpu,
    pub call: LoggedCall,
    /// Slots of it, from 1 to [`LONGEST`].
    pub slots: usize,
    /// Words of the stack, from sp up, in the slots behind the first.
    pub stack: usize,
    /// The block, or the range.
    pub address: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// The block that it was before, or that is given back; where a range was before; 0: none.
    pub old: u64,
    /// When the call began; of a mapping the bytes that it had before, instead of nanoseconds.
    pub began: Time,
    /// Of [`REGISTERS`].
    pub registers: [u64; 8],
}

impl HeapLogRecord {
    /// The words of the first slot; the number is left 0.
    pub fn encode(&self) -> [u64; SLOT] {
        let half = |number: i32| u64::from(number.cast_unsigned());
        let what = u64::from(self.call.number())
            | (self.slots as u64 & 0x3ff) << 8
            | (self.stack as u64 & 0x3fff) << 18
            | u64::from(self.cpu.0) << 32;
        let [ip, sp, bp, bx, r12, r13, r14, r15] = self.registers;
        [
            0,
            self.time.0,
            half(self.task.pid.0) << 32 | half(self.task.tid.0),
            what,
            self.address,
            self.size,
            self.old,
            self.began.0,
            ip,
            sp,
            bp,
            bx,
            r12,
            r13,
            r14,
            r15,
        ]
    }

    /// None: no record's words.
    pub fn decode(words: &[u64; SLOT]) -> Option<HeapLogRecord> {
        let [_, time, task, what, address, size, old, began, registers @ ..] = *words;
        let low = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0);
        let slots = usize::try_from(what >> 8 & 0x3ff).ok()?;
        let stack = usize::try_from(what >> 18 & 0x3fff).ok()?;
        let record = HeapLogRecord {
            time: Time(time),
            task: Task {
                pid: Pid(low(task >> 32).cast_signed()),
                tid: Tid(low(task).cast_signed()),
            },
            cpu: Cpu(low(what >> 32)),
            call: LoggedCall::of_number(u8::try_from(what & 0xff).ok()?)?,
            slots,
            stack,
            address,
            size,
            old,
            began: Time(began),
            registers,
        };
        let has_room = stack <= slots.saturating_sub(1) * SLOT;
        ((1..=LONGEST).contains(&slots) && has_room).then_some(record)
    }
}

/// How many slots are used where each `rate` bytes, on average, one is told.
pub fn room(rate: u64) -> usize {
    if rate < 1 << 14 { SLOTS } else { FEW_SLOTS }
}

/// Where a slot begins, by its number from 0 on, of so many that are used.
pub fn slot(number: u64, room: usize) -> usize {
    let room = room.clamp(1, SLOTS);
    let index = usize::try_from(number % room as u64).unwrap_or(0);
    FRONT + index * SLOT
}

/// How many blocks a sampled one of `size` bytes stands for. Those of `rate` bytes and more are all
/// sampled; the chance of one that is smaller is `1 - exp(-size/rate)`.
pub fn weight(size: u64, rate: u64) -> f64 {
    if size >= rate {
        return 1.0;
    }
    // As doubles: nobody tells sizes above 2^53 apart.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    let share = size.max(1) as f64 / rate as f64;
    -1.0 / (-share).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBERS: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19];

    proptest! {
        #[test]
        fn what_was_written_is_read(
            numbers in any::<[u64; 5]>(),
            registers in any::<[u64; 8]>(),
            [pid, tid] in any::<[i32; 2]>(),
            cpu in any::<u32>(),
            number in prop::sample::select(NUMBERS.to_vec()),
            slots in 1..=LONGEST,
        ) {
            let stack = (slots - 1) * SLOT;
            let call = LoggedCall::of_number(number).unwrap();
            let [time, address, size, old, began] = numbers;
            let (time, began) = (Time(time), Time(began));
            let task = Task { pid: Pid(pid), tid: Tid(tid) };
            let cpu = Cpu(cpu);
            let record = HeapLogRecord {
                time, task, cpu, call, slots, stack, address, size, old, began, registers,
            };
            prop_assert_eq!(HeapLogRecord::decode(&record.encode()), Some(record));
        }

        #[test]
        fn any_words_are_a_record_or_none(words in any::<[u64; 16]>()) {
            if let Some(record) = HeapLogRecord::decode(&words) {
                prop_assert!(record.slots <= LONGEST);
            }
        }
    }

    #[test]
    fn each_call_has_its_number_and_event() {
        let known: Vec<u8> =
            (0..=u8::MAX).filter(|number| LoggedCall::of_number(*number).is_some()).collect();
        assert_eq!(known, NUMBERS);
        for number in NUMBERS {
            let call = LoggedCall::of_number(number).unwrap();
            assert_eq!(call.number(), number);
            let event = if number > 8 { 2 } else { usize::from(number == 7) };
            assert_eq!(call.event(), event);
        }
    }

    #[test]
    fn a_weight_is_one_over_the_chance() {
        assert!((weight(1, 1) - 1.0).abs() < 1e-12);
        assert!((weight(512 << 10, 512 << 10) - 1.0).abs() < 1e-12);
        assert!((weight((512 << 10) - 1, 512 << 10) - 1.581_976).abs() < 1e-5);
        assert!((weight(1, 512 << 10) / 524_288.5 - 1.0).abs() < 1e-5);
        assert!((weight(u64::MAX, 512 << 10) - 1.0).abs() < 1e-12);
        assert!(weight(0, 2).is_finite());
    }
}
