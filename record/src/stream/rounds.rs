//! Records in order of time, from a stream that is only nearly in order.
//!
//! Rings are drained one after the other, so records of one pass come in any
//! order. While ring A is drained ring B fills on, so records of pass N can
//! be older than some of pass N-1; but what pass N-2 left behind cannot have
//! been written after pass N-1 began. So at the end of round N everything up
//! to the newest time of round N-1 may go (perf's
//! process_finished_round(), tools/perf/util/session.c).

use crate::units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Holds back records until nothing older can come. Memory: the records of
/// two rounds.
#[derive(Debug)]
pub struct Rounds<R> {
    held: BinaryHeap<Held<R>>,
    arrivals: u64,
    /// Newest time of all rounds but the current one.
    previous: Option<Time>,
    /// Newest time seen.
    newest: Option<Time>,
    /// Everything up to here may go.
    limit: Option<Time>,
    late: u64,
}

#[derive(Debug)]
struct Held<R> {
    time: Time,
    arrival: u64,
    record: R,
}

/// The heap's greatest is the oldest; of one time, the first to arrive.
impl<R> Ord for Held<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.arrival).cmp(&(self.time, self.arrival))
    }
}
impl<R> PartialOrd for Held<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<R> PartialEq for Held<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<R> Eq for Held<R> {}

impl<R> Default for Rounds<R> {
    fn default() -> Self {
        Rounds::new()
    }
}

impl<R> Rounds<R> {
    /// Holds nothing yet.
    pub fn new() -> Rounds<R> {
        Rounds {
            held: BinaryHeap::new(),
            arrivals: 0,
            previous: None,
            newest: None,
            limit: None,
            late: 0,
        }
    }

    /// Takes a record. Records of the same time keep their order.
    pub fn push(&mut self, time: Time, record: R) {
        if self.limit.is_some_and(|limit| time < limit) {
            self.late += 1;
        }
        self.newest = self.newest.max(Some(time));
        self.held.push(Held { time, arrival: self.arrivals, record });
        self.arrivals += 1;
    }

    /// A FINISHED_ROUND came: [`Rounds::pop`] gives what may go now.
    pub fn finish_round(&mut self) {
        self.limit = self.previous;
        self.previous = self.newest;
    }

    /// The stream has ended: everything may go.
    pub fn finish(&mut self) {
        self.limit = Some(Time(u64::MAX));
    }

    /// The next record in order, when nothing older can come.
    pub fn pop(&mut self) -> Option<R> {
        let oldest = self.held.peek()?;
        if self.limit.is_none_or(|limit| oldest.time > limit) {
            return None;
        }
        self.held.pop().map(|held| held.record)
    }

    /// Records held back.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Records that came after younger ones had to go: the recorder broke
    /// the rule, and they are out of order.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests;
