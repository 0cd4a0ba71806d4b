//! Open events of one task, or of all tasks.

use std::io;

use perfdata::{Cpu, Tid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::sys::event::PerfEvent;
use crate::{FailedCall, OpenFailure};

/// The events of one task (or of all tasks) on every CPU.
#[derive(Debug)]
pub(crate) struct EventSet {
    pub(crate) cpus: Vec<CpuEvents>,
}

#[derive(Debug)]
pub(crate) struct CpuEvents {
    pub(crate) cpu: Cpu,
    /// Leaders before their members.
    pub(crate) sampled: Vec<SampledEvent>,
    pub(crate) side: PerfEvent,
}

#[derive(Debug)]
pub(crate) struct SampledEvent {
    /// In the plan.
    pub(crate) index: usize,
    pub(crate) event: PerfEvent,
    /// What counts the same beside it, without samples.
    pub(crate) shadow_counter: Option<PerfEvent>,
}

impl CpuEvents {
    /// Descriptors that these hold.
    pub(crate) fn count(&self) -> usize {
        let shadow_counters =
            self.sampled.iter().filter(|sampled| sampled.shadow_counter.is_some());
        self.sampled.len() + shadow_counters.count() + 1
    }

    /// `index`: in the plan.
    fn enable(
        &self,
        event: &PerfEvent,
        index: Option<usize>,
        task: Option<Tid>,
    ) -> Result<(), OpenFailure> {
        event.enable().map_err(|error| OpenFailure {
            errno: error.raw_os_error().unwrap_or(0),
            cpu: Some(self.cpu),
            task,
            event: index,
            ..OpenFailure::of(FailedCall::Enable)
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenedEventIds {
    pub(crate) events: Vec<Vec<u64>>,
    pub(crate) side: Vec<u64>,
}

impl OpenedEventIds {
    pub(crate) fn of(&self, index: usize) -> &[u64] {
        self.events.get(index).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add(&mut self, set: &EventSet) -> io::Result<()> {
        for on_cpu in &set.cpus {
            for sampled in &on_cpu.sampled {
                let id = sampled.event.id()?;
                if self.events.len() <= sampled.index {
                    self.events.resize(sampled.index + 1, Vec::new());
                }
                self.events[sampled.index].push(id);
            }
            self.side.push(on_cpu.side.id()?);
        }
        Ok(())
    }
}

impl EventSet {
    /// Descriptors that the set holds.
    pub(crate) fn count(&self) -> usize {
        self.cpus.iter().map(CpuEvents::count).sum()
    }

    /// Starts counting; sideband records first, so that no mapping is missed.
    /// `task` is whose events these are.
    pub(crate) fn enable(&self, task: Option<Tid>) -> Result<(), OpenFailure> {
        self.enable_side(task)?;
        self.enable_sampled(task)
    }

    pub(crate) fn enable_side(&self, task: Option<Tid>) -> Result<(), OpenFailure> {
        self.cpus.iter().try_for_each(|on_cpu| on_cpu.enable(&on_cpu.side, None, task))
    }

    /// Starts what is sampled: members of groups first, which wait for their
    /// leaders.
    pub(crate) fn enable_sampled(&self, task: Option<Tid>) -> Result<(), OpenFailure> {
        self.cpus.iter().try_for_each(|on_cpu| {
            let mut members_first = on_cpu.sampled.iter().rev();
            members_first.try_for_each(|s| {
                let mut both = s.shadow_counter.iter().chain([&s.event]);
                both.try_for_each(|event| on_cpu.enable(event, Some(s.index), task))
            })
        })
    }

    /// Stops counting what is sampled; a group as a whole, with its leader.
    /// Sideband records go on.
    pub(crate) fn disable(&self) {
        for sampled in self.cpus.iter().flat_map(|on_cpu| &on_cpu.sampled) {
            // Fails for no open event (perf_ioctl(), kernel/events/core.c).
            let _always_works = sampled.event.disable();
            let _always_works = sampled.shadow_counter.as_ref().map(PerfEvent::disable);
        }
    }

    /// Whether its task has ended and no child's events hang on these: their
    /// counts are final (is_event_hup(), kernel/events/core.c).
    pub(crate) fn hung_up(&self) -> io::Result<bool> {
        all_hung_up(std::slice::from_ref(self))
    }
}

/// Whether the task of each set has ended, with all that inherited its
/// events.
pub(crate) fn all_hung_up(sets: &[EventSet]) -> io::Result<bool> {
    let sampled = sets.iter().flat_map(|set| &set.cpus).flat_map(|on_cpu| &on_cpu.sampled);
    let mut fds: Vec<PollFd<'_>> =
        sampled.map(|sampled| PollFd::new(&sampled.event, PollFlags::IN)).collect();
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&zero)) {
        Ok(_) => Ok(fds.iter().all(|fd| fd.revents().contains(PollFlags::HUP))),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_enable_says_where() {
        let no_event = || PerfEvent::from(std::os::fd::OwnedFd::from(std::io::pipe().unwrap().0));
        let sampled = vec![SampledEvent { index: 0, event: no_event(), shadow_counter: None }];
        let on_cpu = CpuEvents { cpu: Cpu(3), sampled, side: no_event() };
        let set = EventSet { cpus: vec![on_cpu] };
        let expected = OpenFailure {
            errno: libc::ENOTTY,
            cpu: Some(Cpu(3)),
            task: Some(Tid(7)),
            ..OpenFailure::of(FailedCall::Enable)
        };
        assert_eq!(set.enable(Some(Tid(7))).unwrap_err(), expected);
        assert_eq!(set.count(), 2);
    }
}
