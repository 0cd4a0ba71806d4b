//! System calls and memory that Rust cannot check. The only unsafe code of
//! the daemon; everything it lends out is safe to use.

pub(crate) mod namespace;
pub(crate) mod peer;
pub(crate) mod ptrace_probe;

/// Gives what is free in it back to the kernel. Each thread takes from an
/// arena of its own, so what a session freed would otherwise stay where no
/// later session may come by [malloc_trim(3)].
pub(crate) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointer goes in or comes out, and any thread may call it.
    let _has_given = unsafe { libc::malloc_trim(0) };
}
