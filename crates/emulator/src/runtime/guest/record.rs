//! Writes a sample as the kernel would.

use core::sync::atomic::Ordering;

use super::RuntimeAction;
use super::adapted_mean::AdaptedMean;
use super::header::{HEAP, Header, SampleFormat};
use super::heap;
use super::ring::{LIMIT, Ring, SAMPLES};
use super::run_token::WaitSlot;
use super::stack::{self, MemoryReader};
use super::thread::Thread;
use crate::block::{AccessKind, AccessSite, EVENTS, ExitReason, NARROW};

/// PERF_RECORD_SAMPLE with the mode and the flag of an exact address.
const SAMPLE: u64 = 9;
const USER_EXACT: u64 = 2 | 1 << 14;
/// Selectors of 64-bit user code and its stack.
const CODE: u64 = 0x33;
const STACK: u64 = 0x2b;
/// Number in REGISTERS of perf's registers 0 to 7 (ax bx cx dx si di bp sp).
const ORDER: [usize; 8] = [0, 3, 1, 2, 6, 7, 5, 4];
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI: u64 = 2;
/// DF among the flags.
const DIRECTION: u64 = 1 << 10;

/// One field of `sample_type`, in the order in which the kernel writes them.
const IDENTIFIER: u64 = 1 << 16;
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const ID: u64 = 1 << 6;
const STREAM_ID: u64 = 1 << 9;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
/// Callers that somebody found: none, readers unwind the stack.
const CALLCHAIN: u64 = 1 << 5;
/// Why the event's level missed: see `raw`.
pub const RAW: u64 = 1 << 10;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
const WEIGHT: u64 = 1 << 14;
const DATA_SRC: u64 = 1 << 15;
const REGS_INTR: u64 = 1 << 18;
const WEIGHT_STRUCT: u64 = 1 << 24;

/// Fields that the writer knows.
pub const FIELDS: u64 = IDENTIFIER
    | IP
    | TID
    | TIME
    | ADDR
    | ID
    | STREAM_ID
    | CPU
    | PERIOD
    | CALLCHAIN
    | RAW
    | REGS_USER
    | STACK_USER
    | WEIGHT
    | DATA_SRC
    | REGS_INTR
    | WEIGHT_STRUCT;
/// Registers that it knows: no segments of data.
pub const REGISTERS: u64 = 0xff_0fff;

pub(super) struct RecordWriter<'a> {
    pub(super) ring: &'a Ring<'a>,
    pub(super) at: u64,
}

impl RecordWriter<'_> {
    #[inline(always)]
    pub(super) fn put(&mut self, word: u64) {
        self.ring.put(self.at, word);
        self.at += 8;
    }

    #[inline(always)]
    fn registers(&mut self, thread: &Thread, site: &AccessSite, mask: u64) {
        self.put(ABI);
        let of = |number| register(thread, site, number);
        let mut left = mask & REGISTERS;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let place = usize::try_from(bit).unwrap_or(0);
            self.put(match bit {
                0..8 => of(ORDER.get(place).copied().unwrap_or(0)),
                8 => site.ip,
                // Not TF: it is the tracer's, when it steps.
                9 => thread.flags & !0x100,
                10 => CODE,
                11 => STACK,
                _ => of(place.wrapping_sub(8)),
            });
        }
    }
}

/// A general register as the record shows it: a string instruction's are
/// what they are before the element.
fn register(thread: &Thread, site: &AccessSite, number: usize) -> u64 {
    let value = thread.registers.get(number).copied().unwrap_or(0);
    let elements = thread.runtime.pending.elements;
    if elements == 0 {
        return value;
    }
    let bytes = elements.wrapping_mul(u64::from(site.size));
    let moved = if thread.flags & DIRECTION == 0 { bytes } else { bytes.wrapping_neg() };
    let reads = site.kind == AccessKind::Move as u8 || site.kind == AccessKind::Scan as u8;
    let writes = site.kind == AccessKind::Move as u8 || site.kind == AccessKind::Fill as u8;
    let now = match number {
        1 => value.wrapping_sub(elements),
        6 if reads => value.wrapping_add(moved),
        7 if writes => value.wrapping_add(moved),
        _ => return value,
    };
    if site.marks & NARROW == 0 { now } else { now & 0xffff_ffff }
}

#[inline(always)]
pub(super) fn record(
    thread: &mut Thread,
    header: &Header,
    site: &AccessSite,
    ring: &Ring<'_>,
    memory: &impl MemoryReader,
) -> RuntimeAction {
    while thread.runtime.pending.due != 0 {
        let next = record_of_one(thread, header, site, ring, memory);
        if next != RuntimeAction::Resume {
            return next;
        }
    }
    RuntimeAction::Resume
}

#[inline(always)]
fn record_of_one(
    thread: &mut Thread,
    header: &Header,
    site: &AccessSite,
    ring: &Ring<'_>,
    memory: &impl MemoryReader,
) -> RuntimeAction {
    let pending = thread.runtime.pending;
    let place = usize::try_from(pending.due.trailing_zeros()).unwrap_or(EVENTS);
    let (Some(samples), Some(limit), Some(format), Some(counters)) = (
        ring.word(SAMPLES),
        ring.word(LIMIT),
        header.formats.get(place),
        thread.runtime.counters.get(place).copied(),
    ) else {
        thread.runtime.pending.due = 0;
        return RuntimeAction::Resume;
    };
    ring.lock(thread.runtime.task >> 32);
    let limit = limit.load(Ordering::Relaxed);
    let written = samples.load(Ordering::Relaxed);
    if written >= limit {
        ring.unlock();
        leave_out(thread);
        return stop(thread, ExitReason::Count);
    }
    let index = usize::try_from(thread.runtime.index).unwrap_or(usize::MAX);
    if !has_room(ring, header.run_token().wait_slot(index), format.size) {
        ring.unlock();
        return stop(thread, ExitReason::RingFull);
    }
    let time = now(thread, ring);
    let mut words = RecordWriter { ring, at: 0 };
    words.put(SAMPLE | USER_EXACT << 32 | format.size << 48);
    for (field, word) in [
        (IDENTIFIER, format.id),
        (IP, site.ip),
        (TID, thread.runtime.task),
        (TIME, time),
        (ADDR, pending.address),
        (ID, format.id),
        (STREAM_ID, format.id),
        (CPU, 0),
        (PERIOD, counters.ended),
        (CALLCHAIN, 0),
        (RAW, raw(format.reported_level, thread, pending.causes)),
    ] {
        if format.fields & field != 0 {
            words.put(word);
        }
    }
    if format.fields & RAW != 0 && format.reported_level == HEAP {
        thread.heap.words().into_iter().for_each(|word| words.put(word));
    }
    if format.fields & REGS_USER != 0 {
        words.registers(thread, site, format.user);
    }
    if format.fields & STACK_USER != 0 {
        // A filter may end who makes a call that it does not know.
        let filtered = header.run_token().wait_slot(index).is_filtered();
        let top = thread.registers.get(4).copied().filter(|_| !filtered).unwrap_or(0);
        words.at += stack::put(ring, format, words.at, top, memory);
    }
    if format.fields & (WEIGHT | WEIGHT_STRUCT) != 0 {
        words.put(pending.latency);
    }
    if format.fields & DATA_SRC != 0 {
        words.put(pending.source);
    }
    if format.fields & REGS_INTR != 0 {
        words.registers(thread, site, format.interrupted);
    }
    ring.publish(words.at);
    samples.store(written + 1, Ordering::Relaxed);
    adapt(thread, header, ring, place, time);
    // While nobody else may end the thread's books: it is not due any more, and
    // no loss.
    thread.runtime.pending.due &= pending.due.wrapping_sub(1);
    if let Some(counters) = thread.runtime.counters.get_mut(place) {
        counters.records += 1;
    }
    ring.unlock();
    if written + 1 >= limit {
        leave_out(thread);
        return stop(thread, ExitReason::Count);
    }
    RuntimeAction::Resume
}

/// Gives the period that has just begun the mean of the session. For the ring lock's holder.
#[inline(always)]
fn adapt(thread: &mut Thread, header: &Header, ring: &Ring<'_>, place: usize, now: u64) {
    let is_adapted = header.periods.get(place).is_some_and(|rule| rule.adapted != 0);
    let (true, Some(mean)) = (is_adapted, AdaptedMean::of(ring, place)) else { return };
    let mean = mean.after_record(now);
    let (counters, countdown) = (&mut thread.runtime.counters, &mut thread.countdowns);
    if let (Some(counters), Some(countdown)) = (counters.get_mut(place), countdown.get_mut(place))
        && counters.period.adapt(mean)
    {
        *countdown = counters.period.events;
    }
}

/// The word of RAW: a size of 4 bytes, and these: `3`, `C`, the level, why it
/// missed. Of the heap it is the first of several.
fn raw(level: u64, thread: &Thread, causes: u64) -> u64 {
    if level == HEAP {
        return thread.heap.head();
    }
    let cause = causes >> (level.saturating_sub(1).wrapping_mul(4) & 63) & 15;
    4 | 0x4333 << 32 | level << 48 | cause << 56
}

/// Whether so many bytes fit; else others are told of a thread that waits for
/// them. For the lock's holder.
#[inline(always)]
pub(super) fn has_room(ring: &Ring<'_>, wait_slot: WaitSlot<'_>, size: u64) -> bool {
    let fits = ring.fits(size);
    wait_slot.waits_for_room(!fits);
    fits
}

/// The session's clock, moved on by what the thread has done since its last
/// record: later than that of any other. For the lock's holder.
#[inline(always)]
pub(super) fn now(thread: &mut Thread, ring: &Ring<'_>) -> u64 {
    let passed =
        thread.clock.wrapping_sub(thread.runtime.recorded).wrapping_add(thread.runtime.waited);
    thread.runtime.recorded = thread.clock;
    thread.runtime.waited = 0;
    // Two cycles a nanosecond; an access that hits takes one.
    ring.advance((passed >> 1).max(1))
}

/// Books what is due as beyond the count that was asked for.
#[cold]
fn leave_out(thread: &mut Thread) {
    let due = core::mem::take(&mut thread.runtime.pending.due);
    for (place, counters) in thread.runtime.counters.iter_mut().enumerate() {
        counters.beyond = counters.beyond.wrapping_add(due >> place & 1);
    }
}

#[cold]
pub(super) fn stop(thread: &mut Thread, why: ExitReason) -> RuntimeAction {
    thread.exit = why as u64;
    RuntimeAction::Stop
}

/// Bytes of a record, its header counted.
pub fn size(format: &SampleFormat) -> u64 {
    let words = (format.fields & !(REGS_USER | STACK_USER | REGS_INTR)).count_ones();
    let registers = |field, mask: u64| match format.fields & field {
        0 => 0,
        _ => 1 + mask.count_ones(),
    };
    let tail = registers(REGS_USER, format.user) + registers(REGS_INTR, format.interrupted);
    let copy = if format.fields & STACK_USER == 0 { 0 } else { stack::size(format.stack) };
    let heap =
        if format.fields & RAW != 0 && format.reported_level == HEAP { heap::WORDS } else { 0 };
    8 * (u64::from(1 + words + tail) + heap) + copy
}
