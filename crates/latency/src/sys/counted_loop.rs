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
