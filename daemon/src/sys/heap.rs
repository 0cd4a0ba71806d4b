//! The C library's heap.

/// Gives what is free in it back to the kernel. Each thread takes from an
/// arena of its own, so what a session freed would otherwise stay where no
/// later session may come by [malloc_trim(3)].
pub(crate) fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointer goes in or comes out, and any thread may call it.
    let _has_given = unsafe { libc::malloc_trim(0) };
}
