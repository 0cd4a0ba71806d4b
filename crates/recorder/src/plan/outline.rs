//! What would be opened for a request, whoever it is for: everything but
//! the target, the rights on it and the rings.

use perfdata::{Attr, SampleFilter};

use super::event_draft::EventDraft;
use super::{Fallback, PlannedEvent, attrs, callers, hardware, named, precision, software, uneven};
use crate::catalogue::promises::{RegistersPromise, SampleSource};
use crate::catalogue::{self, Equivalence, EventKind, Microarchitecture};
use crate::machine::facts::{Facts, Lockdown, Version};
use crate::request::event_spec::RequestedEvent;
use crate::{Modes, Refusal, Request};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub name: String,
    /// The sampled events; a leader stands before its members.
    pub events: Vec<OutlinedEvent>,
    pub side: Attr,
    /// Said to the user, one line each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinedEvent {
    pub planned: PlannedEvent,
    /// The event as the CPU's maker or the kernel calls it.
    pub event: String,
    /// The core that it is an event of; None: of the kernel, or of a CPU
    /// that the tables do not know.
    pub uarch: Option<Microarchitecture>,
    pub equivalence: Equivalence,
}

impl Outline {
    /// The least near of the events' equivalences.
    pub fn equivalence(&self) -> Equivalence {
        let events = self.sampled().map(|event| event.equivalence);
        events.max().unwrap_or(Equivalence::Exact)
    }

    pub fn sampled(&self) -> impl Iterator<Item = &OutlinedEvent> {
        self.events.iter().filter(|event| !event.planned.carrier)
    }

    /// The one filter of all events; None: they differ.
    pub fn filter(&self) -> Option<SampleFilter> {
        let mut filters = self.sampled().map(|event| event.planned.filter);
        let first = filters.next()?;
        filters.all(|filter| filter == first).then_some(first)
    }

    /// Leaves out what a kernel of that version is too old for, as opening
    /// would; of the emulated PMU's events nothing.
    pub fn fit(&mut self, version: Version) {
        let is_emulated =
            |event: &OutlinedEvent| event.planned.promises.source == SampleSource::Emulated;
        if self.events.iter().any(is_emulated) {
            return;
        }
        let attrs = self.events.iter().map(|event| &event.planned.attr);
        for fallback in Fallback::of(attrs.chain([&self.side])) {
            if version < fallback.since() {
                let events = self.events.iter_mut().map(|event| &mut event.planned.attr);
                events.chain([&mut self.side]).for_each(|attr| fallback.apply(attr));
                self.notes.push(fallback.to_string());
            }
        }
    }
}

/// Finds the events of a request on the machine of some facts.
///
/// # Errors
/// What this machine does not have, or not together.
pub fn outline(request: &Request, facts: &Facts) -> Result<Outline, Refusal> {
    let outlines = request.each().map(|one| outline_one(&one, facts));
    joined(outlines.collect::<Result<_, _>>()?, Request::MAX_EVENTS)
}

fn outline_one(request: &Request, facts: &Facts) -> Result<Outline, Refusal> {
    let request = &with_modifiers(request)?;
    let event = request.event.event()?;
    super::check_form(request)?;
    let mut notes: Vec<String> = event.note().into_iter().collect();
    let mut drafts = open(event, request, facts, &mut notes)?;
    callers::check(request, &drafts, facts)?;
    for draft in &mut drafts {
        draft.user_registers = perfdata::registers::general(facts.kernel.arch());
    }
    drop_refused_registers(&mut drafts, facts, &mut notes);
    share_interval(&mut drafts);
    uneven::make_uneven(&mut drafts, request, &mut notes);
    precision::share_distribution(&mut drafts, &mut notes);
    note_filter(&drafts, &mut notes);
    let events: Vec<_> = drafts.into_iter().map(|draft| planned(draft, request)).collect();
    let mut sampled = events.iter().filter(|event: &&OutlinedEvent| !event.planned.carrier);
    let first = sampled.next();
    // Events of several kinds of cores have each core's name.
    let of_several = sampled.next().is_some();
    let (first, attr) = first
        .map(|event| {
            let planned = &event.planned;
            let name = if of_several { &event.event } else { &planned.name };
            (name.clone(), planned.attr.clone())
        })
        .unwrap_or_default();
    let side = attrs::side(&attr, request);
    let name = match event {
        RequestedEvent::Type(entry) => entry.name.to_owned(),
        _ => first,
    };
    Ok(Outline { name, events, side, notes })
}

/// The modes that an event's own modifiers say; None: none does.
pub fn modes(event: &RequestedEvent) -> Option<Modes> {
    let modifiers = event.modifiers().filter(|modifiers| modifiers.any_level)?;
    Some(Modes { user: modifiers.user, kernel: modifiers.kernel })
}

pub(crate) fn with_modifiers(request: &Request) -> Result<Request, Refusal> {
    let mut request = request.clone();
    if let Some(modes) = modes(request.event.event()?) {
        if modes == Modes::default() {
            return Err(Refusal::HypervisorOnly { event: request.event.into() });
        }
        request.modes = match (request.modes.user, request.modes.kernel) {
            (false, false) => modes,
            (user, kernel) => Modes { user: user && modes.user, kernel: kernel && modes.kernel },
        };
        if request.modes == Modes::default() {
            return Err(Refusal::ModesExclude { event: request.event.into() });
        }
    }
    Ok(request)
}

fn open(
    event: &RequestedEvent,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<Vec<EventDraft>, Refusal> {
    let takes_masks = matches!(event, RequestedEvent::Type(entry) if matches!(entry.kind, EventKind::Hardware(_)));
    if !request.masks.is_empty() && !takes_masks {
        let (event, masks) = (request.event.to_string(), request.masks.join(","));
        return Err(Refusal::Masks { event, masks });
    }
    let form = match event {
        RequestedEvent::Type(entry) => *entry,
        RequestedEvent::Breakpoint(_) => catalogue::breakpoint(),
        RequestedEvent::NamedBreakpoint(point) => {
            return Err(Refusal::PlaceUnknown { event: point.to_string() });
        }
        RequestedEvent::Tracepoint(_) => catalogue::tracepoint(),
        other => return named::open(other, request, facts, notes),
    };
    let found = hardware::look_up(form, request, facts)?;
    Ok(match (event, found) {
        (RequestedEvent::Type(entry), Some(found)) => {
            hardware::open(entry, &found, request, facts, notes)?
        }
        (RequestedEvent::Breakpoint(point), _) => {
            vec![software::watch(point, request, facts, notes)?]
        }
        (RequestedEvent::Tracepoint(point), _) => {
            vec![software::tracepoint(point, request, facts, notes)?]
        }
        _ => vec![software::counter(form, request, facts, notes)?],
    })
}

fn planned(draft: EventDraft, request: &Request) -> OutlinedEvent {
    let attr = attrs::sampled(&draft, request.target);
    let EventDraft { name, pmu, event, cpus, leader, carrier, promises, filter, .. } = draft;
    let least_precise = draft.precision.least;
    let planned =
        PlannedEvent { name, pmu, attr, cpus, leader, carrier, least_precise, promises, filter };
    OutlinedEvent { planned, event, uarch: draft.uarch, equivalence: draft.equivalence }
}

/// More is sampled than is meant: what a count of samples is of.
fn note_filter(drafts: &[EventDraft], notes: &mut Vec<String>) {
    let filtered = drafts.iter().find(|draft| !draft.filter.is_all());
    if let Some(draft) = filtered {
        let filter = draft.filter;
        let (fields, classes) = filter.split();
        let counted = match (fields.is_all(), classes.is_all()) {
            (true, _) => "all samples".to_owned(),
            (false, true) => "those".to_owned(),
            (false, false) => format!("samples that are {fields}"),
        };
        notes.push(format!(
            "more is sampled than is meant; readers keep {filter}; -c counts {counted}"
        ));
    }
}

/// Samples of all events of a request stand for as many events each, so
/// that one table may count them together: the longest interval is all's.
fn share_interval(drafts: &mut [EventDraft]) {
    let longest = drafts.iter().map(|draft| draft.interval).max().unwrap_or_default();
    for draft in drafts.iter_mut().filter(|draft| !draft.carrier) {
        draft.interval = longest;
    }
}

/// Registers that the kernel would refuse must not cost the whole session.
fn drop_refused_registers(drafts: &mut [EventDraft], facts: &Facts, notes: &mut Vec<String>) {
    let reason = if facts.access.lockdown == Some(Lockdown::Confidentiality) {
        "the kernel is locked down (confidentiality) and keeps registers to itself"
    } else if perfdata::registers::general(facts.kernel.arch()) == 0 {
        "this architecture's registers are not known here"
    } else {
        return;
    };
    for draft in drafts {
        draft.registers = 0;
        draft.promises.registers = RegistersPromise::None;
    }
    notes.push(format!("no registers in the records: {reason}"));
}

/// One outline of all events, `most` at most: each with its own name, members
/// still behind their leaders. The first one's carrier of sideband records serves
/// all: what records have behind them is the same for all events.
pub(crate) fn joined(outlines: Vec<Outline>, most: usize) -> Result<Outline, Refusal> {
    let count = outlines.len();
    let mut parts = outlines.into_iter();
    let Some(mut whole) = parts.next().filter(|_| count <= most) else {
        return Err(Refusal::TooManyEvents { count, most });
    };
    for part in parts {
        let is_known = |event: &OutlinedEvent| {
            let mut known = whole.sampled();
            known.any(|known| known.planned.name == event.planned.name)
        };
        if let Some(twice) = part.sampled().find(|event| is_known(event)) {
            return Err(Refusal::Twice { event: twice.planned.name.clone() });
        }
        let before = whole.events.len();
        whole.name = format!("{},{}", whole.name, part.name);
        whole.events.extend(part.events.into_iter().map(|mut event| {
            event.planned.leader = event.planned.leader.map(|leader| leader + before);
            event
        }));
        for note in part.notes {
            if !whole.notes.contains(&note) {
                whole.notes.push(note);
            }
        }
        whole.side.flags |= part.side.flags;
    }
    Ok(whole)
}
