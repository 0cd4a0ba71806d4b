//! Misses of each thread in order, and what the addresses of each instruction
//! on each object have in common.

use crate::causes::access_sources::AccessSources;
use crate::causes::cache_shape::{CacheShape, MissedLevel};
use crate::causes::footprint::Footprint;
use crate::causes::set_counts::SetCounts;
use crate::causes::step_sizes::StepSizes;
use crate::causes::verdict::ClassCounts;
use crate::collect::row_count::Sum;
use crate::collect::sampled::CountedSample;
use crate::collect::unit_key::{MOST_UNITS, UnitKey};
use crate::name::atom::Atom;
use crate::name::lookup::Lookup;
use record::data_src::{Operation, Snoop};
use record::{Pid, Tid, Time};
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use symbolizer::{ObjectId, Place, SampledAddress};

/// Misses that are kept.
const MOST_MISSES: usize = 1 << 22;

/// What was sampled of one instruction on one object.
#[derive(Clone, Debug)]
pub(crate) struct MissUnit {
    pub(crate) event: usize,
    pub(crate) site: Place,
    pub(crate) object: Atom,
    pub(crate) data: Option<ObjectId>,
    /// A sample of it: whose memory holds the code.
    pub(crate) witness: SampledAddress,
    /// What its data address belongs to, where that is known.
    pub(crate) place: Option<Place>,
    /// The same address at run time.
    pub(crate) address: u64,
    /// All of its addresses.
    pub(crate) addresses: RangeInclusive<u64>,
    pub(crate) sum: Sum,
    /// Cycles that the accesses took which samples stand for, where they say so.
    pub(crate) cycles: u64,
    /// By the class that samples have themselves, where the recording has such.
    pub(crate) classes: ClassCounts,
    pub(crate) lines: Footprint,
    pub(crate) pages: Footprint,
    pub(crate) sets: SetCounts,
    pub(crate) strides: StepSizes,
    pub(crate) sources: AccessSources,
    /// Samples whose first and last byte are in two lines, if the access has a
    /// width of so many bytes: by the offset in the line, 64 of them.
    pub(crate) offsets: Box<[u64; 64]>,
    /// By the thread that it was last seen on: the address.
    last: FxHashMap<Tid, u64>,
}

/// Where a unit was met first.
#[derive(Clone, Copy, Debug)]
struct FirstMiss {
    witness: SampledAddress,
    place: Option<Place>,
    address: u64,
}

/// A miss in its thread's stream.
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

/// Everything that was counted for causes.
#[derive(Debug)]
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
    pub(crate) fn new() -> MissStreams {
        MissStreams {
            judged: FxHashMap::default(),
            by_key: FxHashMap::default(),
            units: Vec::new(),
            streams: FxHashMap::default(),
            kept: 0,
            left_out: 0,
            without_address: FxHashMap::default(),
        }
    }

    /// Samples of this event are misses of a cache of this shape. Others are not
    /// looked at.
    pub(crate) fn judge(&mut self, event: usize, level: MissedLevel, shape: CacheShape) {
        self.judged.insert(event, (level, shape));
    }

    /// Whether an event's samples have classes of their own.
    pub(crate) fn has_classes(&self, event: usize) -> bool {
        let mut units = self.units.iter().filter(|unit| unit.event == event);
        units.any(|unit| unit.classes.open < unit.sum.count)
    }

    /// By what an event's samples are judged; None: not at all.
    pub(crate) fn judged(&self, event: usize) -> Option<(MissedLevel, CacheShape)> {
        self.judged.get(&event).copied()
    }

    /// Samples of an event that have no data address, or no place.
    pub(crate) fn without_address(&self, event: usize) -> u64 {
        self.without_address.get(&event).copied().unwrap_or(0)
    }

    /// Counts a sample of an event.
    pub(crate) fn count(
        &mut self,
        event: usize,
        sample: &mut CountedSample<'_>,
        one: Sum,
        lookup: &mut Lookup,
    ) {
        let Some((_, shape)) = self.judged(event) else { return };
        let (Ok(key), Ok(address)) = (UnitKey::of(event, sample, lookup), sample.address()) else {
            *self.without_address.entry(event).or_default() += 1;
            return;
        };
        let witness = sample.held.at();
        let place = match self.by_key.contains_key(&key) {
            true => None,
            false => sample.data(lookup).ok(),
        };
        let first = FirstMiss { witness, place, address };
        let Some(number) = self.number(key, shape, first) else {
            self.left_out += 1;
            return;
        };
        let (line, tid) = (address / shape.unit.max(1), sample.held.tid());
        let unit = &mut self.units[number as usize];
        unit.add(address, line, tid);
        unit.sum.join(one);
        unit.classes.add(sample.words.class);
        unit.sources.add(sample.words.data_src.unwrap_or_default());
        let cycles = sample.latency.unwrap_or(0).saturating_mul(one.period);
        unit.cycles = unit.cycles.saturating_add(cycles);
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

    fn number(&mut self, key: UnitKey, shape: CacheShape, first: FirstMiss) -> Option<u32> {
        if let Some(known) = self.by_key.get(&key) {
            return Some(*known);
        }
        let number =
            u32::try_from(self.units.len()).ok().filter(|_| self.units.len() < MOST_UNITS)?;
        let UnitKey { event, site, object, data } = key;
        let FirstMiss { witness, place, address } = first;
        self.units.push(MissUnit {
            event,
            site,
            object,
            data,
            witness,
            place,
            address,
            addresses: address..=address,
            sum: Sum::default(),
            cycles: 0,
            classes: ClassCounts::default(),
            lines: Footprint::default(),
            pages: Footprint::default(),
            sets: SetCounts::new(usize::try_from(shape.sets()).unwrap_or(1).min(1 << 16)),
            strides: StepSizes::default(),
            sources: AccessSources::default(),
            offsets: Box::new([0; 64]),
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

    /// What a reader must know of what there was no room for.
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
    fn add(&mut self, address: u64, line: u64, tid: Tid) {
        let (lowest, highest) = (*self.addresses.start(), *self.addresses.end());
        self.addresses = lowest.min(address)..=highest.max(address);
        self.lines.add(line);
        self.pages.add(address / 4096);
        self.sets.add(line);
        self.offsets[usize::try_from(address % 64).unwrap_or(0)] += 1;
        if let Some(before) = self.last.insert(tid, address) {
            self.strides.add(before, address);
        }
    }

    /// Samples whose access crosses the end of a line of 64 bytes, if it is so
    /// many bytes wide.
    pub(crate) fn splits(&self, width: u64) -> u64 {
        let first = 65_u64.saturating_sub(width.clamp(1, 64));
        let offsets = (0_u64..).zip(self.offsets.iter());
        offsets.filter(|(offset, _)| *offset >= first).map(|(_, count)| count).sum()
    }
}
