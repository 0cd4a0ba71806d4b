//! AMD's Instruction-Based Sampling: the registers that describe one op.
//!
//! A sample of the PMU `ibs_op`, or of a core event that the kernel forwards
//! to it, carries them as PERF_SAMPLE_RAW: a word of capabilities, then the
//! registers in the order in which perf_ibs_handle_irq()
//! (arch/x86/events/amd/ibs.c) reads them. That is no ABI; which are there is
//! told by the capabilities (trap 40). Bits are numbered as in AMD's
//! Processor Programming References and arch/x86/include/asm/amd/ibs.h.

mod access;
mod data_src;
mod errata;
mod source;

pub use errata::IbsErrata;
pub use source::IbsSource;

use crate::bytes::{ByteOrder, Cursor, Short};

/// `IBS_CAPS_*`: CPUID 8000001B EAX, as the kernel uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IbsCaps(pub u32);

impl IbsCaps {
    /// Bit 0: the word is valid. The kernel sets it on CPUs that lack the
    /// word.
    pub const AVAILABLE: IbsCaps = IbsCaps(1);
    /// Bit 5: the target of a branch is recorded.
    pub const BRANCH_TARGET: IbsCaps = IbsCaps(1 << 5);
    /// Bit 6: the period has seven more bits.
    pub const LONG_PERIOD: IbsCaps = IbsCaps(1 << 6);
    /// Bit 7: an invalid instruction pointer is told.
    pub const RIP_INVALID: IbsCaps = IbsCaps(1 << 7);
    /// Bit 8: fused branches are told.
    pub const BRANCH_FUSED: IbsCaps = IbsCaps(1 << 8);
    /// Bit 10: there is a fourth data register.
    pub const DATA4: IbsCaps = IbsCaps(1 << 10);
    /// Bit 11: Zen 4's extensions: more data sources, sampling of L3 misses.
    pub const ZEN4: IbsCaps = IbsCaps(1 << 11);

    /// Whether every bit of `caps` is set.
    pub const fn contains(self, caps: IbsCaps) -> bool {
        self.0 & caps.0 == caps.0
    }
}

/// Registers of one sampled op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IbsOp {
    /// What the CPU records.
    pub caps: IbsCaps,
    /// IBS_OP_CTL, MSR C001_1033.
    pub ctl: u64,
    /// IBS_OP_RIP, MSR C001_1034: address of the instruction, unless
    /// [`IbsOp::rip_invalid`].
    pub rip: u64,
    /// IBS_OP_DATA, MSR C001_1035: times, branches.
    pub data: u64,
    /// IBS_OP_DATA2, MSR C001_1036: where loaded data came from.
    pub data2: u64,
    /// IBS_OP_DATA3, MSR C001_1037: loads and stores.
    pub data3: u64,
    /// IBS_DC_LINADDR, MSR C001_1038; see [`IbsOp::linear_address`].
    pub lin_addr: u64,
    /// IBS_DC_PHYSADDR, MSR C001_1039; see [`IbsOp::physical_address`].
    pub phys_addr: u64,
    /// BP_IBSTGT_RIP, MSR C001_103B, with [`IbsCaps::BRANCH_TARGET`].
    pub branch_target: Option<u64>,
    /// IBS_OP_DATA4, MSR C001_103D, with [`IbsCaps::DATA4`].
    pub data4: Option<u64>,
    /// 64-bit words that follow: registers of a kernel newer than this.
    pub unknown: usize,
}

/// Why a payload holds no registers of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IbsError {
    #[error("IBS registers are cut off: {0}")]
    Short(#[from] Short),
    #[error("raw data of a sample starts with {caps:#x}, which are no IBS capabilities")]
    NoCaps { caps: u32 },
    #[error("IBS_OP_CTL is {ctl:#x}: bit 18, a valid op, is not set")]
    NotValid { ctl: u64 },
    #[error("{left} bytes follow the IBS registers, which is no whole register")]
    Odd { left: usize },
}

impl IbsOp {
    /// Decodes the payload of PERF_SAMPLE_RAW, without its size.
    ///
    /// # Errors
    /// [`IbsError`]: a payload that is cut off, or is none of an op.
    pub fn decode(raw: &[u8], order: ByteOrder) -> Result<IbsOp, IbsError> {
        let mut cursor = Cursor::new(raw, order);
        let caps = IbsCaps(cursor.u32()?);
        if !caps.contains(IbsCaps::AVAILABLE) {
            return Err(IbsError::NoCaps { caps: caps.0 });
        }
        let ctl = cursor.u64()?;
        if ctl >> 18 & 1 == 0 {
            return Err(IbsError::NotValid { ctl });
        }
        let op = IbsOp {
            caps,
            ctl,
            rip: cursor.u64()?,
            data: cursor.u64()?,
            data2: cursor.u64()?,
            data3: cursor.u64()?,
            lin_addr: cursor.u64()?,
            phys_addr: cursor.u64()?,
            branch_target: optional(&mut cursor, caps.contains(IbsCaps::BRANCH_TARGET))?,
            data4: optional(&mut cursor, caps.contains(IbsCaps::DATA4))?,
            unknown: cursor.left() / 8,
        };
        match cursor.left() {
            left if left % 8 == 0 => Ok(op),
            left => Err(IbsError::Odd { left }),
        }
    }
}

fn optional(cursor: &mut Cursor<'_>, there: bool) -> Result<Option<u64>, Short> {
    if there { cursor.u64().map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests;
