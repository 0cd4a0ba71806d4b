//! A request becomes what the emulation is told, or a refusal. Pure.

mod classes;
mod heap;

use std::fmt;

use emulator::{Burst, EmulatedEvent, EmulationSettings, Geometry, ObjectLayout};
use perfdata::{Arch, Attr, AttrFlags, EventType, SampleFilter, SampleType};

use crate::catalogue::Equivalence;
use crate::catalogue::emulated::{self, NotEmulated, kind};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, Promises, RegistersPromise, SampleSource, WeightPromise,
};
use crate::machine::facts::{Facts, Pmu};
use crate::plan::{
    Outline, OutlinedEvent, attrs, callers, check_form, joined, rights, with_modifiers,
};
use crate::request::CallGraph;
use crate::request::event_spec;
use crate::{Modes, PlannedEvent, Refusal, Request, Target};

/// The PMU's name in streams: no directory under
/// /sys/bus/event_source/devices.
pub(crate) const PMU: &str = "emulated";
/// The number of its type: the letters EMUL with the highest bit set. The
/// kernel numbers its PMUs with an int from 6 on (perf_pmu_register(),
/// kernel/events/core.c), so none of any machine, now or later, has this
/// one, and streams need not be compared with the machine they come from.
/// perf takes 1 << 31 itself for events that it makes of traces
/// (PERF_TYPE_SYNTH, tools/perf/util/event.h).
const PMU_TYPE: EventType = EventType(1 << 31 | 0x4c55_4d45);
/// Data pages of the ring unless asked otherwise: the target waits when it
/// is full, so that more would only cost memory.
const RING_PAGES: u32 = 2048;

pub(super) fn pmu() -> Pmu {
    Pmu { name: PMU.to_owned(), kind: Some(PMU_TYPE), ..Pmu::default() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub geometry: Geometry,
    /// TLBs were asked for: types that do not count their misses model them,
    /// too.
    pub tlbs_asked: bool,
    pub prefetch: bool,
    /// Count now and then only; in a plan `warm` is told.
    pub burst: Option<Burst>,
    /// Records of misses tell why they are some.
    pub classify: bool,
    /// Blocks of the heap are told, when they are allocated and when they are given back.
    pub heap: bool,
    pub layouts: Vec<ObjectLayout>,
}

impl fmt::Display for Model {
    /// `32K/8 L1D, ...`, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.geometry)?;
        if self.prefetch {
            f.write_str(", prefetchers on")?;
        }
        for layout in &self.layouts {
            write!(f, ", {layout}")?;
        }
        match self.burst {
            Some(Burst { on, every, warm }) => {
                write!(f, ", {on} of every {every} instructions")?;
                match warm {
                    Some(warm @ 1..) => write!(f, " after {warm} to warm up"),
                    _ => Ok(()),
                }
            }
            None => Ok(()),
        }
    }
}

impl Model {
    pub(super) fn note(&self) -> String {
        // Neither may end the value.
        let geometry = self.geometry.to_string().replace(';', ",");
        let prefetch = if self.prefetch { "on" } else { "off" };
        let mut note = format!("model={geometry};prefetch={prefetch}");
        if let Some(Burst { on, every, warm }) = self.burst {
            note.push_str(&format!(";burst={on}/{every};warm_up={}", warm.unwrap_or(0)));
        }
        if self.classify {
            note.push_str(";classes=exact");
        }
        if self.heap {
            note.push_str(";heap=exact");
        }
        if !self.layouts.is_empty() {
            let layouts: Vec<String> = self.layouts.iter().map(ObjectLayout::to_string).collect();
            note.push_str(&format!(";layout={}", layouts.join(",")));
        }
        note
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedPlan {
    pub name: String,
    pub events: Vec<PlannedEvent>,
    /// What the model counts for each of them, in their order.
    pub modelled: Vec<ModelledEvent>,
    pub side: Attr,
    pub model: Model,
    /// A command or a process.
    pub target: Target,
    /// Data pages of the ring, a power of two.
    pub ring_pages: u32,
    pub data_mappings: bool,
    /// Said to the user, one line each.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelledEvent {
    pub counts: EmulatedEvent,
    /// Where periods are drawn from; None: each is the interval.
    pub seed: Option<u64>,
    /// The session chooses the interval.
    pub adapted: bool,
}

/// What would be emulated for a request.
///
/// # Errors
/// Types and modes that the model does not have.
pub fn outline(request: &Request, facts: &Facts) -> Result<Outline, Refusal> {
    let (mut outline, modelled) = outline_with_events(request, facts)?;
    let drawn = |(_, of): &(_, ModelledEvent)| of.seed.is_some() && !of.adapted;
    for (event, _) in outline.events.iter().zip(modelled).filter(drawn) {
        let interval = event.planned.attr.sample_period;
        let note = format!(
            "each period is drawn, from 1 to {}, all as likely: {interval} on average (--seed for \
             the same ones again, -i ={interval} for {interval} each)",
            interval.saturating_mul(2).saturating_sub(1)
        );
        if !outline.notes.contains(&note) {
            outline.notes.push(note);
        }
    }
    Ok(outline)
}

/// Turns a request into a plan.
///
/// # Errors
/// What is not emulated, and a process that is not to be had.
pub fn plan(request: &Request, model: Model, facts: &Facts) -> Result<EmulatedPlan, Refusal> {
    let (Outline { name, events, side, notes }, modelled) = outline_with_events(request, facts)?;
    if request.target.is_of_cpus() {
        return Err(Refusal::EmulatedSystem { event: name });
    }
    if request.in_kernel.is_some() {
        return Err(Refusal::EmulatedInKernel { event: name });
    }
    rights::check_target(request, facts)?;
    check_layouts(&model.layouts)?;
    let mut model = model;
    let mut notes = notes;
    if !model.tlbs_asked && !modelled.iter().any(|of| of.counts.is_of_pages()) {
        // A miss of theirs costs more than all else of an access.
        model.geometry = model.geometry.without_tlbs();
    }
    if let Some(burst) = &mut model.burst {
        let warm = burst.warm_up(&model.geometry, modelled.iter().map(|of| of.counts));
        burst.warm = Some(warm);
        notes.extend(slow_burst_note(*burst, warm));
    }
    let asked = request.ring_pages.unwrap_or(RING_PAGES);
    let mut events: Vec<_> = events.into_iter().map(|outlined| outlined.planned).collect();
    if model.classify {
        classes::add_to(&mut events, &modelled, &model)?;
    }
    let mut modelled = modelled;
    if model.heap {
        heap::add(&mut events, &mut modelled, &model, request)?;
    }
    Ok(EmulatedPlan {
        name,
        events,
        modelled,
        side,
        model,
        target: request.target,
        ring_pages: asked.checked_next_power_of_two().unwrap_or(1 << 31),
        data_mappings: request.maps_data(),
        notes,
    })
}

fn check_layouts(layouts: &[ObjectLayout]) -> Result<(), Refusal> {
    let most = ObjectLayout::MAX_OBJECTS;
    let why = match (layouts.len(), ObjectLayout::overlapping(layouts)) {
        (given, _) if given > most => format!("{given} objects are given; use up to {most}"),
        (_, Some([first, second])) => {
            format!("{first} and {second} are about the same bytes: leave one of them out")
        }
        _ => return Ok(()),
    };
    Err(Refusal::EmulatedLayouts { why })
}

/// Samples a second that an adapted interval aims at: 10,000 a minute.
const ADAPTED_HERTZ: u64 = 167;

/// Whether the session is to choose the interval of a request's event.
fn adapts(request: &Request) -> bool {
    request.adapts && request.interval.is_none() && request.seed.is_some()
}

/// Where periods of an interval are drawn from: of one event there is nothing
/// to draw.
fn seed(request: &Request, interval: u64) -> Option<u64> {
    request.seed.filter(|_| interval > 1)
}

/// What to say of bursts that save little.
fn slow_burst_note(Burst { on, every, .. }: Burst, warm: u64) -> Option<String> {
    (warm > 0 && on < every && (on + warm) * 2 > every).then(|| {
        format!(
            "of every {every} instructions {warm} warm the caches up for {on} that are counted: \
             that saves little, a longer period more (--burst {on}/{})",
            (on + warm).saturating_mul(10)
        )
    })
}

fn outline_with_events(
    request: &Request,
    facts: &Facts,
) -> Result<(Outline, Vec<ModelledEvent>), Refusal> {
    let (mut outlines, mut modelled) = (Vec::new(), Vec::new());
    for one in request.each() {
        let (outline, counts) = outline_with_event(&one, facts)?;
        let interval = outline.events.first().map_or(0, |event| event.planned.attr.sample_period);
        let seed = seed(&one, interval);
        modelled.push(ModelledEvent { counts, seed, adapted: adapts(&one) && seed.is_some() });
        outlines.push(outline);
    }
    Ok((joined(outlines, EmulationSettings::MAX_EVENTS)?, modelled))
}

fn outline_with_event(
    request: &Request,
    facts: &Facts,
) -> Result<(Outline, EmulatedEvent), Refusal> {
    let request = &with_modifiers(request)?;
    let named = request.event.event()?;
    check_form(request)?;
    let not = |why: String| Refusal::NotEmulated { event: request.event.to_string(), why };
    let event_spec::RequestedEvent::Type(entry) = named else {
        return Err(not("it is no type that `ebs -h` lists".to_owned()));
    };
    let counts = kind(entry).map_err(|why| match why {
        NotEmulated::OfKernel => not(format!("{why}: leave --source out")),
        NotEmulated::NotModelled(_) => not(why.to_string()),
    })?;
    let arch = facts.kernel.arch();
    if arch != Arch::X86_64 {
        return Err(Refusal::EmulatedMachine { event: entry.name });
    }
    if !request.masks.is_empty() {
        let (event, masks) = (entry.name, request.masks.join(","));
        return Err(Refusal::EmulatedMasks { event, masks });
    }
    if request.modes != Modes::USER {
        return Err(Refusal::EmulatedUserOnly { event: entry.name });
    }
    if let Some(how) = request.call_graph.filter(|how| !matches!(how, CallGraph::Stack(_))) {
        return Err(Refusal::EmulatedCallers { event: entry.name, how });
    }
    let interval = request.interval.unwrap_or(entry.default_interval);
    let mut attr = event_attr(request, counts, interval);
    if adapts(request) {
        attr.flags |= AttrFlags::FREQ;
        attr.sample_period = ADAPTED_HERTZ;
    }
    if let Some(how) = request.call_graph {
        let registers = attr.sample_regs_intr;
        callers::add_to(&mut attr, how, registers);
    }
    let side = side(&attr, request);
    let outlined = OutlinedEvent {
        planned: planned(entry.name, attr, counts),
        event: emulated::description(counts),
        uarch: None,
        equivalence: match emulated::is_near(counts) {
            true => Equivalence::Near,
            false => Equivalence::Exact,
        },
    };
    let name = entry.name.to_owned();
    Ok((Outline { name, events: vec![outlined], side, notes: Vec::new() }, counts))
}

fn event_attr(request: &Request, counts: EmulatedEvent, interval: u64) -> Attr {
    let mut attr = attrs::common(request.target);
    attr.kind = PMU_TYPE;
    attr.config = emulated::number(counts);
    attr.sample_period = interval;
    attr.sample_type |= SampleType::PERIOD | SampleType::REGS_INTR;
    attr.sample_regs_intr = perfdata::registers::general(Arch::X86_64);
    if counts.is_of_data() {
        attr.sample_type |= SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT;
    }
    attr.flags |= AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV;
    attr.set_precise_ip(MAX_PRECISE);
    attr
}

/// No skid at all, as every record says.
const MAX_PRECISE: u8 = 3;

fn side(event: &Attr, request: &Request) -> Attr {
    let mut side = attrs::side(event, request);
    // The tracer reads no file for its records.
    side.flags.remove(AttrFlags::BUILD_ID);
    side
}

fn planned(name: &str, attr: Attr, counts: EmulatedEvent) -> PlannedEvent {
    let (address, weight) = match (counts.is_of_data(), counts.is_of_heap()) {
        (true, _) => (AddressPromise::Data, WeightPromise::ModelledLatency),
        (false, true) => (AddressPromise::Data, WeightPromise::None),
        (false, false) => (AddressPromise::None, WeightPromise::None),
    };
    PlannedEvent {
        // Whoever prints an event's name says with it what it is.
        name: format!("{PMU}/{name}/"),
        pmu: PMU.to_owned(),
        attr,
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: MAX_PRECISE,
        promises: Promises {
            source: SampleSource::Emulated,
            ip: IpPromise::Exact,
            address,
            registers: RegistersPromise::BeforeInstruction,
            weight,
        },
        filter: SampleFilter::ALL,
    }
}

#[cfg(test)]
mod tests;
