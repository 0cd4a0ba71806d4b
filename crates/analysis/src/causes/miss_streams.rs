//! Misses of each thread in order, and what the addresses of each instruction
//! on each object have in common.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::access_sources::AccessSources;
use crate::causes::footprint::Footprint;
use crate::causes::set_counts::SetCounts;
use crate::causes::split_offsets::LineOffsets;
use crate::causes::step_sizes::StepSizes;
use crate::causes::units::{FoundUnit, MOST_UNITS, UnitCount, Units};
use crate::causes::verdict::WeightedClasses;
use crate::collect::event::Event;
use crate::collect::sampled::CountedSample;
use crate::name::lookup::Lookup;
use crate::query::Weighting;
use perfdata::data_src::{Operation, Snoop};
use perfdata::{Pid, Tid, Time};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;
use symbolizer::Place;

/// Misses that are kept.
const MOST_MISSES: usize = 1 << 22;

#[derive(Clone, Debug)]
pub(crate) struct MissUnit {
    pub(crate) count: UnitCount,
    /// What its first data address belongs to, where that is known.
    pub(crate) place: Option<Place>,
    /// The same address at run time.
    pub(crate) address: u64,
    pub(crate) addresses: RangeInclusive<u64>,
    /// By the class that samples have themselves, where the recording has such.
    pub(crate) classes: WeightedClasses,
    pub(crate) lines: Footprint,
    pub(crate) pages: Footprint,
    pub(crate) sets: SetCounts,
    pub(crate) strides: StepSizes,
    pub(crate) sources: AccessSources,
    pub(crate) offsets: LineOffsets,
    /// By the thread that it was last seen on: the address.
    last: FxHashMap<Tid, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamedMiss {
    pub(crate) time: Time,
    pub(crate) pid: Pid,
    pub(crate) line: u64,
    pub(crate) unit: u32,
    /// The line came from another core, which had modified it.
    pub(crate) is_transfer: bool,
    pub(crate) writes: bool,
}

/// The misses of a thread that one event sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissStream {
    pub(crate) tid: Tid,
    pub(crate) misses: Vec<StreamedMiss>,
}

#[derive(Debug, Default)]
pub(crate) struct MissStreams {
    /// By the shape of the cache that is missed. Misses that there was no room for are left
    /// out, too.
    pub(crate) units: Units<(MissedLevel, CacheShape), MissUnit>,
    /// Events whose samples stand for their periods, rather than for one interval.
    by_period: FxHashSet<usize>,
    /// By event and thread.
    streams: FxHashMap<(usize, Tid), Vec<StreamedMiss>>,
    kept: usize,
}

impl MissStreams {
    /// Samples of this event are counted.
    pub(crate) fn judge(&mut self, event: &Event, level: MissedLevel, shape: CacheShape) {
        self.units.judge(event.leader, (level, shape));
        if event.weighting == Weighting::Period {
            self.by_period.insert(event.leader);
        }
    }

    pub(crate) fn has_classes(&self, event: usize) -> bool {
        let mut units = self.units.all.iter().filter(|unit| unit.count.key.event == event);
        units.any(|unit| unit.classes.open() < unit.count.sum.count)
    }

    pub(crate) fn count(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        let Some(found) = self.units.find(sample, lookup, MissUnit::new) else { return };
        let FoundUnit { number, judge: (_, shape), address } = found;
        let (line, tid) = (address / shape.unit.max(1), sample.held.tid());
        let unit = &mut self.units.all[number];
        unit.add(address, line, tid);
        unit.count.add(sample);
        let weight = if self.by_period.contains(&sample.event) { sample.sum.period } else { 1 };
        unit.classes.add(sample.words.class, weight);
        unit.sources.add(sample.words.data_src.unwrap_or_default());
        if self.kept >= MOST_MISSES {
            self.units.left_out += 1;
            return;
        }
        self.kept += 1;
        let source = sample.words.data_src;
        let miss = StreamedMiss {
            time: sample.held.time,
            pid: sample.held.pid(),
            line,
            unit: u32::try_from(number).unwrap_or(u32::MAX),
            is_transfer: source.is_some_and(|it| it.snoop().contains(Snoop::HITM)),
            writes: source.is_some_and(|it| it.operation().contains(Operation::STORE)),
        };
        self.streams.entry((sample.event, tid)).or_default().push(miss);
    }

    /// The misses of each thread that an event sampled, in order.
    pub(crate) fn of_threads(&mut self, event: usize) -> Vec<MissStream> {
        let of = self.streams.iter_mut().filter(|((of, _), _)| *of == event);
        let mut all: Vec<MissStream> = of
            .map(|((_, tid), misses)| {
                // Rings of several CPUs are emptied one after the other.
                misses.sort_by_key(|miss| miss.time);
                MissStream { tid: *tid, misses: std::mem::take(misses) }
            })
            .collect();
        all.sort_by_key(|stream| stream.tid);
        all
    }

    pub(crate) fn note(&self) -> Option<String> {
        let left_out = self.units.left_out;
        (left_out > 0).then(|| {
            format!(
                "{left_out} samples are in no row: of {MOST_UNITS} instructions with their objects, \
                 and of {MOST_MISSES} misses, there is room; -f counts fewer"
            )
        })
    }
}

impl MissUnit {
    fn new(
        count: UnitCount,
        found: FoundUnit<(MissedLevel, CacheShape)>,
        sample: &CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> MissUnit {
        let FoundUnit { judge: (_, shape), address, .. } = found;
        MissUnit {
            count,
            place: sample.data(lookup).ok(),
            address,
            addresses: address..=address,
            classes: WeightedClasses::default(),
            lines: Footprint::default(),
            pages: Footprint::default(),
            sets: SetCounts::new(usize::try_from(shape.sets()).unwrap_or(1).min(1 << 16)),
            strides: StepSizes::default(),
            sources: AccessSources::default(),
            offsets: LineOffsets::default(),
            last: FxHashMap::default(),
        }
    }

    /// Misses for each of its samples, on average.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
    pub(crate) fn interval(&self) -> f64 {
        self.count.sum.period as f64 / self.count.sum.count.max(1) as f64
    }

    fn add(&mut self, address: u64, line: u64, tid: Tid) {
        let (lowest, highest) = (*self.addresses.start(), *self.addresses.end());
        self.addresses = lowest.min(address)..=highest.max(address);
        self.lines.add(line);
        self.pages.add(address / 4096);
        self.sets.add(line);
        self.offsets.add(address);
        if let Some(before) = self.last.insert(tid, address) {
            self.strides.add(before, address);
        }
    }
}
