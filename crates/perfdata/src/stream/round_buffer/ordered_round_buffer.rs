//! Records in order of time, from a stream that is only nearly in order.

use super::{RoundBatch, RoundBuffer};
use crate::units::Time;

/// Holds back records, each a tag and some bytes, until nothing older can
/// come: when round N has ended, all up to the newest time of round N-1 goes.
/// Memory: the records of two rounds, and those that go.
#[derive(Debug)]
pub struct OrderedRoundBuffer<T> {
    rounds: RoundBuffer<TimedBatch<T>>,
    /// They may go, in this order; those before `gone` are gone.
    ready: TimedBatch<T>,
    gone: usize,
    gone_bytes: usize,
    /// All that is as old went, or goes now.
    reached: Time,
    late: u64,
}

/// Records, and the bytes of all of them in the order they came.
#[derive(Debug)]
struct TimedBatch<T> {
    records: Vec<TimedRecord<T>>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct TimedRecord<T> {
    time: Time,
    /// Where its bytes begin.
    start: usize,
    length: u16,
    tag: T,
}

impl<T> Default for TimedBatch<T> {
    fn default() -> TimedBatch<T> {
        TimedBatch { records: Vec::new(), bytes: Vec::new() }
    }
}

impl<T> Default for OrderedRoundBuffer<T> {
    fn default() -> OrderedRoundBuffer<T> {
        OrderedRoundBuffer {
            rounds: RoundBuffer::default(),
            ready: TimedBatch::default(),
            gone: 0,
            gone_bytes: 0,
            reached: Time(0),
            late: 0,
        }
    }
}

impl<T> RoundBatch for TimedBatch<T> {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes. Sorting may want half as much again of the records.
    #[inline]
    fn size(&self) -> usize {
        size_of_val(self.records.as_slice()) * 3 / 2 + self.bytes.len()
    }

    fn samples(&self) -> u64 {
        self.records.len() as u64
    }
}

impl<T: Copy> TimedBatch<T> {
    /// Adds a record, of which the first 65,535 bytes count.
    #[inline]
    fn push(&mut self, time: Time, tag: T, bytes: &[u8]) {
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.records.push(TimedRecord { time, start: self.bytes.len(), length, tag });
        self.bytes.extend_from_slice(&bytes[..length.into()]);
    }

    #[inline]
    fn bytes(&self, of: &TimedRecord<T>) -> &[u8] {
        &self.bytes[of.start..of.start + usize::from(of.length)]
    }

    /// Moves all that are not younger than `reached` to `ready`.
    fn let_go(&mut self, reached: Time, ready: &mut TimedBatch<T>) {
        if ready.is_empty() && self.records.iter().all(|held| held.time <= reached) {
            std::mem::swap(self, ready);
            return;
        }
        let TimedBatch { records, bytes } = self;
        let mut kept = 0;
        records.retain_mut(|held| {
            let span = held.start..held.start + usize::from(held.length);
            if held.time <= reached {
                ready.push(held.time, held.tag, &bytes[span]);
                return false;
            }
            if kept != held.start {
                bytes.copy_within(span, kept);
                held.start = kept;
            }
            kept += usize::from(held.length);
            true
        });
        bytes.truncate(kept);
    }
}

impl<T: Copy> OrderedRoundBuffer<T> {
    /// Takes a record of at most 65,535 bytes. Records of the same time keep
    /// their order; those without a time go before all that are held.
    #[inline]
    pub fn push(&mut self, time: Option<Time>, tag: T, bytes: &[u8]) {
        self.late += u64::from(time.is_some_and(|time| time < self.reached));
        self.rounds.now().push(time.unwrap_or_default(), tag, bytes);
    }

    /// A FINISHED_ROUND came: [`OrderedRoundBuffer::pop`] gives what may go now.
    pub fn finish_round(&mut self) {
        let [before, _] = self.rounds.batches();
        let newest = before.records.iter().map(|held| held.time).max();
        self.reach(newest);
        let emptied = self.rounds.end_round();
        self.rounds.give_back(emptied);
    }

    /// There is no room for more: the older half may go, whatever comes yet.
    pub fn make_room(&mut self) {
        let mut times: Vec<Time> = self.held().map(|held| held.time).collect();
        let middle = times.len() / 2;
        let middle = (!times.is_empty()).then(|| *times.select_nth_unstable(middle).1);
        self.reach(middle);
    }

    /// The stream has ended: everything may go.
    pub fn finish(&mut self) {
        self.let_go(Time(u64::MAX));
    }

    /// The next record in order, when nothing older can come.
    #[inline]
    pub fn pop(&mut self) -> Option<(T, &[u8])> {
        let held = self.ready.records.get(self.gone)?;
        self.gone += 1;
        self.gone_bytes += usize::from(held.length);
        Some((held.tag, self.ready.bytes(held)))
    }

    /// Bytes of memory that the records held back take, about.
    #[inline]
    pub fn size(&self) -> usize {
        let gone = self.gone * size_of::<TimedRecord<T>>() + self.gone_bytes;
        self.rounds.size() + self.ready.size() - gone
    }

    /// Records that came after younger ones had gone: the recorder broke the
    /// rule, or there was no room to wait for them.
    pub fn late(&self) -> u64 {
        self.late
    }

    fn held(&self) -> impl Iterator<Item = &TimedRecord<T>> {
        let [before, now] = self.rounds.batches();
        self.ready.records[self.gone..].iter().chain(&before.records).chain(&now.records)
    }

    /// Everything as old as this may go, and later older ones are late.
    fn reach(&mut self, time: Option<Time>) {
        self.reached = self.reached.max(time.unwrap_or_default());
        self.let_go(self.reached);
    }

    fn let_go(&mut self, reached: Time) {
        if self.gone == self.ready.records.len() {
            self.ready.records.clear();
            self.ready.bytes.clear();
        } else {
            let ready = std::mem::take(&mut self.ready);
            for held in &ready.records[self.gone..] {
                self.ready.push(held.time, held.tag, ready.bytes(held));
            }
        }
        (self.gone, self.gone_bytes) = (0, 0);
        for batch in self.rounds.batches_mut() {
            batch.let_go(reached, &mut self.ready);
        }
        // Stable, and quick where rings, each in order, follow each other.
        self.ready.records.sort_by_key(|held| held.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(rounds: &mut OrderedRoundBuffer<u64>) -> Vec<u64> {
        let mut out = Vec::new();
        while let Some((tag, bytes)) = rounds.pop() {
            assert_eq!(bytes, tag.to_le_bytes());
            out.push(tag);
        }
        out
    }

    fn push(rounds: &mut OrderedRoundBuffer<u64>, time: u64) {
        rounds.push(Some(Time(time)), time, &time.to_le_bytes());
    }

    fn pass(rounds: &mut OrderedRoundBuffer<u64>, times: &[u64]) -> Vec<u64> {
        for &time in times {
            push(rounds, time);
        }
        rounds.finish_round();
        drain(rounds)
    }

    /// The example beside process_finished_round() in tools/perf: two CPUs,
    /// three passes.
    #[test]
    fn the_example_of_the_specification() {
        let mut rounds = OrderedRoundBuffer::default();
        assert_eq!(pass(&mut rounds, &[1, 2, 2, 3, 4]), []);
        assert_eq!(pass(&mut rounds, &[3, 4, 5, 5, 6, 7]), [1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(pass(&mut rounds, &[6, 7, 8, 9, 10]), [5, 5, 6, 6, 7, 7]);
        rounds.finish();
        assert_eq!(drain(&mut rounds), [8, 9, 10]);
        assert_eq!((rounds.late(), rounds.held().count()), (0, 0));
    }

    #[test]
    fn records_of_one_time_keep_their_order() {
        let mut rounds = OrderedRoundBuffer::default();
        for number in 0..3u64 {
            rounds.push(Some(Time(7)), number, &number.to_le_bytes());
        }
        rounds.finish();
        assert_eq!(drain(&mut rounds), [0, 1, 2]);
    }

    #[test]
    fn records_without_a_time_go_first_and_are_not_late() {
        let mut rounds = OrderedRoundBuffer::default();
        assert_eq!(pass(&mut rounds, &[10, 20]), []);
        assert_eq!(pass(&mut rounds, &[30]), [10, 20]);
        push(&mut rounds, 40);
        for number in [1, 2u64] {
            rounds.push(None, number, &number.to_le_bytes());
        }
        rounds.finish_round();
        assert_eq!((drain(&mut rounds), rounds.late()), (vec![1, 2, 30], 0));
    }

    #[test]
    fn without_room_the_older_half_goes() {
        let mut rounds = OrderedRoundBuffer::default();
        for time in [4, 3, 2, 1, 8, 7, 6, 5] {
            push(&mut rounds, time);
        }
        assert!(rounds.size() > 8 * 24, "{}", rounds.size());
        rounds.make_room();
        assert_eq!(drain(&mut rounds), [1, 2, 3, 4, 5]);
        push(&mut rounds, 4);
        assert_eq!((rounds.late(), rounds.held().count()), (1, 4));
        rounds.finish();
        assert_eq!(drain(&mut rounds), [4, 6, 7, 8]);
        rounds.make_room();
        assert_eq!(drain(&mut rounds), []);
    }

    #[test]
    fn the_largest_record_fits_and_more_is_cut() {
        let mut rounds = OrderedRoundBuffer::default();
        let large: Vec<u8> = (0..70_000u32).map(|number| number.to_le_bytes()[0]).collect();
        for time in [2, 1, 4, 3] {
            rounds.push(Some(Time(time)), time, &large);
        }
        rounds.make_room();
        rounds.finish();
        for time in 1..5 {
            assert_eq!(rounds.pop(), Some((time, &large[..65_535])));
        }
        assert_eq!(rounds.pop(), None);
    }

    #[test]
    fn an_empty_round_lets_the_one_before_go() {
        let mut rounds = OrderedRoundBuffer::default();
        assert_eq!(pass(&mut rounds, &[1, 2]), []);
        assert_eq!(pass(&mut rounds, &[]), [1, 2]);
    }

    #[test]
    fn a_broken_rule_is_counted_and_nothing_is_lost() {
        let mut rounds = OrderedRoundBuffer::default();
        pass(&mut rounds, &[10, 20]);
        assert_eq!(pass(&mut rounds, &[30]), [10, 20]);
        push(&mut rounds, 5);
        assert_eq!(rounds.late(), 1);
        rounds.finish_round();
        assert_eq!(drain(&mut rounds), [5, 30]);
    }

    proptest! {
        /// Passes that obey the rule come out sorted, whatever the order within;
        /// and never more than two rounds are held.
        #[test]
        fn passes_that_obey_come_out_in_order(
            steps in prop::collection::vec(prop::collection::vec(0u64..100, 0..20), 0..20),
        ) {
            let mut rounds = OrderedRoundBuffer::default();
            let mut out = Vec::new();
            let mut pushed = 0;
            let mut last = 0;
            for (number, offsets) in (0u64..).zip(&steps) {
                for offset in offsets {
                    // Pass n has times from 50 n to 50 n + 99: n and n+2 do not meet.
                    push(&mut rounds, number * 50 + offset);
                    pushed += 1;
                }
                rounds.finish_round();
                out.extend(drain(&mut rounds));
                prop_assert!(rounds.held().count() <= offsets.len() + last);
                last = offsets.len();
            }
            rounds.finish();
            out.extend(drain(&mut rounds));
            prop_assert_eq!(out.len(), pushed);
            prop_assert!(out.is_sorted());
            prop_assert_eq!(rounds.late(), 0);
        }
    }
}
