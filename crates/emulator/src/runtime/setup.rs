//! Makes the memory that the runtime works on, from the tracer.

mod bursts;
mod events;
mod layouts;

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use perfdata::{Pid, Tid};

use super::guest::burst_phase::BurstSchedule;
use super::guest::header::{BRANCHES, Header};
use super::guest::run_token::{RunToken, THREADS, WORDS};
use super::guest::thread::{EMPTY, RuntimeState};
use crate::block::{self, EVENTS, SIZE};
use crate::event::EmulatedEvent;
use crate::geometry::Geometry;
use crate::model::Shape;
pub use events::{EventSetup, EventTotals};
use layouts::MovedLayout;

const PAGE: usize = 4096;

/// What all spaces of a session have in common. Memory of a space and of a
/// thread is given as its words, in the tracer's own mapping.
#[derive(Clone, Debug)]
pub struct RuntimeSetup {
    events: Vec<EventSetup>,
    shape: Shape,
    bursts: BurstSchedule,
    layouts: Vec<MovedLayout>,
}

#[derive(Clone, Copy, Debug)]
pub struct ThreadSetup {
    /// Number in its space, below [`RuntimeSetup::THREADS`]; no other has it now.
    pub index: usize,
    pub pid: Pid,
    pub tid: Tid,
    /// Address of its block in the target.
    pub block: u64,
    /// Address of its space in the target.
    pub space: u64,
    /// What all of BRANCHES hold at first:
    /// [`CodeCache::miss`](crate::code_cache::CodeCache::miss).
    pub miss: u64,
    /// A number of its own, where its periods and bursts are drawn from.
    pub seed: u64,
    pub filtered: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("samples of the emulated PMU cannot hold sample_type bits {0:#x}; leave them out")]
    Fields(u64),
    #[error("samples of the emulated PMU cannot hold the registers {0:#x}; leave them out")]
    Registers(u64),
    #[error("an interval of 0 events gives no samples; use 1 or more")]
    Interval,
    #[error("{0} events are asked for; use 1 to {EVENTS}")]
    Count(usize),
}

impl RuntimeSetup {
    pub const THREADS: usize = THREADS;

    /// Works out sizes, for one event or several.
    ///
    /// # Errors
    /// [`SetupError::Count`].
    pub fn new(geometry: &Geometry, events: Vec<EventSetup>) -> Result<RuntimeSetup, SetupError> {
        if !(1..=EVENTS).contains(&events.len()) {
            return Err(SetupError::Count(events.len()));
        }
        let forward = events.iter().any(|one| one.event == EmulatedEvent::BlockedForward);
        let tells = |level| events.iter().any(|one| one.tells(level));
        let shape = geometry.shape().with_shadows(tells).place(false, forward);
        Ok(RuntimeSetup { events, shape, bursts: BurstSchedule::default(), layouts: Vec::new() })
    }

    /// Whether the modelled machine prefetches; it does not by default.
    #[must_use]
    pub fn with_prefetch(mut self, prefetch: bool) -> RuntimeSetup {
        self.shape = self.shape.place(prefetch, self.shape.forward != 0);
        self
    }

    pub fn has_tlb(&self) -> bool {
        self.shape.dtlb.exists()
    }

    /// Bytes of a space's memory: a multiple of a page.
    pub fn space_size(&self) -> usize {
        let common = word(self.shape.common_words) * 8;
        (size_of::<Header>() + common).next_multiple_of(PAGE)
    }

    /// Bytes of a thread's block with what lies behind it: a multiple of a
    /// page. A block must be at a multiple of 64.
    pub fn thread_size(&self) -> usize {
        let private = word(self.shape.private_words) * 8;
        (SIZE + private).next_multiple_of(PAGE)
    }

    /// Fills the memory of a new space, all of which is 0: `ring` is the
    /// address in the target at which page 0 of the ring is, `ring_bytes`
    /// the size of its data. With `turns` one thread runs at a time.
    pub fn space(&self, words: &[AtomicU64], ring: u64, ring_bytes: u64, turns: bool) {
        if turns {
            self.run_token(words).begin(self.seed());
        }
        put(words, offset_of!(Header, ring), ring);
        put(words, offset_of!(Header, ring_bytes), ring_bytes);
        self.put_events(words);
        self.put_bursts(words);
        self.put_layouts(words);
        let shape = offset_of!(Header, shape);
        for (at, word) in self.shape.words().into_iter().enumerate() {
            put(words, shape + 8 * at, word);
        }
    }

    /// Fills the memory of a new thread, all of which is 0, and enters it in
    /// its space. When the space has threads already, all of them are stopped
    /// outside the runtime.
    pub fn thread(&self, space: &[AtomicU64], words: &[AtomicU64], thread: ThreadSetup) {
        put(words, block::SELF, thread.block);
        put(words, block::SPACE, thread.space);
        let stack = block::SYSCALLS + block::SYSCALLS_LEN;
        let top = u64::try_from(block::LOADS - 64).unwrap_or(0);
        debug_assert!(stack < block::LOADS);
        put(words, block::STACK, thread.block + top);
        put(words, block::CLOCK, 1);
        self.begin_periods(words, thread.seed);
        fill(words, block::BRANCHES, thread.miss);
        self.begin_bursts(words, thread.seed, thread.miss, self.run_token(space).is_on());
        let own = block::RUNTIME;
        let id = |id: i32| u64::from(id.cast_unsigned());
        put(words, own, u64::try_from(thread.index).unwrap_or(0));
        put(words, own + 8, id(thread.pid.0) | id(thread.tid.0) << 32);
        let entries = offset_of!(Header, threads);
        let number = u64::try_from(thread.index).unwrap_or(0);
        let highest = highest(space);
        let alone = (0..word(highest)).all(|at| get(space, entries + 8 * at) == 0);
        put(space, entries + 8 * thread.index, thread.block);
        put(space, offset_of!(Header, highest), highest.max(number + 1));
        self.run_token(space).join(thread.index, thread.filtered);
        if alone {
            // Its lines are listed once there is a second thread.
            put(space, offset_of!(Header, unlisted), 1 << (number & 63));
            begin(space, number, true);
        } else {
            put(words, own + offset_of!(RuntimeState, listed), EMPTY);
            put(space, offset_of!(Header, several), 1);
        }
    }

    /// Takes a thread that ended out of its space, and frees the space's lock
    /// if it held that. The last one left takes no lock any more; its lines
    /// count as unlisted from then on: its number, for [`RuntimeSetup::unlist`].
    pub fn remove_thread(&self, space: &[AtomicU64], index: usize) -> Option<usize> {
        let entries = offset_of!(Header, threads);
        if index < THREADS {
            put(space, entries + 8 * index, 0);
        }
        let number = u64::try_from(index).unwrap_or(0);
        begin(space, number, false);
        let held = number + 1;
        if let Some(lock) = space.get(offset_of!(Header, lock) / 8) {
            let _ = lock.compare_exchange(held, 0, Ordering::Release, Ordering::Relaxed);
        }
        let highest = highest(space);
        let mut left = (0..highest).filter(|&at| get(space, entries + 8 * word(at)) != 0);
        if let (Some(last), None) = (left.next(), left.next())
            && get(space, offset_of!(Header, several)) != 0
        {
            if let Some(unlisted) = space.get(offset_of!(Header, unlisted) / 8) {
                unlisted.fetch_or(1 << (last & 63), Ordering::Relaxed);
            }
            begin(space, last, true);
            put(space, offset_of!(Header, several), 0);
            return Some(word(last));
        }
        None
    }

    /// The lines of a thread, by its words, are listed once it has company.
    pub fn unlist(&self, words: &[AtomicU64]) {
        put(words, block::RUNTIME + offset_of!(RuntimeState, listed), 0);
    }

    pub fn run_token<'a>(&self, space: &'a [AtomicU64]) -> RunToken<'a> {
        let from = offset_of!(Header, run_token) / 8;
        let words = space.get(from..from + WORDS).unwrap_or_default();
        RunToken::new(words, highest(space))
    }

    /// The full table of indirect branches in a space's words, for
    /// [`branches`](super::guest::branches).
    pub fn branches<'a>(&self, space: &'a [AtomicU64]) -> &'a [[AtomicU64; 2]] {
        let from = offset_of!(Header, branches) / 8;
        let table = space.get(from..from + 2 * BRANCHES).unwrap_or_default();
        table.as_chunks().0
    }
}

/// Behind the number of the last thread: what the target made of it may be
/// anything.
fn highest(space: &[AtomicU64]) -> u64 {
    let most = u64::try_from(THREADS).unwrap_or(0);
    get(space, offset_of!(Header, highest)).min(most)
}

/// A thread may have lines, or has none any more.
fn begin(space: &[AtomicU64], number: u64, begun: bool) {
    let at = offset_of!(Header, begun) / 8 + word(number / 64);
    if let Some(word) = space.get(at).filter(|_| word(number) < THREADS) {
        match begun {
            true => word.fetch_or(1 << (number % 64), Ordering::Relaxed),
            false => word.fetch_and(!(1 << (number % 64)), Ordering::Relaxed),
        };
    }
}

fn word(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn fill(words: &[AtomicU64], at: usize, word: u64) {
    for place in words.get(at / 8..).unwrap_or_default().iter().take(block::ENTRIES) {
        place.store(word, Ordering::Relaxed);
    }
}

fn put(words: &[AtomicU64], at: usize, word: u64) {
    if let Some(place) = words.get(at / 8) {
        place.store(word, Ordering::Relaxed);
    }
}

fn get(words: &[AtomicU64], at: usize) -> u64 {
    words.get(at / 8).map_or(0, |word| word.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use perfdata::Attr;

    use super::*;

    #[test]
    fn a_space_takes_its_lock_while_it_has_several_threads() {
        let geometry = Geometry::default();
        let event = EventSetup::new(EmulatedEvent::L1DataMiss, 1, &Attr::default(), 1).unwrap();
        let setup = RuntimeSetup::new(&geometry, vec![event]).unwrap();
        let memory = |bytes: usize| (0..bytes / 8).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let space = memory(setup.space_size());
        setup.space(&space, 0, 4096, false);
        let start = |index: usize| {
            let block = memory(setup.thread_size());
            let address = 0x1000 * (u64::try_from(index).unwrap() + 1);
            let (pid, tid) = (Pid(1), Tid(1));
            let thread = ThreadSetup {
                index,
                pid,
                tid,
                block: address,
                space: 0,
                miss: 1,
                seed: 0,
                filtered: false,
            };
            setup.thread(&space, &block, thread);
            get(&block, block::RUNTIME + offset_of!(RuntimeState, listed))
        };
        let several = || get(&space, offset_of!(Header, several));
        let unlisted = || get(&space, offset_of!(Header, unlisted));
        let begun = || get(&space, offset_of!(Header, begun));
        assert_eq!(start(0), 0);
        assert_eq!((several(), unlisted()), (0, 1));
        assert_eq!(start(1), EMPTY, "it has no lines yet");
        assert_eq!((several(), unlisted(), begun()), (1, 1, 1));
        assert_eq!(setup.remove_thread(&space, 0), Some(1));
        assert_eq!((several(), unlisted(), begun()), (0, 3, 2), "it may have some from now on");
        assert_eq!(start(0), EMPTY);
        assert_eq!((several(), begun()), (1, 2));
        setup.remove_thread(&space, 0);
        setup.remove_thread(&space, 1);
        assert_eq!(several(), 0);
    }
}
