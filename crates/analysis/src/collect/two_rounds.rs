//! What waits until the side records of its time are in.
//!
//! Rings are drained one after the other, and side records have rings of
//! their own: the mapping that explains a sample may come up to one round
//! later than the sample. So what came in round N is counted when round N+1
//! has ended: samples, and aggregates of what the kernel counted.

/// What came in one round, in the order it came.
pub(crate) trait RoundBatch: Default {
    fn is_empty(&self) -> bool;
    /// What it takes of the room that there is.
    fn size(&self) -> usize;
    /// Samples in it, or hits.
    fn samples(&self) -> u64;
}

#[derive(Debug)]
pub(crate) struct TwoRounds<B> {
    before: B,
    now: B,
    limit: usize,
    early: u64,
}

impl<B: RoundBatch> TwoRounds<B> {
    /// Room for so much, in the batches' unit.
    pub(crate) fn new(limit: usize) -> TwoRounds<B> {
        TwoRounds { before: B::default(), now: B::default(), limit, early: 0 }
    }

    pub(crate) fn now(&mut self) -> &mut B {
        &mut self.now
    }

    /// Where one goes that was given and waits for a round more.
    pub(crate) fn next(&mut self) -> &mut B {
        &mut self.before
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.now.is_empty()
    }

    pub(crate) fn widen(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether some must go before their time, since they take more room than
    /// there is.
    pub(crate) fn is_full(&self) -> bool {
        self.before.size() + self.now.size() > self.limit
    }

    pub(crate) fn early(&self) -> u64 {
        self.early
    }

    /// A round has ended: gives the batch of the one before.
    pub(crate) fn end_round(&mut self) -> B {
        std::mem::replace(&mut self.before, std::mem::take(&mut self.now))
    }

    /// Gives the older batch to make room.
    pub(crate) fn make_room(&mut self) -> B {
        let mut ready = self.end_round();
        if ready.is_empty() {
            ready = self.end_round();
        }
        self.early = self.early.saturating_add(ready.samples());
        ready
    }

    /// Takes back a batch that was emptied, for its memory.
    pub(crate) fn give_back(&mut self, emptied: B) {
        if self.now.is_empty() {
            self.now = emptied;
        }
    }

    #[cfg(test)]
    pub(crate) fn batches(&self) -> [&B; 2] {
        [&self.before, &self.now]
    }
}
