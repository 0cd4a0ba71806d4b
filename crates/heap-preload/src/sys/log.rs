//! The memory that the session made, and what is written there.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use perfdata::heap_log::{
    ATTACHED, BEGUN, FRONT, LONGEST, LoggedCall, MADE, NUMBER, RATE, READ, ROOM, SLOT, SLOTS,
    STACK, STOPPED, WAITED, WORDS, slot,
};
use perfdata::{AllocatorCall, Cpu, HeapLogRecord, MappingCall, Pid, Task, Tid, Time};

use super::hooks::Entry;
use super::libc;
use crate::patience;

/// The words; null: there are none.
static LOG: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// 1: it was looked for.
static LOOKED: AtomicU32 = AtomicU32::new(0);
/// 1: its pages were asked for.
static ASKED: AtomicU32 = AtomicU32::new(0);

const PAGE: u64 = 4096;

#[derive(Debug)]
pub(super) struct Told {
    pub(super) call: LoggedCall,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) old: u64,
    /// When it began, of mappings the bytes that they had; None: when it is written.
    pub(super) began: Option<u64>,
}

impl Told {
    pub(super) fn release(block: u64) -> Told {
        let call = LoggedCall::Allocator(AllocatorCall::Release);
        Told { call, address: block, size: 0, old: block, began: None }
    }

    /// Whether something ends with it, and nothing begins: nobody asks who did it.
    fn is_end(&self) -> bool {
        let ends = [
            LoggedCall::Allocator(AllocatorCall::Release),
            LoggedCall::Mapping(MappingCall::Unmap),
        ];
        ends.contains(&self.call)
    }
}

fn words() -> Option<&'static [AtomicU64]> {
    let start = LOG.load(Ordering::Acquire);
    // SAFETY: mapped by `take` for good, as many words; those who write there store words whole,
    // but for copies of stacks, which nobody here reads.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, WORDS) })
}

/// Slots that are used: whoever scribbles there, no more than there are.
fn room(words: &[AtomicU64]) -> usize {
    let room = word(words, ROOM).load(Ordering::Relaxed);
    usize::try_from(room).unwrap_or(SLOTS).clamp(1, SLOTS)
}

/// Has the kernel find all pages that are used, at the first sample: a fault each costs more, and
/// would be the program's. Kernels before 5.14 do not know how.
fn ask_for_pages(words: &[AtomicU64]) {
    if ASKED.load(Ordering::Relaxed) != 0 || ASKED.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let start = words.as_ptr().cast_mut().cast::<c_void>();
    let bytes = (FRONT + room(words) * SLOT) * size_of::<u64>();
    // SAFETY: a part of the mapping; it changes nothing of what is there.
    let _faults_then = unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) };
}

/// Bytes for each sample; None: nothing is sampled.
#[inline]
pub(super) fn rate() -> Option<u64> {
    let words = words()?;
    (word(words, STOPPED).load(Ordering::Relaxed) == 0)
        .then(|| word(words, RATE).load(Ordering::Relaxed))
}

/// Whether there never will be a sample any more.
pub(super) fn is_over() -> bool {
    LOOKED.load(Ordering::Relaxed) != 0
}

/// From now on this is where samples go; None: there are none.
pub(super) fn take(mapped: Option<*mut AtomicU64>) {
    if let Some(start) = mapped {
        LOG.store(start, Ordering::Release);
        if let Some(words) = words() {
            word(words, ATTACHED).fetch_add(1, Ordering::Relaxed);
        }
    }
    LOOKED.store(1, Ordering::Release);
}

/// `index` is one of `perfdata::heap_log`.
fn word(words: &[AtomicU64], index: usize) -> &AtomicU64 {
    words.get(index).unwrap_or(&NOWHERE)
}

static NOWHERE: AtomicU64 = AtomicU64::new(0);

/// CLOCK_MONOTONIC, nanoseconds.
pub(super) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes into `time`.
    let _always_works = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.unsigned_abs())
}

/// What the allocator left there is the caller's to see.
pub(super) fn keeping_errno(act: impl FnOnce()) {
    // SAFETY: takes nothing.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the thread's own.
    let before: c_int = unsafe { place.read() };
    act();
    // SAFETY: as above.
    unsafe { place.write(before) };
}

/// Writes a record, if there is room; it is counted all the same. `whole`: it is not to be counted
/// alone. Whether it was written.
pub(super) fn write(entry: &Entry, told: &Told, whole: bool) -> bool {
    let Some(words) = words() else { return false };
    ask_for_pages(words);
    let is_end = told.is_end();
    word(words, MADE + told.call.event()).fetch_add(1, Ordering::Relaxed);
    let bytes = match is_end {
        true => 0,
        false => word(words, STACK).load(Ordering::Relaxed),
    };
    let most = (LONGEST - 1) * SLOT * size_of::<u64>();
    let bytes = usize::try_from(bytes).unwrap_or(most).min(most) & !7;
    let slots = 1 + bytes.div_ceil(SLOT * size_of::<u64>());
    let number = match whole {
        true => take_slots(words, slots as u64, is_end),
        false => None,
    };
    let Some(number) = number else { return false };
    let stack = copy_stack(words, number, entry.sp(), bytes) / size_of::<u64>();
    let time = now();
    // SAFETY: both take nothing, and always work.
    let pid = unsafe { libc::getpid() };
    // SAFETY: as above.
    let tid = unsafe { libc::gettid() };
    // SAFETY: as above.
    let cpu = unsafe { libc::sched_getcpu() };
    let record = HeapLogRecord {
        time: Time(time),
        task: Task { pid: Pid(pid), tid: Tid(tid) },
        cpu: Cpu(cpu.unsigned_abs()),
        call: told.call,
        slots,
        stack,
        address: told.address,
        size: told.size,
        old: told.old,
        began: Time(told.began.unwrap_or(time)),
        registers: entry.registers,
    };
    let at = slot(number, room(words));
    for (index, value) in record.encode().into_iter().enumerate().skip(NUMBER + 1) {
        word(words, at + index).store(value, Ordering::Relaxed);
    }
    word(words, at + NUMBER).store(number.wrapping_add(1), Ordering::Release);
    true
}

/// The number of the first of so many slots that nobody else writes: what begins leaves the last
/// ones to what ends. Where every block is told a call waits for room, as long as somebody reads.
fn take_slots(words: &[AtomicU64], slots: u64, is_end: bool) -> Option<u64> {
    let room = room(words);
    let most = if is_end { room } else { room - room / 8 } as u64;
    let has_room = |begun: u64| {
        let read = word(words, READ).load(Ordering::Acquire);
        let used = begun.wrapping_sub(read).checked_add(slots)?;
        (used <= most).then(|| begun.wrapping_add(slots))
    };
    let take =
        || word(words, BEGUN).fetch_update(Ordering::AcqRel, Ordering::Relaxed, has_room).ok();
    if let Some(number) = take() {
        return Some(number);
    }
    let may_wait = || {
        let read = word(words, READ).load(Ordering::Relaxed);
        patience::lasts(word(words, WAITED), read, now() / 1_000_000)
    };
    while rate()? <= 1 && may_wait() {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let none: *mut libc::timespec = ptr::null_mut();
        // SAFETY: reads `pause`; it may end early. Not nanosleep(3), where a thread may be
        // cancelled: malloc(3) is no such place.
        let _early = unsafe { libc::syscall(libc::SYS_nanosleep, &raw const pause, none) };
        if let Some(number) = take() {
            return Some(number);
        }
    }
    None
}

/// Copies the stack from `sp` up, as much of `bytes` as there is: how much, a multiple of 8.
fn copy_stack(words: &[AtomicU64], number: u64, sp: u64, bytes: usize) -> usize {
    // In pages: what is not there costs no more than itself.
    const PARTS: usize = LONGEST * SLOT * size_of::<u64>() / 4096 + 2;
    let mut remote = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; PARTS];
    let (mut parts, mut at, mut left) = (0, sp, bytes as u64);
    for part in &mut remote {
        let length = (PAGE - at % PAGE).min(left);
        if length == 0 {
            break;
        }
        *part = iovec(at, length);
        at = at.wrapping_add(length);
        left -= length;
        parts += 1;
    }
    if parts == 0 {
        return 0;
    }
    // Behind the first slot, and where the last one ends at the first.
    let room = room(words);
    let first = slot(number.wrapping_add(1), room);
    let end = slot(0, room) + room * SLOT;
    let before = (end.saturating_sub(first) * size_of::<u64>()).min(bytes);
    let address = |word: usize| words.as_ptr().wrapping_add(word).addr() as u64;
    let local =
        [iovec(address(first), before as u64), iovec(address(FRONT), (bytes - before) as u64)];
    // SAFETY: takes nothing and cannot fail.
    let pid = unsafe { libc::getpid() };
    // SAFETY: writes the slots that `number` gave to this call; reads what is there, and gives less
    // where nothing is.
    let copied =
        unsafe { libc::process_vm_readv(pid, local.as_ptr(), 2, remote.as_ptr(), parts, 0) };
    usize::try_from(copied).unwrap_or(0).min(bytes) & !7
}

fn iovec(at: u64, length: u64) -> libc::iovec {
    let base = usize::try_from(at).unwrap_or(0);
    libc::iovec {
        iov_base: ptr::with_exposed_provenance_mut::<c_void>(base),
        iov_len: usize::try_from(length).unwrap_or(0),
    }
}
