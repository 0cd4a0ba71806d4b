//! The allocator that the program would have without us.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::{early, libc};

/// The next function of a name, behind this library.
pub(super) struct Real(AtomicPtr<c_void>);

impl Real {
    const fn unknown() -> Real {
        Real(AtomicPtr::new(std::ptr::null_mut()))
    }

    fn get(&self) -> *mut c_void {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) static MALLOC: Real = Real::unknown();
pub(super) static CALLOC: Real = Real::unknown();
pub(super) static REALLOC: Real = Real::unknown();
pub(super) static ALIGNED_ALLOC: Real = Real::unknown();
pub(super) static MEMALIGN: Real = Real::unknown();
pub(super) static POSIX_MEMALIGN: Real = Real::unknown();
pub(super) static VALLOC: Real = Real::unknown();
pub(super) static PVALLOC: Real = Real::unknown();
/// `hooks` jumps here before anything was looked up, too.
pub(super) static FREE: Real =
    Real(AtomicPtr::new(early::free_first as unsafe extern "C" fn(*mut c_void) as *mut c_void));

static MMAP: Real = Real::unknown();
static MUNMAP: Real = Real::unknown();
static MREMAP: Real = Real::unknown();

const FUNCTIONS: [(&Real, &CStr); 12] = [
    (&MALLOC, c"malloc"),
    (&CALLOC, c"calloc"),
    (&REALLOC, c"realloc"),
    (&ALIGNED_ALLOC, c"aligned_alloc"),
    (&MEMALIGN, c"memalign"),
    (&POSIX_MEMALIGN, c"posix_memalign"),
    (&VALLOC, c"valloc"),
    (&PVALLOC, c"pvalloc"),
    (&FREE, c"free"),
    (&MMAP, c"mmap"),
    (&MUNMAP, c"munmap"),
    (&MREMAP, c"mremap"),
];

static FOUND: AtomicU32 = AtomicU32::new(0);
const LOOKING: u32 = 1;
const ALL: u32 = 2;

/// Looks them all up, the first time. False: that goes on, and what dlsym(3) itself allocates
/// meanwhile has to come from `early`.
pub(super) fn are_found() -> bool {
    if FOUND.load(Ordering::Acquire) == ALL {
        return true;
    }
    if FOUND.compare_exchange(0, LOOKING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    for (real, name) in FUNCTIONS {
        // SAFETY: a name that ends in a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if !found.is_null() {
            real.0.store(found, Ordering::Relaxed);
        }
    }
    FOUND.store(ALL, Ordering::Release);
    true
}

/// A function that is not there gives nothing.
pub(super) fn of_bytes(real: &Real, bytes: usize) -> *mut c_void {
    let at = real.get();
    if at.is_null() {
        return at;
    }
    // SAFETY: malloc, valloc and pvalloc have this type.
    let call = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(usize) -> *mut c_void>(at) };
    // SAFETY: takes any number.
    unsafe { call(bytes) }
}

/// calloc, aligned_alloc, memalign.
pub(super) fn of_two(real: &Real, first: usize, second: usize) -> *mut c_void {
    let at = real.get();
    if at.is_null() {
        return at;
    }
    type Two = unsafe extern "C" fn(usize, usize) -> *mut c_void;
    // SAFETY: those that are called like this have this type.
    let call = unsafe { transmute::<*mut c_void, Two>(at) };
    // SAFETY: they take any numbers.
    unsafe { call(first, second) }
}

pub(super) fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    let at = REALLOC.get();
    if at.is_null() {
        return at;
    }
    type Again = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: realloc has this type.
    let call = unsafe { transmute::<*mut c_void, Again>(at) };
    // SAFETY: the caller's own block, as the caller says.
    unsafe { call(block, bytes) }
}

pub(super) fn posix_memalign(into: *mut *mut c_void, align: usize, bytes: usize) -> c_int {
    let at = POSIX_MEMALIGN.get();
    if at.is_null() {
        return libc::ENOMEM;
    }
    type Into = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
    // SAFETY: posix_memalign has this type.
    let call = unsafe { transmute::<*mut c_void, Into>(at) };
    // SAFETY: the caller's own place, as the caller says.
    unsafe { call(into, align, bytes) }
}

pub(super) fn free(block: *mut c_void) {
    // SAFETY: free has this type, and what stands there at first, too.
    let call = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(FREE.get()) };
    // SAFETY: the caller's own block, as the caller says.
    unsafe { call(block) }
}

/// mmap, or the call itself where that is not known yet.
pub(super) fn mmap(of: [u64; 6]) -> *mut c_void {
    let [at, bytes, access, flags, file, from] = of;
    let real = MMAP.get();
    if real.is_null() {
        return called(libc::SYS_mmap, of);
    }
    type Map = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> *mut c_void;
    // SAFETY: mmap takes six words in registers, of which it looks at the part that it needs.
    let call = unsafe { transmute::<*mut c_void, Map>(real) };
    // SAFETY: what the caller asked for.
    unsafe { call(at, bytes, access, flags, file, from) }
}

pub(super) fn munmap(at: u64, bytes: u64) -> c_int {
    let real = MUNMAP.get();
    if real.is_null() {
        let result = called(libc::SYS_munmap, [at, bytes, 0, 0, 0, 0]);
        return if result.is_null() { 0 } else { -1 };
    }
    // SAFETY: munmap takes two words.
    let call = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(u64, u64) -> c_int>(real) };
    // SAFETY: what the caller asked for.
    unsafe { call(at, bytes) }
}

pub(super) fn mremap(of: [u64; 5]) -> *mut c_void {
    let [at, before, bytes, flags, to] = of;
    let real = MREMAP.get();
    if real.is_null() {
        return called(libc::SYS_mremap, [at, before, bytes, flags, to, 0]);
    }
    type Again = unsafe extern "C" fn(u64, u64, u64, u64, ...) -> *mut c_void;
    // SAFETY: mremap takes four words and one that may be left out.
    let call = unsafe { transmute::<*mut c_void, Again>(real) };
    // SAFETY: what the caller asked for.
    unsafe { call(at, before, bytes, flags, to) }
}

/// A system call that gives an address; it sets errno.
fn called(number: c_long, of: [u64; 6]) -> *mut c_void {
    let [first, second, third, fourth, fifth, sixth] = of;
    // SAFETY: what the caller asked for.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    std::ptr::with_exposed_provenance_mut(usize::try_from(result).unwrap_or(usize::MAX))
}
