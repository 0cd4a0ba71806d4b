//! What the state of the program is at an address of translated code: noted
//! while it is made, read when a thread is found there.

use super::location::InstructionPhase;

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockMark {
    /// Offset in the zone.
    pub(crate) start: u32,
    /// Place of its first mark.
    pub(crate) marks: u32,
    /// Address in the program.
    pub(crate) ip: u64,
}

/// Where the state within a block changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateMark {
    /// Bytes behind the mark before.
    pub(crate) delta: u8,
    /// Length of the program's instruction that begins here, else 0.
    pub(crate) length: u8,
    /// Registers whose values are in their slots.
    pub(crate) held: u16,
    pub(crate) phase: MarkPhase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MarkPhase {
    Before,
    Checked,
    /// [`Checked`](MarkPhase::Checked), at a part of a string instruction.
    Part,
    Syscall,
    AfterSyscall,
    Branching,
}

impl MarkPhase {
    pub(crate) fn phase(self) -> InstructionPhase {
        match self {
            MarkPhase::Before => InstructionPhase::Before,
            MarkPhase::Checked | MarkPhase::Part => InstructionPhase::Checked,
            MarkPhase::Syscall => InstructionPhase::Syscall,
            MarkPhase::AfterSyscall => InstructionPhase::AfterSyscall,
            MarkPhase::Branching => InstructionPhase::Branching,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ColdMark {
    /// Offset in the zone.
    pub(crate) start: u32,
    /// From there to the site, or to the stop that says where it is.
    pub(crate) site: u16,
    /// From there to where rax is in its slot as well (rcx, too).
    /// 0 = never.
    pub(crate) saved: u8,
    pub(crate) is_site: bool,
    pub(crate) held: u16,
    pub(crate) phase: MarkPhase,
}
