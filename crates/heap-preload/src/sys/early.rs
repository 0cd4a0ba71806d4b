//! Blocks for whom asks while the allocator is being looked up: dlsym(3) may, of calloc(3).

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{real, slow};

const BYTES: usize = 16 << 10;
/// Before each block: its size. As malloc(3), to what any type needs.
const ALIGN: usize = 16;

#[repr(align(16))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: each part is given to one caller, once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Zeros, never given back; null: there is no more.
pub(super) fn allocate(bytes: usize) -> *mut c_void {
    let Some(all) = bytes.checked_next_multiple_of(ALIGN).and_then(|all| all.checked_add(ALIGN))
    else {
        return ptr::null_mut();
    };
    let fits = |taken: usize| taken.checked_add(all).filter(|end| *end <= BYTES);
    let Ok(at) = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) else {
        return ptr::null_mut();
    };
    let start = ARENA.0.get().cast::<u8>().wrapping_add(at);
    // SAFETY: 16 bytes of the arena that nobody else has, aligned to 16.
    unsafe { start.cast::<usize>().write(bytes) };
    let block = start.wrapping_add(ALIGN).cast::<c_void>();
    // So that free and realloc look where it is from.
    slow::LIVE.mark(block.addr() as u64);
    block
}

/// Bytes of a block of these; None: it is the allocator's.
pub(super) fn size_of(block: *mut c_void) -> Option<usize> {
    let start = ARENA.0.get().addr();
    let inside = (start + ALIGN..start + BYTES).contains(&block.addr());
    // SAFETY: the word before a block that was given out above.
    inside.then(|| unsafe { block.cast::<u8>().wrapping_sub(ALIGN).cast::<usize>().read() })
}

/// What stands for free(3) before it is looked up.
pub(super) unsafe extern "C" fn free_first(block: *mut c_void) {
    if real::are_found() && size_of(block).is_none() {
        real::free(block);
    }
}
