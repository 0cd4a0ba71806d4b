//! Names for places, each worked out once.

use crate::bounded::{Bounded, MOST_PLACES, MOST_REMEMBERED};
use crate::name::cell::{RoutineOffset, SiteCell, UnresolvedName};
use crate::name::key_value::{KeyValue, Missing};
use crate::name::names::NumberedNames;
use crate::query::site::SiteName;
use perfdata::{Pid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use symbolizer::{ObjectId, Place, Reason, Resolution, SampledAddress, Symbolizer};

#[derive(Debug)]
pub(crate) struct PlaceNames {
    pub(crate) symbolizer: Symbolizer,
    /// All names that are told, of whatever.
    pub(crate) texts: NumberedNames,
    routines: Bounded<Place, KeyValue, MOST_PLACES>,
    objects: FxHashMap<ObjectId, u32>,
    sites: Bounded<Place, bool, MOST_PLACES>,
    /// Names of the objects that samples at the site lie in.
    pub(crate) site_objects: BTreeSet<u32>,
    /// By object number: the first object of the same name, itself perhaps.
    first_of_name: Vec<Option<ObjectId>>,
    by_name: FxHashMap<u32, ObjectId>,
    /// The place that stands for one that looks like it, of code and of data.
    twins: Bounded<(PlaceKind, Place), Place, MOST_REMEMBERED>,
    /// The same by what they look like, of those that do not look like the
    /// first object's.
    others: Bounded<(PlaceKind, SiteCell), Place, MOST_REMEMBERED>,
    variables: Bounded<Place, KeyValue, MOST_REMEMBERED>,
    /// Of memory that has no variables, whatever the address: heaps, stacks,
    /// files of data, and what is in no mapping that is known. Each sample may be
    /// elsewhere in it.
    without_variables: FxHashMap<ObjectId, KeyValue>,
    /// By the number of a reason among the texts.
    marks: FxHashMap<u32, Mark>,
}

#[derive(Clone, Debug)]
struct Mark {
    tag: &'static str,
    of: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PlaceKind {
    Code,
    Data,
}

pub(crate) const NOT_AVAILABLE: &str = "[not available]";

impl PlaceNames {
    pub(crate) fn new(symbolizer: Symbolizer) -> PlaceNames {
        PlaceNames {
            symbolizer,
            texts: NumberedNames::default(),
            routines: Bounded::default(),
            objects: FxHashMap::default(),
            sites: Bounded::default(),
            site_objects: BTreeSet::new(),
            first_of_name: Vec::new(),
            by_name: FxHashMap::default(),
            twins: Bounded::default(),
            others: Bounded::default(),
            variables: Bounded::default(),
            without_variables: FxHashMap::default(),
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
        let cell = self.site_cell(of, place);
        let twin = match self.site_cell(of, candidate) == cell {
            true => candidate,
            // A third object may look like the second.
            false => *self.others.or_insert_with((of, cell), || place),
        };
        self.twins.insert((of, place), twin);
        twin
    }

    /// The routine's name by number, or the reason's.
    pub(crate) fn routine(&mut self, place: Place) -> KeyValue {
        if let Some(value) = self.routines.get(&place) {
            return *value;
        }
        let value = match self.symbolizer.resolve(place) {
            Resolution::Routine(routine) => self.texts.key_value(&routine.name),
            Resolution::Unknown(reason) => self.lack_of(&reason),
        };
        self.routines.insert(place, value);
        value
    }

    /// The object's name by number: files replaced under one path are one.
    pub(crate) fn object(&mut self, object: ObjectId) -> u32 {
        let (symbolizer, texts) = (&self.symbolizer, &mut self.texts);
        let number = self.objects.entry(object);
        *number.or_insert_with(|| texts.number(symbolizer.object_name(object)))
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
        self.sites.insert(place, fits);
        fits
    }

    pub(crate) fn site_cell(&mut self, of: PlaceKind, place: Place) -> SiteCell {
        let number = self.object(place.object);
        let object = self.texts.name(number);
        let resolution = match of {
            PlaceKind::Code => self.symbolizer.resolve(place),
            PlaceKind::Data => self.symbolizer.resolve_data(place),
        };
        let routine = match resolution {
            Resolution::Routine(routine) => {
                let number = self.texts.number(&routine.name);
                Ok(RoutineOffset { name: self.texts.name(number), offset: routine.offset })
            }
            Resolution::Unknown(reason) => {
                let number = self.texts.number(&reason.to_string());
                Err(UnresolvedName { tag: reason.tag(), of: None, reason: self.texts.name(number) })
            }
        };
        SiteCell { address: place.address, object, routine }
    }

    pub(crate) fn lack_of(&mut self, reason: &Reason) -> KeyValue {
        self.lack(&reason.to_string(), reason.tag(), reason.subject())
    }

    pub(crate) fn lack(&mut self, why: &str, tag: &'static str, of: Option<&str>) -> KeyValue {
        KeyValue::missing(Missing::Name(self.reason(why, tag, of)))
    }

    /// The number of a reason: its sentence, its mark, and whose it is.
    pub(crate) fn reason(&mut self, why: &str, tag: &'static str, of: Option<&str>) -> u32 {
        let number = self.texts.number(why);
        let last = |path: &str| symbolizer::file_name(path).into();
        self.marks.entry(number).or_insert_with(|| Mark { tag, of: of.map(last) });
        number
    }

    pub(crate) fn unresolved(&self, number: u32) -> UnresolvedName {
        let (tag, of) = match self.marks.get(&number) {
            Some(mark) => (mark.tag, mark.of.clone()),
            None => ("[unknown]", None),
        };
        UnresolvedName { tag, of, reason: self.texts.name(number) }
    }

    pub(crate) fn name_or_lack(&self, value: KeyValue) -> String {
        match value.as_name() {
            Ok(name) => self.name(name).to_string(),
            Err(Missing::Name(reason)) => format!("[{}]", self.name(reason)),
            Err(_) => NOT_AVAILABLE.to_owned(),
        }
    }

    /// The variable at a data address; of memory without one, what is mapped
    /// there.
    pub(crate) fn data_name(&mut self, variable: KeyValue, mapped: Option<ObjectId>) -> String {
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
        self.texts.name(number)
    }

    /// The variable's name by number, that of memory without variables, or
    /// the reason's.
    pub(crate) fn variable(&mut self, place: Place) -> KeyValue {
        if let Some(value) = self.without_variables.get(&place.object) {
            return *value;
        }
        if let Some(value) = self.variables.get(&place) {
            return *value;
        }
        let value = match self.symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => self.texts.key_value(&variable.name),
            Resolution::Unknown(Reason::NoVariables { name }) => {
                let value = self.texts.key_value(&name);
                self.without_variables.insert(place.object, value);
                return value;
            }
            Resolution::Unknown(reason) => {
                let value = self.lack_of(&reason);
                if matches!(reason, Reason::DataNotMapped { .. }) {
                    self.without_variables.insert(place.object, value);
                    return value;
                }
                value
            }
        };
        self.variables.insert(place, value);
        value
    }

    /// From the start of a variable to a place in it, and the variable's size;
    /// None: there is none.
    pub(crate) fn variable_extent(&mut self, place: Place) -> Option<(u64, u64)> {
        match self.symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => {
                Some((variable.offset, variable.end.checked_sub(variable.start)?))
            }
            Resolution::Unknown(_) => None,
        }
    }

    /// The routine of a frame, or why it has no name, by its number.
    pub(crate) fn routine_or_mark(&mut self, place: Place) -> u32 {
        match self.routine(place).as_name() {
            Ok(name) => name,
            Err(Missing::Name(reason)) => {
                let tag = self.unresolved(reason).tag;
                let object = self.object(place.object);
                let path = self.name(object);
                let is_file = path.starts_with('/') && !path.starts_with("//");
                let file = if is_file { symbolizer::file_name(&path) } else { &path };
                let text = format!("{tag} {file}");
                self.texts.number(&text)
            }
            Err(_) => self.texts.number("[unknown]"),
        }
    }

    /// A name without a count of its own.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number).map_or("", |text| text)
    }
}
