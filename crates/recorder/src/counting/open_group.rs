//! A group that is open, in one place: a task or a CPU.

use std::io;

use perfdata::{Cpu, Tid};

use super::slice_sums::TimeSlice;
use super::{CountingGroup, SliceSums};
use crate::plan::attrs;
use crate::session::OpenError;
use crate::session::kernel::{Kernel, Linux};
use crate::sys::event::{EncodedAttr, EventPlace, GroupCounts, PerfEvent};
use crate::{FailedCall, OpenFailure, Target};

#[derive(Clone, Copy, Debug)]
pub(super) struct CountingPlace {
    pub(super) task: Option<Tid>,
    pub(super) cpu: Option<Cpu>,
}

#[derive(Debug)]
pub(super) struct OpenGroup {
    /// In the plan.
    pub(super) group: usize,
    /// Events of that group, the leader first.
    pub(super) members: Vec<usize>,
    events: Vec<PerfEvent>,
    last: GroupCounts,
    /// Of each member, from the start on.
    pub(super) sums: Vec<SliceSums>,
    /// The same, from the last window's end on.
    pub(super) window: Vec<SliceSums>,
}

impl OpenGroup {
    /// Opens these members of a group, disabled.
    pub(super) fn open(
        planned: &CountingGroup,
        group: usize,
        members: &[usize],
        place: CountingPlace,
        target: Target,
    ) -> Result<OpenGroup, OpenFailure> {
        let mut events: Vec<PerfEvent> = Vec::new();
        for &member in members {
            let event = &planned.events[member];
            let failed = |error: &io::Error| OpenFailure {
                errno: error.raw_os_error().unwrap_or(0),
                cpu: place.cpu,
                task: place.task,
                event: event.planned.as_ref().map(|(_, index)| *index),
                ..OpenFailure::of(FailedCall::OpenEvent)
            };
            let attr = attrs::counted(&event.attr, target, events.is_empty());
            let mut attr = EncodedAttr::new(&attr).map_err(|error| failed(&error))?;
            let at = EventPlace {
                pid: place.task.map_or(-1, |task| task.0),
                cpu: place.cpu.and_then(|cpu| i32::try_from(cpu.0).ok()).unwrap_or(-1),
                leader: events.first(),
                leads: events.is_empty() && members.len() > 1,
                cgroup: None,
            };
            let opened = Linux.open(&mut attr, at).map_err(|error| failed(&error))?;
            events.push(opened);
        }
        let nothing = vec![SliceSums::default(); members.len()];
        let last = GroupCounts { counts: vec![0; members.len()], ..GroupCounts::default() };
        let members = members.to_vec();
        Ok(OpenGroup { group, members, events, last, sums: nothing.clone(), window: nothing })
    }

    /// Starts it, in inherited children too.
    pub(super) fn enable(&self) -> io::Result<()> {
        self.events.first().map_or(Ok(()), PerfEvent::enable)
    }

    pub(super) fn disable(&self) {
        // Fails for no open event (perf_ioctl(), kernel/events/core.c).
        let _always_works = self.events.first().map(PerfEvent::disable);
    }

    pub(super) fn look(&mut self) -> io::Result<()> {
        let Some(leader) = self.events.first() else { return Ok(()) };
        let now = leader.group_counts(self.events.len())?;
        for (at, count) in now.counts.iter().enumerate() {
            let slice = TimeSlice {
                counted: count.saturating_sub(self.last.counts[at]),
                enabled: now.enabled.saturating_sub(self.last.enabled),
                running: now.running.saturating_sub(self.last.running),
            };
            self.sums[at].add(slice);
            self.window[at].add(slice);
        }
        self.last = now;
        Ok(())
    }

    pub(super) fn waits(&self) -> bool {
        self.last.running < self.last.enabled
    }
}

pub(super) fn explained(planned: &CountingGroup, member: usize, failure: OpenFailure) -> OpenError {
    match planned.events.get(member).and_then(|event| event.planned.as_ref()) {
        Some((plan, _)) => OpenError::event(failure, plan),
        None => OpenError::Attr(io::Error::from_raw_os_error(failure.errno)),
    }
}
