//! A chain of adds: one core cycle each, on any machine.

use super::counted_loop::counted_loop;

/// Adds of one turn of the loop.
const UNROLLED: u64 = 16;

/// So many adds, rounded up to whole turns, each of which waits for the one
/// before. Register to register: cores of late drop adds of a constant while
/// they rename, and then these take no time at all.
pub(crate) fn add(adds: u64) {
    let turns = adds.div_ceil(UNROLLED).max(1);
    // SAFETY: works on registers that it declares, and ends after `turns`.
    unsafe {
        counted_loop!(
            turns,
            x86_64: [".rept 16", "add {sum}, {one}", ".endr"],
            aarch64: [".rept 16", "add {sum}, {sum}, {one}", ".endr"],
            sum = inout(reg) 0_u64 => _,
            one = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
}
