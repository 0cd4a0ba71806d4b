//! The one loop of all that is timed.

/// Runs the lines of this architecture so many times, from a boundary of 32 bytes on: an
/// `asm!`, and as unsafe as its lines are. `turns` is used up; what else the
/// lines name are operands.
macro_rules! counted_loop {
    (
        $turns:expr,
        x86_64: [$($x86_64:expr),+],
        aarch64: [$($aarch64:expr),+],
        $($operands:tt)+
    ) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            ".p2align 5",
            "2:",
            $($x86_64,)+
            "sub {turns}, 1",
            "jnz 2b",
            turns = inout(reg) $turns => _,
            $($operands)+
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            ".p2align 5",
            "2:",
            $($aarch64,)+
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            turns = inout(reg) $turns => _,
            $($operands)+
        );
    }};
}

pub(super) use counted_loop;

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
