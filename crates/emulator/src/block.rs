//! What lies where in the block of memory that each emulated thread has at
//! its GS base: the translated code, the runtime in the target and the
//! tracer all read it.
//!
//! Offsets in bytes. No item of this file needs std: the runtime includes it.

/// The block's own address in the target.
pub const SELF: usize = 0;
/// Address in the target of the memory that the threads of an address space
/// have in common.
pub const SPACE: usize = 8;
/// The site whose slow path runs: address of its `AccessSite`.
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
/// Why the runtime gave up (u64: an `ExitReason`).
pub const EXIT: usize = 72;
/// What belongs to it. Number of the last system call made inline. How many
/// bytes of a region's name could be read.
pub const EXIT_ARGUMENT: usize = 80;
/// Counts accesses, with gaps: the later of two has the larger value.
pub const CLOCK: usize = 88;
/// Which translation of the program the thread is in: [`MODELLED`] or
/// [`BARE`].
pub const VARIANT: usize = 96;
/// Instructions to go until a burst ends or begins; below 0 it is over.
pub const BURST: usize = 104;
/// The program's own FS base.
pub const FS_BASE: usize = 112;
/// The program's own GS base.
pub const GS_BASE: usize = 120;
/// The sixteen general registers in the order of their encoding (rax, rcx,
/// rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15): scratch registers of a prelude
/// have their values here while it runs, all of them in a record's slow path.
pub const REGISTERS: usize = 128;
/// Three vector registers of 64 bytes: index, mask and one to spare. Where the
/// name of a region is read to.
pub const VECTORS: usize = 256;
/// Instructions of the block at whose head BURST fell below 0 last.
pub const TURN: usize = 448;
/// Elements of a repeated string instruction behind those that rcx counts
/// while a part of it is done; 0 when it begins.
pub const REST: usize = 456;
/// Minus the value of rsp at which a call of an allocator returns; 0: none is awaited.
pub const AWAITED: usize = 464;
/// Of each event, in their order: how many to go until its next record.
pub const COUNTDOWNS: usize = 512;
/// Events that can be counted in one run.
pub const EVENTS: usize = 24;
/// What the runtime keeps for itself.
pub const RUNTIME: usize = COUNTDOWNS + 8 * EVENTS;
/// One byte for each system call number: not 0 where the tracer must see
/// the call.
pub const SYSCALLS: usize = 0x2000;
pub const SYSCALLS_LEN: usize = 0x1000;
/// Bytes between the tables that follow, so that entries of one line are in
/// different sets of the host's caches.
pub const APART: usize = 0x200;
/// Keys of the lines of data that hit for loads: 65536 of 8 bytes, by
/// [`index`].
pub const LOADS: usize = 0x1_0000;
/// The clock when each of them was last hit without the slow path: 65536 of
/// 8 bytes, by [`stamp_index`]; for stores that hit as well.
pub const LOAD_STAMPS: usize = 0x9_0200;
/// Lines of data that hit for stores: 65536 keys, by [`index`].
pub const STORES: usize = 0x11_0400;
/// Lines of code that hit: keys, by [`index`].
pub const FETCHES: usize = 0x19_0600;
/// And when: by [`stamp_index`].
pub const FETCH_STAMPS: usize = 0x21_0800;
/// Where indirect branches go: 65536 addresses of entries in the code cache
/// (8 bytes), by the low 16 bits of the target's address. The entry compares
/// the whole address, so any entry may stand anywhere; all are the zone's
/// `Zone::miss` stub at first, none may be 0.
pub const BRANCHES: usize = 0x29_0a00;
/// The same for the translation without checks.
pub const BARE_BRANCHES: usize = 0x31_0a00;
pub const SIZE: usize = 0x40_0000;

/// Entries of each of the four tables.
pub const ENTRIES: usize = 0x1_0000;
/// A key of no line: a block of zeroes has empty tables.
pub const NO_LINE: u64 = 0;

/// The translation that looks every access up.
pub const MODELLED: u64 = 0;
/// The translation that counts instructions alone.
pub const BARE: u64 = 1;

/// What stands in the tables for the line of 64 bytes whose first byte is at
/// `line`: minus its address, and in the six bits that leaves free by how
/// much to shift the sum of both to drop the offset in the line.
#[must_use]
pub const fn key(line: u64) -> u64 {
    line.wrapping_neg() | 6
}

/// What a veiled key has of its own: a bit that no address leaves clear, so
/// that no check takes it for its line's, and one by which it is known.
const VEIL: u64 = 1 << 62 | 1;

/// The key of a line that is where it was, but whose page no TLB has: it
/// hits for nobody, and its stamp stays good.
#[must_use]
pub const fn veiled(line: u64) -> u64 {
    key(line) ^ VEIL
}

/// Whether a key is that of a line, veiled or not.
#[must_use]
pub const fn names(entry: u64, line: u64) -> bool {
    let differ = entry ^ key(line);
    differ == 0 || differ == VEIL
}

/// The line of a key that is not [`NO_LINE`].
#[must_use]
pub const fn line_of(key: u64) -> u64 {
    let plain = if key & 1 == 0 { key } else { key ^ VEIL };
    (plain & !63).wrapping_neg()
}

#[must_use]
pub const fn countdown(event: usize) -> usize {
    COUNTDOWNS + 8 * event
}

/// Place of an address in the tables of keys: its bits 6 to 21.
#[must_use]
pub const fn index(address: u64) -> usize {
    (address >> 6 & 0xffff) as usize
}

/// Place in the tables of stamps, for one in the tables of keys: what the
/// same bits of the key say, which is what translated code has at hand.
#[must_use]
pub const fn stamp_index(index: usize) -> usize {
    index.wrapping_neg() & 0xffff
}

/// What the slow path must know of one access in translated code; lies in
/// the code cache behind its stub.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AccessSite {
    /// Address of the instruction in the program.
    pub ip: u64,
    pub resume: u64,
    /// Added to the clock of its trace: the place among its accesses.
    pub offset: u32,
    /// Bytes accessed.
    pub size: u16,
    /// An `AccessKind`.
    pub kind: u8,
    /// Length of the instruction.
    pub length: u8,
    /// Bits of the instruction: [`LOCKED`] and the others.
    pub marks: u32,
    /// How a gather or a masked access finds its elements: bits 0 to 6 their
    /// number, 8 to 9 the index's size as a power of two in bytes, 10 to 11
    /// the power of two that scales it, 12 whether the mask is in a mask
    /// register (a bit for each element in the word at VECTORS + 64) and not
    /// in a vector (there too: the top bit of each element), 13 whether the
    /// chosen elements lie side by side. Of an allocator's function: which
    /// [`perfdata::AllocatorCall`]. 0 for others.
    pub elements: u32,
}

pub const LOCKED: u32 = 1;
/// No further access of this instruction follows.
pub const LAST: u32 = 4;
/// Addresses of a string instruction are cut to 32 bits (and its counter is
/// ecx).
pub const NARROW: u32 = 8;
/// A store's instruction reads the same bytes first.
pub const READS: u32 = 16;
/// A bit for each event that counts the instruction's class, the first one's
/// lowest. The countdown of the lowest that is set was decreased inline and is
/// 0: a record is due. Those of the others are still to be decreased.
pub const COUNTED: u32 = !0 << COUNTED_FROM;
/// Where the bits of [`COUNTED`] begin.
pub const COUNTED_FROM: u32 = 8;
const _: () = assert!(EVENTS <= (u32::BITS - COUNTED_FROM) as usize);

/// Bytes that are read of a region's name: the longest, and its NUL.
pub const NAME: usize = 96;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessKind {
    Load = 0,
    /// Writes, or reads and writes.
    Store = 1,
    Fetch = 2,
    /// No memory: an instruction of a counted class.
    None = 3,
    /// `rep movs`: rcx elements of the site's size from rsi to rdi, down if
    /// FLAGS says so. Registers are as before the instruction.
    Move = 4,
    /// `rep stos`: rcx elements at rdi.
    Fill = 5,
    /// `rep lods`: rcx elements at rsi. (Translated code steps through it,
    /// since rax changes on the way.)
    Scan = 6,
    /// Loads at ADDRESS + index × scale for each element whose mask is set;
    /// the indexes are in VECTORS, signed.
    Gather = 7,
    Scatter = 8,
    /// Loads consecutive elements from ADDRESS on whose mask is set.
    MaskedLoad = 9,
    MaskedStore = 10,
    /// No memory: a system call is next.
    Call = 11,
    /// No memory: an instruction of loops that wait is next.
    Pause = 12,
    /// No memory that must be there: the thread enters the region whose name is
    /// at rdi.
    RegionBegin = 13,
    /// It leaves that region; where rdi is 0, or the name empty, the innermost.
    RegionEnd = 14,
    /// No memory: a function of an allocator is entered.
    AllocatorEntry = 15,
    /// No memory: one returns, whose return is awaited.
    AllocatorReturn = 16,
}

/// Why the runtime stops the thread with a breakpoint; what translated code
/// stops for by itself is `translate::CodeStop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum ExitReason {
    /// No room in the ring; `record` is called again when the thread goes on.
    RingFull = 6,
    /// The count of records is reached.
    Count = 8,
    /// The runtime found itself wrong.
    Fault = 10,
    /// The name of a region is to be read to VECTORS by somebody else, since a
    /// filter judges the thread's system calls; to go on,
    /// [`RingFull`](ExitReason::RingFull) is put in its place.
    Name = 12,
}
