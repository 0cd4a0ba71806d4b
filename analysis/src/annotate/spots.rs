//! Samples by instruction, of the routines that may be meant: which of them
//! is, only the whole recording tells.

use super::addresses::Addresses;
use super::target::{Fit, Target, What};
use crate::atom::Atom;
use crate::fields::register_name;
use crate::held::Held;
use crate::lookup::Lookup;
use crate::registers::Histogram;
use crate::tally::Sum;
use record::aggregate::Site;
use record::{Arch, CpuMode, Pid, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use symbolizer::{ObjectId, Place, Resolution};

/// Values of a register that are told apart at an instruction.
const DISTINCT: usize = 1024;
/// Names that fit in part whose instructions are counted; of more, samples
/// alone: a list of them is all that can be shown.
const MOST_PARTIAL: usize = 64;
/// Code shown from an address that no symbol holds, bytes.
const UNNAMED: u64 = 256;

/// What the data address is called among the registers.
pub(crate) const ADDRESS: &str = "addr";

/// A routine that may be the one that is meant.
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
    pub(crate) witness: Witness,
}

/// A sample that lies in it: whose memory holds the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) mode: CpuMode,
    pub(crate) pid: Pid,
    pub(crate) ip: u64,
    pub(crate) time: Time,
}

/// What was sampled at one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) sum: Sum,
    /// Registers that are kept.
    kept: usize,
    /// Those, and behind them the data address.
    pub(crate) registers: Histogram,
    pub(crate) addresses: Addresses,
    /// Samples whose address is that of the instruction's own bytes.
    pub(crate) fetches: u64,
    /// Variables, or memory, that the addresses lie in.
    pub(crate) variables: FxHashMap<Atom, u64>,
    pub(crate) levels: FxHashMap<Atom, u64>,
    /// What the kernel counted.
    pub(crate) facts: Option<Box<Site>>,
}

/// What is told of one sample besides its place.
#[derive(Debug)]
pub(crate) struct Told<'s> {
    pub(crate) ip: u64,
    pub(crate) registers: &'s [u64],
    pub(crate) address: Option<u64>,
    pub(crate) variable: Option<Atom>,
    pub(crate) level: Option<Atom>,
}

/// What a place is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A routine that may be meant.
    Of(u32),
    /// Another one.
    Other,
    /// None that has a name.
    Nameless,
}

/// All that was counted.
#[derive(Debug)]
pub(crate) struct Spots {
    pub(crate) target: Target,
    /// Of the recording.
    pub(crate) arch: Arch,
    /// Which candidate a place is of. An address as sampled tells places of
    /// one object apart that lay elsewhere; a name does not.
    verdicts: FxHashMap<(Place, u64), Verdict>,
    /// Samples without a routine, and why the first of them has none.
    pub(crate) nameless: (u64, Option<String>),
    pub(crate) candidates: Vec<Candidate>,
    by_start: FxHashMap<(ObjectId, u64), u32>,
    spots: FxHashMap<(usize, u32, u64), Spot>,
}

impl Spots {
    pub(crate) fn new(target: Target) -> Spots {
        Spots {
            target,
            arch: Arch::default(),
            verdicts: FxHashMap::default(),
            nameless: (0, None),
            candidates: Vec::new(),
            by_start: FxHashMap::default(),
            spots: FxHashMap::default(),
        }
    }

    /// The candidate that the place of so many samples is of, if any.
    pub(crate) fn of(
        &mut self,
        place: Place,
        (held, samples): (&Held, u64),
        lookup: &mut Lookup,
    ) -> Option<u32> {
        let ip = match self.target.what {
            What::Routine(_) => 0,
            What::Address(_) => held.ip,
        };
        let verdict = match self.verdicts.get(&(place, ip)) {
            Some(known) => *known,
            None => {
                let verdict = self.judge(place, held, lookup);
                self.verdicts.insert((place, ip), verdict);
                verdict
            }
        };
        self.nameless.0 += if verdict == Verdict::Nameless { samples } else { 0 };
        if let Verdict::Of(candidate) = verdict { Some(candidate) } else { None }
    }

    fn judge(&mut self, place: Place, held: &Held, lookup: &mut Lookup) -> Verdict {
        match lookup.symbolizer.resolve(place) {
            Resolution::Unknown(reason) if matches!(self.target.what, What::Routine(_)) => {
                self.nameless.1.get_or_insert_with(|| reason.to_string());
                Verdict::Nameless
            }
            _ => self.candidate(place, held, lookup).map_or(Verdict::Other, Verdict::Of),
        }
    }

    fn candidate(&mut self, place: Place, held: &Held, lookup: &mut Lookup) -> Option<u32> {
        let object = lookup.object(place.object);
        let object = lookup.name(object);
        if !self.target.is_of(&object) {
            return None;
        }
        let found = match lookup.symbolizer.resolve(place) {
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
            return Some(*known);
        }
        let number = u32::try_from(self.candidates.len()).ok()?;
        self.by_start.insert((place.object, start), number);
        let Held { ip, time, .. } = *held;
        let witness = Witness { mode: held.mode(), pid: held.pid(), ip, time };
        self.candidates.push(Candidate {
            name: name.into(),
            object,
            at: (place.object, start, end),
            fit,
            unnamed,
            count: 0,
            witness,
        });
        Some(number)
    }

    /// Counts samples of a candidate at an address; what else they tell is
    /// the caller's to add. None: of this candidate nothing more is kept.
    pub(crate) fn add(
        &mut self,
        (event, candidate, address): (usize, u32, u64),
        sum: Sum,
        registers: &[u32],
    ) -> Option<&mut Spot> {
        let index = usize::try_from(candidate).unwrap_or(usize::MAX);
        let of = self.candidates.get_mut(index)?;
        of.count = of.count.saturating_add(sum.count);
        if of.fit == Fit::Part && index >= MOST_PARTIAL {
            return None;
        }
        let (spot, arch) = (self.spots.entry((event, candidate, address)), self.arch);
        let spot = spot.or_insert_with(|| Spot::new(registers, arch));
        spot.sum.join(sum);
        Some(spot)
    }

    /// Every place that was looked at.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.verdicts.keys().map(|(place, _)| *place)
    }

    /// The instructions of one candidate with samples, by event and address.
    pub(crate) fn of_candidate(self, candidate: u32) -> Vec<((usize, u64), Spot)> {
        let own = self.spots.into_iter().filter(|((_, of, _), _)| *of == candidate);
        let mut own: Vec<_> =
            own.map(|((event, _, address), spot)| ((event, address), spot)).collect();
        own.sort_unstable_by_key(|(key, _)| *key);
        own
    }
}

/// Whether an address is one of an instruction's own bytes: it was fetched.
pub(crate) fn is_of_code(ip: u64, address: u64) -> bool {
    const LONGEST: u64 = 15;
    address.wrapping_sub(ip) < LONGEST
}

impl Spot {
    fn new(registers: &[u32], arch: Arch) -> Spot {
        let names = registers.iter().map(|bit| register_name(arch, *bit));
        Spot {
            sum: Sum::default(),
            kept: registers.len(),
            registers: Histogram::new(names.chain([ADDRESS.to_owned()]), DISTINCT),
            addresses: Addresses::default(),
            fetches: 0,
            variables: FxHashMap::default(),
            levels: FxHashMap::default(),
            facts: None,
        }
    }

    /// Takes in what one sample tells.
    pub(crate) fn tell(&mut self, told: &Told<'_>) {
        for (index, value) in told.registers.iter().enumerate() {
            self.registers.add(index, *value);
        }
        if let Some(address) = told.address {
            self.registers.add(self.kept, address);
            self.addresses.add(address);
            self.fetches += u64::from(is_of_code(told.ip, address));
        }
        for (counts, atom) in [(&mut self.variables, told.variable), (&mut self.levels, told.level)]
        {
            if let Some(atom) = atom {
                *counts.entry(atom).or_default() += 1;
            }
        }
    }
}
