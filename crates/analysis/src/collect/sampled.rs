//! One sample while it is counted: its fields by key, looked up when needed.

use crate::bounded::{Bounded, MOST_PLACES};
use crate::code::previous::{self, NoAccess};
use crate::collect::event::HeapEvent;
use crate::collect::fields::{FieldReader, SampleWords};
use crate::collect::memory_change::MemoryChange;
use crate::collect::pending::PendingSample;
use crate::collect::sum::Sum;
use crate::name::access_types::TypeAndMember;
use crate::name::allocation_site::allocation_site;
use crate::name::call_chains::{CallChains, Callers, SampledChain};
use crate::name::heap_block::{BlockAsker, HeapBlock};
use crate::name::heap_blocks::BlockSample;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::lookup::Lookup;
use crate::name::mapping_maker::mapping_maker;
use crate::name::mappings::{MappingMaker, MappingSample, OwnMapping};
use crate::name::regions::RegionPath;
use crate::name::stacks::ThreadPoint;
use crate::name::undecided_types::BlockAccess;
use crate::query::filter::{Filter, FilterCondition};
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::typed::block_votes::BlockPlace;
use crate::typed::object_types::{SampledAccess, TypedAccess};
use perfdata::{CpuMode, MappingCall, SampleType, Tid, Time};
use symbolizer::{Place, SampledAddress};

/// What keys are rounded down to: addresses to sizes in bytes, powers of two; times to steps
/// from the begin of the run on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    pub(crate) line: u64,
    pub(crate) page: u64,
    pub(crate) begin: Time,
}

/// Answers of filters about names, by filter and name.
pub(crate) type Verdicts = Bounded<(usize, KeyValue), bool, MOST_PLACES>;

#[derive(Debug)]
pub(crate) struct CountedSample<'s> {
    pub(crate) held: &'s PendingSample,
    pub(crate) words: SampleWords<'s>,
    /// The number that rows of its event are counted under.
    pub(crate) event: usize,
    /// What it counts for.
    pub(crate) sum: Sum,
    /// Cycles that its access took, where its weight says so.
    pub(crate) latency: Option<u64>,
    pub(crate) fields: &'s FieldReader,
    pub(crate) place: Option<Result<Place, Missing>>,
    /// Its call chain, once it was asked for.
    pub(crate) chain: Option<SampledChain>,
    /// Type and member of what it accesses, once they were asked for.
    pub(crate) typed: Option<TypeAndMember>,
    /// Where its thread is on its stack, or that nothing tells, once that was asked for.
    pub(crate) point: Option<Option<ThreadPoint>>,
}

impl<'s> CountedSample<'s> {
    #[inline]
    pub(crate) fn new(
        held: &'s PendingSample,
        words: SampleWords<'s>,
        fields: &'s FieldReader,
    ) -> CountedSample<'s> {
        let (event, sum, latency) = (0, Sum::default(), None);
        let (place, chain, typed, point) = (None, None, None, None);
        CountedSample { held, words, event, sum, latency, fields, place, chain, typed, point }
    }
}

impl CountedSample<'_> {
    #[inline]
    pub(crate) fn place(&mut self, lookup: &mut Lookup) -> Result<Place, Missing> {
        if let Some(place) = self.place {
            return place;
        }
        let place = if !self.fields.has(SampleType::IP) {
            Err(Missing::Ip)
        } else if self.held.mode() == CpuMode::User && !self.fields.has(SampleType::TID) {
            Err(Missing::Tid)
        } else {
            Ok(lookup.places.place(self.held.at()))
        };
        self.place = Some(place);
        place
    }

    pub(crate) fn chain(&mut self, lookup: &mut Lookup) -> SampledChain {
        let (words, fields, at) = (self.words.callers, self.fields, self.held.at());
        let tid = self.held.tid();
        *self.chain.get_or_insert_with(|| {
            let words = words.filter(|_| fields.has(SampleType::TID)).unwrap_or_default();
            let copies_stack = fields.has(SampleType::STACK_USER);
            let of = Callers { at, tid, words, mask: fields.of_user(), copies_stack };
            lookup.chains.chain(of, &mut lookup.places)
        })
    }

    /// Where the instruction of a row lies: of the sample, or of the frame that
    /// its chain is looked at from.
    #[inline]
    fn site(&mut self, lookup: &mut Lookup) -> Result<Place, Missing> {
        match lookup.chains.parts.cut.moves_sites() {
            true => self.chain(lookup).place,
            false => self.place(lookup),
        }
    }

    fn field(&self, field: SampleType, lack: Missing, value: KeyValue) -> KeyValue {
        if self.fields.has(field) { value } else { KeyValue::missing(lack) }
    }

    pub(crate) fn address(&self) -> Result<u64, Missing> {
        if !self.fields.has(SampleType::ADDR) {
            return Err(Missing::Addr);
        }
        self.fields.address(self.held).ok_or(Missing::Address)
    }

    pub(crate) fn data(&self, lookup: &mut Lookup) -> Result<Place, Missing> {
        let address = self.address()?;
        if !self.fields.has(SampleType::TID) {
            return Err(Missing::Tid);
        }
        Ok(lookup.places.data_place(SampledAddress { address, ..self.held.at() }))
    }

    pub(crate) fn block(&self, lookup: &Lookup) -> Result<HeapBlock, Missing> {
        let address = self.address()?;
        if !self.fields.has(SampleType::TID) {
            return Err(Missing::Tid);
        }
        if !lookup.heap.is_told {
            return Err(Missing::Heap);
        }
        let lack = if lookup.heap.is_of_some { Missing::NoSampledBlock } else { Missing::NoBlock };
        lookup.heap.find(self.held.pid(), address).copied().ok_or(lack)
    }

    /// The mapping that holds the data address, whoever made it.
    pub(crate) fn mapping(&self, lookup: &Lookup) -> Option<OwnMapping> {
        let address = self.address().ok().filter(|_| self.fields.has(SampleType::TID))?;
        lookup.heap.mappings.find(self.held.pid(), address)
    }

    /// The block that holds the data address, or the mapping that the program made there.
    fn block_or_mapping(&self, lookup: &Lookup) -> Result<HeapBlock, Missing> {
        let is_own = |it: &OwnMapping| matches!(it.maker, MappingMaker::Program(_));
        self.block(lookup).or_else(|lack| {
            self.mapping(lookup).filter(is_own).map(|mapping| mapping.block).ok_or(lack)
        })
    }

    pub(crate) fn change_heap(&mut self, event: HeapEvent, lookup: &mut Lookup) {
        let PendingSample { time, addr: address, .. } = *self.held;
        let pid = self.held.pid();
        match (event, self.words.heap) {
            (HeapEvent::Allocation, Some(MemoryChange::Block(change))) => {
                let chain = self.chain(lookup).whole;
                let site = chain.and_then(|_| allocation_site(&lookup.chains, &mut lookup.places));
                let told = BlockSample { pid, time, address, change };
                lookup.heap.allocated(told, BlockAsker { site, chain: chain.ok() });
            }
            (HeapEvent::Release, Some(MemoryChange::Block(change))) => {
                lookup.heap.released(BlockSample { pid, time, address, change });
            }
            (HeapEvent::Mapping, Some(MemoryChange::Mapping(change))) => {
                let maker = match change.call {
                    // Nobody asks who ended it, and no stack was copied.
                    MappingCall::Unmap => MappingMaker::System,
                    _ => match self.chain(lookup).whole {
                        Ok(_) => mapping_maker(&lookup.chains, &mut lookup.places),
                        Err(lack) => MappingMaker::Program(Err(lack)),
                    },
                };
                lookup.heap.remapped(MappingSample { pid, time, address, change }, maker);
            }
            _ => {}
        }
    }

    /// On whose data the instruction works, in words.
    pub(crate) fn typed(&mut self, lookup: &mut Lookup) -> TypeAndMember {
        if let Some(typed) = self.typed {
            return typed;
        }
        let place = self.place_in_block(lookup);
        let typed = match (self.typed_access(lookup), place) {
            (found, Some(place)) => match lookup.access_in_block(found, place) {
                BlockAccess::Known(typed) | BlockAccess::Left(Ok(typed)) => {
                    lookup.type_and_member(&typed)
                }
                BlockAccess::Waiting(number) => KeyValue::undecided(number).into(),
                BlockAccess::Left(Err(lack)) => lack,
            },
            (Ok(typed), None) => lookup.type_and_member(&typed),
            (Err(lack), None) => lack,
        };
        self.typed = Some(typed);
        typed
    }

    /// On whose data the instruction works, as far as its code tells; not to be asked twice of
    /// a sample, nor beside the question in words.
    pub(crate) fn block_access(&mut self, lookup: &mut Lookup) -> BlockAccess {
        let place = self.place_in_block(lookup);
        match (self.typed_access(lookup), place) {
            (found, Some(place)) => lookup.access_in_block(found, place),
            (Ok(typed), None) => BlockAccess::Known(typed),
            (lack, None) => BlockAccess::Left(lack),
        }
    }

    fn place_in_block(&self, lookup: &Lookup) -> Option<BlockPlace> {
        self.block(lookup).ok()?.place(self.address().ok()?)
    }

    /// Tells what a block of the heap holds, if it is on one and its code says.
    pub(crate) fn vote(&mut self, lookup: &mut Lookup) {
        if let Some(at) = self.place_in_block(lookup) {
            // Without a place nothing is told.
            let _ = self.ask(lookup, |lookup, access| {
                let Lookup { types, places, undecided, .. } = lookup;
                let found = types.objects.of(access, &mut places.symbolizer);
                found.into_iter().for_each(|typed| undecided.take_vote(&typed, at));
            });
        }
    }

    /// On whose data the instruction works; not to be asked twice of a sample.
    pub(crate) fn typed_access(
        &mut self,
        lookup: &mut Lookup,
    ) -> Result<TypedAccess, TypeAndMember> {
        let found = self
            .ask(lookup, |lookup, access| lookup.types.typed_access(access, &mut lookup.places));
        found.map_err(|lack| TypeAndMember::from(KeyValue::missing(lack)))?
    }

    fn ask<T>(
        &mut self,
        lookup: &mut Lookup,
        question: impl FnOnce(&mut Lookup, SampledAccess<'_>) -> T,
    ) -> Result<T, Missing> {
        let place = self.place(lookup)?;
        let has_registers = !self.fields.registers_of_user();
        let register = |number: u32| self.register_of_kernel(number).filter(|_| has_registers);
        let access = SampledAccess {
            at: self.held.at(),
            place,
            address: self.address().ok(),
            data: self.data(lookup).ok(),
            register: &register,
            is_before: self.fields.is_emulated(),
        };
        Ok(question(lookup, access))
    }

    pub(crate) fn thread(&self) -> Option<Tid> {
        self.fields.has(SampleType::TID).then(|| self.held.tid())
    }

    fn rounded(&self, size: u64) -> KeyValue {
        // A size is a power of two, at least 1: Query::check().
        let mask = !(size - 1);
        self.address().map_or_else(KeyValue::missing, |address| KeyValue::number(address & mask))
    }

    fn before(&mut self, lookup: &mut Lookup) -> Result<u64, NoAccess> {
        if !self.fields.is_interrupted() || self.fields.registers_of_user() {
            return Err(NoAccess::Event);
        }
        let place = self.place(lookup).map_err(|_| NoAccess::NoCode)?;
        let symbolizer = &mut lookup.places.symbolizer;
        let instruction = lookup.previous.instruction(symbolizer, self.held.at(), place)?;
        previous::accessed(&instruction, |number| self.register_of_kernel(number))
    }

    /// The value of a register by the kernel's number, if it was sampled.
    pub(crate) fn register_of_kernel(&self, number: u32) -> Option<u64> {
        let index = self.fields.registers().iter().position(|bit| *bit == number)?;
        self.words.registers.get(index).copied()
    }

    fn register(&self, bit: Option<u32>) -> KeyValue {
        let index = bit.and_then(|bit| self.fields.registers().iter().position(|b| *b == bit));
        match index {
            None => KeyValue::missing(Missing::Register),
            Some(index) => match self.words.registers.get(index) {
                Some(value) => KeyValue::number(*value),
                None => KeyValue::missing(Missing::Registers),
            },
        }
    }

    #[inline]
    pub(crate) fn key_value(
        &mut self,
        column: &KeyColumn,
        lookup: &mut Lookup,
        round: Rounding,
    ) -> KeyValue {
        let held = self.held;
        match &column.key {
            Key::Site => self.site(lookup).map_or_else(KeyValue::missing, KeyValue::place),
            Key::Ip => self.field(SampleType::IP, Missing::Ip, KeyValue::number(held.ip)),
            Key::Pid => self.field(SampleType::TID, Missing::Tid, KeyValue::signed(held.pid().0)),
            Key::Tid => self.field(SampleType::TID, Missing::Tid, KeyValue::signed(held.tid().0)),
            Key::Cpu => {
                let cpu = KeyValue::number(u64::from(held.cpu.0));
                self.field(SampleType::CPU, Missing::Cpu, cpu)
            }
            Key::Routine => match self.site(lookup) {
                Ok(place) => lookup.places.routine(place),
                Err(lack) => KeyValue::missing(lack),
            },
            // Until all places are known: with_late_names().
            Key::Inlined | Key::Srcline | Key::RoutineLine => {
                self.site(lookup).map_or_else(KeyValue::missing, KeyValue::place)
            }
            Key::Operands => match self.site(lookup) {
                Ok(place) => {
                    let is_sampled = self.place(lookup) == Ok(place);
                    let at = is_sampled.then(|| held.at());
                    lookup.lines.build_keys.operands(place, at, &mut lookup.places)
                }
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Caller => match self.chain(lookup).part {
                Ok(chain) => lookup.chains.caller(chain, &mut lookup.places),
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Callee => match self.chain(lookup).part {
                Ok(chain) => lookup.chains.callee(chain, &mut lookup.places),
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Stack => match self.chain(lookup).part {
                Ok(chain) => KeyValue::number(u64::from(chain)),
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Object => match self.site(lookup) {
                Ok(place) => KeyValue::number(u64::from(lookup.places.object(place.object))),
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Comm if self.fields.has(SampleType::TID) => {
                KeyValue::comm(lookup.comms.at(held.tid(), held.time))
            }
            Key::Comm => KeyValue::missing(Missing::Tid),
            Key::Region if self.fields.has(SampleType::TID) => {
                match lookup.regions.at(held.tid(), held.time) {
                    RegionPath::NONE => KeyValue::missing(Missing::Region),
                    RegionPath::NOT_KEPT => KeyValue::missing(Missing::RegionNotKept),
                    path => KeyValue::number(u64::from(path.0)),
                }
            }
            Key::Region => KeyValue::missing(Missing::Tid),
            Key::Addr => self.rounded(1),
            Key::Line => self.rounded(round.line),
            Key::Page => self.rounded(round.page),
            Key::AddrBefore => match self.before(lookup) {
                Ok(address) => KeyValue::number(address),
                Err(why) => KeyValue::missing(Missing::Before(why)),
            },
            Key::Data => self.data(lookup).map_or_else(KeyValue::missing, KeyValue::place),
            Key::Variable => match self.data(lookup) {
                Ok(place) => lookup.places.variable(place),
                Err(lack) => KeyValue::missing(lack),
            },
            // The line is not known until all places are: with_late_names().
            Key::Alloc | Key::AllocLine => match self.block_or_mapping(lookup) {
                Ok(block) => block.asker.site.map_or_else(KeyValue::missing, KeyValue::place),
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Block => match self.block_or_mapping(lookup) {
                // Until its end is known: with_late_names().
                Ok(block) => {
                    let life = lookup.heap.lives.asked(self.held.pid(), &block);
                    KeyValue::number(u64::from(life))
                }
                Err(lack) => KeyValue::missing(lack),
            },
            Key::Holder => {
                let holder = self.holder(lookup);
                holder.key_value(lookup)
            }
            Key::Type => self.typed(lookup).of,
            Key::Member => self.typed(lookup).member,
            Key::Access(aspect) => match self.words.data_src {
                Some(source) => lookup.access(*aspect, source),
                None => KeyValue::missing(Missing::DataSrc),
            },
            Key::Miss => match self.words.class {
                Some(class) => KeyValue::number(u64::from(class as u8)),
                None => KeyValue::missing(Missing::Class),
            },
            Key::Time(step) => {
                let begin = step.begin_of(held.time, round.begin);
                self.field(SampleType::TIME, Missing::Time, KeyValue::number(begin))
            }
            Key::Register(_) => self.register(column.register),
        }
    }

    /// Whether a filter lets the sample pass. A sample that lacks the field
    /// does not pass, whichever way the filter is meant.
    pub(crate) fn passes(
        &mut self,
        index: usize,
        filter: &Filter,
        lookup: &mut Lookup,
        verdicts: &mut Verdicts,
    ) -> bool {
        let (has_task, held) = (self.fields.has(SampleType::TID), self.held);
        let holds = match &filter.condition {
            FilterCondition::Pid(pid) => has_task.then_some(held.pid().0 == *pid),
            FilterCondition::Tid(tid) => has_task.then_some(held.tid().0 == *tid),
            FilterCondition::Cpu(cpu) => {
                self.fields.has(SampleType::CPU).then_some(held.cpu.0 == *cpu)
            }
            FilterCondition::Ip(range) => {
                self.fields.has(SampleType::IP).then(|| range.contains(held.ip))
            }
            FilterCondition::Addr(range) => {
                self.address().ok().map(|address| range.contains(address))
            }
            FilterCondition::Access(aspect, glob) => {
                let answer = self.words.data_src.map(|source| lookup.access(*aspect, source));
                let name = answer.and_then(|value| Some((value, value.as_name().ok()?)));
                name.map(|(value, number)| {
                    let asked = (index, value);
                    *verdicts.or_insert_with(asked, || is_called(glob, &lookup.places.name(number)))
                })
            }
            FilterCondition::Weight(range) => {
                self.words.weight.map(|word| range.contains(self.fields.whole_weight(word)))
            }
            FilterCondition::Miss(class) => self.words.class.map(|of| of == *class),
            FilterCondition::Mode(mode) => Some(held.mode() == *mode),
            FilterCondition::Time(range) => {
                self.fields.has(SampleType::TIME).then(|| range.contains(held.time))
            }
            FilterCondition::Comm(glob) => {
                let comm = has_task.then(|| lookup.comms.at(held.tid(), held.time));
                comm.map(|comm| {
                    let asked = (index, KeyValue::comm(comm));
                    *verdicts.or_insert_with(asked, || glob.matches(&lookup.comms.text(comm)))
                })
            }
            FilterCondition::Region(glob) => {
                let path = has_task.then(|| lookup.regions.at(held.tid(), held.time));
                let path = path.filter(|path| *path != RegionPath::NOT_KEPT);
                path.map(|path| {
                    let asked = (index, KeyValue::number(u64::from(path.0)));
                    *verdicts.or_insert_with(asked, || lookup.regions.is_in(path, glob))
                })
            }
            FilterCondition::Routine(glob) => {
                let routine = self.place(lookup).map(|place| lookup.places.routine(place));
                let name = routine.ok().and_then(|value| Some((value, value.as_name().ok()?)));
                name.map(|(value, number)| {
                    let asked = (index, value);
                    *verdicts
                        .or_insert_with(asked, || glob.matches_routine(&lookup.places.name(number)))
                })
            }
            FilterCondition::Variable(glob) => {
                let variable = self.data(lookup).map(|place| lookup.places.variable(place));
                let name = variable.ok().and_then(|value| Some((value, value.as_name().ok()?)));
                name.map(|(value, number)| {
                    let asked = (index, value);
                    *verdicts
                        .or_insert_with(asked, || glob.matches_routine(&lookup.places.name(number)))
                })
            }
            FilterCondition::Object(glob) => self.place(lookup).ok().map(|place| {
                let number = lookup.places.object(place.object);
                let asked = (index, KeyValue::number(u64::from(number)));
                *verdicts.or_insert_with(asked, || glob.matches_object(&lookup.places.name(number)))
            }),
            FilterCondition::Frame(glob) => self.chain(lookup).whole.ok().map(|chain| {
                let asked = (index, KeyValue::number(u64::from(chain)));
                let CallChains { parts, tree, .. } = &mut lookup.chains;
                let places = &lookup.places;
                *verdicts
                    .or_insert_with(asked, || parts.has_frame(chain, (index, glob), tree, places))
            }),
        };
        holds.is_some_and(|holds| holds != filter.negated)
    }
}

/// Whether an answer of the data source fits: as a whole, in one of its
/// parts, or without the word that says whether it was a hit.
fn is_called(glob: &Glob, answer: &str) -> bool {
    let bare = |part: &str| {
        let tail = [" hit", " miss"].iter().find_map(|tail| part.strip_suffix(tail));
        tail.is_some_and(|bare| glob.matches(bare))
    };
    let mut parts = answer.split(", ").flat_map(|part| part.split('+'));
    glob.matches(answer) || parts.any(|part| glob.matches(part) || bare(part))
}

/// A key, and the register's number when it is one that the machine has.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    pub(crate) key: Key,
    pub(crate) register: Option<u32>,
}
