//! Accesses by type and place in it: who reads, who writes, how long it takes.

use crate::code::access_shape::AccessShape;
use crate::collect::access_shapes::AccessShapes;
use crate::collect::collector::Collector;
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::layout::object_visits::{ObjectAccess, ObjectVisits, PlaceInType};
use crate::layout::thread_set::ThreadSet;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::name::undecided_types::BlockAccess;
use crate::query::needs::Needs;
use crate::typed::object_types::TypedAccess;
use perfdata::data_src::Operation;
use perfdata::{Pid, Tid};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use symbolizer::ObjectId;
use types::{ProgramTypes, TypeId, TypeKind};

/// Definitions, and places in all of them together, that are kept.
const MOST_TYPES: usize = 1 << 16;
const MOST_PLACES: usize = 1 << 20;
/// Objects of structures, all types together.
const MOST_OBJECTS: usize = 1 << 20;
/// Accesses that wait for what their block holds; those after them have what their code tells.
const MOST_WAITING: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct TypeUses {
    pub(crate) types: Vec<TypeUse>,
    by_definition: FxHashMap<Definition, usize>,
    fingerprints: FxHashMap<(ObjectId, TypeId), u64>,
    shapes: AccessShapes,
    /// Accesses to blocks of the heap whose type is decided at the end, by its number.
    waiting: Vec<(u32, CountedAccess)>,
    /// Samples without a type, by event.
    pub(crate) untyped: BTreeMap<usize, Sum>,
    /// Places, and objects, that may be kept yet.
    places: usize,
    objects: usize,
    /// Samples whose type, or place in it, there was no room for.
    pub(crate) left_out: u64,
    /// Samples that were not asked for what their block holds.
    not_waited: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Definition {
    name: KeyValue,
    object: ObjectId,
    fingerprint: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct TypeUse {
    /// As tables name it.
    pub(crate) name: KeyValue,
    pub(crate) object: ObjectId,
    pub(crate) program: Arc<ProgramTypes>,
    pub(crate) of: TypeId,
    pub(crate) places: BTreeMap<PlaceInType, PlaceAccesses>,
    /// Those whose member is not known.
    pub(crate) unplaced: PlaceAccesses,
    pub(crate) variables: FxHashMap<KeyValue, u64>,
    /// Which places are accessed together, of a structure.
    pub(crate) visits: ObjectVisits,
}

#[derive(Clone, Copy, Debug)]
struct CountedAccess {
    event: usize,
    one: Sum,
    shape: Option<AccessShape>,
    operation: Option<Operation>,
    pid: Pid,
    tid: Tid,
    has_thread: bool,
    address: Option<u64>,
    variable: Option<KeyValue>,
    /// Cycles.
    latency: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceAccesses {
    /// By the number that rows of an event are counted under.
    pub(crate) by_event: BTreeMap<usize, Sum>,
    /// Samples that read, and write; some do both, of some it is not known.
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) readers: ThreadSet,
    pub(crate) writers: ThreadSet,
    /// Cycles that accesses took, and samples that say so.
    pub(crate) cycles: u64,
    pub(crate) timed: u64,
}

impl Default for TypeUses {
    fn default() -> TypeUses {
        TypeUses {
            types: Vec::new(),
            by_definition: FxHashMap::default(),
            fingerprints: FxHashMap::default(),
            shapes: AccessShapes::default(),
            waiting: Vec::new(),
            untyped: BTreeMap::new(),
            places: MOST_PLACES,
            objects: MOST_OBJECTS,
            left_out: 0,
            not_waited: 0,
        }
    }
}

impl Collector for TypeUses {
    fn needs(&self) -> Needs {
        Needs::ACCESS | Needs::HEAP | Needs::REGISTERS | Needs::TYPES | Needs::TYPE_NOTE
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        let (event, one) = (sample.event, sample.sum);
        let access = sample.block_access(lookup);
        if let BlockAccess::Left(Err(_)) = access {
            self.untyped.entry(event).or_default().join(one);
            return Ok(());
        }
        let shape = match sample.place(lookup) {
            Ok(site) => self.shapes.of(site, sample.held.at(), &mut lookup.places.symbolizer),
            Err(_) => None,
        };
        let data = sample.data(lookup).ok();
        let operation = sample.words.data_src.map(|source| source.operation());
        let counted = CountedAccess {
            event,
            one,
            shape,
            operation,
            pid: sample.held.pid(),
            tid: sample.held.tid(),
            has_thread: sample.thread().is_some(),
            address: sample.address().ok(),
            variable: data.map(|place| lookup.places.variable(place)),
            latency: sample.latency,
        };
        match access {
            BlockAccess::Known(typed) | BlockAccess::Left(Ok(typed)) => {
                self.add(Some(&typed), &counted, lookup);
            }
            BlockAccess::Waiting(number) if self.waiting.len() < MOST_WAITING => {
                self.waiting.push((number, counted));
            }
            BlockAccess::Waiting(number) => {
                self.not_waited += 1;
                let typed = lookup.undecided.decided_access(number).cloned();
                self.add(typed.as_ref(), &counted, lookup);
            }
            BlockAccess::Left(Err(_)) => {}
        }
        Ok(())
    }
}

impl TypeUses {
    /// Adds the accesses that waited for what their block of the heap holds. They belong to
    /// visits among themselves alone.
    pub(crate) fn add_waiting(&mut self, lookup: &mut Lookup) {
        for (number, counted) in std::mem::take(&mut self.waiting) {
            let typed = lookup.undecided.decided_access(number).cloned();
            self.add(typed.as_ref(), &counted, lookup);
        }
    }

    fn add(&mut self, typed: Option<&TypedAccess>, counted: &CountedAccess, lookup: &mut Lookup) {
        let number = typed.and_then(|typed| Some((self.number(typed, lookup)?, typed)));
        let Some((number, typed)) = number else {
            self.untyped.entry(counted.event).or_default().join(counted.one);
            return;
        };
        let Some(of) = self.types.get_mut(number) else { return };
        let bytes = match typed.bytes {
            0 => counted.shape.map_or(0, |shape| shape.width),
            bytes => bytes,
        };
        let at = typed.found.place.offset.map(|offset| PlaceInType { offset, bytes });
        let place = match at {
            Some(at) if of.places.contains_key(&at) => of.places.entry(at).or_default(),
            Some(at) if self.places > 0 => {
                self.places -= 1;
                of.places.entry(at).or_default()
            }
            Some(_) => {
                self.left_out += 1;
                &mut of.unplaced
            }
            None => &mut of.unplaced,
        };
        place.add(counted);
        if let Some(at) = at
            && matches!(of.program.types.get(of.of).kind, TypeKind::Composite(_))
        {
            let start = counted.address.map(|address| address.wrapping_sub(at.offset));
            let access = ObjectAccess { at, start, pid: counted.pid, tid: counted.tid };
            of.visits.add(access, &mut self.objects);
        }
        if let Some(variable) = counted.variable {
            *of.variables.entry(variable).or_default() += 1;
        }
    }

    /// The number of a definition; None: there is no room for it.
    fn number(&mut self, typed: &TypedAccess, lookup: &mut Lookup) -> Option<usize> {
        let TypedAccess { program, object, found, .. } = typed;
        let (object, of) = (*object, found.place.of);
        let name = lookup.type_and_member(typed).of;
        let fingerprint =
            *self.fingerprints.entry((object, of)).or_insert_with(|| program.types.fingerprint(of));
        let definition = Definition { name, object, fingerprint };
        if let Some(known) = self.by_definition.get(&definition) {
            return Some(*known);
        }
        let number = self.types.len();
        if number >= MOST_TYPES {
            self.left_out += 1;
            return None;
        }
        self.by_definition.insert(definition, number);
        self.types.push(TypeUse {
            name,
            object,
            program: Arc::clone(program),
            of,
            places: BTreeMap::new(),
            unplaced: PlaceAccesses::default(),
            variables: FxHashMap::default(),
            visits: ObjectVisits::default(),
        });
        Some(number)
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{} samples are of types, or places in them, that there was no room for: of \
                 {MOST_TYPES} types {MOST_PLACES} places are kept",
                self.left_out
            )
        });
        let not_waited = (self.not_waited > 0).then(|| {
            format!(
                "{} samples were not asked for what their block of the heap holds: {MOST_WAITING} \
                 may wait for that",
                self.not_waited
            )
        });
        left_out.into_iter().chain(not_waited)
    }
}

impl PlaceAccesses {
    fn add(&mut self, access: &CountedAccess) {
        self.by_event.entry(access.event).or_default().join(access.one);
        let (reads, writes) = match (access.shape, access.operation) {
            (Some(shape), _) if shape.reads || shape.writes => (shape.reads, shape.writes),
            (_, Some(operation)) => {
                (operation.contains(Operation::LOAD), operation.contains(Operation::STORE))
            }
            (_, None) => (false, false),
        };
        let thread = access.has_thread.then_some(access.tid);
        if reads {
            self.reads += 1;
            self.readers.extend(thread);
        }
        if writes {
            self.writes += 1;
            self.writers.extend(thread);
        }
        if let Some(cycles) = access.latency {
            self.cycles = self.cycles.saturating_add(cycles);
            self.timed += 1;
        }
    }

    pub(crate) fn join(&mut self, other: &PlaceAccesses) {
        for (event, sum) in &other.by_event {
            self.by_event.entry(*event).or_default().join(*sum);
        }
        self.reads += other.reads;
        self.writes += other.writes;
        self.readers.extend(other.readers.iter());
        self.writers.extend(other.writers.iter());
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.timed += other.timed;
    }
}
