//! What samples of some misses, drawn at random, prove about the gaps between two
//! misses of a line.
//!
//! A gap of a line that holds as many distinct lines as the cache holds at least as
//! many misses. Of N misses in a row a line can have N / entries such gaps, and no
//! more; all its other misses are closer together. How often the line missed is
//! estimated from its samples. That takes no model of how often other lines miss: a
//! line that was sampled once proves nothing.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::miss_streams::{MissStream, StreamedMiss};
use perfdata::{Pid, Tid};
use rustc_hash::FxHashMap;

/// Samples of a unit whose class its line's other samples prove. The samples that
/// are in none of the three could be of any class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RecurrenceCounts {
    /// The line missed again before as many others did as the cache holds.
    pub(crate) conflict: f64,
    /// The line missed before, and came from another core that had modified it.
    pub(crate) sharing: f64,
    /// Conflict or sharing: several threads missed the line, and one wrote it.
    pub(crate) contested: f64,
    /// Samples on lines that the unit was sampled on more than once in a thread.
    pub(crate) repeated: u64,
}

#[derive(Clone, Copy, Debug)]
struct LineUsers {
    first: Tid,
    are_several: bool,
    wrote: bool,
}

#[derive(Clone, Copy, Debug)]
struct StreamSpan {
    first: usize,
    last: usize,
}

impl RecurrenceCounts {
    /// Of each unit, by the streams of an event and the misses for each sample of a unit.
    pub(crate) fn of_units(
        streams: Vec<MissStream>,
        intervals: &[f64],
        level: MissedLevel,
        shape: CacheShape,
    ) -> Vec<RecurrenceCounts> {
        let users = match level.is_of_one_core() && streams.len() > 1 {
            true => users(&streams),
            false => FxHashMap::default(),
        };
        let streams = if level.is_of_one_core() { streams } else { vec![merged(streams)] };
        let mut counts = vec![RecurrenceCounts::default(); intervals.len()];
        for stream in &streams {
            add(stream, intervals, shape, &users, &mut counts);
        }
        counts
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
fn add(
    stream: &MissStream,
    intervals: &[f64],
    shape: CacheShape,
    users: &FxHashMap<(Pid, u64), LineUsers>,
    counts: &mut [RecurrenceCounts],
) {
    let mut spans: FxHashMap<u32, StreamSpan> = FxHashMap::default();
    let mut times: FxHashMap<(u32, Pid, u64), u64> = FxHashMap::default();
    for (index, miss) in stream.misses.iter().enumerate() {
        spans.entry(miss.unit).or_insert(StreamSpan { first: index, last: index }).last = index;
        *times.entry((miss.unit, miss.pid, miss.line)).or_default() += 1;
    }
    // A tenth is left for lines that hit, which no sample shows.
    let room = (shape.entries - shape.entries / 10).max(1) as f64;
    for miss in &stream.misses {
        // A sample is more likely on a line that misses more: the others tell how
        // often it does.
        let others = times[&(miss.unit, miss.pid, miss.line)] - 1;
        if others == 0 {
            continue;
        }
        let (of, span) = (&mut counts[miss.unit as usize], spans[&miss.unit]);
        of.repeated += 1;
        // The line's first miss has no gap.
        let first = 1.0 / intervals[miss.unit as usize];
        let wide = (span.last - span.first + 1) as f64 / room;
        let proven = |unproven: f64| (1.0 - unproven / others as f64).max(0.0);
        let line = users.get(&(miss.pid, miss.line));
        if !users.is_empty() && miss.is_transfer {
            of.sharing += proven(first);
        } else if line.is_some_and(|line| line.are_several && line.wrote) {
            of.contested += proven(first + wide);
        } else {
            of.conflict += proven(first + wide);
        }
    }
}

/// All threads' misses as those of one, which share a cache.
fn merged(streams: Vec<MissStream>) -> MissStream {
    let mut misses: Vec<StreamedMiss> =
        streams.into_iter().flat_map(|stream| stream.misses).collect();
    misses.sort_by_key(|miss| miss.time);
    MissStream { tid: Tid(0), misses }
}

fn users(streams: &[MissStream]) -> FxHashMap<(Pid, u64), LineUsers> {
    let mut all: FxHashMap<(Pid, u64), LineUsers> = FxHashMap::default();
    for stream in streams {
        for miss in &stream.misses {
            let none = LineUsers { first: stream.tid, are_several: false, wrote: false };
            let users = all.entry((miss.pid, miss.line)).or_insert(none);
            users.are_several |= users.first != stream.tid;
            users.wrote |= miss.writes;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::Time;

    const L1: CacheShape = CacheShape { entries: 512, ways: 8, unit: 64 };

    /// Those of a thread's misses, by their lines, that a sampler draws at 1 to 2N - 1
    /// misses each.
    fn sampled(lines: impl Iterator<Item = u64>, interval: u64) -> MissStream {
        let mut state = interval;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % (2 * interval - 1) + 1
        };
        let (mut left, mut misses) = (draw(), Vec::new());
        for (time, line) in (0..).zip(lines) {
            left -= 1;
            if left == 0 {
                left = draw();
                misses.push(StreamedMiss {
                    time: Time(time),
                    pid: Pid(1),
                    line,
                    unit: 0,
                    is_transfer: false,
                    writes: false,
                });
            }
        }
        MissStream { tid: Tid(1), misses }
    }

    /// The share of samples that are proven conflicts.
    fn conflict(lines: impl Iterator<Item = u64>, interval: u64) -> f64 {
        let stream = sampled(lines, interval);
        let all = stream.misses.len() as f64;
        assert!(all > 500.0, "{all} samples");
        let (level, intervals) = (MissedLevel::L1d, [interval as f64]);
        RecurrenceCounts::of_units(vec![stream], &intervals, level, L1)[0].conflict / all
    }

    /// So many lines, one after the other, over and over.
    fn rounds(lines: u64, misses: u64) -> impl Iterator<Item = u64> {
        (0..misses).map(move |miss| miss % lines)
    }

    #[test]
    fn few_lines_that_miss_over_and_over_are_conflicts() {
        for interval in [2, 7, 20, 100] {
            let share = conflict(rounds(64, 4000 * interval), interval);
            assert!(share > 0.8, "{share} at {interval}");
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_never_mostly_conflicts() {
        for interval in [2, 7, 20, 100] {
            for lines in [513, 700, 5000, 100_000] {
                for samples in [600, 5000, 60_000] {
                    let share = conflict(rounds(lines, samples * interval), interval);
                    assert!(share < 0.25, "{share} of {lines} lines at {interval}");
                }
            }
        }
    }

    #[test]
    fn a_line_that_was_sampled_once_proves_nothing() {
        assert_eq!(conflict(0..100_000, 20), 0.0);
        // Half of the misses are on few lines, half on many that come again far apart:
        // by the number of lines that were sampled all would fit.
        let mixed = (0..40_000_u64).map(|miss| match miss % 2 {
            0 => miss / 2 % 20,
            _ => 1000 + miss / 2 % 5000,
        });
        let share = conflict(mixed, 60);
        assert!((0.3..=0.51).contains(&share), "{share}");
    }

    #[test]
    fn threads_do_not_shorten_each_others_gaps() {
        // Two threads go round 700 lines: together each line is sampled twice as often.
        let thread = |tid| MissStream { tid: Tid(tid), ..sampled(rounds(700, 80_000), 20) };
        let both = vec![thread(1), thread(2)];
        let counts = RecurrenceCounts::of_units(both, &[20.0], MissedLevel::L1d, L1);
        assert!(counts[0].conflict < 0.25 * 8000.0, "{counts:?}");
    }

    #[test]
    fn lines_that_threads_write_may_be_shared() {
        let mut streams = vec![
            sampled(rounds(4, 20_000), 20),
            MissStream { tid: Tid(2), ..sampled(rounds(4, 20_000), 20) },
        ];
        streams[1].misses.iter_mut().for_each(|miss| miss.writes = true);
        let of = |streams| RecurrenceCounts::of_units(streams, &[20.0], MissedLevel::L1d, L1)[0];
        let counts = of(streams.clone());
        assert_eq!((counts.conflict, counts.sharing), (0.0, 0.0));
        assert!(counts.contested > 1900.0, "{counts:?}");
        streams.iter_mut().flat_map(|it| &mut it.misses).for_each(|miss| miss.is_transfer = true);
        let counts = of(streams);
        assert_eq!((counts.conflict, counts.contested), (0.0, 0.0));
        assert!(counts.sharing > 1900.0, "{counts:?}");
    }
}
