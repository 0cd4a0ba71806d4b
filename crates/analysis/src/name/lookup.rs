//! Names for places, threads and objects, each worked out once.

use crate::code::previous::{NoAccess, Previous};
use crate::name::access_types::AccessTypes;
use crate::name::allocation_site::own_source;
use crate::name::atom::{Atom, Lack};
use crate::name::build_keys::BuildKeys;
use crate::name::call_chains::CallChains;
use crate::name::cell::{RoutineOffset, SiteCell, UnresolvedName};
use crate::name::comms::Comms;
use crate::name::heap_blocks::HeapBlocks;
use crate::name::names::NumberedNames;
use crate::name::regions::{RegionPath, Regions};
use crate::name::stacks::Stacks;
use crate::name::undecided_types::UndecidedTypes;
use crate::name::variable_atoms::VariableAtoms;
use crate::query::glob::Glob;
use crate::query::site::SiteName;
use iced_x86::Instruction;
use perfdata::data_src::Aspect;
use perfdata::{DataSrc, Pid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use symbolizer::{Depth, Frames, ObjectId, Place, Reason, Resolution, SampledAddress, Symbolizer};

#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) symbolizer: Symbolizer,
    pub(crate) comms: Comms,
    pub(crate) regions: Regions,
    pub(crate) heap: HeapBlocks,
    pub(crate) types: AccessTypes,
    pub(crate) undecided: UndecidedTypes,
    pub(crate) stacks: Stacks,
    pub(crate) names: NumberedNames,
    routines: FxHashMap<Place, Atom>,
    objects: FxHashMap<ObjectId, u32>,
    sites: FxHashMap<Place, bool>,
    /// Names of the objects that samples at the site lie in.
    pub(crate) site_objects: BTreeSet<u32>,
    /// By object number: the first object of the same name, itself perhaps.
    first_of_name: Vec<Option<ObjectId>>,
    by_name: FxHashMap<u32, ObjectId>,
    /// The place that stands for one that looks like it, of code and of data.
    twins: FxHashMap<(PlaceKind, Place), Place>,
    /// The same by what they look like, of those that do not look like the
    /// first object's.
    others: FxHashMap<(PlaceKind, SiteCell), Place>,
    pub(super) variables: VariableAtoms,
    accesses: FxHashMap<(Aspect, DataSrc), Atom>,
    previous: Previous,
    pub(crate) build_keys: BuildKeys,
    pub(crate) chains: CallChains,
    lines: FxHashMap<Place, PlaceLines>,
    /// By the number of a reason among the names.
    marks: FxHashMap<u32, Mark>,
}

#[derive(Clone, Debug)]
struct Mark {
    tag: &'static str,
    of: Option<Arc<str>>,
}

/// What debug info says of a place, or why it says nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceLines {
    /// File and line of the innermost routine.
    pub(crate) source: Atom,
    /// File and line of the innermost routine that is no library's of its language.
    pub(crate) own_source: Atom,
    /// `outer <- inner`: what has code of its own, and what was inlined.
    pub(crate) inlined: Atom,
    /// The line as its distance from the first of the innermost routine.
    pub(crate) in_routine: Atom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PlaceKind {
    Code,
    Data,
}

/// Why debug info that covers an instruction gives no line.
pub(crate) const NO_LINE: &str = "the compiler made this code: it is of no source line";

/// `file:line` of the innermost routine.
fn source(frames: &Frames) -> Option<String> {
    let source = frames.frames.first()?.source.as_ref().filter(|source| source.line > 0)?;
    Some(format!("{}:{}", source.file, source.line))
}

/// ` <- middle <- inner`; None where nothing was inlined.
fn chain(frames: &Frames) -> Option<String> {
    let inlined = frames.frames.iter().filter(|frame| frame.inlined).rev();
    let names = inlined.map(|frame| frame.name.as_deref().unwrap_or("[no name]"));
    let chain = names.fold(String::new(), |text, name| format!("{text} <- {name}"));
    (!chain.is_empty()).then_some(chain)
}

pub(crate) const NOT_AVAILABLE: &str = "[not available]";

/// Answers remembered about what may differ from sample to sample.
pub(super) const MOST_REMEMBERED: usize = 1 << 16;

/// The same about code: a recording has that many places only if it was made to.
pub(crate) const MOST_PLACES: usize = (1 << 19) / 8 * 7;

impl Lookup {
    pub(crate) fn new(symbolizer: Symbolizer) -> Lookup {
        Lookup {
            symbolizer,
            comms: Comms::default(),
            regions: Regions::default(),
            heap: HeapBlocks::default(),
            types: AccessTypes::default(),
            undecided: UndecidedTypes::default(),
            stacks: Stacks::default(),
            names: NumberedNames::default(),
            routines: FxHashMap::default(),
            objects: FxHashMap::default(),
            sites: FxHashMap::default(),
            site_objects: BTreeSet::new(),
            first_of_name: Vec::new(),
            by_name: FxHashMap::default(),
            twins: FxHashMap::default(),
            others: FxHashMap::default(),
            variables: VariableAtoms::default(),
            accesses: FxHashMap::default(),
            previous: Previous::default(),
            build_keys: BuildKeys::default(),
            chains: CallChains::default(),
            lines: FxHashMap::default(),
            marks: FxHashMap::default(),
        }
    }

    /// Where an instruction pointer lies. Objects may share a name (anonymous
    /// memory of several processes, a file and what replaced it): places that
    /// look alike to the user, name, offset and reason included, are one.
    #[inline]
    pub(crate) fn place(&mut self, at: SampledAddress) -> Place {
        let place = at.place(&mut self.symbolizer);
        self.one_of_twins(PlaceKind::Code, place)
    }

    /// The distinct places that an address of user space was in some of the
    /// processes over a span of time; None where that is not known.
    pub(crate) fn places(
        &mut self,
        pids: &[Pid],
        ip: u64,
        span: &RangeInclusive<Time>,
    ) -> Option<Vec<Place>> {
        let mut places = self.symbolizer.places(pids, ip, span)?;
        for place in &mut places {
            *place = self.one_of_twins(PlaceKind::Code, *place);
        }
        places.sort_unstable_by_key(|place| (place.object.0, place.address));
        places.dedup();
        Some(places)
    }

    pub(crate) fn data_place(&mut self, at: SampledAddress) -> Place {
        let SampledAddress { mode, pid, address, time } = at;
        let place = self.symbolizer.data_place(mode, pid, address, time);
        self.one_of_twins(PlaceKind::Data, place)
    }

    #[inline]
    fn one_of_twins(&mut self, of: PlaceKind, place: Place) -> Place {
        let index = usize::try_from(place.object.0).unwrap_or(usize::MAX);
        match self.first_of_name.get(index) {
            Some(Some(first)) if *first == place.object => place,
            _ => self.twin(of, place, index),
        }
    }

    fn twin(&mut self, of: PlaceKind, place: Place, index: usize) -> Place {
        if let Some(twin) = self.twins.get(&(of, place)) {
            return *twin;
        }
        let name = self.object(place.object);
        let first = *self.by_name.entry(name).or_insert(place.object);
        if self.first_of_name.len() <= index {
            self.first_of_name.resize(index.saturating_add(1), None);
        }
        if let Some(known) = self.first_of_name.get_mut(index) {
            *known = Some(first);
        }
        if first == place.object {
            return place;
        }
        let candidate = Place { object: first, ..place };
        // The routine's name alone does not do: BPF programs of one name lie
        // at several addresses, and a new build may move its routines.
        if self.twins.len() >= MOST_REMEMBERED {
            self.twins.clear();
        }
        if self.others.len() >= MOST_REMEMBERED {
            self.others.clear();
        }
        let cell = self.site_cell(of, place);
        let twin = match self.site_cell(of, candidate) == cell {
            true => candidate,
            // A third object may look like the second.
            false => *self.others.entry((of, cell)).or_insert(place),
        };
        self.twins.insert((of, place), twin);
        twin
    }

    /// The routine's name by number, or the reason's.
    pub(crate) fn routine(&mut self, place: Place) -> Atom {
        if let Some(atom) = self.routines.get(&place) {
            return *atom;
        }
        let atom = match self.symbolizer.resolve(place) {
            Resolution::Routine(routine) => {
                Atom::number(u64::from(self.names.number(&routine.name)))
            }
            Resolution::Unknown(reason) => self.lack_of(&reason),
        };
        if self.routines.len() >= MOST_PLACES {
            self.routines.clear();
        }
        self.routines.insert(place, atom);
        atom
    }

    /// Source line and inlined calls of a place that was learnt of by
    /// [`Lookup::learn_lines`].
    pub(crate) fn lines(&self, place: Place) -> Option<PlaceLines> {
        self.lines.get(&place).copied()
    }

    /// Asks debug info for all of these places at once.
    pub(crate) fn learn_lines(&mut self, mut places: Vec<Place>) {
        places.retain(|place| !self.lines.contains_key(place));
        places.sort_unstable_by_key(|place| (place.object.0, place.address));
        places.dedup();
        let all = self.symbolizer.all_frames(&places);
        for (place, frames) in places.into_iter().zip(all) {
            let lines = self.lines_of(place, frames);
            self.lines.insert(place, lines);
        }
    }

    fn lines_of(&mut self, place: Place, frames: Result<Frames, Reason>) -> PlaceLines {
        let routine = self.routine(place);
        let in_routine = self.routine_line(place, &frames);
        match frames {
            Ok(frames) => {
                let source = match (source(&frames), &frames.depth) {
                    (Some(text), _) => Atom::number(u64::from(self.names.number(&text))),
                    (None, Depth::Symbols(why)) => {
                        self.lack(&why.to_string(), why.tag(), why.subject())
                    }
                    (None, _) => self.lack(NO_LINE, "[no-line]", None),
                };
                let names = &mut self.names;
                let outer = routine.as_name().ok().map(|number| names.name(number));
                let inlined = match (outer, chain(&frames)) {
                    (Some(outer), Some(chain)) => {
                        Atom::number(u64::from(names.number(&format!("{outer}{chain}"))))
                    }
                    _ => routine,
                };
                let own = own_source(&frames).map(|text| self.names.number(&text));
                let own_source = own.map_or(source, |name| Atom::number(u64::from(name)));
                PlaceLines { source, own_source, inlined, in_routine }
            }
            Err(reason) => {
                let source = self.lack_of(&reason);
                PlaceLines { source, own_source: source, inlined: routine, in_routine }
            }
        }
    }

    /// The object's name by number: files replaced under one path are one.
    pub(crate) fn object(&mut self, object: ObjectId) -> u32 {
        let (symbolizer, names) = (&self.symbolizer, &mut self.names);
        let number = self.objects.entry(object);
        *number.or_insert_with(|| names.number(symbolizer.object_name(object)))
    }

    /// An answer of a data source by the number of its words.
    #[inline]
    pub(crate) fn access(&mut self, aspect: Aspect, source: DataSrc) -> Atom {
        if let Some(atom) = self.accesses.get(&(aspect, source)) {
            return *atom;
        }
        if self.accesses.len() >= MOST_REMEMBERED {
            self.accesses.clear();
        }
        let atom = match source.aspect(aspect) {
            Some(words) => Atom::number(u64::from(self.names.number(&words))),
            None => Atom::lack(Lack::NotAvailable),
        };
        self.accesses.insert((aspect, source), atom);
        atom
    }

    pub(crate) fn before(
        &mut self,
        at: SampledAddress,
        place: Place,
    ) -> Result<Instruction, NoAccess> {
        self.previous.instruction(&mut self.symbolizer, at, place)
    }

    /// Whether a place is what a user meant. Addresses also fit as sampled.
    pub(crate) fn is_at(&mut self, site: &SiteName, place: Place, ip: u64) -> bool {
        let fits = self.fits(site, place, ip);
        if fits {
            let object = self.object(place.object);
            self.site_objects.insert(object);
        }
        fits
    }

    /// Routines of the places that were compared with a site, as the site
    /// names them: with offsets if it has one.
    pub(crate) fn compared(&mut self, site: &SiteName) -> BTreeSet<String> {
        let places: Vec<Place> = self.sites.keys().copied().collect();
        self.named(places, site)
    }

    pub(crate) fn named(
        &mut self,
        places: impl IntoIterator<Item = Place>,
        site: &SiteName,
    ) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for place in places {
            if let Resolution::Routine(routine) = self.symbolizer.resolve(place) {
                names.insert(match site {
                    SiteName::Offset(..) => format!("{}+{:#x}", routine.name, routine.offset),
                    SiteName::Address(_) | SiteName::Routine(_) => routine.name.into_owned(),
                });
            }
        }
        names
    }

    fn fits(&mut self, site: &SiteName, place: Place, ip: u64) -> bool {
        let (name, wanted) = match site {
            SiteName::Address(address) => return *address == place.address || *address == ip,
            SiteName::Routine(name) => (name, None),
            SiteName::Offset(name, offset) => (name, Some(*offset)),
        };
        if let Some(known) = self.sites.get(&place) {
            return *known;
        }
        let fits = match self.symbolizer.resolve(place) {
            Resolution::Routine(routine) => {
                name.matches_routine(&routine.name)
                    && wanted.is_none_or(|offset| offset == routine.offset)
            }
            Resolution::Unknown(_) => false,
        };
        if self.sites.len() >= MOST_PLACES {
            self.sites.clear();
        }
        self.sites.insert(place, fits);
        fits
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = Option<String>> {
        let of_chains = self.chains.notes();
        let of_threads = [self.comms.note(), self.symbolizer.left_out(), self.heap.note()];
        let of_types = [self.note_of_types(), self.undecided.note()];
        let of_threads = of_threads.into_iter().chain(of_types);
        of_threads.into_iter().chain(self.regions.notes()).chain(of_chains)
    }

    /// Whether a pattern names a region of a path, or the whole of it.
    pub(crate) fn is_in_region(&self, path: RegionPath, glob: &Glob) -> bool {
        let mut names = self.regions.names(path).into_iter();
        names.any(|name| glob.matches(&name)) || glob.matches(&self.regions.text(path))
    }

    pub(crate) fn site_cell(&mut self, of: PlaceKind, place: Place) -> SiteCell {
        let number = self.object(place.object);
        let object = self.names.name(number);
        let resolution = match of {
            PlaceKind::Code => self.symbolizer.resolve(place),
            PlaceKind::Data => self.symbolizer.resolve_data(place),
        };
        let routine = match resolution {
            Resolution::Routine(routine) => {
                let number = self.names.number(&routine.name);
                Ok(RoutineOffset { name: self.names.name(number), offset: routine.offset })
            }
            Resolution::Unknown(reason) => {
                let number = self.names.number(&reason.to_string());
                Err(UnresolvedName { tag: reason.tag(), of: None, reason: self.names.name(number) })
            }
        };
        SiteCell { address: place.address, object, routine }
    }

    pub(super) fn lack_of(&mut self, reason: &Reason) -> Atom {
        self.lack(&reason.to_string(), reason.tag(), reason.subject())
    }

    fn lack(&mut self, why: &str, tag: &'static str, of: Option<&str>) -> Atom {
        Atom::lack(Lack::Name(self.reason(why, tag, of)))
    }

    /// The number of a reason: its sentence, its mark, and whose it is.
    pub(crate) fn reason(&mut self, why: &str, tag: &'static str, of: Option<&str>) -> u32 {
        let number = self.names.number(why);
        let last = |path: &str| symbolizer::file_name(path).into();
        self.marks.entry(number).or_insert_with(|| Mark { tag, of: of.map(last) });
        number
    }

    pub(crate) fn unresolved(&self, number: u32) -> UnresolvedName {
        let (tag, of) = match self.marks.get(&number) {
            Some(mark) => (mark.tag, mark.of.clone()),
            None => ("[unknown]", None),
        };
        UnresolvedName { tag, of, reason: self.names.name(number) }
    }

    pub(crate) fn name_or_lack(&self, atom: Atom) -> String {
        match atom.as_name() {
            Ok(name) => self.name(name).to_string(),
            Err(Lack::Name(reason)) => format!("[{}]", self.name(reason)),
            Err(_) => NOT_AVAILABLE.to_owned(),
        }
    }

    /// The variable at a data address; of memory without one, what is mapped
    /// there.
    pub(crate) fn data_name(&mut self, variable: Atom, mapped: Option<ObjectId>) -> String {
        match (variable.as_name(), mapped) {
            (Ok(name), _) => self.name(name).to_string(),
            (Err(_), Some(object)) => {
                let object = self.object(object);
                self.name(object).to_string()
            }
            (Err(_), None) => self.name_or_lack(variable),
        }
    }

    pub(crate) fn name(&self, number: u32) -> Arc<str> {
        self.names.name(number)
    }
}
