//! Samples by instruction, of the routines that may be meant: which of them
//! is, only the whole recording tells.

use crate::annotate::addresses::Addresses;
use crate::bounded::{Bounded, MOST_PLACES};
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::fields::register_name;
use crate::collect::pending::PendingSample;
use crate::collect::registers::Histogram;
use crate::collect::row_count::join_sites;
use crate::collect::sampled::CountedSample;
use crate::collect::site_counts::witness;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::access_types::TypeAndMember;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceNames;
use crate::query::needs::Needs;
use crate::query::target::{Fit, RoutineTarget, What};
use perfdata::Arch;
use perfdata::aggregate::{Range, SeededRandom, Site};
use perfdata::data_src::DataSrcAspect;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;
use symbolizer::{ObjectId, Place, Resolution, SampledAddress};

/// Values of a register that are told apart at an instruction.
const DISTINCT: usize = 1024;
/// Names that fit in part whose instructions are counted; of more, samples
/// alone: a list of them is all that can be shown.
const MOST_PARTIAL: usize = 64;
/// Routines that may be meant, instructions of them, and values, stretches and
/// names at all of them together: a hostile recording may have more than memory
/// holds.
const MOST_CANDIDATES: usize = 1 << 16;
const MOST_INSTRUCTIONS: usize = 1 << 17;
const MOST_VALUES: usize = 1 << 22;

/// Code shown from an address that no symbol holds, bytes.
const UNNAMED: u64 = 256;

/// What the data address is called among the registers.
pub(crate) const ADDRESS: &str = "addr";

#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) name: Arc<str>,
    pub(crate) object: Arc<str>,
    /// Where its code lies, in terms of [`Place::address`].
    pub(crate) at: (ObjectId, u64, u64),
    pub(crate) fit: Fit,
    /// Why no symbol holds it; None: one does.
    pub(crate) unnamed: Option<Arc<str>>,
    pub(crate) count: u64,
    /// A sample that lies in it: whose memory holds the code.
    pub(crate) witness: SampledAddress,
}

#[derive(Clone, Debug)]
pub(crate) struct InstructionHits {
    pub(crate) sum: Sum,
    /// Registers that are kept.
    kept: usize,
    /// Those, and behind them the data address.
    pub(crate) registers: Histogram,
    pub(crate) addresses: Addresses,
    /// Samples whose address is that of the instruction's own bytes.
    pub(crate) fetches: u64,
    /// Variables, or memory, that the addresses lie in.
    pub(crate) variables: FxHashMap<KeyValue, u64>,
    pub(crate) levels: FxHashMap<KeyValue, u64>,
    /// Types and members of what is accessed, where they are known.
    pub(crate) types: FxHashMap<TypeAndMember, u64>,
    pub(crate) facts: Option<Box<Site>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HitAddress {
    /// The number that rows of the event are counted under.
    pub(crate) event: usize,
    pub(crate) candidate: u32,
    /// Of the instruction, in terms of [`Place::address`].
    pub(crate) address: u64,
}

#[derive(Debug)]
pub(crate) struct HitValues<'s> {
    pub(crate) ip: u64,
    pub(crate) registers: &'s [u64],
    pub(crate) address: Option<u64>,
    pub(crate) variable: Option<KeyValue>,
    pub(crate) level: Option<KeyValue>,
    pub(crate) typed: Option<TypeAndMember>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Of(u32),
    Other,
    /// One that may be meant, too; there were too many before.
    NotKept,
    Nameless(usize),
}

#[derive(Debug)]
pub(crate) struct TargetHits {
    pub(crate) target: RoutineTarget,
    pub(crate) arch: Arch,
    /// Which candidate a place is of. An address as sampled tells places of
    /// one object apart that lay elsewhere; a name does not.
    verdicts: Bounded<(Place, u64), Verdict, MOST_PLACES>,
    /// Why samples have no routine, and how many each.
    pub(crate) nameless: Vec<(String, u64)>,
    /// Where each reason is among them.
    reasons: FxHashMap<String, usize>,
    pub(crate) candidates: Vec<Candidate>,
    by_start: FxHashMap<(ObjectId, u64), u32>,
    hits: FxHashMap<HitAddress, InstructionHits>,
    room: Room,
    /// Samples of routines, and at instructions, that are not kept.
    left_out: u64,
}

#[derive(Debug)]
struct Room {
    candidates: usize,
    hits: usize,
    values: usize,
}

/// Samples by instruction, of each routine that is asked for.
#[derive(Debug)]
pub(crate) struct RoutineHits {
    pub(crate) routines: Vec<TargetHits>,
    chance: SeededRandom,
}

impl RoutineHits {
    pub(crate) fn new(targets: &[RoutineTarget]) -> RoutineHits {
        let routines = targets.iter().cloned().map(TargetHits::new).collect();
        RoutineHits { routines, chance: SeededRandom::default() }
    }
}

impl Collector for RoutineHits {
    fn needs(&self) -> Needs {
        Needs::ACCESS | Needs::HEAP | Needs::REGISTERS | Needs::TYPES
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        self.routines.iter_mut().for_each(|hits| hits.arch = new.arch);
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.routines.iter_mut().for_each(|hits| hits.count(sample, lookup));
        if lookup.heap.is_told && sample.typed.is_none() {
            // Other routines tell of blocks that these are on.
            sample.vote(lookup);
        }
        Ok(())
    }

    fn take_site(
        &mut self,
        site: &Site,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<(), Error> {
        let chance = &mut self.chance;
        self.routines.iter_mut().for_each(|hits| hits.count_site(site, sample, lookup, chance));
        Ok(())
    }
}

impl TargetHits {
    pub(crate) fn new(target: RoutineTarget) -> TargetHits {
        TargetHits {
            target,
            arch: Arch::default(),
            verdicts: Bounded::default(),
            nameless: Vec::new(),
            reasons: FxHashMap::default(),
            candidates: Vec::new(),
            by_start: FxHashMap::default(),
            hits: FxHashMap::default(),
            room: Room {
                candidates: MOST_CANDIDATES,
                hits: MOST_INSTRUCTIONS,
                values: MOST_VALUES,
            },
            left_out: 0,
        }
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let samples = (self.left_out > 0).then(|| {
            format!(
                "{} samples of what may be meant are shown nowhere: the recording has more than \
                 {MOST_CANDIDATES} such routines, or {MOST_INSTRUCTIONS} instructions of them with samples",
                self.left_out
            )
        });
        let values = (self.room.values == 0).then(|| {
            format!(
                "of values of registers, addresses and variables at instructions {MOST_VALUES} \
                 are kept; what came later is not counted by value, and addresses by wider \
                 stretches"
            )
        });
        samples.into_iter().chain(values)
    }

    /// The candidate that the place of so many samples is of, if any.
    pub(crate) fn of(
        &mut self,
        place: Place,
        held: &PendingSample,
        samples: u64,
        places: &mut PlaceNames,
    ) -> Option<u32> {
        let ip = match self.target.what {
            What::Routine(_) => 0,
            What::Address(_) => held.ip,
        };
        let verdict = match self.verdicts.get(&(place, ip)) {
            Some(known) => *known,
            None => {
                let verdict = self.judge(place, held, places);
                self.verdicts.insert((place, ip), verdict);
                verdict
            }
        };
        if let Verdict::Nameless(reason) = verdict
            && let Some((_, count)) = self.nameless.get_mut(reason)
        {
            *count = count.saturating_add(samples);
        }
        match verdict {
            Verdict::Of(candidate) => Some(candidate),
            Verdict::NotKept => {
                self.left_out = self.left_out.saturating_add(samples);
                None
            }
            Verdict::Other | Verdict::Nameless(_) => None,
        }
    }

    fn judge(&mut self, place: Place, held: &PendingSample, places: &mut PlaceNames) -> Verdict {
        match places.symbolizer.resolve(place) {
            Resolution::Unknown(reason) if matches!(self.target.what, What::Routine(_)) => {
                let why = reason.to_string();
                if let Some(known) = self.reasons.get(&why) {
                    return Verdict::Nameless(*known);
                }
                let reason = self.nameless.len();
                self.nameless.push((why.clone(), 0));
                self.reasons.insert(why, reason);
                Verdict::Nameless(reason)
            }
            _ => self.candidate(place, held, places).unwrap_or(Verdict::Other),
        }
    }

    fn candidate(
        &mut self,
        place: Place,
        held: &PendingSample,
        places: &mut PlaceNames,
    ) -> Option<Verdict> {
        let object = places.object(place.object);
        let object = places.name(object);
        if !self.target.is_of(&object) {
            return None;
        }
        let found = match places.symbolizer.resolve(place) {
            Resolution::Routine(routine) => {
                Ok((routine.name.into_owned(), routine.start, routine.end))
            }
            Resolution::Unknown(reason) => Err(reason.to_string()),
        };
        let (name, (start, end), unnamed) = match (found, &self.target.what) {
            (Ok((name, start, end)), _) => (name, (start, end), None),
            (Err(_), What::Routine(_)) => return None,
            (Err(reason), What::Address(address)) => {
                let name = format!("{address:#x}");
                // In the terms of the place, if it was given as sampled.
                let shift = place.address.wrapping_sub(held.ip);
                let is_near = |from: u64| place.address.wrapping_sub(from) < UNNAMED;
                let from = [*address, address.wrapping_add(shift)].into_iter();
                let from = from.into_iter().find(|from| is_near(*from))?;
                (name, (from, from.saturating_add(UNNAMED)), Some(reason.into()))
            }
        };
        let fit = match self.target.what {
            What::Routine(_) => self.target.fit(&name)?,
            What::Address(address) => {
                let as_sampled = address.wrapping_sub(held.ip).wrapping_add(place.address);
                let holds = |address: u64| (start..end).contains(&address);
                (holds(address) || holds(as_sampled)).then_some(Fit::Whole)?
            }
        };
        if let Some(known) = self.by_start.get(&(place.object, start)) {
            return Some(Verdict::Of(*known));
        }
        let number = u32::try_from(self.candidates.len()).ok()?;
        if self.candidates.len() >= self.room.candidates {
            return Some(Verdict::NotKept);
        }
        self.by_start.insert((place.object, start), number);
        self.candidates.push(Candidate {
            name: name.into(),
            object,
            at: (place.object, start, end),
            fit,
            unnamed,
            count: 0,
            witness: held.at(),
        });
        Some(Verdict::Of(number))
    }

    fn count(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        let (event, one) = (sample.event, sample.sum);
        let Ok(place) = sample.place(lookup) else { return };
        let Some(candidate) = self.of(place, sample.held, 1, &mut lookup.places) else { return };
        let at = HitAddress { event, candidate, address: place.address };
        let kept = sample.fields.registers();
        let Some((hit, room)) = self.add(at, one, kept) else { return };
        let typed = sample.typed(lookup);
        let values = HitValues {
            ip: sample.held.ip,
            registers: sample.words.registers,
            address: sample.address().ok(),
            level: sample.words.data_src.map(|source| lookup.access(DataSrcAspect::Level, source)),
            variable: sample.data(lookup).ok().map(|place| lookup.places.variable(place)),
            typed: typed.is_known_or_waits().then_some(typed),
        };
        hit.tell(&values, room);
    }

    /// Counts samples at an instruction; what else they tell is the caller's
    /// to add, of so many values at most. None: of this candidate nothing more
    /// is kept.
    pub(crate) fn add(
        &mut self,
        at: HitAddress,
        sum: Sum,
        registers: &[u32],
    ) -> Option<(&mut InstructionHits, &mut usize)> {
        let index = usize::try_from(at.candidate).unwrap_or(usize::MAX);
        let of = self.candidates.get_mut(index)?;
        of.count = of.count.saturating_add(sum.count);
        if of.fit == Fit::Part && index >= MOST_PARTIAL {
            return None;
        }
        if self.hits.len() >= self.room.hits && !self.hits.contains_key(&at) {
            self.left_out = self.left_out.saturating_add(sum.count);
            return None;
        }
        let arch = self.arch;
        let hit = self.hits.entry(at).or_insert_with(|| InstructionHits::new(registers, arch));
        hit.sum.join(sum);
        Some((hit, &mut self.room.values))
    }

    /// Counts the hits of a place that the kernel counted; `chance` chooses of what they have.
    fn count_site(
        &mut self,
        site: &Site,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
        chance: &mut SeededRandom,
    ) {
        let Ok(place) = sample.place(lookup) else { return };
        let found = self.of(place, &witness(site, sample.held), site.count, &mut lookup.places);
        let Some(candidate) = found else { return };
        let at = HitAddress { event: sample.event, candidate, address: place.address };
        if let Some((hit, _)) = self.add(at, sample.sum, sample.fields.registers()) {
            let of_code =
                |range: Range| is_of_code(site.ip, range.min) && is_of_code(site.ip, range.max);
            hit.fetches += if site.address.is_some_and(of_code) { site.count } else { 0 };
            join_sites(&mut hit.facts, site, chance);
        }
    }

    /// The places that were looked at, the last ones of very many.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.verdicts.keys().map(|(place, _)| *place)
    }

    /// The instructions of one candidate with samples, by event and address.
    pub(crate) fn of_candidate(self, candidate: u32) -> Vec<(HitAddress, InstructionHits)> {
        let own = self.hits.into_iter().filter(|(at, _)| at.candidate == candidate);
        let mut own: Vec<_> = own.collect();
        own.sort_unstable_by_key(|(at, _)| *at);
        own
    }
}

/// Whether an address is one of an instruction's own bytes: it was fetched.
pub(crate) fn is_of_code(ip: u64, address: u64) -> bool {
    const LONGEST: u64 = 15;
    address.wrapping_sub(ip) < LONGEST
}

impl InstructionHits {
    fn new(registers: &[u32], arch: Arch) -> InstructionHits {
        let names = registers.iter().map(|bit| register_name(arch, *bit));
        InstructionHits {
            sum: Sum::default(),
            kept: registers.len(),
            registers: Histogram::new(names.chain([ADDRESS.to_owned()]), DISTINCT),
            addresses: Addresses::default(),
            fetches: 0,
            variables: FxHashMap::default(),
            levels: FxHashMap::default(),
            types: FxHashMap::default(),
            facts: None,
        }
    }

    /// Takes in what one sample tells; what it is the first to tell takes
    /// room.
    pub(crate) fn tell(&mut self, told: &HitValues<'_>, room: &mut usize) {
        let take = |is_new: bool, room: &mut usize| *room -= usize::from(is_new && *room > 0);
        for (index, value) in told.registers.iter().enumerate() {
            let is_new = self.registers.add_within(index, *value, *room);
            take(is_new, room);
        }
        if let Some(address) = told.address {
            let is_new = self.registers.add_within(self.kept, address, *room);
            take(is_new, room);
            let is_new = self.addresses.add_within(address, *room);
            take(is_new, room);
            self.fetches += u64::from(is_of_code(told.ip, address));
        }
        count_in(&mut self.variables, told.variable, room);
        count_in(&mut self.levels, told.level, room);
        count_in(&mut self.types, told.typed, room);
    }
}

fn count_in<T: Eq + Hash>(counts: &mut FxHashMap<T, u64>, told: Option<T>, room: &mut usize) {
    let Some(told) = told else { return };
    if let Some(count) = counts.get_mut(&told) {
        *count += 1;
    } else if *room > 0 {
        counts.insert(told, 1);
        *room -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::stream::{StreamDecoder, StreamRecord};
    use perfdata::{CpuMode, Misc, Pid, SampleId, SidebandRecord, Time};
    use symbolizer::{KernelSource, Symbolizer, SymbolizerOptions};

    const KERNEL: u64 = 0xffff_ffff_c000_0000;

    fn hits() -> TargetHits {
        TargetHits::new(RoutineTarget { what: What::Routine("same".to_owned()), object: None })
    }

    /// Knows so many routines of the kernel of one name, 64 bytes apart.
    fn places(routines: u64) -> PlaceNames {
        let options =
            SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() };
        let mut places = PlaceNames::new(Symbolizer::new(options));
        for address in (0..routines).map(|number| KERNEL + number * 64) {
            let (length, kind, flags, name) = (64, 1, 0, &b"same"[..]);
            let record = SidebandRecord::Ksymbol { address, length, kind, flags, name };
            let id = SampleId::default();
            let side = StreamRecord::Sideband { event: 0, misc: Misc(0), record, id };
            places.symbolizer.observe(&StreamDecoder::new(), &side);
        }
        places
    }

    fn candidate(hits: &mut TargetHits, ip: u64, places: &mut PlaceNames) -> Option<u32> {
        let held = PendingSample { ip, misc: Misc(1), ..PendingSample::default() };
        let place = places.symbolizer.place(CpuMode::Kernel, Pid(1), ip, Time(9));
        hits.of(place, &held, 5, places)
    }

    #[test]
    fn routines_beyond_the_room_are_no_others_and_their_samples_are_told() {
        let (mut hits, mut places) = (hits(), places(4));
        hits.room.candidates = 2;
        let mut of = |number: u64| candidate(&mut hits, KERNEL + number * 64 + 8, &mut places);
        assert_eq!([0, 1, 2, 3, 0, 2].map(&mut of), [Some(0), Some(1), None, None, Some(0), None]);
        assert_eq!((hits.candidates.len(), hits.left_out), (2, 15));
        let notes: Vec<String> = hits.notes().collect();
        assert!(matches!(&notes[..], [note] if note.starts_with("15 samples of")), "{notes:?}");
    }

    #[test]
    fn instructions_beyond_the_room_are_not_kept_and_their_samples_are_told() {
        let (mut hits, mut places) = (hits(), places(1));
        hits.room.hits = 2;
        let of = candidate(&mut hits, KERNEL + 8, &mut places).unwrap();
        assert_eq!(hits.notes().count(), 0);
        let one = Sum::of(1, 1);
        for (address, is_kept) in [(8, true), (9, true), (10, false), (8, true), (11, false)] {
            let at = HitAddress { event: 0, candidate: of, address };
            assert_eq!(hits.add(at, one, &[]).is_some(), is_kept, "{address}");
        }
        assert_eq!(hits.left_out, 2);
        assert_eq!(hits.candidates[0].count, 5);
        let kept = hits.of_candidate(of);
        let counts = kept.iter().map(|(at, hit)| (at.address, hit.sum.count));
        assert_eq!(counts.collect::<Vec<_>>(), [(8, 2), (9, 1)]);
    }

    #[test]
    fn values_beyond_the_room_are_not_told_apart_and_that_is_said() {
        let (mut hits, mut places) = (hits(), places(1));
        hits.room.values = 6;
        let of = candidate(&mut hits, KERNEL + 8, &mut places).unwrap();
        let one = Sum::of(1, 1);
        for value in [1, 2, 3, 1, 4] {
            let at = HitAddress { event: 0, candidate: of, address: 8 };
            let (hit, room) = hits.add(at, one, &[0]).unwrap();
            let address = Some(value << 20);
            hit.tell(
                &HitValues {
                    ip: 8,
                    registers: &[value],
                    address,
                    variable: None,
                    level: None,
                    typed: None,
                },
                room,
            );
        }
        assert_eq!(hits.room.values, 0);
        assert!(hits.notes().any(|note| note.contains("is not counted by value")));
        let (_, hit) = hits.of_candidate(of).remove(0);
        let [register, address] = &hit.registers.finish(9)[..] else { panic!("two are kept") };
        assert_eq!((register.samples, register.distinct_exact), (5, false));
        assert_eq!((register.min, register.max), (1, 4), "these are of all");
        assert!(!address.distinct_exact);
        assert_eq!(hit.addresses.stretches(9).iter().map(|it| it.count).sum::<u64>(), 5);
    }
}
