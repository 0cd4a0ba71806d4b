//! libhardmeter_heap.so: preloaded by `ebs --heap`, it stands before malloc(3), mmap(2) and their
//! kin, and tells of some blocks, or of each, and of all mappings, in memory that the session made
//! (`perfdata::heap_log`).
//!
//! `sys` has what is called and what it calls. What is sampled is decided by bytes: each thread
//! counts down to the next sampled one, whose distance `draw` gives; blocks that were told of are
//! in `live`, so that their end is told, too. A call that is not sampled takes no lock, makes no
//! system call and allocates nothing of its own.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod draw;
mod live;
mod patience;
// A test program keeps its own allocator.
#[cfg(not(test))]
#[allow(unsafe_code, reason = "functions of C with its pointers, and memory that others map")]
mod sys {
    //! What programs call instead of malloc(3), mmap(2) and their kin, and what that calls.

    mod alone;
    mod begin;
    mod early;
    mod hooks;
    mod libc;
    mod log;
    mod mappings;
    mod real;
    mod slow;
    mod thread;
}
