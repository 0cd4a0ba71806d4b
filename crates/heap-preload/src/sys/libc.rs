//! What is called of the C library, as x86-64 Linux has it. Declared here: `ebs` carries this
//! library, and its build compiles it without any package (`ebs-cli/build.rs`).

#![allow(non_camel_case_types, non_upper_case_globals, reason = "the names of C")]

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::ptr;

pub(super) const CLOCK_MONOTONIC: c_int = 1;
pub(super) const ENOMEM: c_int = 12;
pub(super) const F_GET_SEALS: c_int = 1034;
pub(super) const F_SEAL_SHRINK: c_int = 2;
pub(super) const MADV_POPULATE_WRITE: c_int = 23;
pub(super) const MAP_FAILED: *mut c_void = ptr::without_provenance_mut(usize::MAX);
pub(super) const MAP_SHARED: c_int = 1;
pub(super) const O_CLOEXEC: c_int = 0o2_000_000;
pub(super) const O_NOCTTY: c_int = 0o400;
pub(super) const O_RDWR: c_int = 2;
pub(super) const PROT_READ: c_int = 1;
pub(super) const PROT_WRITE: c_int = 2;
pub(super) const RTLD_NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);
pub(super) const SEEK_END: c_int = 2;
pub(super) const SYS_mmap: c_long = 9;
pub(super) const SYS_munmap: c_long = 11;
pub(super) const SYS_mremap: c_long = 25;
pub(super) const SYS_nanosleep: c_long = 35;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct iovec {
    pub(super) iov_base: *mut c_void,
    pub(super) iov_len: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct timespec {
    pub(super) tv_sec: i64,
    pub(super) tv_nsec: i64,
}

// SAFETY: as the manual pages have them, of x86-64.
unsafe extern "C" {
    pub(super) fn __errno_location() -> *mut c_int;
    pub(super) fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int;
    pub(super) fn close(file: c_int) -> c_int;
    pub(super) fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(super) fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    pub(super) fn getenv(name: *const c_char) -> *mut c_char;
    pub(super) fn getpid() -> c_int;
    pub(super) fn gettid() -> c_int;
    pub(super) fn lseek(file: c_int, offset: i64, from: c_int) -> i64;
    pub(super) fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    pub(super) fn mmap(
        at: *mut c_void,
        bytes: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    pub(super) fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    pub(super) fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub(super) fn process_vm_readv(
        process: c_int,
        local: *const iovec,
        locals: c_ulong,
        remote: *const iovec,
        remotes: c_ulong,
        flags: c_ulong,
    ) -> isize;
    pub(super) fn sched_getcpu() -> c_int;
    pub(super) fn syscall(number: c_long, ...) -> c_long;
}
