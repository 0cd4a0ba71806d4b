//! What the program maps itself: each call is told, whatever the rate, with the calls that led to it.
//! Those of the C library's own, for threads' stacks and its allocator, do not come here.

use std::ffi::{c_int, c_void};

use perfdata::MappingChange;
use perfdata::heap_log::LoggedCall;

use super::hooks::{Entry, LongEntry};
use super::log::{self, Told};
use super::slow::Inside;
use super::{libc, real};

const PAGE: u64 = 4096;
/// No address of user space is beyond, with page tables of five levels.
const END_OF_USER: u64 = 1 << 56;

/// Whether it is to be told: not what we call, or is called by whom we call.
fn is_told(inside: Option<&Inside>) -> bool {
    inside.is_some() && log::rate().is_some()
}

fn told(address: u64, change: MappingChange) -> Told {
    let MappingChange { call, length: size, old, old_length } = change;
    Told { call: LoggedCall::Mapping(call), address, size, old, began: Some(old_length) }
}

/// Tells of it; where there is no room for that, of the end of what was there: what is not known is
/// to be of nobody. Ends have room left for them.
fn tell(entry: &Entry, address: u64, change: MappingChange) {
    if log::write(entry, &told(address, change), true) {
        return;
    }
    let tell_end = |at: u64, bytes: u64| {
        log::write(entry, &told(at, MappingChange::unmapped(bytes)), true);
    };
    if change.old != 0 {
        tell_end(change.old, change.old_length);
    }
    tell_end(address, change.length);
}

pub(super) extern "C" fn mmap(of: &LongEntry) -> *mut c_void {
    let LongEntry { entry, fourth: flags, fifth, sixth } = of;
    let inside = Inside::enter();
    let at = real::mmap([entry.first, entry.second, entry.third, *flags, *fifth, *sixth]);
    if at != libc::MAP_FAILED && is_told(inside.as_ref()) {
        log::keeping_errno(|| {
            tell(entry, at.addr() as u64, MappingChange::mapped(entry.second, *flags));
        });
    }
    at
}

pub(super) extern "C" fn munmap(of: &LongEntry) -> c_int {
    let (at, bytes) = (of.entry.first, of.entry.second);
    // An allocator's own, too, whose mapping may have been told.
    let _inside = Inside::enter();
    // Before its address may be another's, where the kernel has no reason to refuse but that the
    // range is sealed, or would leave more pieces than a process may have.
    let is_range = at.checked_add(bytes).is_some_and(|end| end <= END_OF_USER);
    if at.is_multiple_of(PAGE) && bytes > 0 && is_range && log::rate().is_some() {
        let end = told(at, MappingChange::unmapped(bytes));
        log::keeping_errno(|| _ = log::write(&of.entry, &end, true));
    }
    real::munmap(at, bytes)
}

pub(super) extern "C" fn mremap(of: &LongEntry) -> *mut c_void {
    let LongEntry { entry, fourth: flags, fifth: to, .. } = of;
    let inside = Inside::enter();
    let at = real::mremap([entry.first, entry.second, entry.third, *flags, *to]);
    if at != libc::MAP_FAILED && is_told(inside.as_ref()) {
        log::keeping_errno(|| {
            let Entry { first: old, second: before, third: bytes, .. } = *entry;
            tell(entry, at.addr() as u64, MappingChange::remapped(old, before, bytes, *flags));
        });
    }
    at
}
