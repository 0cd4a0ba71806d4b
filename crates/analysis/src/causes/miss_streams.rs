//! Misses of each thread in order, and what the addresses of each instruction
//! on each object have in common.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::access_sources::AccessSources;
use crate::causes::footprint::Footprint;
use crate::causes::set_counts::SetCounts;
use crate::causes::split_offsets::LineOffsets;
use crate::causes::step_sizes::StepSizes;
use crate::causes::unit_key::{MOST_UNITS, UnitCount, UnitKey};
use crate::causes::verdict::ClassCounts;
use crate::collect::sampled::CountedSample;
use crate::name::lookup::Lookup;
use perfdata::data_src::{Operation, Snoop};
use perfdata::{Pid, Tid, Time};
use rustc_hash::FxHashMap;
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
    pub(crate) classes: ClassCounts,
    pub(crate) lines: Footprint,
    pub(crate) pages: Footprint,
    pub(crate) sets: SetCounts,
    pub(crate) strides: StepSizes,
    pub(crate) sources: AccessSources,
    pub(crate) offsets: LineOffsets,
    /// By the thread that it was last seen on: the address.
    last: FxHashMap<Tid, u64>,
}

#[derive(Clone, Debug)]
struct FirstMiss {
    count: UnitCount,
    place: Option<Place>,
    address: u64,
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
    judged: FxHashMap<usize, (MissedLevel, CacheShape)>,
    by_key: FxHashMap<UnitKey, u32>,
    pub(crate) units: Vec<MissUnit>,
    /// By event and thread.
    streams: FxHashMap<(usize, Tid), Vec<StreamedMiss>>,
    kept: usize,
    /// Samples of units, and misses, that there was no room for.
    pub(crate) left_out: u64,
    without_address: FxHashMap<usize, u64>,
}

impl MissStreams {
    /// Samples of this event are misses of a cache of this shape. Others are not
    /// looked at.
    pub(crate) fn judge(&mut self, event: usize, level: MissedLevel, shape: CacheShape) {
        self.judged.insert(event, (level, shape));
    }

    pub(crate) fn has_classes(&self, event: usize) -> bool {
        let mut units = self.units.iter().filter(|unit| unit.count.key.event == event);
        units.any(|unit| unit.classes.open < unit.count.sum.count)
    }

    /// By what an event's samples are judged; None: not at all.
    pub(crate) fn judged(&self, event: usize) -> Option<(MissedLevel, CacheShape)> {
        self.judged.get(&event).copied()
    }

    /// Samples of an event that have no data address, or no place.
    pub(crate) fn without_address(&self, event: usize) -> u64 {
        self.without_address.get(&event).copied().unwrap_or(0)
    }

    pub(crate) fn count(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        let event = sample.event;
        let Some((_, shape)) = self.judged(event) else { return };
        let (Ok(key), Ok(address)) = (UnitKey::of(sample, lookup), sample.address()) else {
            *self.without_address.entry(event).or_default() += 1;
            return;
        };
        let number = self.by_key.get(&key).copied().or_else(|| {
            let count = UnitCount::new(key, sample);
            self.begin(FirstMiss { count, place: sample.data(lookup).ok(), address }, shape)
        });
        let Some(number) = number else {
            self.left_out += 1;
            return;
        };
        let (line, tid) = (address / shape.unit.max(1), sample.held.tid());
        let unit = &mut self.units[number as usize];
        unit.add(address, line, tid);
        unit.count.add(sample);
        unit.classes.add(sample.words.class);
        unit.sources.add(sample.words.data_src.unwrap_or_default());
        if self.kept >= MOST_MISSES {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        let source = sample.words.data_src;
        let miss = StreamedMiss {
            time: sample.held.time,
            pid: sample.held.pid(),
            line,
            unit: number,
            is_transfer: source.is_some_and(|it| it.snoop().contains(Snoop::HITM)),
            writes: source.is_some_and(|it| it.operation().contains(Operation::STORE)),
        };
        self.streams.entry((event, tid)).or_default().push(miss);
    }

    /// Makes a unit, if there is room.
    fn begin(&mut self, first: FirstMiss, shape: CacheShape) -> Option<u32> {
        let number =
            u32::try_from(self.units.len()).ok().filter(|_| self.units.len() < MOST_UNITS)?;
        let FirstMiss { count, place, address } = first;
        let key = count.key;
        self.units.push(MissUnit {
            count,
            place,
            address,
            addresses: address..=address,
            classes: ClassCounts::default(),
            lines: Footprint::default(),
            pages: Footprint::default(),
            sets: SetCounts::new(usize::try_from(shape.sets()).unwrap_or(1).min(1 << 16)),
            strides: StepSizes::default(),
            sources: AccessSources::default(),
            offsets: LineOffsets::default(),
            last: FxHashMap::default(),
        });
        self.by_key.insert(key, number);
        Some(number)
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

    pub(crate) fn notes(&self) -> Vec<String> {
        let told = (self.left_out > 0).then(|| {
            format!(
                "{} samples are in no row: of {MOST_UNITS} instructions with their objects, and of \
                 {MOST_MISSES} misses, there is room; -f counts fewer",
                self.left_out
            )
        });
        told.into_iter().collect()
    }
}

impl MissUnit {
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
