//! How many events a record stands for, where nothing was asked for: few enough for a short run
//! to be seen, many enough for a long one to be fast.

use core::sync::atomic::{AtomicU64, Ordering};

use super::ring::Ring;

/// Offset in page 0 of the first event's; the others follow.
const WORDS: usize = 2080;
/// Records of each event, all of the session, that stand for themselves alone.
const FIRST: u64 = 2048;
/// Records with one mean before another is chosen.
const STEP: u64 = 640;
/// So many records should take longer, in nanoseconds of modelled time: 10,000 a minute.
const SHORT: u64 = 3_840_000_000;
/// And not as long as this: 5,000 a minute.
const LONG: u64 = 2 * SHORT;
/// 2^40 events: months.
const MOST: u64 = 40;

/// The mean of an event's periods in a session: a power of two, which follows from the records so
/// far and the modelled time that they took, so that a run with the same seed has the same ones.
///
/// Early records stand for fewer events than late ones; each has its own period.
#[derive(Clone, Copy, Debug)]
pub struct AdaptedMean<'r> {
    power: &'r AtomicU64,
    /// Records with this mean.
    records: &'r AtomicU64,
    /// The session's time at the first of them.
    since: &'r AtomicU64,
}

impl<'r> AdaptedMean<'r> {
    /// That of an event by its place.
    pub fn of(ring: &Ring<'r>, place: usize) -> Option<AdaptedMean<'r>> {
        let word = |number: usize| ring.word(WORDS + 8 * (3 * place + number));
        Some(AdaptedMean { power: word(0)?, records: word(1)?, since: word(2)? })
    }

    /// Counts a record at this time and gives the mean from there on. For the ring lock's holder.
    pub fn after_record(&self, now: u64) -> u64 {
        let power = self.power.load(Ordering::Relaxed);
        let records = self.records.load(Ordering::Relaxed).wrapping_add(1);
        let took = now.wrapping_sub(self.since.load(Ordering::Relaxed));
        let enough = if power == 0 { FIRST } else { STEP };
        let short = if power == 0 { SHORT * FIRST / STEP } else { SHORT };
        let chosen = match (records >= enough, took) {
            (true, took) if took < short => power.wrapping_add(1).min(MOST),
            (_, took) if took > LONG => power.saturating_sub(1),
            (true, _) => power,
            (false, _) => {
                self.records.store(records, Ordering::Relaxed);
                return 1 << (power & 63);
            }
        };
        self.power.store(chosen, Ordering::Relaxed);
        self.records.store(0, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
        1 << (chosen & 63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::guest::ring::PAGE;

    /// The records of a program with so many events in each nanosecond, of which each stands for
    /// the mean, after so many seconds.
    fn records(every: u64, seconds: u64) -> (u64, u64) {
        let words: Vec<AtomicU64> = (0..2 * PAGE / 8).map(|_| AtomicU64::new(0)).collect();
        let ring = Ring::new(&words).expect("is a page and a page of data");
        let mean = AdaptedMean::of(&ring, 1).expect("is in page 0");
        let (mut now, mut records, mut current) = (0, 0, 1);
        while now < seconds * 1_000_000_000 {
            now += every * current;
            current = mean.after_record(now);
            records += 1;
        }
        (records, current)
    }

    #[test]
    fn short_runs_have_each_event_and_long_ones_some_thousand_a_minute() {
        // A miss each 20 ns.
        assert_eq!(records(20, 0).0, 0);
        let (first, _) = records(10_000, 0);
        assert_eq!(first, 0);
        for every in [20, 1_000, 100_000] {
            let (of_one, _) = records(every, 60);
            assert!(
                (5_000..=25_000).contains(&of_one),
                "{of_one} in a minute, one each {every} ns"
            );
            let (of_ten, _) = records(every, 600);
            let later = (of_ten - of_one) / 9;
            assert!((4_500..=12_000).contains(&later), "{later} a minute, one each {every} ns");
        }
        // Fewer than would be too many: each.
        let (rare, mean) = records(10_000_000, 60);
        assert_eq!((rare, mean), (6_000, 1));
    }
}
