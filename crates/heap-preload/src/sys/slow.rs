//! Calls that may be sampled, or give back what was.

use std::ffi::{c_int, c_void};
use std::ptr;

use perfdata::AllocatorCall;
use perfdata::heap_log::LoggedCall;

use super::hooks::Entry;
use super::log::{self, Told};
use super::thread::{HeapThread, thread};
use super::{early, libc, real};
use crate::draw;
use crate::live::LiveBlocks;

/// Blocks that were told of, where not each is.
pub(super) static LIVE: LiveBlocks = LiveBlocks::new();

/// This thread is in here until it is dropped; errno is what it was, but for what the allocator
/// does to it.
pub(super) struct Inside(&'static HeapThread);

impl Inside {
    /// None: it is already, and whoever calls is called by us.
    pub(super) fn enter() -> Option<Inside> {
        let at = thread();
        // SAFETY: the thread's own, for as long as it runs, and it alone looks at it.
        let thread = unsafe { &*at };
        if !real::are_found() || thread.inside.replace(1) != 0 {
            return None;
        }
        Some(Inside(thread))
    }

    /// Whether a block of so many bytes is sampled, which counts down.
    fn samples(&self, bytes: u64) -> bool {
        let HeapThread { countdown, random, .. } = self.0;
        let Some(rate) = log::rate() else {
            // Never again, unless the log is still to be opened.
            match log::is_over() {
                true => countdown.end(),
                false => countdown.look(),
            }
            return false;
        };
        if rate <= 1 {
            return true;
        }
        if random.get() == 0 {
            random.set(draw::seed(moment() ^ ptr::from_ref(self.0).addr() as u64));
            countdown.begin(self.distance(rate), rate);
        }
        countdown.samples(bytes, rate, || {
            // A child has its parent's numbers until here.
            random.set(draw::seed(random.get() ^ moment()));
            self.distance(rate)
        })
    }

    fn distance(&self, rate: u64) -> u64 {
        let random = draw::next(self.0.random.get());
        self.0.random.set(random);
        draw::distance(random, rate).unsigned_abs() + 1
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.inside.set(0);
    }
}

/// No two calls have the same.
fn moment() -> u64 {
    // SAFETY: every x86-64 has the instruction; nothing is read or written.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Whether the end of a block has to be told.
fn was_told(block: u64) -> bool {
    match log::rate() {
        Some(..=1) => true,
        Some(_) => LIVE.remove(block),
        None => false,
    }
}

fn tell(entry: &Entry, told: &Told) {
    let remembered = match log::rate() {
        Some(..=1) => true,
        Some(_) => LIVE.insert(told.address),
        None => return,
    };
    // What cannot be remembered would never end.
    let _or_lost = log::write(entry, told, remembered);
}

fn allocate(
    entry: &Entry,
    call: AllocatorCall,
    bytes: u64,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let inside = Inside::enter();
    let samples = inside.as_ref().is_some_and(|inside| inside.samples(bytes));
    let block = real();
    if samples && !block.is_null() {
        log::keeping_errno(|| {
            let address = block.addr() as u64;
            let call = LoggedCall::Allocator(call);
            let told = Told { call, address, size: bytes, old: 0, began: None };
            tell(entry, &told);
        });
    }
    block
}

fn size(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

fn block(word: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut(size(word))
}

/// What the allocator gives once it is found, and before that what there is.
fn or_early(bytes: u64, real: impl FnOnce() -> *mut c_void) -> *mut c_void {
    match real::are_found() {
        true => real(),
        false => early::allocate(size(bytes)),
    }
}

pub(super) extern "C" fn malloc(entry: &Entry) -> *mut c_void {
    let bytes = entry.first;
    allocate(entry, AllocatorCall::Allocate, bytes, || {
        or_early(bytes, || real::of_bytes(&real::MALLOC, size(bytes)))
    })
}

pub(super) extern "C" fn valloc(entry: &Entry) -> *mut c_void {
    let bytes = entry.first;
    allocate(entry, AllocatorCall::Allocate, bytes, || real::of_bytes(&real::VALLOC, size(bytes)))
}

pub(super) extern "C" fn pvalloc(entry: &Entry) -> *mut c_void {
    let bytes = entry.first;
    allocate(entry, AllocatorCall::Allocate, bytes, || real::of_bytes(&real::PVALLOC, size(bytes)))
}

pub(super) extern "C" fn aligned_alloc(entry: &Entry) -> *mut c_void {
    let (align, bytes) = (entry.first, entry.second);
    allocate(entry, AllocatorCall::AllocateSecond, bytes, || {
        real::of_two(&real::ALIGNED_ALLOC, size(align), size(bytes))
    })
}

pub(super) extern "C" fn memalign(entry: &Entry) -> *mut c_void {
    let (align, bytes) = (entry.first, entry.second);
    allocate(entry, AllocatorCall::AllocateSecond, bytes, || {
        real::of_two(&real::MEMALIGN, size(align), size(bytes))
    })
}

pub(super) extern "C" fn calloc(entry: &Entry) -> *mut c_void {
    let (items, each) = (entry.first, entry.second);
    // Too many are refused by the allocator.
    let bytes = items.saturating_mul(each);
    allocate(entry, AllocatorCall::AllocateItems, bytes, || {
        or_early(bytes, || real::of_two(&real::CALLOC, size(items), size(each)))
    })
}

pub(super) extern "C" fn posix_memalign(entry: &Entry) -> c_int {
    let into = block(entry.first).cast::<*mut c_void>();
    let (align, bytes) = (size(entry.second), entry.third);
    let mut result = libc::ENOMEM;
    allocate(entry, AllocatorCall::AllocateInto, bytes, || {
        result = real::posix_memalign(into, align, size(bytes));
        match result {
            // SAFETY: the call has just written there.
            0 => unsafe { into.read() },
            _ => ptr::null_mut(),
        }
    });
    result
}

pub(super) extern "C" fn realloc(entry: &Entry) -> *mut c_void {
    let (old, bytes) = (block(entry.first), entry.second);
    if let Some(before) = early::size_of(old) {
        return grown_out_of(old, before, size(bytes));
    }
    let Some(inside) = Inside::enter() else {
        return or_early(bytes, || real::realloc(old, size(bytes)));
    };
    let told = !old.is_null() && was_told(entry.first);
    let samples = inside.samples(bytes) && (bytes > 0 || old.is_null());
    if told {
        // Before its address may be another's. If the allocator has no room the block lives on,
        // and is not known any more.
        log::keeping_errno(|| _ = log::write(entry, &Told::release(entry.first), true));
    }
    let began = samples.then(log::now);
    let new = real::realloc(old, size(bytes));
    if samples && !new.is_null() {
        log::keeping_errno(|| {
            let call = LoggedCall::Allocator(AllocatorCall::Reallocate);
            let (address, old) = (new.addr() as u64, if told { entry.first } else { 0 });
            tell(entry, &Told { call, address, size: bytes, old, began });
        });
    }
    new
}

/// A block from before the allocator was known becomes one of its own.
fn grown_out_of(old: *mut c_void, before: usize, bytes: usize) -> *mut c_void {
    let new = match real::are_found() {
        true => real::of_bytes(&real::MALLOC, bytes),
        false => early::allocate(bytes),
    };
    if !new.is_null() {
        // SAFETY: as many bytes as both have; the new block is nobody else's.
        unsafe { ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), before.min(bytes)) };
    }
    new
}

pub(super) extern "C" fn free(entry: &Entry) {
    let given = block(entry.first);
    if given.is_null() || early::size_of(given).is_some() {
        return;
    }
    if let Some(_inside) = Inside::enter()
        && was_told(entry.first)
    {
        log::keeping_errno(|| _ = log::write(entry, &Told::release(entry.first), true));
    }
    real::free(given);
}
