//! From addresses to types, and the entries of the image.

use core::slice;

use super::header::Header;
use super::ring::{PAGE, Ring};
use super::slow_path::{self, Memory};
use super::thread::Thread;
use super::{branches, record as writer};
use crate::block::{SIZE, Site};

/// The slow path of the access that SITE and ADDRESS tell: looks it up in
/// the model, fills the tables. Returns a [`Next`](super::Next).
///
/// # Safety
/// `block` is a thread's block made by `Setup`, with the model's words of the
/// thread behind it, its site and space are mapped, and its thread is here.
pub unsafe extern "C" fn access(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise; only this thread's own code works on it,
    // and others only under the lock.
    let thread = unsafe { &mut *block.cast::<Thread>() };
    // SAFETY: SPACE is a space's header while the thread lives.
    let header = unsafe { &*(thread.space as *const Header) };
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(thread.site as *const Site) };
    let length = usize::try_from(header.shape.private_words).unwrap_or(0);
    // SAFETY: the words lie behind the block.
    let words = unsafe { block.add(SIZE) }.cast::<u64>();
    // SAFETY: as many as `Setup` made room for.
    let words = unsafe { slice::from_raw_parts_mut(words, length) };
    slow_path::access(Memory { thread, words, header }, site) as u64
}

/// Writes the record that `access` found due. Returns a
/// [`Next`](super::Next).
///
/// # Safety
/// As for [`access`], and all registers are in REGISTERS.
pub unsafe extern "C" fn record(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let thread = unsafe { &mut *block.cast::<Thread>() };
    // SAFETY: SPACE is a space's header while the thread lives.
    let header = unsafe { &*(thread.space as *const Header) };
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(thread.site as *const Site) };
    let length = usize::try_from(header.ring_bytes).unwrap_or(0) + PAGE;
    // SAFETY: the ring is mapped there as long as the space is.
    let words = unsafe { slice::from_raw_parts(header.ring as *const _, length / 8) };
    let Some(ring) = Ring::new(words) else { return super::Next::Resume as u64 };
    writer::record(thread, header, site, &ring) as u64
}

/// Finds in the full table where BRANCH leads and puts it into BRANCHES; 0:
/// it is not known.
///
/// # Safety
/// As for [`access`], SITE aside.
pub unsafe extern "C" fn lookup(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let thread = unsafe { &mut *block.cast::<Thread>() };
    // SAFETY: SPACE is a space's header while the thread lives.
    let header = unsafe { &*(thread.space as *const Header) };
    let target = thread.branch;
    let Some(entry) = branches::find(&header.branches, target) else { return 0 };
    let at = usize::from(u16::try_from(target & 0xffff).unwrap_or(0));
    if let Some(place) = thread.branches.get_mut(at) {
        *place = entry;
    }
    entry
}
