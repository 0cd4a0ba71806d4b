//! What waits until nothing that belongs before it can come.
//!
//! Rings are drained one after the other, and sideband records have rings of
//! their own: records of one pass come in any order, and the mapping that
//! explains a sample may come up to one round later. While ring A is drained
//! ring B fills on, so records of pass N can be older than some of pass N-1;
//! but what pass N-2 left behind cannot have been written after pass N-1
//! began (perf's process_finished_round(), tools/perf/util/session.c). So what
//! came in round N waits until round N+1 has ended.

mod ordered_round_buffer;

pub use ordered_round_buffer::OrderedRoundBuffer;

/// What came in one round, in the order it came.
pub trait RoundBatch: Default {
    /// Whether nothing came.
    fn is_empty(&self) -> bool;
    /// What it takes of the room that there is.
    fn size(&self) -> usize;
    /// Samples in it, or hits.
    fn samples(&self) -> u64;
}

/// Holds back what came in two rounds: the last one that has ended, and the
/// one that goes on.
#[derive(Debug)]
pub struct RoundBuffer<B> {
    before: B,
    now: B,
    room: usize,
    early: u64,
}

impl<B: Default> Default for RoundBuffer<B> {
    /// Without a bound.
    fn default() -> RoundBuffer<B> {
        RoundBuffer::new(usize::MAX)
    }
}

impl<B: Default> RoundBuffer<B> {
    /// Room for so much, in the batches' unit.
    pub fn new(room: usize) -> RoundBuffer<B> {
        RoundBuffer { before: B::default(), now: B::default(), room, early: 0 }
    }

    /// What came in this round.
    #[inline]
    pub fn now(&mut self) -> &mut B {
        &mut self.now
    }

    /// What came in the round before, and where one goes that was given and
    /// waits for a round more.
    pub fn before(&mut self) -> &mut B {
        &mut self.before
    }

    /// The round before, and this one.
    #[inline]
    pub fn batches(&self) -> [&B; 2] {
        [&self.before, &self.now]
    }

    /// The same, to take from.
    pub fn batches_mut(&mut self) -> [&mut B; 2] {
        [&mut self.before, &mut self.now]
    }

    /// A round has ended: gives the batch of the one before.
    #[inline]
    pub fn end_round(&mut self) -> B {
        std::mem::replace(&mut self.before, std::mem::take(&mut self.now))
    }
}

impl<B: RoundBatch> RoundBuffer<B> {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.now.is_empty()
    }

    /// Changes the room.
    pub fn widen(&mut self, room: usize) {
        self.room = room;
    }

    /// What all that waits takes of the room.
    #[inline]
    pub fn size(&self) -> usize {
        self.before.size() + self.now.size()
    }

    /// Whether some must go before their time, since they take more room than
    /// there is.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.size() > self.room
    }

    /// Samples that went before their time.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Gives the older batch to make room.
    pub fn make_room(&mut self) -> B {
        let mut ready = self.end_round();
        if ready.is_empty() {
            ready = self.end_round();
        }
        self.early = self.early.saturating_add(ready.samples());
        ready
    }

    /// Takes back a batch that was emptied, for its memory.
    pub fn give_back(&mut self, emptied: B) {
        if self.now.is_empty() {
            self.now = emptied;
        }
    }
}
