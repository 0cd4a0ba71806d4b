//! Where the loader has the library begin: it finds the memory, once a program.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::AtomicU64;

use perfdata::heap_log::{MAGIC, VARIABLE, WORDS};

use super::{libc, log, real, slow};

#[used]
// SAFETY: the section holds pointers to functions that take nothing needed here and return
// nothing; it runs once, in the program's first thread.
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    // Before others begin, as a rule: what is given back from here on has to be looked up.
    let _found = real::are_found();
    let mapped = map();
    let every = mapped.is_some();
    log::take(mapped);
    if every && log::rate().is_some_and(|rate| rate <= 1) {
        slow::LIVE.mark_all();
    }
}

/// The memory that the environment names; None: nobody asks.
fn map() -> Option<*mut AtomicU64> {
    let mut name = [0u8; VARIABLE.len() + 1];
    name.iter_mut().zip(VARIABLE.bytes()).for_each(|(to, from)| *to = from);
    let name = CStr::from_bytes_with_nul(&name).ok()?;
    // SAFETY: a name that ends in a zero byte; nobody has begun to change the environment.
    let path = unsafe { libc::getenv(name.as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: what getenv gave.
    let file = unsafe { libc::open(path, libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOCTTY) };
    if file < 0 {
        return None;
    }
    let mapped = map_file(file);
    // SAFETY: opened above, and used no more.
    unsafe { libc::close(file) };
    mapped
}

fn map_file(file: c_int) -> Option<*mut AtomicU64> {
    let bytes = WORDS * size_of::<u64>();
    // SAFETY: moves the place where this descriptor would be read, which it is not.
    let size = unsafe { libc::lseek(file, 0, libc::SEEK_END) };
    // SAFETY: asks, and changes nothing.
    let seals = unsafe { libc::fcntl(file, libc::F_GET_SEALS) };
    let is_whole = usize::try_from(size).is_ok_and(|size| size == bytes);
    if !is_whole || seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, of a file that nobody makes shorter.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    let words = start.cast::<AtomicU64>();
    // SAFETY: its first word.
    let is_ours = unsafe { (*words).load(std::sync::atomic::Ordering::Acquire) } == MAGIC;
    if !is_ours {
        // SAFETY: mapped above, and used no more.
        unsafe { libc::munmap(start, bytes) };
        return None;
    }
    Some(words)
}
