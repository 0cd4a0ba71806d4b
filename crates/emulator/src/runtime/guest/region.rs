//! Writes a mark of a region, as `perfdata::region` has it: an EVENT_UPDATE.

use super::RuntimeAction;
use super::header::Header;
use super::record::{RecordWriter, has_room, now, stop};
use super::ring::Ring;
use super::stack::MemoryReader;
use super::thread::Thread;
use crate::block::{AccessKind, AccessSite, ExitReason, NAME};

/// Of a thread: a mark is due, until it is written.
pub const DUE: u64 = 1;
/// What its name is at has been read for it.
pub const READ: u64 = 2;

/// PERF_RECORD_EVENT_UPDATE, and the unit of an event.
const UPDATE: u64 = 78;
const UNIT: u64 = 0;
/// What says that it is a mark.
const TEXT: [u64; 2] = [u64::from_le_bytes(*b"region=1"), 0];
const BEGIN: u64 = 1;
const END: u64 = 2;
/// Bytes of a mark without its name.
const FIXED: u64 = 8 * 8;
/// Bytes of the longest name.
const MAX_NAME: u64 = NAME as u64 - 1;
/// Number of rdi in REGISTERS, which has the address of the name.
pub const RDI: usize = 7;

#[inline(always)]
pub(super) fn is_mark(site: &AccessSite) -> bool {
    site.kind == AccessKind::RegionBegin as u8 || site.kind == AccessKind::RegionEnd as u8
}

/// Writes the mark that a site stands for. A name that cannot be read up to its
/// end, and a begin without one, are nothing.
pub(super) fn mark(
    thread: &mut Thread,
    header: &Header,
    site: &AccessSite,
    ring: &Ring<'_>,
    memory: &impl MemoryReader,
) -> RuntimeAction {
    let begins = site.kind == AccessKind::RegionBegin as u8;
    let wait_slot =
        header.run_token().wait_slot(usize::try_from(thread.runtime.index).unwrap_or(usize::MAX));
    let address = thread.registers.get(RDI).copied().unwrap_or(0);
    let is_read = thread.runtime.region & READ != 0;
    thread.runtime.region |= DUE;
    let length = if address == 0 {
        0
    } else {
        if !is_read && wait_slot.is_filtered() {
            return stop(thread, ExitReason::Name);
        }
        if !is_read {
            // No instruction is under way that has vectors there.
            let at = core::ptr::from_mut(&mut thread.vectors).expose_provenance();
            let place = [u64::try_from(at).unwrap_or(0), NAME as u64];
            thread.exit_argument = memory.copy(address, [place, [0, 0]]);
        }
        length(thread).unwrap_or(u64::MAX)
    };
    if length > MAX_NAME || (length == 0 && begins) {
        thread.runtime.region = 0;
        return RuntimeAction::Resume;
    }
    let size = FIXED + length.next_multiple_of(8);
    ring.lock(thread.runtime.task >> 32);
    if !has_room(ring, wait_slot, size) {
        ring.unlock();
        return stop(thread, ExitReason::RingFull);
    }
    let time = now(thread, ring);
    let side = if begins { BEGIN } else { END };
    let id = header.formats.first().map_or(0, |format| format.id);
    let mut words = RecordWriter { ring, at: 0 };
    let [text, rest] = TEXT;
    let head = [UPDATE | size << 48, UNIT, id, text, rest];
    for word in head.into_iter().chain([time, thread.runtime.task, side | length << 32]) {
        words.put(word);
    }
    let mut left = length;
    for word in thread.vectors.as_flattened() {
        if left == 0 {
            break;
        }
        let bytes = left.min(8);
        words.put(word & u64::MAX >> (64 - 8 * bytes));
        left -= bytes;
    }
    ring.publish(words.at);
    // While nobody else may end the thread's books.
    thread.runtime.region = 0;
    ring.unlock();
    RuntimeAction::Resume
}

/// Bytes of the name that was read, up to its NUL or the longest; None: what can
/// be read ends before.
fn length(thread: &Thread) -> Option<u64> {
    let there = thread.exit_argument.min(NAME as u64);
    let bytes = thread.vectors.as_flattened().iter().flat_map(|word| word.to_le_bytes());
    let end = (0..there).zip(bytes).find(|(_, byte)| *byte == 0);
    end.map(|(at, _)| at).or_else(|| (there == NAME as u64).then_some(MAX_NAME))
}
