//! What the threads of an address space have in common: at the begin of the
//! space's memory, its address in SPACE of every block.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::burst_phase::BurstSchedule;
use super::moved_object::{self, MovedObject};
use super::period::PeriodRule;
use super::run_token::{self, THREADS};
use crate::block::EVENTS;
use crate::model::Shape;

/// Entries of the full table of indirect branches.
pub const BRANCHES: usize = 1 << 19;

/// How samples look: what of an attr matters to their writer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleFormat {
    /// `sample_type`.
    pub fields: u64,
    /// `sample_regs_intr`.
    pub interrupted: u64,
    /// `sample_regs_user`.
    pub user: u64,
    /// `sample_stack_user`, as far as a record has room for it.
    pub stack: u64,
    pub id: u64,
    /// Bytes of a whole record.
    pub size: u64,
    /// Whose miss it is that RAW tells of: a [`crate::model::CacheLevel`]; or [`HEAP`].
    pub reported_level: u64,
}

/// RAW tells of a block of the heap.
pub const HEAP: u64 = 15;

#[repr(C, align(64))]
#[derive(Debug)]
pub struct Header {
    /// Index of the thread that holds the lock, plus 1; 0: none.
    pub lock: AtomicU64,
    /// Not 0 when more than one thread may run.
    pub several: AtomicU64,
    /// Threads' indices are below this.
    pub highest: AtomicU64,
    /// Bits of threads whose lines are not in the directory.
    pub unlisted: AtomicU64,
    /// Address of the ring's page 0 in the target.
    pub ring: u64,
    /// Bytes of the ring's data: a power of two.
    pub ring_bytes: u64,
    /// What any event counts: bits of [`crate::model::Events`].
    pub events: u64,
    pub count: u64,
    /// What each of them counts, by its place: bits of the same; 0 for
    /// classes of instructions.
    pub each: [u64; EVENTS],
    /// Of each: events from one record to the next.
    pub periods: [PeriodRule; EVENTS],
    pub bursts: BurstSchedule,
    pub formats: [SampleFormat; EVENTS],
    pub shape: Shape,
    /// How many objects the model has elsewhere.
    pub moves: u64,
    pub moved: [MovedObject; moved_object::MAX_OBJECTS],
    pub run_token: [AtomicU64; run_token::WORDS],
    /// Bits of threads that may have lines, by their indices: one that has not
    /// begun need not be asked for any.
    pub begun: [AtomicU64; THREADS / 64],
    /// Address of the block of each thread, by its index; 0: none.
    pub threads: [AtomicU64; THREADS],
    pub branches: [[AtomicU64; 2]; BRANCHES],
}

impl Header {
    /// What each of the events counts that there are.
    #[inline(always)]
    pub fn counted(&self) -> &[u64] {
        let count = usize::try_from(self.count).unwrap_or(EVENTS);
        self.each.get(..count).unwrap_or(&self.each)
    }

    #[inline(always)]
    pub fn modelled(&self, address: u64) -> u64 {
        if self.moves == 0 {
            return address;
        }
        let count = usize::try_from(self.moves).unwrap_or(0);
        moved_object::placed(self.moved.get(..count).unwrap_or_default(), address)
    }

    /// A thread is about to have lines.
    pub fn begin(&self, index: u64) {
        let word = usize::try_from(index / 64).ok().and_then(|at| self.begun.get(at));
        if let Some(word) = word {
            word.fetch_or(1 << (index % 64), Relaxed);
        }
    }
}

// The words of the model that threads share lie behind the header.
const _: () = assert!(size_of::<Header>().is_multiple_of(64));
