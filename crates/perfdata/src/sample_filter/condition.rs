//! What a filter asks of a sample.

use crate::instruction_class::InstructionClass;

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

/// Bits of AMD's IBS registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IbsCondition {
    /// The op loads.
    LdOp,
    /// The op stores.
    StOp,
    /// The data was not in the first-level data cache.
    DcMiss,
    /// Nor in the second-level cache.
    L2Miss,
    /// The address was not in the first-level data TLB.
    DcL1TlbMiss,
    /// Nor in the second-level one.
    DcL2TlbMiss,
    /// The access was misaligned.
    DcMisAcc,
    /// The data address is there.
    LinAddrValid,
    /// The op is a retired branch.
    BrnRet,
    /// The branch was predicted wrongly.
    BrnMisp,
}

/// Privilege levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrivilegeMode {
    /// User code, of a guest too.
    User,
    /// The kernel, of a guest too.
    Kernel,
}

/// Where the data came from: IBS registers, or PERF_SAMPLE_DATA_SRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceCondition {
    /// From beyond the first-level data cache; a line under way counts as
    /// beyond.
    L1Miss,
    /// From beyond the second-level cache.
    L2Miss,
    /// From beyond the third-level cache that the core has a part in: with
    /// AMD the one of its complex, where registers tell.
    L3Miss,
    /// From memory of another socket.
    RemoteDram,
    /// Another cache held the line modified.
    Hitm,
}

/// Every condition. The place in here is its bit in a clause: order matters
/// within one version of hardmeter only, streams carry names.
pub(super) const ALL: [Condition; 29] = [
    Condition::Class(InstructionClass::PackedSp),
    Condition::Class(InstructionClass::PackedDp),
    Condition::Class(InstructionClass::ScalarSp),
    Condition::Class(InstructionClass::ScalarDp),
    Condition::Class(InstructionClass::Mmx64),
    Condition::Class(InstructionClass::Mmx128),
    Condition::Class(InstructionClass::X87),
    Condition::Class(InstructionClass::X87SimdMoves),
    Condition::Class(InstructionClass::ReadsMemory),
    Condition::Class(InstructionClass::WritesMemory),
    Condition::Class(InstructionClass::AccessesMemory),
    Condition::Class(InstructionClass::SplitLoad),
    Condition::Ibs(IbsCondition::LdOp),
    Condition::Ibs(IbsCondition::StOp),
    Condition::Ibs(IbsCondition::DcMiss),
    Condition::Ibs(IbsCondition::L2Miss),
    Condition::Ibs(IbsCondition::DcL1TlbMiss),
    Condition::Ibs(IbsCondition::DcL2TlbMiss),
    Condition::Ibs(IbsCondition::DcMisAcc),
    Condition::Ibs(IbsCondition::LinAddrValid),
    Condition::Ibs(IbsCondition::BrnRet),
    Condition::Ibs(IbsCondition::BrnMisp),
    Condition::Mode(PrivilegeMode::User),
    Condition::Mode(PrivilegeMode::Kernel),
    Condition::Source(SourceCondition::L1Miss),
    Condition::Source(SourceCondition::L2Miss),
    Condition::Source(SourceCondition::L3Miss),
    Condition::Source(SourceCondition::RemoteDram),
    Condition::Source(SourceCondition::Hitm),
];

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
            Condition::Ibs(IbsCondition::LdOp) => "ld_op",
            Condition::Ibs(IbsCondition::StOp) => "st_op",
            Condition::Ibs(IbsCondition::DcMiss) => "dc_miss",
            Condition::Ibs(IbsCondition::L2Miss) => "l2_miss",
            Condition::Ibs(IbsCondition::DcL1TlbMiss) => "dc_l1_tlb_miss",
            Condition::Ibs(IbsCondition::DcL2TlbMiss) => "dc_l2_tlb_miss",
            Condition::Ibs(IbsCondition::DcMisAcc) => "dc_mis_acc",
            Condition::Ibs(IbsCondition::LinAddrValid) => "lin_addr_valid",
            Condition::Ibs(IbsCondition::BrnRet) => "brn_ret",
            Condition::Ibs(IbsCondition::BrnMisp) => "brn_misp",
            Condition::Mode(PrivilegeMode::User) => "user",
            Condition::Mode(PrivilegeMode::Kernel) => "kernel",
            Condition::Source(SourceCondition::L1Miss) => "l1_miss",
            Condition::Source(SourceCondition::L2Miss) => "l2_miss",
            Condition::Source(SourceCondition::L3Miss) => "l3_miss",
            Condition::Source(SourceCondition::RemoteDram) => "remote_dram",
            Condition::Source(SourceCondition::Hitm) => "hitm",
        }
    }
}
