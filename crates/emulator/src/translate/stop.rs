//! Why translated code ran into a breakpoint.

use super::assembler::Assembler;

/// Why a thread stopped with SIGTRAP in the code cache.
///
/// The registers are the program's own when it does (none is held in a slot),
/// but for those that the variant names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeStop {
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
    /// A system call that SYSCALLS names; nothing of it has happened. Going
    /// on at the address behind the breakpoint makes it.
    Syscall {
        ip: u64,
        /// Address of the next one, where to go on when it was done.
        next: u64,
    },
    /// A system call inline gave EFAULT, perhaps for a page that only we made
    /// read-only. All registers are as after the call but rcx, which is to be
    /// `next`, where the program goes on; the call's number (rax before) is in
    /// EXIT_ARGUMENT for who wants to make it again.
    BadAddress {
        ip: u64,
        /// Address of the next instruction.
        next: u64,
    },
    /// An instruction that must be done outside of the cache, with the
    /// program's own state: what cannot be decoded or read, what traps, what
    /// changes segments. Nothing of it has happened.
    Instruction { ip: u64 },
    /// The program's code is not what was translated: invalidate, translate
    /// and go on at `ip`.
    Changed { ip: u64 },
    /// The runtime stopped: why is in EXIT. Registers are where
    /// [`InstructionPhase::Runtime`](super::InstructionPhase::Runtime) says. Going on at the address
    /// behind the breakpoint is right, a record that found no room is tried
    /// again by it.
    Runtime,
    /// The stub that [`CodeCache::boundary`](crate::code_cache::CodeCache::boundary)
    /// names was reached.
    Boundary,
}

pub(crate) const DIRECT: u8 = 1;
pub(crate) const INDIRECT: u8 = 2;
pub(crate) const SYSCALL: u8 = 3;
pub(crate) const INSTRUCTION: u8 = 4;
pub(crate) const CHANGED: u8 = 6;
pub(crate) const RUNTIME: u8 = 7;
pub(crate) const BOUNDARY: u8 = 8;
pub(crate) const BAD_ADDRESS: u8 = 9;

/// Writes a stop: a breakpoint, a jump over what says why, for a thread that
/// goes on.
pub(crate) fn write(code: &mut Assembler, kind: u8, address: u64, number: u32) {
    code.put(&[0xcc, 0xeb, 13, kind]);
    code.u64(address);
    code.u32(number);
}

pub(crate) fn read(bytes: &[u8]) -> Option<CodeStop> {
    let [0xcc, _, _, kind, rest @ ..] = bytes else { return None };
    let (address, rest) = rest.split_first_chunk::<8>()?;
    let (number, _) = rest.split_first_chunk::<4>()?;
    let (ip, number) = (u64::from_le_bytes(*address), u32::from_le_bytes(*number));
    Some(match *kind {
        DIRECT => CodeStop::Direct { target: ip },
        INDIRECT => CodeStop::Indirect,
        SYSCALL => CodeStop::Syscall { ip, next: ip.wrapping_add(u64::from(number)) },
        INSTRUCTION => CodeStop::Instruction { ip },
        CHANGED => CodeStop::Changed { ip },
        BAD_ADDRESS => CodeStop::BadAddress { ip, next: ip.wrapping_add(u64::from(number)) },
        RUNTIME => CodeStop::Runtime,
        BOUNDARY => CodeStop::Boundary,
        _ => return None,
    })
}

/// Where the program is at the stop in these bytes, and where after it.
pub(crate) fn address(bytes: &[u8]) -> Option<(u64, u64)> {
    match read(bytes)? {
        CodeStop::Direct { target: ip }
        | CodeStop::Instruction { ip }
        | CodeStop::Changed { ip } => Some((ip, ip)),
        CodeStop::Syscall { ip, next } => Some((ip, next)),
        CodeStop::BadAddress { next, .. } => Some((next, next)),
        CodeStop::Indirect | CodeStop::Runtime | CodeStop::Boundary => None,
    }
}
