//! What lies where in the block of memory that each emulated thread has at
//! its GS base: the translated code, the runtime in the target and the
//! supervisor all read it.
//!
//! Offsets in bytes. No item of this file needs std: the runtime includes it.

/// The block's own address in the target.
pub const SELF: usize = 0;
/// Address in the target of the memory that the threads of an address space
/// have in common.
pub const SPACE: usize = 8;
/// The site whose slow path runs: address of its `Site`.
pub const SITE: usize = 16;
/// Effective address of the access that is looked at.
pub const ADDRESS: usize = 24;
/// Where translated code goes on after the slow path.
pub const RESUME: usize = 32;
/// RFLAGS at the slow path's entry.
pub const FLAGS: usize = 40;
/// Top of the runtime's own stack.
pub const STACK: usize = 48;
/// Where an indirect branch goes, in the target's own code.
pub const BRANCH: usize = 56;
/// The same in the code cache.
pub const HOST: usize = 64;
/// Why translated code gave up (u64: an `Exit`).
pub const EXIT: usize = 72;
/// What belongs to it.
pub const EXIT_ARGUMENT: usize = 80;
/// Where the branch is in the code cache that an `Exit::Direct` can link.
pub const EXIT_LINK: usize = 504;
/// Counts accesses, with gaps: the later of two has the larger value.
pub const CLOCK: usize = 88;
/// Events to go until the next record.
pub const COUNTDOWN: usize = 96;
/// Instructions to go until a burst ends or begins.
pub const BURST: usize = 104;
/// The program's own FS base.
pub const FS_BASE: usize = 112;
/// The program's own GS base.
pub const GS_BASE: usize = 120;
/// The sixteen general registers in the order of their encoding (rax, rcx,
/// rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15): scratch registers of a prelude
/// have their values here while it runs, all of them in a record's slow path.
pub const REGISTERS: usize = 128;
/// Three vector registers of 64 bytes: index, mask and one to spare.
pub const VECTORS: usize = 256;
/// What the runtime keeps for itself.
pub const RUNTIME: usize = 512;
/// One byte for each system call number: not 0 where the supervisor must see
/// the call.
pub const SYSCALLS: usize = 0x1000;
/// Numbers that the table has.
pub const SYSCALLS_LEN: usize = 0x1000;
/// Lines of data that hit for loads: 65536 `Line`s.
pub const LOADS: usize = 0x1_0000;
/// Lines of data that hit for stores: 65536 keys of 8 bytes.
pub const STORES: usize = 0x11_0000;
/// Lines of code that hit: 65536 `Line`s.
pub const FETCHES: usize = 0x19_0000;
/// Where indirect branches go: 65536 pairs of minus the target's address and
/// the address in the code cache.
pub const BRANCHES: usize = 0x29_0000;
/// Size of a block.
pub const SIZE: usize = 0x40_0000;

/// Entries of each of the four tables.
pub const ENTRIES: usize = 0x1_0000;
/// A key of no line: no difference to it is below a line's size.
pub const NO_LINE: u64 = 1 << 63;

/// An entry of the tables of lines, at the index that bits 6 to 21 of an
/// address give.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Minus the address of the line's first byte, or [`NO_LINE`].
    pub key: u64,
    /// The clock when it was last hit without the slow path.
    pub stamp: u64,
}

/// What the slow path must know of one access in translated code; lies in
/// the code cache behind its stub.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Address of the instruction in the program.
    pub ip: u64,
    /// Where translated code goes on.
    pub resume: u64,
    /// Added to the clock of its trace: the place among its accesses.
    pub offset: u32,
    /// Bytes accessed.
    pub size: u16,
    /// An `AccessKind`.
    pub kind: u8,
    /// Length of the instruction.
    pub length: u8,
    /// Bits of the instruction: [`LOCKED`], [`COUNTED`], [`LAST`].
    pub marks: u32,
    /// Keeps the size a multiple of 8.
    pub reserved: u32,
}

/// The instruction is locked.
pub const LOCKED: u32 = 1;
/// The instruction is of the class whose events are counted: the countdown
/// was decreased inline, at 0 a record is due.
pub const COUNTED: u32 = 2;
/// No further access of this instruction follows.
pub const LAST: u32 = 4;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessKind {
    /// Reads.
    Load = 0,
    /// Writes, or reads and writes.
    Store = 1,
    /// Fetches instructions.
    Fetch = 2,
    /// No memory: an instruction of a counted class.
    None = 3,
}

/// Why translated code stops with a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Exit {
    /// A direct branch whose target is not translated: argument is the
    /// target's address in the program; [`EXIT_LINK`] holds the place to link.
    Direct = 1,
    /// An indirect branch that the tables do not know: the target is in BRANCH.
    Indirect = 2,
    /// A system call that the supervisor must see: argument is the address
    /// of the instruction behind it.
    Syscall = 3,
    /// An instruction that only the supervisor can do: argument is its address.
    Instruction = 4,
    /// The slow path has ended; a signal waits.
    Boundary = 5,
    /// No room in the ring; the record is written by trying again.
    RingFull = 6,
    /// A burst begins or ends.
    Burst = 7,
    /// The count of records is reached.
    Count = 8,
    /// The program's code is not what was translated: argument is the address.
    Changed = 9,
    /// The runtime found itself wrong.
    Fault = 10,
}
