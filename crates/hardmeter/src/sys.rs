//! The instruction that the emulated PMU knows and every CPU passes over.

use perfdata::RegionSide;
use perfdata::region::LONGEST_NAME;

/// Tells the emulated PMU, if that runs the calling thread, of a side of a
/// region: a NOP whose displacement is ours, with the name in RDI
/// (docs/regions.md).
#[inline]
pub(crate) fn mark(side: RegionSide, name: &[u8; LONGEST_NAME + 1]) {
    #[cfg(target_arch = "x86_64")]
    match side {
        // SAFETY: an eight-byte NOP; no register, flag or memory changes.
        RegionSide::Begin => unsafe {
            std::arch::asm!(
                ".byte 0x0f, 0x1f, 0x84, 0x00, 0x01, 0x52, 0x4d, 0x48",
                in("rdi") name.as_ptr(),
                options(nostack, preserves_flags),
            );
        },
        // SAFETY: as above.
        RegionSide::End => unsafe {
            std::arch::asm!(
                ".byte 0x0f, 0x1f, 0x84, 0x00, 0x02, 0x52, 0x4d, 0x48",
                in("rdi") name.as_ptr(),
                options(nostack, preserves_flags),
            );
        },
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _nobody_emulates = (side, name);
}
