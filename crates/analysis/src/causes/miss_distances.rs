//! What became of misses, by the distinct lines that their thread missed since it
//! missed the same line last, and by what other threads did to it meanwhile.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::miss_streams::{MissStream, StreamedMiss};
use crate::curve::stack_distances::StackDistances;
use perfdata::{Pid, Tid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What became of the misses of a unit, in samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DistanceCounts {
    /// The stream had no miss of the line before.
    pub(crate) first: u64,
    /// Another thread wrote the line since.
    pub(crate) taken: u64,
    /// Fewer distinct lines in between than the cache holds, by a tenth of it.
    pub(crate) within: u64,
    /// As many as it holds, or a tenth less: lines that hit in between are not
    /// seen, and a few of them decide.
    pub(crate) near: u64,
    /// More, by a tenth at most.
    pub(crate) edge: u64,
    /// More than that.
    pub(crate) beyond: u64,
    /// Those with a line before, by the lines that a cache must hold.
    sizes: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    First,
    Taken,
    /// Distinct lines since the last one.
    Since(u64),
}

impl DistanceCounts {
    /// Of each of so many units, by the streams of an event of which every miss
    /// was sampled.
    pub(crate) fn of_units(
        streams: &[MissStream],
        units: usize,
        level: MissedLevel,
        shape: CacheShape,
    ) -> Vec<DistanceCounts> {
        let mut counts = vec![DistanceCounts::default(); units];
        let writes = match level.is_of_one_core() && streams.len() > 1 {
            true => LineWrites::of(streams),
            false => LineWrites::default(),
        };
        for stream in streams {
            let mut distances = StackDistances::new(stream.misses.len());
            let mut last: FxHashMap<u64, StreamedMiss> = FxHashMap::default();
            for miss in &stream.misses {
                let distance = distances.next(miss.line);
                let before = last.insert(miss.line, *miss);
                let past = match (distance, before) {
                    (Some(_), Some(before)) if writes.between(stream.tid, before, *miss) => {
                        Past::Taken
                    }
                    (Some(distance), _) => Past::Since(distance),
                    (None, _) => Past::First,
                };
                counts[miss.unit as usize].add(past, shape.entries);
            }
        }
        counts
    }

    fn add(&mut self, past: Past, holds: u64) {
        let tenth = holds / 10;
        let distance = match past {
            Past::First => {
                self.first += 1;
                return;
            }
            Past::Taken => {
                self.taken += 1;
                return;
            }
            Past::Since(distance) => distance,
        };
        match distance {
            distance if distance < holds - tenth => self.within += 1,
            distance if distance <= holds => self.near += 1,
            distance if distance <= holds + tenth => self.edge += 1,
            _ => self.beyond += 1,
        }
        *self.sizes.entry(size_for(distance)).or_default() += 1;
    }

    /// The lines of the smallest cache, fully associative, that would have nine of
    /// ten of those with a line before. None: there are none.
    pub(crate) fn fits_from(&self) -> Option<u64> {
        let enough = self.sizes.values().sum::<u64>().div_ceil(10).saturating_mul(9);
        let mut sum = 0;
        let mut sizes = self.sizes.iter();
        let size = sizes.find(|(_, count)| {
            sum += **count;
            sum >= enough
        });
        size.map(|(size, _)| *size)
    }
}

/// Who missed which line by writing, by time.
#[derive(Debug, Default)]
struct LineWrites {
    of: FxHashMap<(Pid, u64), Vec<LineWrite>>,
}

#[derive(Clone, Copy, Debug)]
struct LineWrite {
    time: Time,
    tid: Tid,
}

impl LineWrites {
    fn of(streams: &[MissStream]) -> LineWrites {
        let mut writes = LineWrites::default();
        for stream in streams {
            for miss in stream.misses.iter().filter(|miss| miss.writes) {
                let of_line = writes.of.entry((miss.pid, miss.line)).or_default();
                of_line.push(LineWrite { time: miss.time, tid: stream.tid });
            }
        }
        // Once: threads that fight for one line have hundreds of thousands on it.
        writes.of.values_mut().for_each(|of_line| of_line.sort_by_key(|it| it.time));
        writes
    }

    /// Whether another thread took a line away between two misses of it: it was
    /// seen to, or the line came out of its cache. A write that hit there was
    /// not sampled.
    fn between(&self, tid: Tid, before: StreamedMiss, miss: StreamedMiss) -> bool {
        if miss.is_transfer {
            return true;
        }
        let Some(writes) = self.of.get(&(miss.pid, miss.line)) else { return false };
        let from = writes.partition_point(|it| it.time < before.time);
        let meanwhile = writes[from..].iter().take_while(|it| it.time <= miss.time);
        meanwhile.into_iter().any(|it| it.tid != tid)
    }
}

/// The next size of caches, a power of two lines or one and a half of it.
fn size_for(lines: u64) -> u64 {
    let power = lines.checked_next_power_of_two().unwrap_or(u64::MAX);
    let smaller = power / 4 * 3;
    if smaller >= lines { smaller } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    const L1: CacheShape = CacheShape { entries: 512, ways: 8, unit: 64 };

    #[test]
    fn classes_are_told_by_the_size_of_the_cache() {
        let mut counts = DistanceCounts::default();
        counts.add(Past::First, 512);
        for distance in [1, 460, 462, 480, 512, 513, 563, 564] {
            counts.add(Past::Since(distance), 512);
        }
        let DistanceCounts { first, within, near, edge, beyond, .. } = counts;
        assert_eq!((first, within, near, edge, beyond), (1, 2, 3, 2, 1));
    }

    #[test]
    fn sizes_are_those_of_caches() {
        let sizes = [1, 2, 3, 4, 5, 6, 7, 513, 769, 8193].map(size_for);
        assert_eq!(sizes, [1, 2, 3, 4, 6, 6, 8, 768, 1024, 12288]);
        let mut counts = DistanceCounts::default();
        assert_eq!(counts.fits_from(), None);
        (0..95).for_each(|_| counts.add(Past::Since(700), 512));
        (0..5).for_each(|_| counts.add(Past::Since(100_000), 512));
        assert_eq!(counts.fits_from(), Some(768), "nine of ten");
    }

    fn thread(tid: i32, pid: i32, times: &[u64], writes: bool) -> MissStream {
        let miss = |time: &u64| StreamedMiss {
            time: Time(*time),
            pid: Pid(pid),
            line: 7,
            unit: u32::try_from(tid).unwrap(),
            is_transfer: false,
            writes,
        };
        MissStream { tid: Tid(tid), misses: times.iter().map(miss).collect() }
    }

    #[test]
    fn a_line_that_another_thread_wrote_was_taken() {
        let of = |streams: &[MissStream], level| {
            let counts = DistanceCounts::of_units(streams, 3, level, L1);
            counts.iter().map(|it| [it.first, it.taken, it.within]).collect::<Vec<_>>()
        };
        let streams = [thread(1, 1, &[10, 30, 50, 60], false), thread(2, 1, &[20, 40], true)];
        let none = [0, 0, 0];
        assert_eq!(of(&streams, MissedLevel::L1d), [none, [1, 2, 1], [1, 0, 1]]);
        assert_eq!(
            of(&streams, MissedLevel::L3),
            [none, [1, 0, 3], [1, 0, 1]],
            "it is all threads'"
        );
        let reads = [thread(1, 1, &[10, 30], false), thread(2, 1, &[20], false)];
        assert_eq!(of(&reads, MissedLevel::L1d), [none, [1, 0, 1], [1, 0, 0]]);
        let others = [thread(1, 1, &[10, 30], false), thread(2, 2, &[20], true)];
        assert_eq!(of(&others, MissedLevel::L1d), [none, [1, 0, 1], [1, 0, 0]], "another process");
        let mut came = thread(1, 1, &[10, 30], false);
        came.misses[1].is_transfer = true;
        let other = thread(2, 1, &[5], false);
        assert_eq!(of(&[came, other], MissedLevel::L1d), [none, [1, 1, 0], [1, 0, 0]]);
    }
}
