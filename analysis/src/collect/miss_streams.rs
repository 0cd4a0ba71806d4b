//! Misses of each thread in order, and what the addresses of each instruction
//! on each object have in common.

use crate::causes::cache_shape::{CacheShape, MissedLevel};
use crate::causes::footprint::Footprint;
use crate::causes::set_counts::SetCounts;
use crate::causes::stack_distances::StackDistances;
use crate::causes::step_sizes::StepSizes;
use crate::causes::verdict::ClassCounts;
use crate::collect::row_count::Sum;
use crate::collect::sampled::CountedSample;
use crate::name::atom::Atom;
use crate::name::lookup::Lookup;
use record::{Tid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use symbolizer::{ObjectId, Place, SampledAddress};

/// Instructions with their objects, and misses, that are kept.
const MOST_UNITS: usize = 1 << 14;
const MOST_MISSES: usize = 1 << 22;

/// An instruction that misses on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UnitKey {
    event: usize,
    site: Place,
    /// A variable, or why there is none.
    object: Atom,
    /// What is mapped there.
    data: Option<ObjectId>,
}

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
#[derive(Clone, Copy, Debug)]
struct StreamedMiss {
    time: Time,
    line: u64,
    unit: u32,
}

/// What became of the misses of a unit, in samples, by the distance to the last
/// miss of the same line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DistanceCounts {
    /// The stream had no miss of the line before.
    pub(crate) first: u64,
    /// Fewer distinct lines in between than the cache holds, by a tenth of it.
    pub(crate) within: u64,
    /// About as many: lines that hit in between are not seen.
    pub(crate) edge: u64,
    /// More than that, by a tenth.
    pub(crate) beyond: u64,
    /// Those with a line before, by the lines that a cache must hold.
    sizes: BTreeMap<u64, u64>,
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
        let (Ok(site), Ok(address)) = (sample.place(lookup), sample.address()) else {
            *self.without_address.entry(event).or_default() += 1;
            return;
        };
        let data = sample.data(lookup);
        let object = data.map_or_else(Atom::lack, |place| lookup.variable(place));
        let place = data.ok();
        let key = UnitKey { event, site, object, data: place.map(|place| place.object) };
        let first = FirstMiss { witness: sample.held.at(), place, address };
        let Some(number) = self.number(key, shape, first) else {
            self.left_out += 1;
            return;
        };
        let (line, tid) = (address / shape.unit.max(1), sample.held.tid());
        let unit = &mut self.units[number as usize];
        unit.add(address, line, tid);
        unit.sum.join(one);
        unit.classes.add(sample.words.class);
        let cycles = sample.latency.unwrap_or(0).saturating_mul(one.period);
        unit.cycles = unit.cycles.saturating_add(cycles);
        if self.kept >= MOST_MISSES {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        let miss = StreamedMiss { time: sample.held.time, line, unit: number };
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
            offsets: Box::new([0; 64]),
            last: FxHashMap::default(),
        });
        self.by_key.insert(key, number);
        Some(number)
    }

    /// Distances of each unit's misses, of an event of which every miss was
    /// sampled.
    pub(crate) fn distances(&mut self, event: usize, shape: CacheShape) -> Vec<DistanceCounts> {
        let mut counts = vec![DistanceCounts::default(); self.units.len()];
        for ((of, _), misses) in &mut self.streams {
            if *of != event {
                continue;
            }
            // Rings of several CPUs are emptied one after the other.
            misses.sort_by_key(|miss| miss.time);
            let mut distances = StackDistances::new(misses.len());
            for miss in misses {
                counts[miss.unit as usize].add(distances.next(miss.line), shape.entries);
            }
        }
        counts
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

    /// Distinct lines of all units of an event together.
    pub(crate) fn footprint(&self, event: usize) -> Footprint {
        let mut all = Footprint::default();
        let of = self.streams.iter().filter(|((of, _), _)| *of == event);
        of.flat_map(|(_, misses)| misses).for_each(|miss| all.add(miss.line));
        all
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

impl DistanceCounts {
    fn add(&mut self, distance: Option<u64>, holds: u64) {
        let Some(distance) = distance else {
            self.first += 1;
            return;
        };
        let tenth = holds / 10;
        match distance {
            distance if distance < holds - tenth => self.within += 1,
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

/// The next size of caches, a power of two lines or one and a half of it.
fn size_for(lines: u64) -> u64 {
    let power = lines.checked_next_power_of_two().unwrap_or(u64::MAX);
    let smaller = power / 4 * 3;
    if smaller >= lines { smaller } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_told_by_the_size_of_the_cache() {
        let mut counts = DistanceCounts::default();
        for distance in [None, Some(1), Some(460), Some(462), Some(512), Some(563), Some(564)] {
            counts.add(distance, 512);
        }
        let DistanceCounts { first, within, edge, beyond, .. } = counts;
        assert_eq!((first, within, edge, beyond), (1, 2, 3, 1));
    }

    #[test]
    fn sizes_are_those_of_caches() {
        let sizes = [1, 2, 3, 4, 5, 6, 7, 513, 769, 8193].map(size_for);
        assert_eq!(sizes, [1, 2, 3, 4, 6, 6, 8, 768, 1024, 12288]);
        let mut counts = DistanceCounts::default();
        assert_eq!(counts.fits_from(), None);
        (0..95).for_each(|_| counts.add(Some(700), 512));
        (0..5).for_each(|_| counts.add(Some(100_000), 512));
        assert_eq!(counts.fits_from(), Some(768), "nine of ten");
    }
}
