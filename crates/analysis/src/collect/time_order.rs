//! Samples in the order of time, where records that change what later ones mean come by a way of
//! their own.
//!
//! What came in round N was there before that round's pass ended, and whatever comes in round N+2
//! happened after it. So once round N+1 has ended, all is in that is as old as the newest of round
//! N or older: it is counted in order, and what is newer waits for one more round.

use perfdata::Time;

use crate::collect::pending::{PendingParts, PendingSample, SampleBatch};

/// How many times the room of other samples is there for those that wait for a round more, whose
/// stacks may wait with them.
pub(crate) const MORE_ROOM: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct TimeOrder {
    /// The newest of the rounds before the one that ended last.
    newest: Time,
}

impl TimeOrder {
    /// A round has ended, and `ready` came in the one before it: up to when samples are in.
    pub(crate) fn reached(&mut self, ready: &SampleBatch) -> Time {
        let newest = ready.samples.iter().map(|held| held.time).max();
        let newest = self.newest.max(newest.unwrap_or_default());
        std::mem::replace(&mut self.newest, newest)
    }
}

/// The samples of a batch, each with what waits with it, in the order of their times; those of one
/// time as they came.
pub(crate) fn by_time(batch: &SampleBatch) -> Vec<(&PendingSample, PendingParts<'_>)> {
    let mut parts = batch.parts();
    let mut all: Vec<_> = batch.samples.iter().map(|held| (held, parts.take(held))).collect();
    all.sort_by_key(|(held, _)| held.time);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::stream::RoundBuffer;

    /// Two ways, one drained late in each pass: every time comes out once and in order.
    #[test]
    fn what_comes_by_two_ways_is_counted_by_time() {
        let (mut waiting, mut order) =
            (RoundBuffer::<SampleBatch>::default(), TimeOrder::default());
        let mut out = Vec::new();
        let mut count = |waiting: &mut RoundBuffer<SampleBatch>, order: &mut TimeOrder| {
            let ready = waiting.end_round();
            let reached = match waiting.is_empty() {
                true => Time(u64::MAX),
                false => order.reached(&ready),
            };
            for (held, own) in by_time(&ready) {
                assert_eq!(own.words, [held.time.0]);
                match held.time <= reached {
                    true => out.push(held.time.0),
                    false => waiting.before().push(*held, own),
                }
            }
        };
        let (mut first, mut second) = (0, 1);
        for round in 0..50u64 {
            // The odd ones are looked at when more of them are there.
            for (from, to) in [(&mut first, round * 20 + 4), (&mut second, round * 20 + 16)] {
                while *from < to {
                    let held =
                        PendingSample { time: Time(*from), words: 1, ..PendingSample::default() };
                    waiting.now().push(held, PendingParts { words: &[*from], stack: &[] });
                    *from += 2;
                }
            }
            count(&mut waiting, &mut order);
        }
        for _ in 0..2 {
            count(&mut waiting, &mut order);
        }
        assert_eq!(out.len() as u64, (first + second) / 2);
        assert!(out.is_sorted(), "{out:?}");
    }
}
