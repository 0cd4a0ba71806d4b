//! A request and the facts become attrs to open, or a refusal. Pure.

pub(crate) mod attrs;
mod breakpoint;
pub(crate) mod callers;
mod event_draft;
mod fallback;
mod hardware;
mod ibs;
mod in_kernel;
mod large_pebs;
mod named;
mod outline;
mod planned_event;
mod precision;
pub mod refusal;
pub mod rights;
mod rings;
mod software;
mod uneven;

pub use fallback::Fallback;
pub(crate) use hardware::cores;
pub use outline::{Outline, OutlinedEvent, modes, outline};
pub(crate) use outline::{joined, with_modifiers};
pub use planned_event::PlannedEvent;
pub use rings::RingPages;

#[cfg(test)]
mod tests;

use perfdata::{Attr, Cpu};

use crate::machine::facts::{AccessFacts, Facts};
use crate::request::InKernel;
use crate::{Refusal, Request, Target};

/// What a session opens. One ring of samples and one of sideband records for
/// each CPU of `cpus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub name: String,
    /// The sampled events, at least one that is no carrier.
    pub events: Vec<PlannedEvent>,
    /// A software dummy that carries sideband records.
    pub side: Attr,
    /// What to give up, one at a time from the front (newest first), when
    /// the kernel answers EINVAL.
    pub fallbacks: Vec<Fallback>,
    pub target: Target,
    /// CPUs to open on, ascending: all that are online, as sideband records are
    /// of interest wherever a task runs.
    pub cpus: Vec<Cpu>,
    /// What a program in the kernel is to do with the samples: where it
    /// counts them, their rings shrink to a page once it is loaded.
    pub in_kernel: Option<InKernel>,
    /// Ring sizes to try first.
    pub rings: RingPages,
    /// Bytes of a page of the rings.
    pub page_size: u64,
    /// Said to the user, one line each.
    pub notes: Vec<String>,
    pub access: AccessFacts,
}

impl Plan {
    /// Bytes that mapping the rings takes, and a copy of the largest on its
    /// way to the sink.
    pub fn ring_bytes(&self) -> u64 {
        let cpus = u64::try_from(self.cpus.len()).unwrap_or(u64::MAX);
        let pages = self.rings.mapped().saturating_mul(cpus);
        pages.saturating_add(self.rings.samples.into()).saturating_mul(self.page_size)
    }

    /// Makes the rings smaller until they take at most so many bytes; false:
    /// they would be too small to be of use.
    pub fn fit_into(&mut self, bytes: u64) -> bool {
        while self.ring_bytes() > bytes {
            let smaller = self.rings.smaller();
            let useful = smaller.filter(|rings| {
                u64::from(rings.samples) * self.page_size >= RingPages::USEFUL_BYTES
            });
            let Some(rings) = useful else { return false };
            self.set_rings(rings);
        }
        true
    }

    /// Sets the rings' sizes, and wake-ups at a quarter of each.
    pub fn set_rings(&mut self, rings: RingPages) {
        self.rings = rings;
        for event in &mut self.events {
            event.attr.wakeup = attrs::quarter(rings.samples, self.page_size);
        }
        self.side.wakeup = attrs::quarter(rings.side, self.page_size);
    }
}

/// Turns a request into a plan for the machine that `facts` describes, which
/// this process has the rights to open.
pub fn plan(request: &Request, facts: &Facts) -> Result<Plan, Refusal> {
    let plan = draft(request, facts)?;
    rights::check(request, &plan, facts)?;
    Ok(plan)
}

/// The same, whoever is to open it: [`rights::check`] says whether that may be
/// this process.
///
/// # Errors
/// What this machine cannot sample for anybody.
pub fn draft(request: &Request, facts: &Facts) -> Result<Plan, Refusal> {
    let Outline { name, events, mut side, mut notes } = outline(request, facts)?;
    let mut events: Vec<_> = events.into_iter().map(|event| event.planned).collect();
    in_kernel::check(request, &events)?;
    in_kernel::set_clock(
        request,
        events.iter_mut().map(|event| &mut event.attr).chain([&mut side]),
    );
    let online = facts.cpus.online.clone().filter(|cpus| !cpus.is_empty());
    let cpus = online.ok_or(Refusal::NoCpus)?;
    if !cpus.iter().any(|cpu| events.iter().any(|event| event.is_on(*cpu))) {
        let mut pmus: Vec<&str> = events.iter().map(|event| event.pmu.as_str()).collect();
        pmus.dedup();
        return Err(Refusal::Offline { event: name, pmus: pmus.join(", ") });
    }
    let rings = rings::choose(request.ring_pages, cpus.len(), facts, &mut notes);
    let mut plan = Plan {
        name,
        fallbacks: Fallback::of(events.iter().map(|event| &event.attr).chain([&side])),
        events,
        side,
        target: request.target,
        in_kernel: request
            .in_kernel
            .clone()
            .map(|asked| asked.with_callers(request.call_graph.is_some()).on(cpus.len())),
        cpus,
        rings,
        page_size: facts.page_bytes(),
        notes,
        access: facts.access,
    };
    plan.set_rings(rings);
    Ok(plan)
}

/// What is wrong with a request on any machine.
pub(crate) fn check_form(request: &Request) -> Result<(), Refusal> {
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
