//! Where a thread is, for who must show the program its own state.

use crate::block;

/// What an address in the code cache means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub ip: u64,
    pub next: u64,
    /// Bit n: register n (by encoding) has its value in the block's REGISTERS
    /// and not, or as well, in itself.
    pub held: u16,
    pub phase: InstructionPhase,
    /// A string instruction is done in parts, and rcx counts what is left of
    /// this one: the block's REST is to be added.
    pub part: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionPhase {
    /// Nothing of it has happened: with `held` registers put back, the thread
    /// may be taken to `ip`.
    Before,
    /// The model has heard of it, or a part of it is done. A fault of the
    /// program's own instruction is one at `ip`, with `held` registers put
    /// back. For all else step on until the next `Before`.
    Checked,
    /// A system call inline was made: it is at `next`, rcx is to be `next`.
    /// (When the kernel restarts the call, it sets the address 2 lower, to
    /// where translated code has the same instruction: that is `Syscall`.)
    AfterSyscall,
    /// At the inline `syscall` instruction itself.
    Syscall,
    /// In the slow path's stub or, where [`CodeCache::locate`] is None and
    /// the address is the runtime's, in the runtime: the block's SITE
    /// has the instruction. Put the [`boundary`] stub in RESUME to stop at the
    /// path's end (what RESUME held is where to go on, or to locate then).
    ///
    /// [`CodeCache::locate`]: crate::code_cache::CodeCache::locate
    /// [`boundary`]: crate::code_cache::CodeCache::boundary
    Runtime,
    /// In the stub of an indirect branch: the instruction is done, the
    /// program is at the address in BRANCH with `held` put back.
    Branching,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CodeVariant {
    /// All that the model wants to hear of is looked up.
    #[default]
    Modelled,
    /// Instructions are counted, nothing else: for what lies between bursts.
    Bare,
}

impl CodeVariant {
    /// As HALF of a block has it.
    #[must_use]
    pub fn of(word: u64) -> CodeVariant {
        if word == block::BARE { CodeVariant::Bare } else { CodeVariant::Modelled }
    }

    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            CodeVariant::Modelled => block::MODELLED,
            CodeVariant::Bare => block::BARE,
        }
    }

    /// Offset in a block of the table of its indirect branches.
    #[must_use]
    pub fn table(self) -> usize {
        match self {
            CodeVariant::Modelled => block::BRANCHES,
            CodeVariant::Bare => block::BARE_BRANCHES,
        }
    }
}
