//! A request and the facts become attrs to open, or a refusal. Pure.

mod attrs;
mod breakpoint;
mod fallback;
mod planned_event;
mod rights;
mod rings;

pub use fallback::Fallback;
pub use planned_event::PlannedEvent;
pub use rings::RingPages;

#[cfg(test)]
mod tests;

use record::{Arch, Attr, Cpu, EventType, SampleFilter};

use crate::catalogue::{self, Availability, EventKind, IntervalUnit};
use crate::event_spec::{Event, EventSpecError, Tracepoint, suggestion};
use crate::facts::{Access, Facts, TracepointState};
use crate::promises::RegistersPromise;
use crate::{Promises, Refusal, Request, Target};

/// What a session opens. One ring of samples and one of side records for
/// each CPU of `cpus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What was asked for, as shown to users.
    pub name: String,
    /// The sampled events, at least one that is no carrier.
    pub events: Vec<PlannedEvent>,
    /// A software dummy that carries side records.
    pub side: Attr,
    /// What to give up, one at a time from the front (newest first), when
    /// the kernel answers EINVAL.
    pub fallbacks: Vec<Fallback>,
    /// Whose events.
    pub target: Target,
    /// CPUs to open on, ascending: all that any event needs.
    pub cpus: Vec<Cpu>,
    /// Ring sizes to try first.
    pub rings: RingPages,
    /// Bytes of a page of the rings.
    pub page_size: u64,
    /// Said to the user, one line each.
    pub notes: Vec<String>,
    /// Rights and limits of this process, for explaining errors.
    pub access: Access,
}

impl Plan {
    /// Sets the rings' sizes, and wake-ups at a quarter of each.
    pub fn set_rings(&mut self, rings: RingPages) {
        self.rings = rings;
        for event in &mut self.events {
            event.attr.wakeup = attrs::quarter(rings.samples, self.page_size);
        }
        self.side.wakeup = attrs::quarter(rings.side, self.page_size);
    }
}

/// What to open for one event, before target and rings are looked at.
#[derive(Clone, Debug)]
struct Opening {
    name: String,
    kind: EventType,
    config: u64,
    bp_type: u32,
    config1: u64,
    config2: u64,
    interval: u64,
    registers: u64,
    promises: Promises,
}

/// Turns a request into a plan for the machine that `facts` describes.
pub fn plan(request: &Request, facts: &Facts) -> Result<Plan, Refusal> {
    let event = request.event.resolve()?;
    check_form(request)?;
    let mut notes = Vec::new();
    let mut opening = open_event(&event, request, facts, &mut notes)?;
    rights::check_modes(request, facts)?;
    rights::check_target(request, facts)?;
    let cpus = facts.cpus.online.clone().filter(|cpus| !cpus.is_empty());
    let cpus = cpus.ok_or(Refusal::NoCpus)?;
    drop_refused_registers(&mut opening, facts, &mut notes);

    let rings = rings::choose(request.ring_pages, cpus.len(), facts, &mut notes);
    let attrs = attrs::build(&opening, request);
    let event = PlannedEvent {
        name: opening.name.clone(),
        pmu: pmu_of(opening.kind).to_owned(),
        attr: attrs.event,
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: 0,
        promises: opening.promises,
        filter: SampleFilter::ALL,
    };
    let mut plan = Plan {
        name: opening.name,
        fallbacks: Fallback::of([&event.attr, &attrs.side]),
        events: vec![event],
        side: attrs.side,
        target: request.target,
        cpus,
        rings,
        page_size: facts.page_bytes(),
        notes,
        access: facts.access,
    };
    plan.set_rings(rings);
    Ok(plan)
}

/// The kernel's name for what counts events of this type.
fn pmu_of(kind: EventType) -> &'static str {
    match kind {
        EventType::TRACEPOINT => "tracepoint",
        EventType::BREAKPOINT => "breakpoint",
        _ => "software",
    }
}

/// What is wrong with a request on any machine.
fn check_form(request: &Request) -> Result<(), Refusal> {
    if !request.masks.is_empty() {
        let (event, masks) = (request.event.0.clone(), request.masks.join(","));
        return Err(Refusal::Masks { event, masks });
    }
    if !request.modes.user && !request.modes.kernel {
        return Err(Refusal::ModeMissing);
    }
    match request.interval {
        Some(0) => return Err(Refusal::IntervalZero),
        Some(interval) if interval > i64::MAX.cast_unsigned() => {
            return Err(Refusal::IntervalTooLarge { interval });
        }
        _ => {}
    }
    if request.ring_pages == Some(0) {
        return Err(Refusal::RingEmpty);
    }
    Ok(())
}

fn open_event(
    event: &Event,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<Opening, Refusal> {
    let form = match event {
        Event::Type(entry) => *entry,
        Event::Breakpoint(_) => catalogue::breakpoint(),
        Event::Tracepoint(_) => catalogue::tracepoint(),
        Event::Named { name, .. } => {
            return Err(EventSpecError::unknown(name, std::iter::empty()).into());
        }
        Event::Pmu { .. } | Event::Raw { .. } | Event::Generic { .. } => {
            return Err(Refusal::Unavailable {
                event: request.event.0.clone(),
                why: "events of PMUs are not planned yet".to_owned(),
                nearest: Vec::new(),
                advice: "ebs -h lists the types".to_owned(),
            });
        }
    };
    let unavailable = |why: String, nearest: &[&str], advice: String| {
        let nearest = nearest.iter().map(|&name| name.to_owned()).collect();
        Refusal::Unavailable { event: request.event.0.clone(), why, nearest, advice }
    };
    if let Availability::Unavailable { why, nearest, advice } = catalogue::availability(form, facts)
    {
        return Err(unavailable(why, &nearest, advice));
    }
    let Some(promises) = form.promises else {
        let why = "its fields have no meaning that is known here".to_owned();
        return Err(unavailable(why, &[], "ebs -h lists the types".to_owned()));
    };
    let mut opening = Opening {
        name: form.name.to_owned(),
        kind: EventType::SOFTWARE,
        config: 0,
        bp_type: 0,
        config1: 0,
        config2: 0,
        interval: request.interval.unwrap_or(form.default_interval),
        registers: record::registers::general(facts.kernel.arch()),
        promises,
    };
    match event {
        Event::Type(entry) => {
            if let EventKind::Software(software) = entry.kind {
                opening.config = software.config;
                if software.kernel_only && !request.modes.kernel {
                    return Err(Refusal::KernelOnly { event: entry.name });
                }
                if software.never_on_x86 && facts.kernel.arch() == Arch::X86_64 {
                    notes
                        .push(format!("x86 kernels never count {}: expect no records", entry.name));
                }
            }
            raise_clock_interval(entry.unit, &mut opening, notes);
        }
        Event::Breakpoint(point) => breakpoint::fill(&mut opening, point, request, facts, notes)?,
        Event::Tracepoint(point) => fill_tracepoint(&mut opening, point, request, facts, notes)?,
        Event::Pmu { .. } | Event::Raw { .. } | Event::Generic { .. } | Event::Named { .. } => {}
    }
    Ok(opening)
}

/// Nanoseconds below which perf_swevent_start_hrtimer() raises a clock's
/// period without a word, while records still show the period asked for.
const SHORTEST_CLOCK: u64 = 10_000;

fn raise_clock_interval(unit: IntervalUnit, opening: &mut Opening, notes: &mut Vec<String>) {
    if unit == IntervalUnit::Nanoseconds && opening.interval < SHORTEST_CLOCK {
        notes.push(format!(
            "interval {} ns is below the kernel's shortest, {SHORTEST_CLOCK} ns: that one is used",
            opening.interval
        ));
        opening.interval = SHORTEST_CLOCK;
    }
}

fn fill_tracepoint(
    opening: &mut Opening,
    point: &Tracepoint,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    opening.name = point.to_string();
    opening.kind = EventType::TRACEPOINT;
    opening.config = match &facts.tracepoint {
        Some(TracepointState::Id(id)) => *id,
        Some(TracepointState::Missing { names }) => {
            let name = opening.name.as_str();
            let scored = names.iter().map(|have| (catalogue::likeness(name, have), have.as_str()));
            let nearest: Vec<_> =
                catalogue::best_three(scored).into_iter().map(str::to_owned).collect();
            return Err(Refusal::NoTracepoint {
                event: opening.name.clone(),
                suggestion: suggestion(&nearest),
            });
        }
        Some(TracepointState::Forbidden(place)) => {
            return Err(Refusal::TracefsForbidden {
                event: opening.name.clone(),
                place: place.clone(),
            });
        }
        Some(TracepointState::NoTracefs) | None => {
            return Err(Refusal::NoTracefs { event: opening.name.clone() });
        }
    };
    let system_call = point.subsystem == "syscalls";
    if request.modes.kernel && system_call {
        notes.push(format!(
            "{point}: IP and registers are the program's, at its system call, with -k as with -u"
        ));
    } else if !request.modes.kernel && !system_call {
        notes.push(format!(
            "{point}: tracepoints of the kernel fire with -k only; with -u alone only probes in \
             programs and syscalls:* do"
        ));
    }
    Ok(())
}

/// Registers that the kernel would refuse must not cost the whole session.
fn drop_refused_registers(opening: &mut Opening, facts: &Facts, notes: &mut Vec<String>) {
    use crate::facts::Lockdown;
    let reason = if facts.access.lockdown == Some(Lockdown::Confidentiality) {
        "the kernel is locked down (confidentiality) and keeps registers to itself"
    } else if opening.registers == 0 {
        "this architecture's registers are not known here"
    } else {
        return;
    };
    opening.registers = 0;
    opening.promises.registers = RegistersPromise::None;
    notes.push(format!("no registers in the records: {reason}"));
}
