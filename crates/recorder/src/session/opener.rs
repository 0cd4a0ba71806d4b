//! Opening a task's events on every CPU, into the rings.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use perfdata::{Cpu, Tid};

use super::closed_event_totals::ClosedEventTotals;
use super::error::OpenError;
use super::event_set::{CpuEvents, EventSet, SampledEvent};
use super::in_kernel::Programs;
use super::kernel::Kernel;
use super::negotiation::{NegotiatedAttrs, Negotiation};
use super::rings::CpuRings;
use crate::session::open_error::explain_imprecise;
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};
use crate::{Cgroup, FailedCall, OpenFailure, Plan, PlannedEvent};

/// So often a group is opened anew because its leader may have moved.
const MAX_MOVES: u32 = 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputRings<'s> {
    pub(crate) cpu: Cpu,
    pub(crate) samples: &'s PerfEvent,
    pub(crate) side: &'s PerfEvent,
}

impl<'s> From<&'s CpuRings> for OutputRings<'s> {
    fn from(rings: &'s CpuRings) -> OutputRings<'s> {
        OutputRings { cpu: rings.cpu, samples: rings.samples.owner(), side: rings.side.owner() }
    }
}

/// Opens events; knows which parts of the attrs this kernel refused.
#[derive(Debug)]
pub(crate) struct Opener<'s> {
    plan: &'s Plan,
    kernel: &'s dyn Kernel,
    rings: Vec<OutputRings<'s>>,
    cgroup: Option<BorrowedFd<'s>>,
    programs: Option<&'s Programs>,
    /// Nothing is sampled before the session says so.
    paused: bool,
    negotiation: Negotiation<'s>,
    /// Events that are open now, for the text of EMFILE.
    opened: usize,
    limit: Option<u64>,
}

impl<'s> Opener<'s> {
    pub(crate) fn new(
        plan: &'s Plan,
        kernel: &'s dyn Kernel,
        rings: Vec<OutputRings<'s>>,
        limit: Option<u64>,
    ) -> Result<Opener<'s>, OpenError> {
        let negotiation = Negotiation::new(plan, kernel)?;
        let is_open = |event: &PlannedEvent| rings.iter().any(|rings| event.is_on(rings.cpu));
        if !plan.events.iter().any(|event| !event.carrier && is_open(event)) {
            return Err(OpenError::NoCpu { cpus: plan.cpus.len() });
        }
        let (cgroup, programs, paused) = (None, None, false);
        Ok(Opener { plan, kernel, rings, cgroup, programs, paused, negotiation, opened: 0, limit })
    }

    /// Opens for the tasks of that group where no task is given.
    pub(crate) fn in_group(self, cgroup: Option<&'s Cgroup>) -> Opener<'s> {
        Opener { cgroup: cgroup.map(AsFd::as_fd), ..self }
    }

    /// Opens what is sampled so that neither an exec nor
    /// [`enable`](Opener::enable) starts it; before anything is opened.
    pub(crate) fn paused(mut self, paused: bool) -> Result<Opener<'s>, OpenError> {
        if paused {
            self.negotiation.wait_beyond_exec()?;
        }
        Ok(Opener { paused, ..self })
    }

    /// Opens what is sampled so that no exec of the target starts it, as the one
    /// that began it is over; before anything is opened.
    pub(crate) fn behind_exec(mut self, behind: bool) -> Result<Opener<'s>, OpenError> {
        if behind {
            self.negotiation.wait_beyond_exec()?;
        }
        Ok(self)
    }

    /// Opens what is sampled for the one thread, and nothing that it starts;
    /// before anything is opened.
    pub(crate) fn of_one_thread(mut self, alone: bool) -> Result<Opener<'s>, OpenError> {
        if alone {
            self.negotiation.limit_to_one_thread()?;
        }
        Ok(self)
    }

    pub(crate) fn with_programs(self, programs: &'s Programs) -> Opener<'s> {
        Opener { programs: Some(programs), ..self }
    }

    /// Opens the events of `task` (None: of all), disabled, each on those of
    /// its CPUs that have an outlet. None: there is no such task any more.
    pub(crate) fn open(&mut self, task: Option<Tid>) -> Result<Option<EventSet>, OpenError> {
        let mut set = EventSet { cpus: Vec::with_capacity(self.rings.len()) };
        for index in 0..self.rings.len() {
            let rings = self.rings[index];
            match self.on_cpu(task, rings) {
                Ok(on_cpu) => {
                    self.opened += on_cpu.count();
                    set.cpus.push(on_cpu);
                }
                Err(failure) => match failure.errno {
                    libc::ESRCH if task.is_some() => {
                        self.opened = self.opened.saturating_sub(set.count());
                        return Ok(None);
                    }
                    // The CPU went offline since the rings were mapped.
                    libc::ENODEV => {}
                    libc::EMFILE | libc::ENFILE => return Err(self.too_many()),
                    _ => return Err(self.verdict(failure, rings)),
                },
            }
        }
        match task {
            _ if !set.cpus.is_empty() => Ok(Some(set)),
            // ENODEV everywhere is also said of the group of a task that is
            // ending (trap 5).
            Some(_) => Ok(None),
            None => Err(OpenError::NoCpu { cpus: self.plan.cpus.len() }),
        }
    }

    fn on_cpu(
        &mut self,
        task: Option<Tid>,
        rings: OutputRings<'_>,
    ) -> Result<CpuEvents, OpenFailure> {
        let mut moves = 0;
        loop {
            let failure = match self.try_on_cpu(task, rings) {
                Ok(on_cpu) => {
                    for sampled in &on_cpu.sampled {
                        self.negotiation.settle(sampled.index);
                    }
                    return Ok(on_cpu);
                }
                Err(failure) => failure,
            };
            if moves < MAX_MOVES && self.may_have_moved(&failure) {
                moves += 1;
            } else if !self.negotiation.adapt(&failure) {
                return Err(failure);
            }
        }
    }

    /// Whether the leader may have left its task before the member came. A
    /// task that makes a thread in between has a copy of its events there;
    /// as the two look alike, the scheduler swaps them instead of their
    /// events (perf_event_context_sched_out(), kernel/events/core.c), and
    /// the kernel answers a member that is not where its leader is with
    /// EINVAL.
    fn may_have_moved(&self, failure: &OpenFailure) -> bool {
        let event = failure.event.and_then(|index| self.plan.events.get(index));
        let is_member = event.is_some_and(|event| event.leader.is_some());
        failure.errno == libc::EINVAL
            && failure.call == FailedCall::OpenEvent
            && failure.task.is_some()
            && is_member
    }

    /// All of one CPU or nothing: a group is worth nothing in part.
    fn try_on_cpu(
        &mut self,
        task: Option<Tid>,
        rings: OutputRings<'_>,
    ) -> Result<CpuEvents, OpenFailure> {
        let fail = |call, event, error: &io::Error| OpenFailure {
            errno: error.raw_os_error().unwrap_or(0),
            cpu: Some(rings.cpu),
            task,
            event,
            ..OpenFailure::of(call)
        };
        let pid = task.map_or(-1, |tid| tid.0);
        let cgroup = self.cgroup.filter(|_| task.is_none());
        let cpu = i32::try_from(rings.cpu.0).unwrap_or(-1);
        let encoded = self.negotiation.encoded();
        let mut sampled: Vec<SampledEvent> = Vec::new();
        for (index, (event, attr)) in self.plan.events.iter().zip(&mut encoded.events).enumerate() {
            if !event.is_on(rings.cpu) {
                continue;
            }
            let leader = event.leader.filter(|&leader| leader != index);
            let leader = leader.and_then(|leader| sampled.iter().find(|open| open.index == leader));
            let leader = leader.map(|leader| &leader.event);
            let mut others = self.plan.events.iter().enumerate();
            let leads = others.any(|(at, other)| at != index && other.leader == Some(index));
            let place = EventPlace { pid, cpu, leader, leads, cgroup };
            let opened = open(self.kernel, attr, place).map_err(|(error, kernel_size)| {
                OpenFailure { kernel_size, ..fail(FailedCall::OpenEvent, Some(index), &error) }
            })?;
            if !event.carrier {
                self.kernel
                    .share(&opened, rings.samples)
                    .map_err(|error| fail(FailedCall::SetOutput, Some(index), &error))?;
                let attached = self.programs.map(|programs| programs.attach(index, &opened));
                attached
                    .unwrap_or(Ok(()))
                    .map_err(|error| fail(FailedCall::SetProgram, Some(index), &error))?;
            }
            // Without one a cost is not known, which is told.
            let alone = EventPlace { leader: None, leads: false, ..place };
            let shadow_counter = encoded.shadow_counters.get_mut(index).and_then(Option::as_mut);
            let shadow_counter =
                shadow_counter.and_then(|attr| open(self.kernel, attr, alone).ok());
            sampled.push(SampledEvent { index, event: opened, shadow_counter });
        }
        let place = EventPlace { pid, cpu, leader: None, leads: false, cgroup };
        let side =
            open(self.kernel, &mut encoded.side, place).map_err(|(error, kernel_size)| {
                OpenFailure { kernel_size, ..fail(FailedCall::OpenSide, None, &error) }
            })?;
        self.kernel
            .share(&side, rings.side)
            .map_err(|error| fail(FailedCall::SetOutput, None, &error))?;
        Ok(CpuEvents { cpu: rings.cpu, sampled, side })
    }

    /// The error for a refusal that nothing helps against. Where precision
    /// was asked for, opening without tells whether that is why.
    fn verdict(&mut self, failure: OpenFailure, rings: OutputRings<'_>) -> OpenError {
        if !self.negotiation.give_up_precision(&failure) {
            return OpenError::event(failure, self.plan);
        }
        match self.try_on_cpu(failure.task, rings) {
            Err(plain) if plain.event == failure.event => OpenError::event(plain, self.plan),
            Ok(_) | Err(_) => {
                let refused = failure.event.map_or(&[][..], |i| self.negotiation.refused(i));
                OpenError::Refused {
                    text: explain_imprecise(&failure, self.plan, refused),
                    failure,
                }
            }
        }
    }

    fn too_many(&self) -> OpenError {
        let each = self.rings.iter().map(|rings| {
            1 + self.plan.events.iter().filter(|event| event.is_on(rings.cpu)).count()
        });
        OpenError::Descriptors {
            opened: self.opened,
            each: each.sum(),
            cpus: self.rings.len(),
            limit: self.limit.map_or_else(|| "the system's".into(), |limit| limit.to_string()),
        }
    }

    pub(crate) fn opened(&self) -> usize {
        self.opened
    }

    /// Enables a set that was opened here for `task`; paused, its sideband records
    /// alone.
    pub(crate) fn enable(&self, set: &EventSet, task: Tid) -> Result<(), OpenError> {
        let enabled = match self.paused {
            true => set.enable_side(Some(task)),
            false => set.enable(Some(task)),
        };
        enabled.map_err(|failure| OpenError::event(failure, self.plan))
    }

    /// Closes a set that was opened here, and keeps its counts in `closed_totals`.
    pub(crate) fn close_set(&mut self, set: EventSet, closed_totals: &mut ClosedEventTotals) {
        self.opened = self.opened.saturating_sub(set.count());
        closed_totals.add(set, &self.negotiation.attrs().periods());
    }

    pub(crate) fn into_outcome(self) -> NegotiatedAttrs {
        self.negotiation.into_outcome()
    }
}

/// Opens an event; with E2BIG comes the size that the kernel wrote back, if
/// it did (trap 1).
fn open(
    kernel: &dyn Kernel,
    attr: &mut EncodedAttr,
    place: EventPlace<'_>,
) -> Result<PerfEvent, (io::Error, Option<u32>)> {
    let sent = attr.size();
    kernel.open(attr, place).map_err(|error| {
        let known = attr.size();
        attr.set_size(sent);
        let too_big = error.raw_os_error() == Some(libc::E2BIG) && known != sent;
        (error, too_big.then_some(known))
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::hardware;
