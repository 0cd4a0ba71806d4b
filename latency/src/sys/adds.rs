//! A chain of adds: one core cycle each, on any machine.

use std::arch::asm;

/// Adds of one turn of the loop.
const UNROLLED: u64 = 16;

/// So many adds, rounded up to whole turns, each of which waits for the one
/// before. Register to register: cores of late drop adds of a constant while
/// they rename, and then these take no time at all.
pub(crate) fn add(adds: u64) {
    let turns = adds.div_ceil(UNROLLED).max(1);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: works on registers that it declares, and ends after `turns`.
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            ".rept 16",
            "add {sum}, {one}",
            ".endr",
            "sub {turns}, 1",
            "jnz 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: works on registers that it declares, and ends after `turns`.
    unsafe {
        asm!(
            ".p2align 5",
            "2:",
            ".rept 16",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
}
