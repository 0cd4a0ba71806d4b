//! Calls of allocators: what was asked for is noted where a function is entered,
//! what came of it told where it returns. Of functions that call each other the
//! innermost counts, whose return is awaited last.

use core::sync::atomic::Ordering;

use super::count::{count_events, next_periods};
pub use super::heap_call::HEAD;
use super::heap_call::{FRESH, HeapCall};
use super::ring::{Ring, TIME};
use super::stack::MemoryReader;
use super::thread::{PendingRecords, ThreadContext};
use crate::block::{AccessKind, AccessSite};
use crate::model::Events;

/// Words of RAW behind the first.
pub const WORDS: u64 = 3;
/// A call, by its number as `perfdata::AllocatorCall` has it.
pub const ALLOCATE: u64 = 1;
pub const ALLOCATE_SECOND: u64 = 2;
pub const ALLOCATE_ITEMS: u64 = 3;
pub const REALLOCATE: u64 = 4;
pub const REALLOCATE_ITEMS: u64 = 5;
pub const ALLOCATE_INTO: u64 = 6;
pub const RELEASE: u64 = 7;
pub const REALLOCATE_FOURTH: u64 = 8;

/// Numbers of registers in REGISTERS.
const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSP: usize = 4;
const RSI: usize = 6;
const RDI: usize = 7;

/// Whether a site is where an allocator's function begins or returns.
#[inline(always)]
pub(super) fn is_call(site: &AccessSite) -> bool {
    site.kind >= AccessKind::AllocatorEntry as u8
}

/// Takes in that a thread has come to such a site; its records are due then, as
/// those of an access are. Asked again it does nothing.
pub(super) fn settle(
    context: &mut ThreadContext<'_>,
    site: &AccessSite,
    ring: &Ring<'_>,
    memory: &impl MemoryReader,
) {
    if context.thread.heap.call & FRESH == 0 {
        return;
    }
    context.thread.heap.call ^= FRESH;
    if site.kind == AccessKind::AllocatorEntry as u8 {
        enter(context, u64::from(site.elements), ring);
    } else {
        leave(context, memory);
    }
}

fn register(context: &ThreadContext<'_>, number: usize) -> u64 {
    context.thread.registers.get(number).copied().unwrap_or(0)
}

fn enter(context: &mut ThreadContext<'_>, call: u64, ring: &Ring<'_>) {
    let of = |number| register(context, number);
    let [first, second, third] = [of(RDI), of(RSI), of(RDX)];
    let began = ring.word(TIME).map_or(0, |time| time.load(Ordering::Relaxed));
    let size = match call {
        ALLOCATE => first,
        ALLOCATE_SECOND | REALLOCATE => second,
        ALLOCATE_ITEMS => first.wrapping_mul(second),
        REALLOCATE_ITEMS => second.wrapping_mul(third),
        ALLOCATE_INTO => third,
        REALLOCATE_FOURTH => of(RCX),
        _ => 0,
    };
    let old = match call {
        ALLOCATE | ALLOCATE_SECOND | ALLOCATE_ITEMS => 0,
        _ => first,
    };
    let top = of(RSP);
    // Functions that give a block back call each other with it.
    let before = context.thread.heap;
    let again = before.call == RELEASE && before.old == first && context.thread.awaited != 0;
    context.thread.awaited = top.wrapping_neg();
    context.thread.heap = HeapCall { call, size, old, began };
    if call == RELEASE && first != 0 && !again {
        count_heap_event(context, Events::RELEASE, first);
    }
}

fn leave(context: &mut ThreadContext<'_>, memory: &impl MemoryReader) {
    context.thread.awaited = 0;
    let HeapCall { call, size, old, .. } = context.thread.heap;
    let given = register(context, RAX);
    match call {
        RELEASE => {}
        ALLOCATE_INTO => {
            context.thread.heap.old = 0;
            // It returns an int, of which 0 is success.
            let address = if given & 0xffff_ffff == 0 { written(context, old, memory) } else { 0 };
            allocated(context, address);
        }
        _ if given == 0 && old != 0 && size == 0 => count_heap_event(context, Events::RELEASE, old),
        _ => allocated(context, given),
    }
}

/// A block is there; at 0 there is none.
fn allocated(context: &mut ThreadContext<'_>, address: u64) {
    if address != 0 {
        count_heap_event(context, Events::ALLOCATION, address);
    }
}

/// The address that a function wrote into the program's memory; 0: it cannot be
/// read, as a filter may end who makes a call that it does not know.
fn written(context: &mut ThreadContext<'_>, into: u64, memory: &impl MemoryReader) -> u64 {
    let index = usize::try_from(context.thread.runtime.index).unwrap_or(usize::MAX);
    if context.header.run_token().wait_slot(index).is_filtered() {
        return 0;
    }
    // No instruction is under way that has vectors there.
    let at = core::ptr::from_mut(&mut context.thread.vectors).expose_provenance();
    let copied = memory.copy(into, [[u64::try_from(at).unwrap_or(0), 8], [0, 0]]);
    let word = context.thread.vectors.as_flattened().first().copied().unwrap_or(0);
    if copied == 8 { word } else { 0 }
}

fn count_heap_event(context: &mut ThreadContext<'_>, event: Events, address: u64) {
    let due = count_events(context, event);
    next_periods(context, due);
    if due != 0 {
        context.thread.runtime.pending =
            PendingRecords { due, address, ..PendingRecords::default() };
    }
}
