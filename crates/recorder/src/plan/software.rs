//! Events that every kernel has: its own counters, breakpoints and
//! tracepoints.

use perfdata::{Arch, EventType};

use super::breakpoint;
use super::event_draft::EventDraft;
use crate::catalogue::{self, CatalogueType, EventKind, IntervalUnit};
use crate::machine::facts::{Facts, TracepointState};
use crate::request::event_spec::{Breakpoint, Tracepoint};
use crate::spelling::{best_three, likeness, suggestion};
use crate::{Refusal, Request};

pub(super) fn counter(
    entry: &CatalogueType,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<EventDraft, Refusal> {
    let mut draft = open(entry, EventType::SOFTWARE, request, facts)?;
    if let EventKind::Software(software) = entry.kind {
        draft.words[0] = software.event.0;
        if software.kernel_only && !request.modes.kernel {
            return Err(Refusal::KernelOnly { event: entry.name });
        }
        if software.never_on_x86 && facts.kernel.arch() == Arch::X86_64 {
            notes.push(format!("x86 kernels never count {}: expect no records", entry.name));
        }
    }
    raise_clock_interval(entry.unit, &mut draft, notes);
    Ok(draft)
}

/// `mem:ADDR...`.
pub(super) fn watch(
    point: &Breakpoint,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<EventDraft, Refusal> {
    let mut draft = open(catalogue::breakpoint(), EventType::BREAKPOINT, request, facts)?;
    breakpoint::fill(&mut draft, point, request, facts, notes)?;
    Ok(draft)
}

fn open(
    entry: &CatalogueType,
    kind: EventType,
    request: &Request,
    facts: &Facts,
) -> Result<EventDraft, Refusal> {
    let Some(promises) = entry.promises else {
        return Err(Refusal::Unavailable {
            event: request.event.to_string(),
            why: "its fields have no meaning that is known here".to_owned(),
            nearest: Vec::new(),
            advice: "ebs -h lists the types".to_owned(),
        });
    };
    let pmu = match kind {
        EventType::TRACEPOINT => "tracepoint",
        EventType::BREAKPOINT => "breakpoint",
        _ => "software",
    };
    let mut draft = EventDraft::new(pmu, kind, request, promises);
    entry.name.clone_into(&mut draft.name);
    entry.name.clone_into(&mut draft.event);
    draft.interval = request.interval.unwrap_or(entry.default_interval);
    draft.registers = perfdata::registers::general(facts.kernel.arch());
    Ok(draft)
}

/// `SUBSYSTEM:NAME`.
pub(super) fn tracepoint(
    point: &Tracepoint,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<EventDraft, Refusal> {
    let mut draft = open(catalogue::tracepoint(), EventType::TRACEPOINT, request, facts)?;
    draft.name = point.to_string();
    draft.words[0] = match facts.tracepoints.get(&draft.name) {
        Some(TracepointState::Id(id)) => *id,
        Some(TracepointState::Missing { names }) => {
            let name = draft.name.as_str();
            let scored = names.iter().map(|have| (likeness(name, have), have.as_str()));
            let nearest: Vec<_> = best_three(scored).into_iter().map(str::to_owned).collect();
            return Err(Refusal::NoTracepoint {
                event: draft.name.clone(),
                suggestion: suggestion(&nearest),
            });
        }
        Some(TracepointState::Forbidden(place)) => {
            return Err(Refusal::TracefsForbidden {
                event: draft.name.clone(),
                place: place.clone(),
            });
        }
        Some(TracepointState::NoTracefs) | None => {
            return Err(Refusal::NoTracefs { event: draft.name.clone() });
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
    Ok(draft)
}

/// Nanoseconds below which perf_swevent_start_hrtimer() raises a clock's
/// period without a word, while records still show the period asked for.
const SHORTEST_CLOCK: u64 = 10_000;

fn raise_clock_interval(unit: IntervalUnit, draft: &mut EventDraft, notes: &mut Vec<String>) {
    if unit == IntervalUnit::Nanoseconds && draft.interval < SHORTEST_CLOCK {
        notes.push(format!(
            "interval {} ns is below the kernel's shortest, {SHORTEST_CLOCK} ns: that one is used",
            draft.interval
        ));
        draft.interval = SHORTEST_CLOCK;
    }
}
