//! What a filter asks of a sample.

use crate::instruction_class::InstructionClass;
use crate::named_enum::named_enum;

/// One question about a sample, with yes, no or "cannot be told" for an
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The sampled instruction is of this class.
    Class(InstructionClass),
    /// IBS said so of the sampled op.
    Ibs(IbsCondition),
    /// The sample was taken at this privilege level.
    Mode(PrivilegeMode),
    /// The access was served so.
    Source(SourceCondition),
}

named_enum! {
    /// Bits of AMD's IBS registers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum IbsCondition {
        LdOp => "ld_op",
        StOp => "st_op",
        /// The data was not in the first-level data cache.
        DcMiss => "dc_miss",
        /// Nor in the second-level cache.
        L2Miss => "l2_miss",
        /// The address was not in the first-level data TLB.
        DcL1TlbMiss => "dc_l1_tlb_miss",
        /// Nor in the second-level one.
        DcL2TlbMiss => "dc_l2_tlb_miss",
        /// The access was misaligned.
        DcMisAcc => "dc_mis_acc",
        /// The data address is there.
        LinAddrValid => "lin_addr_valid",
        /// The op is a retired branch.
        BrnRet => "brn_ret",
        /// The branch was predicted wrongly.
        BrnMisp => "brn_misp",
    }
}

named_enum! {
    /// Privilege levels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PrivilegeMode {
        /// User code, of a guest too.
        User => "user",
        /// The kernel, of a guest too.
        Kernel => "kernel",
    }
}

named_enum! {
    /// Where the data came from: IBS registers, or PERF_SAMPLE_DATA_SRC.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SourceCondition {
        /// From beyond the first-level data cache; a line under way counts as
        /// beyond.
        L1Miss => "l1_miss",
        /// From beyond the second-level cache.
        L2Miss => "l2_miss",
        /// From beyond the third-level cache that the core has a part in: with
        /// AMD the one of its complex, where registers tell.
        L3Miss => "l3_miss",
        /// From memory of another socket.
        RemoteDram => "remote_dram",
        /// Another cache held the line modified.
        Hitm => "hitm",
    }
}

/// Every condition. The place in here is its bit in a clause: order matters
/// within one version of hardmeter only, streams carry names.
pub(super) fn all() -> impl Iterator<Item = Condition> {
    let ibs = IbsCondition::ALL.into_iter().map(Condition::Ibs);
    let modes = PrivilegeMode::ALL.into_iter().map(Condition::Mode);
    let sources = SourceCondition::ALL.into_iter().map(Condition::Source);
    InstructionClass::ALL.into_iter().map(Condition::Class).chain(ibs).chain(modes).chain(sources)
}

/// Bits of the conditions on classes; no clause has others besides.
pub(super) const CLASSES: u64 = (1 << InstructionClass::ALL.len()) - 1;

impl Condition {
    pub(super) const fn bit(self) -> u64 {
        let place = match self {
            Condition::Class(class) => class as u32,
            Condition::Ibs(ibs) => 12 + ibs as u32,
            Condition::Mode(mode) => 22 + mode as u32,
            Condition::Source(source) => 24 + source as u32,
        };
        1 << place
    }

    /// The word before the colon.
    pub const fn kind(self) -> &'static str {
        match self {
            Condition::Class(_) => "class",
            Condition::Ibs(_) => "ibs",
            Condition::Mode(_) => "mode",
            Condition::Source(_) => "src",
        }
    }

    /// The word after it.
    pub const fn name(self) -> &'static str {
        match self {
            Condition::Class(class) => class.name(),
            Condition::Ibs(ibs) => ibs.name(),
            Condition::Mode(mode) => mode.name(),
            Condition::Source(source) => source.name(),
        }
    }
}
