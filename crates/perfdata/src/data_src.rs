//! `union perf_mem_data_src`: where a load or store found its data.
//!
//! The kernel fills it from a table per CPU model, so what is "not available"
//! varies from field to field. Levels are read from `mem_lvl_num`,
//! `mem_remote` and `mem_hops` where these are filled, and from the
//! deprecated `mem_lvl` otherwise: CXL, persistent memory, L4 and others
//! exist in the former only (trap 36). The word is the same number on big-
//! and little-endian machines: the header mirrors the bit fields.

mod aspect;
mod display;
mod level;
mod perf_text;

pub use aspect::DataSrcAspect;
pub use level::{Distance, Level};
pub use perf_text::PerfText;

use bitflags::bitflags;

/// The word as the kernel wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataSrc(pub u64);

bitflags! {
    /// What the instruction did; several bits when it did both.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Operation: u8 {
        /// Reads memory.
        const LOAD = 1 << 1;
        /// Writes memory.
        const STORE = 1 << 2;
        /// Software or hardware prefetch.
        const PREFETCH = 1 << 3;
        /// Instruction fetch.
        const EXEC = 1 << 4;
    }

    /// What other caches answered, `mem_snoop` and above them `mem_snoopx`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Snoop: u8 {
        /// No other cache was asked.
        const NONE = 1 << 1;
        /// Another cache had it, clean.
        const HIT = 1 << 2;
        /// No other cache had it.
        const MISS = 1 << 3;
        /// Another cache had it, modified.
        const HITM = 1 << 4;
        /// The other cache sent the line itself.
        const FORWARD = 1 << 5;
        /// The line came from a peer's cache.
        const PEER = 1 << 6;
    }

    /// Translation of the data address.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct TlbOutcome: u8 {
        /// Found in the level named.
        const HIT = 1 << 1;
        /// Not found there.
        const MISS = 1 << 2;
        /// First-level data TLB.
        const L1 = 1 << 3;
        /// Second-level TLB; with [`TlbOutcome::L1`], one of the two.
        const L2 = 1 << 4;
        /// The hardware walked the page table.
        const WALK = 1 << 5;
        /// The operating system handled a fault.
        const OS = 1 << 6;
    }

    /// Why the access had to wait.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Blocked: u8 {
        /// Data of an earlier store could not be forwarded.
        const DATA = 1 << 1;
        /// Its address conflicted with an earlier store's.
        const ADDRESS = 1 << 2;
    }

    /// Whether the access hit what [`DataSrc::level`] names. Some machines
    /// say neither.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct LevelOutcome: u8 {
        /// The data was there.
        const HIT = 1 << 1;
        /// It was not.
        const MISS = 1 << 2;
    }
}

impl DataSrc {
    /// PERF_MEM_NA of older kernels: no field is available.
    pub const NOT_AVAILABLE_OLD: DataSrc = DataSrc(0x508_0021);
    /// PERF_MEM_NA since `mem_lvl_num` is part of it.
    pub const NOT_AVAILABLE: DataSrc = DataSrc(0x1e_0508_0021);

    /// Whether the word says anything: false for 0 and for both forms of
    /// PERF_MEM_NA.
    pub fn is_available(self) -> bool {
        !(self.operation().is_empty()
            && self.level() == Level::NotAvailable
            && self.outcome().is_empty()
            && self.snoop().is_empty()
            && self.tlb().is_empty()
            && self.blocked().is_empty()
            && self.region().is_none()
            && !self.is_locked())
    }

    /// Load, store, prefetch; empty when not available.
    pub fn operation(self) -> Operation {
        Operation::from_bits_truncate(self.field(0, 5))
    }

    /// Hit or miss of [`DataSrc::level`], from the deprecated field, the only
    /// place that tells.
    pub fn outcome(self) -> LevelOutcome {
        LevelOutcome::from_bits_truncate(self.field(5, 3))
    }

    /// Answers of other caches; empty when not available.
    pub fn snoop(self) -> Snoop {
        Snoop::from_bits_truncate(self.field(19, 5) | self.field(38, 2) << 5)
    }

    /// Whether the access was locked. False covers "not available": AMD never
    /// says "not locked" (trap 36).
    pub fn is_locked(self) -> bool {
        self.field(24, 2) & 2 != 0
    }

    /// Data TLB; empty when not available.
    pub fn tlb(self) -> TlbOutcome {
        TlbOutcome::from_bits_truncate(self.field(26, 7))
    }

    /// Store-to-load blocking; empty when not available or none.
    pub fn blocked(self) -> Blocked {
        Blocked::from_bits_truncate(self.field(40, 3))
    }

    /// `mem_region`, 1 to 31: which part of the machine's memory map; None for
    /// 0, not available.
    pub fn region(self) -> Option<u8> {
        Some(self.field(46, 5)).filter(|&region| region != 0)
    }

    /// Bits that no field known here covers, where they are in the word.
    pub fn unknown_bits(self) -> u64 {
        self.0 & !((1 << 51) - 1)
    }

    /// `width` bits (at most 8) from bit `shift` on.
    fn field(self, shift: u32, width: u32) -> u8 {
        let [low, ..] = (self.0 >> shift & ((1 << width) - 1)).to_le_bytes();
        low
    }
}

#[cfg(test)]
mod tests;
