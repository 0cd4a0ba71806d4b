//! Counted samples are named and handed out, some at a time: debug info is
//! asked for many places at once. From the first on whose type other accesses
//! to such blocks of the heap may tell, they wait for the end: a report decides
//! with all of them, too.

use crate::collect::collector::{Collector, NewEvent};
use crate::collect::event::{Event, title};
use crate::collect::sampled::CountedSample;
use crate::collect::weight::Weighing;
use crate::error::Error;
use crate::name::comms::Comm;
use crate::name::key_value::{KeyValue, TIMELESS};
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceKind;
use crate::query::Weighting;
use crate::query::needs::Needs;
use crate::samples::late_samples::{LateSample, LateSamples, SampleRoom};
use crate::samples::sampled_stacks::{FrameOf, NameNumber, SampledStacks, StackId};
use crate::samples::single_sample::{
    NamedAccess, SampleNames, SampleSink, SingleSample, TakenEvent,
};
use perfdata::SampleType;
use perfdata::aggregate::Site;
use perfdata::data_src::DataSrcAspect;
use rustc_hash::FxHashMap;
use std::io::{self, Cursor};
use symbolizer::Place;

/// Samples that are named at once, some 300 bytes each.
const BATCH: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct SingleSamples {
    sink: Box<dyn SampleSink>,
    waiting: Vec<SingleSample>,
    /// Types of those, which blocks of the heap may have yet to tell, by their
    /// place among them.
    undecided: FxHashMap<usize, u32>,
    late: Option<LateSamples>,
    /// Where they are to; None: it is in use.
    room: Option<Box<dyn SampleRoom>>,
    stacks: SampledStacks,
    comms: FxHashMap<Comm, NameNumber>,
    allocations: FxHashMap<Place, NameNumber>,
    /// What is known of events, by number.
    known: FxHashMap<usize, TakenEvent>,
    /// The same of those that samples were handed out of, as it was when the first was.
    events: Vec<Option<TakenEvent>>,
    frames: Vec<FrameOf>,
}

impl SingleSamples {
    pub(crate) fn new(
        sink: Box<dyn SampleSink>,
        room: Option<Box<dyn SampleRoom>>,
    ) -> SingleSamples {
        SingleSamples {
            sink,
            waiting: Vec::with_capacity(BATCH),
            undecided: FxHashMap::default(),
            late: None,
            room: Some(room.unwrap_or_else(|| Box::new(Cursor::new(Vec::new())))),
            stacks: SampledStacks::default(),
            comms: FxHashMap::default(),
            allocations: FxHashMap::default(),
            known: FxHashMap::default(),
            events: Vec::new(),
            frames: Vec::new(),
        }
    }

    fn count(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        let (event, sum) = (sample.event, sample.sum);
        let (held, fields) = (sample.held, sample.fields);
        let has = |field| fields.has(field);
        let place = sample.place(lookup);
        let routine = match place {
            Ok(place) => {
                let name = NameNumber(lookup.places.routine_or_mark(place));
                lookup.places.routine(place).as_name().map(|_| name).map_err(|_| name)
            }
            Err(lack) => Err(NameNumber(
                lookup.places.texts.number(&lookup.places.name_or_lack(KeyValue::missing(lack))),
            )),
        };
        let object = place.ok().map(|place| NameNumber(lookup.places.object(place.object)));
        let stack = self.stack(sample, routine, lookup);
        let comm = has(SampleType::TID).then(|| lookup.comms.at(held.tid(), held.time));
        let typed = sample.typed(lookup);
        let name = |value: KeyValue| value.as_name().ok().map(NameNumber);
        let variable =
            sample.data(lookup).ok().and_then(|place| name(lookup.places.variable(place)));
        let allocation = sample.block(lookup).ok().and_then(|block| block.asker.site.ok());
        let source = sample.words.data_src;
        let mut answer = |aspect| source.and_then(|source| name(lookup.access(aspect, source)));
        let access = NamedAccess {
            operation: answer(DataSrcAspect::Operation),
            level: answer(DataSrcAspect::Level),
            snoop: answer(DataSrcAspect::Snoop),
            tlb: answer(DataSrcAspect::Tlb),
            lock: answer(DataSrcAspect::Lock),
            blocked: answer(DataSrcAspect::Blocked),
        };
        let is_one = sum.count == 1;
        let named = SingleSample {
            event,
            samples: sum.count,
            period: sum.period,
            is_exact: sum.exact > 0,
            mode: held.mode(),
            time: (is_one && held.time != TIMELESS).then_some(held.time),
            task: has(SampleType::TID).then_some(held.task),
            comm: comm.map(|comm| self.comm(comm, lookup)),
            cpu: has(SampleType::CPU).then_some(held.cpu),
            ip: has(SampleType::IP).then_some(held.ip),
            routine,
            object,
            stack,
            address: sample.address().ok(),
            variable,
            of_type: name(typed.of),
            member: name(typed.member),
            allocation: allocation.map(|place| self.allocation(place, lookup)),
            access,
            data_src: source,
            weight: sample.words.weight.map(|word| fields.whole_weight(word)),
            latency: sample.latency,
            miss: sample.words.class,
        };
        if let Some(number) = typed.of.as_undecided() {
            self.undecided.insert(self.waiting.len(), number);
        }
        self.waiting.push(named);
    }

    /// The frames of a sample: those of its call chain, the first of which is
    /// the sampled instruction's; or that alone.
    fn stack(
        &mut self,
        sample: &mut CountedSample<'_>,
        routine: Result<NameNumber, NameNumber>,
        lookup: &mut Lookup,
    ) -> StackId {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let chain = sample.chain(lookup).whole;
        let cut_off = chain.ok().and_then(|chain| lookup.chains.tree.top(chain).cut_off());
        frames.extend(cut_off.map(|why| FrameOf::Mark(lookup.places.texts.number(why))));
        let callers = lookup.chains.places.iter().skip(1).rev();
        frames.extend(callers.map(|place| FrameOf::Place(*place)));
        let (Ok(name) | Err(name)) = routine;
        frames.push(sample.place(lookup).map_or(FrameOf::Mark(name.0), FrameOf::Place));
        let stack = self.stacks.stack(frames.iter().copied());
        self.frames = frames;
        stack.unwrap_or_else(|| self.stacks.not_kept(&mut lookup.places))
    }

    fn comm(&mut self, comm: Comm, lookup: &mut Lookup) -> NameNumber {
        let number = || NameNumber(lookup.places.texts.number(&lookup.comms.text(comm)));
        *self.comms.entry(comm).or_insert_with(number)
    }

    fn allocation(&mut self, place: Place, lookup: &mut Lookup) -> NameNumber {
        let number = || {
            let text = lookup.places.site_cell(PlaceKind::Code, place).to_string();
            NameNumber(lookup.places.texts.number(&text))
        };
        *self.allocations.entry(place).or_insert_with(number)
    }

    /// Names what waits, and hands it out.
    #[inline(never)]
    fn hand_out(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        self.stacks.learn(&mut lookup.places);
        if !self.undecided.is_empty() && self.late.is_none() {
            self.late = self.room.take().map(LateSamples::new);
        }
        for sample in &self.waiting {
            if self.events.len() <= sample.event {
                self.events.resize(sample.event.saturating_add(1), None);
            }
            if let Some(event) = self.events.get_mut(sample.event)
                && event.is_none()
            {
                *event = self.known.get(&sample.event).cloned();
            }
        }
        let mut waiting = self.waiting.drain(..);
        let Some(late) = &mut self.late else {
            let names =
                SampleNames { places: &lookup.places, stacks: &self.stacks, events: &self.events };
            return waiting.try_for_each(|it| self.sink.take(&it, &names)).map_err(refused);
        };
        for (at, sample) in waiting.enumerate() {
            let undecided = self.undecided.remove(&at);
            late.write(&LateSample { sample, undecided }).map_err(no_room)?;
        }
        Ok(())
    }

    /// Hands out what waited, with the types that all samples tell.
    fn hand_out_late(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        let Some(late) = self.late.take() else { return Ok(()) };
        lookup.decide_types();
        let mut late = late.into_reader().map_err(no_room)?;
        let names =
            SampleNames { places: &lookup.places, stacks: &self.stacks, events: &self.events };
        while let Some(LateSample { mut sample, undecided }) =
            late.next_sample().map_err(no_room)?
        {
            if let Some(typed) = undecided.and_then(|number| lookup.undecided.decided_type(number))
            {
                sample.of_type = typed.of.as_name().ok().map(NameNumber);
                sample.member = typed.member.as_name().ok().map(NameNumber);
            }
            self.sink.take(&sample, &names).map_err(refused)?;
        }
        Ok(())
    }
}

impl Collector for SingleSamples {
    fn needs(&self) -> Needs {
        let of_types = Needs::REGISTERS | Needs::TYPES | Needs::TYPE_NOTE;
        Needs::ACCESS | Needs::CLASS | Needs::CALLERS | Needs::HEAP | of_types
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        let leader = new.event.leader;
        self.known.extend(sampled_event(leader, new.events).map(|event| (leader, event)));
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.count(sample, lookup);
        match self.waiting.len() >= BATCH {
            true => self.hand_out(lookup),
            false => Ok(()),
        }
    }

    fn take_site(
        &mut self,
        _: &Site,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<(), Error> {
        self.take(sample, lookup)
    }

    fn end(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        self.hand_out(lookup)?;
        self.hand_out_late(lookup)?;
        let names =
            SampleNames { places: &lookup.places, stacks: &self.stacks, events: &self.events };
        self.sink.end(&names).map_err(refused)
    }
}

fn refused(error: io::Error) -> Error {
    Error::Sink { kind: error.kind(), why: error.to_string() }
}

/// Where samples wait there is no more room, or they are there no more.
fn no_room(error: io::Error) -> Error {
    let why = format!(
        "samples whose types blocks of the heap tell wait for the end of the recording, and cannot \
         be kept so long: {error}; give a TMPDIR with more room"
    );
    Error::Sink { kind: error.kind(), why }
}

fn sampled_event(leader: usize, events: &[Event]) -> Option<TakenEvent> {
    let together = || events.iter().filter(|event| event.leader == leader);
    let first = together().next()?;
    let same = together().all(|event| event.sampling == first.sampling);
    Some(TakenEvent {
        name: title(together()).to_owned(),
        unit: first.unit,
        weighting: if same { first.weighting } else { Weighting::Period },
        has_latency: together().any(|event| matches!(event.weighing, Weighing::Latency(_))),
    })
}
