//! What the translator is told.

use iced_x86::Instruction;
use perfdata::AllocatorCall;

use crate::Classifier;
use crate::block::COUNTED_FROM;

/// All that shapes translated code; the same for every thread of an address
/// space.
#[derive(Clone, Debug)]
pub struct Translation {
    pub features: CpuFeatures,
    pub instrumentation: Instrumentation,
    pub runtime: RuntimeAddresses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFeatures {
    /// rorx and shrx.
    pub bmi2: bool,
    /// rdfsbase, allowed by the kernel too; without it the tracer keeps
    /// FS_BASE of each block up to date.
    pub fsgsbase: bool,
    /// Whether zmm registers and 64-bit masks exist (AVX512BW).
    pub avx512bw: bool,
    /// Bytes that xsave writes at most.
    pub xsave_bytes: u16,
}

/// What the model wants to hear of.
#[derive(Clone, Debug, Default)]
pub struct Instrumentation {
    pub data: bool,
    pub fetch: bool,
    /// Of each event that counts instructions of a class: which, and where.
    pub countdowns: Vec<EventCountdown>,
    /// Instructions are counted in BURST, a block of them at a time, and
    /// there is a second translation that does nothing else.
    pub burst: bool,
    /// Where functions of allocators begin, and where those return.
    pub heap: bool,
    /// Threads take turns: instructions are counted in BURST, a block of them
    /// at a time, and the runtime hears of system calls and of `pause`.
    pub turns: bool,
}

impl Instrumentation {
    /// Whether instructions are counted in BURST.
    #[must_use]
    pub fn counts_blocks(&self) -> bool {
        self.burst || self.turns
    }

    /// Which of the events count an instruction: bits of
    /// [`COUNTED`](crate::block::COUNTED).
    pub(super) fn counted(&self, instruction: &Instruction) -> u32 {
        let counting = self.countdowns.iter().filter(|one| one.of.counts(instruction));
        counting.fold(0, |marks, one| marks | 1_u32.wrapping_shl(COUNTED_FROM + one.event))
    }
}

#[derive(Clone, Debug)]
pub struct EventCountdown {
    /// Its place among the events, below [`EVENTS`](crate::block::EVENTS).
    pub event: u32,
    pub of: Countdown,
}

#[derive(Clone, Debug)]
pub enum Countdown {
    All,
    Of(Classifier),
}

impl Countdown {
    fn counts(&self, instruction: &Instruction) -> bool {
        match self {
            Countdown::All => true,
            Countdown::Of(classifier) => classifier.counts(instruction),
        }
    }
}

/// Where in the target the runtime's functions are, all with the address of
/// the thread's block as their argument.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeAddresses {
    /// Looks an access up, whose address is the second argument, if it is of
    /// the commonest kind: 1; else 0, and `access` is to do it. DF may be set,
    /// FLAGS is not yet.
    pub quick: u64,
    /// Looks an access up: 0 = go on, 1 = a record is due, else an
    /// [`ExitReason`](crate::block::ExitReason) is in EXIT.
    pub access: u64,
    /// Writes the record: 0 = done, else an exit. Called when all sixteen
    /// REGISTERS and FLAGS are stored.
    pub record: u64,
    /// Where BRANCH is in the code cache, entered in BRANCHES; 0 = not known.
    pub lookup: u64,
    /// Goes on to the next stretch when BURST is below 0 before the TURN
    /// instructions at BRANCH; then as `lookup`.
    pub turn: u64,
    /// Bit n: it changes xmm n.
    pub vectors: u16,
}

pub trait CodeSource {
    /// Copies what is there of executable memory from `address` on, and says
    /// how many bytes: fewer than asked at the end of what may be executed.
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize;

    /// Which function of an allocator begins at an address.
    fn allocator(&mut self, _address: u64) -> Option<AllocatorCall> {
        None
    }
}
