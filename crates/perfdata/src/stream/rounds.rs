//! Records in order of time, from a stream that is only nearly in order.
//!
//! Rings are drained one after the other, so records of one pass come in any
//! order. While ring A is drained ring B fills on, so records of pass N can
//! be older than some of pass N-1; but what pass N-2 left behind cannot have
//! been written after pass N-1 began. So at the end of round N everything up
//! to the newest time of round N-1 may go (perf's
//! process_finished_round(), tools/perf/util/session.c).

mod blocks;

use crate::units::Time;
use blocks::{Blocks, Span};

/// Holds back records, each a tag and some bytes, until nothing older can
/// come. Memory: the records of two rounds.
#[derive(Debug)]
pub struct Rounds<T> {
    /// Those before `ready` are in order and may go, those before `gone`
    /// are gone.
    held: Vec<Held<T>>,
    gone: usize,
    ready: usize,
    blocks: Blocks,
    /// Newest time of all rounds but the current one.
    previous: Time,
    newest: Time,
    /// Everything older has gone.
    limit: Time,
    late: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held<T> {
    time: Time,
    span: Span,
    tag: T,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Rounds {
            held: Vec::new(),
            gone: 0,
            ready: 0,
            blocks: Blocks::default(),
            previous: Time(0),
            newest: Time(0),
            limit: Time(0),
            late: 0,
        }
    }
}

impl<T: Copy> Rounds<T> {
    /// Takes a record of at most 65,535 bytes. Records of the same time keep
    /// their order; those without a time go before all that are held.
    #[inline]
    pub fn push(&mut self, time: Option<Time>, tag: T, bytes: &[u8]) {
        if time.is_some_and(|time| time < self.limit) {
            self.late += 1;
        }
        let time = time.unwrap_or_default();
        self.newest = self.newest.max(time);
        let span = self.blocks.put(bytes);
        self.held.push(Held { time, span, tag });
    }

    /// A FINISHED_ROUND came: [`Rounds::pop`] gives what may go now.
    pub fn finish_round(&mut self) {
        self.settle();
        self.limit = self.limit.max(self.previous);
        self.previous = self.newest;
        self.ready = self.held.partition_point(|held| held.time <= self.limit);
    }

    /// There is no room for more: the older half may go, whatever comes yet.
    pub fn make_room(&mut self) {
        self.settle();
        if let Some(middle) = self.held.get(self.held.len() / 2) {
            self.limit = self.limit.max(middle.time);
        }
        self.ready = self.held.partition_point(|held| held.time <= self.limit);
    }

    /// The stream has ended: everything may go.
    pub fn finish(&mut self) {
        self.settle();
        self.ready = self.held.len();
    }

    /// The next record in order, when nothing older can come.
    #[inline]
    pub fn pop(&mut self) -> Option<(T, &[u8])> {
        if self.gone == self.ready {
            return None;
        }
        let held = self.held.get(self.gone)?;
        self.gone += 1;
        Some((held.tag, self.blocks.take(held.span)))
    }

    /// Bytes of memory that the records held back take, about.
    #[inline]
    pub fn size(&self) -> usize {
        // Sorting may want half as much again.
        let each = size_of::<Held<T>>() * 3 / 2;
        (self.held.len() - self.gone) * each + self.blocks.size()
    }

    /// Records held back.
    pub fn len(&self) -> usize {
        self.held.len() - self.gone
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records that came after younger ones had gone: the recorder broke the
    /// rule, or there was no room to wait for them.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Forgets what is gone and sorts the rest.
    fn settle(&mut self) {
        self.held.drain(..self.gone);
        self.gone = 0;
        self.ready = 0;
        // Stable, and quick where rings, each in order, follow each other.
        self.held.sort_by_key(|held| held.time);
    }
}

#[cfg(test)]
mod tests;
