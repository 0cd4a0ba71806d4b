//! Why translated code ran into a breakpoint.

/// Why a thread stopped with SIGTRAP in the code cache.
///
/// The registers are the program's own when it does (none is held in a slot),
/// but for those that the variant names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A direct branch to `target`, not translated yet: translate it and go on
    /// there; the branch is linked by that.
    Direct {
        /// Address in the program.
        target: u64,
    },
    /// An indirect branch to the address in the block's BRANCH that the
    /// runtime does not know. Go on at
    /// [`CodeCache::translate`](crate::code_cache::CodeCache::translate)'s
    /// address with it.
    Indirect,
    /// A system call that SYSCALLS names; nothing of it has happened.
    Syscall {
        /// Address of the instruction.
        ip: u64,
        /// Address of the next one, where to go on when it was done.
        next: u64,
    },
    /// An instruction that must be done outside of the cache, with the
    /// program's own state: what cannot be decoded or read, what traps, what
    /// changes segments. Nothing of it has happened.
    Instruction {
        /// Its address.
        ip: u64,
    },
    /// The block's BURST fell below 0 (or to what does not fit 31 bits).
    /// Going on at the address behind the breakpoint is right.
    Burst {
        /// Where the program is.
        ip: u64,
        /// What was taken from BURST for the instructions that follow.
        instructions: u32,
    },
    /// The program's code is not what was translated: invalidate, translate
    /// and go on at `ip`.
    Changed {
        /// Address of the block.
        ip: u64,
    },
    /// The runtime stopped: why is in EXIT. Registers are where
    /// [`Phase::Runtime`](super::Phase::Runtime) says. Going on at the address
    /// behind the breakpoint is right, a record that found no room is tried
    /// again by it.
    Runtime,
    /// The stub that [`CodeCache::boundary`](crate::code_cache::CodeCache::boundary)
    /// names was reached.
    Boundary,
}
