//! A thread's block as a type.

use core::mem::offset_of;

use super::burst_phase::BurstPhase;
use super::event_counters::EventCounters;
use super::header::Header;
use super::heap_call::HeapCall;
use crate::block::{self, ENTRIES, EVENTS};
use crate::model::{Core, LineTables};

/// The block; see [`crate::block`] for the fields of the same names.
#[repr(C)]
#[derive(Debug)]
pub struct Thread {
    pub this: u64,
    pub space: u64,
    pub site: u64,
    pub address: u64,
    pub resume: u64,
    pub flags: u64,
    pub stack: u64,
    pub branch: u64,
    pub host: u64,
    pub exit: u64,
    pub exit_argument: u64,
    pub clock: u64,
    pub variant: u64,
    pub burst: u64,
    pub fs_base: u64,
    pub gs_base: u64,
    pub registers: [u64; 16],
    pub vectors: [[u64; 8]; 3],
    pub turn: u64,
    pub rest: u64,
    pub awaited: u64,
    pub heap: HeapCall,
    pub spare: [u64; 1],
    pub countdowns: [u64; EVENTS],
    pub runtime: RuntimeState,
    pub strides: [Stride; STRIDES],
    unused: [u8; block::SYSCALLS - block::RUNTIME - size_of::<RuntimeState>() - 16 * STRIDES],
    pub syscalls: [u8; block::SYSCALLS_LEN],
    stack_memory: [u8; block::LOADS - block::SYSCALLS - block::SYSCALLS_LEN],
    pub tables: LineTables,
    pub branches: [u64; ENTRIES],
    pub bare_branches: [u64; ENTRIES],
}

impl Thread {
    /// The countdown and the books of each event.
    pub(super) fn each_event<'a>(
        &'a mut self,
        header: &Header,
    ) -> impl Iterator<Item = (&'a mut u64, &'a mut EventCounters)> {
        let count = header.counted().len();
        self.countdowns.iter_mut().zip(&mut self.runtime.counters).take(count)
    }
}

/// Places for instructions that go through memory step by step.
pub const STRIDES: usize = 64;

/// Where an instruction that misses was last, and how it came there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stride {
    pub last: u64,
    /// From the one before to that.
    pub step: u64,
}

impl Stride {
    /// Enters an access: where one some steps ahead will be, if it keeps its
    /// stride.
    #[inline(always)]
    pub fn ahead(&mut self, address: u64) -> Option<u64> {
        let step = address.wrapping_sub(self.last);
        let same = step == self.step;
        *self = Stride { last: address, step };
        same.then(|| address.wrapping_add(step.wrapping_mul(8)))
    }
}

/// The thread's lines are in the directory.
pub const LISTED: u64 = 1;
/// It has none yet.
pub const EMPTY: u64 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeState {
    pub index: u64,
    /// Process and thread id, as a record has them: the process's below.
    pub task: u64,
    pub pending: PendingRecords,
    /// Modelled time of accesses beyond a hit that no record has yet, cycles.
    pub waited: u64,
    /// Misses of the first level, and stretches in gaps, where nobody sees them:
    /// as long as it stands still, the thread may just wait. A thread that is
    /// alone does not always keep it up.
    pub missed: u64,
    /// The clock at the last record.
    pub recorded: u64,
    /// How far a string or vector instruction has been looked up; 0: whole.
    pub progress: u64,
    /// [`LISTED`], [`EMPTY`], or 0: it has lines that are not in the
    /// directory.
    pub listed: u64,
    pub burst_phase: BurstPhase,
    pub time_slice: TimeSlice,
    /// Of a mark of a region that is not written yet:
    /// [`DUE`](super::region::DUE) and the other; 0: there is none.
    pub region: u64,
    pub counters: [EventCounters; EVENTS],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSlice {
    /// Instructions left of it, since BURST was given some of them.
    pub left: u64,
    pub short: u64,
    /// Times in a row that looking for the run token was in vain.
    pub fruitless_runs: u64,
    /// Which of the run token's turns it is; 0 before the first.
    pub turn: u64,
    /// Instructions in which nothing missed.
    pub idle: u64,
    /// The thread's misses then.
    pub missed: u64,
}

impl TimeSlice {
    pub(super) fn add_run(&mut self, ran: u64, missed: u64) {
        self.left = self.left.saturating_sub(ran);
        self.idle = if self.missed == missed { self.idle.saturating_add(ran) } else { 0 };
        self.missed = missed;
    }
}

/// The records that are due: of one access, one for each of some events.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PendingRecords {
    /// A bit for each event whose record is due, until it is written.
    pub due: u64,
    pub address: u64,
    /// As in `perf_mem_data_src`.
    pub source: u64,
    /// Cycles of the access, modelled.
    pub latency: u64,
    /// Elements that a string instruction has done before.
    pub elements: u64,
    /// Why levels missed, as in [`crate::model::AccessOutcome::causes`].
    pub causes: u64,
}

const _: () = {
    assert!(offset_of!(Thread, site) == block::SITE);
    assert!(offset_of!(Thread, exit_argument) == block::EXIT_ARGUMENT);
    assert!(offset_of!(Thread, clock) == block::CLOCK);
    assert!(offset_of!(Thread, gs_base) == block::GS_BASE);
    assert!(offset_of!(Thread, registers) == block::REGISTERS);
    assert!(offset_of!(Thread, vectors) == block::VECTORS);
    assert!(offset_of!(Thread, variant) == block::VARIANT);
    assert!(offset_of!(Thread, turn) == block::TURN);
    assert!(offset_of!(Thread, rest) == block::REST);
    assert!(offset_of!(Thread, awaited) == block::AWAITED);
    assert!(offset_of!(Thread, countdowns) == block::COUNTDOWNS);
    assert!(offset_of!(Thread, runtime) == block::RUNTIME);
    assert!(offset_of!(Thread, syscalls) == block::SYSCALLS);
    assert!(offset_of!(Thread, tables.loads) == block::LOADS);
    assert!(offset_of!(Thread, tables.load_stamps) == block::LOAD_STAMPS);
    assert!(offset_of!(Thread, tables.stores) == block::STORES);
    assert!(offset_of!(Thread, tables.fetches) == block::FETCHES);
    assert!(offset_of!(Thread, tables.fetch_stamps) == block::FETCH_STAMPS);
    assert!(offset_of!(Thread, branches) == block::BRANCHES);
    assert!(offset_of!(Thread, bare_branches) == block::BARE_BRANCHES);
    assert!(size_of::<Thread>() <= block::SIZE);
};

/// A thread's block, the model's words behind it, and its space's head.
#[derive(Debug)]
pub struct ThreadContext<'a> {
    pub thread: &'a mut Thread,
    /// `private_words` of them.
    pub words: &'a mut [u64],
    pub header: &'a Header,
}

impl ThreadContext<'_> {
    #[inline(always)]
    pub fn core(&mut self) -> Core<'_> {
        Core { shape: &self.header.shape, words: self.words, tables: &mut self.thread.tables }
    }
}
