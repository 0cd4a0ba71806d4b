//! Loops in assembly, and the memory and the CPUs that they run on.

mod counted_loop;
mod forward;
mod memory_region;
mod pointer_chase;

pub(crate) use counted_loop::add;
pub(crate) use forward::{Forwarding, forward};
pub(crate) use memory_region::{MemoryRegion, PageSize, bind};
pub(crate) use pointer_chase::PointerChase;

/// Times that the kernel took the CPU from this thread for another one;
/// 0 where it does not say.
pub(crate) fn involuntary_switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is as large as what is written there, and ours.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or the kernel's, and any are valid numbers.
    let usage = unsafe { usage.assume_init() };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}
