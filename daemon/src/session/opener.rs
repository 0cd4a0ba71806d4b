//! Opening a task's events on every CPU, into the rings.

use std::collections::VecDeque;
use std::io;

use record::attr::Sampling;
use record::{Attr, AttrFlags, Cpu, Tid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::error::OpenError;
use super::rings::CpuRings;
use crate::sys::event::{Counts, EncodedAttr, Event};
use crate::{Call, Fallback, OpenFailure, Plan, Target};

/// The events of one task (or of all tasks): a sampled and a side one for
/// each CPU.
#[derive(Debug)]
pub(crate) struct EventSet {
    pub(crate) pairs: Vec<Pair>,
}

/// The two events of one task on one CPU.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) cpu: Cpu,
    pub(crate) sampled: Event,
    pub(crate) side: Event,
}

impl EventSet {
    /// Starts counting; side records first, so that no mapping is missed.
    /// `task` is whose events these are.
    pub(crate) fn enable(&self, task: Option<Tid>) -> Result<(), OpenFailure> {
        let enable = |pair: &Pair, event: &Event| {
            event.enable().map_err(|error| OpenFailure {
                call: Call::Enable,
                errno: error.raw_os_error().unwrap_or(0),
                cpu: Some(pair.cpu),
                task,
            })
        };
        self.pairs.iter().try_for_each(|pair| enable(pair, &pair.side))?;
        self.pairs.iter().try_for_each(|pair| enable(pair, &pair.sampled))
    }

    /// Whether its task has ended and no child's events hang on these: their
    /// counts are final (is_event_hup(), kernel/events/core.c).
    pub(crate) fn hung_up(&self) -> io::Result<bool> {
        all_hung_up(&self.pairs)
    }

    /// Ids of the pairs, sampled and side.
    pub(crate) fn ids(&self) -> io::Result<Vec<(u64, u64)>> {
        self.pairs.iter().map(|pair| Ok((pair.sampled.id()?, pair.side.id()?))).collect()
    }
}

/// Whether the task of each pair has ended, with all that inherited it.
pub(crate) fn all_hung_up<'p>(pairs: impl IntoIterator<Item = &'p Pair>) -> io::Result<bool> {
    let sampled = pairs.into_iter().map(|pair| PollFd::new(&pair.sampled, PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> = sampled.collect();
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&zero)) {
        Ok(_) => Ok(fds.iter().all(|fd| fd.revents().contains(PollFlags::HUP))),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens events; knows which parts of the attrs this kernel refused.
#[derive(Debug)]
pub(crate) struct Opener<'s> {
    plan: &'s Plan,
    rings: &'s [CpuRings],
    attrs: Attrs,
    encoded: (EncodedAttr, EncodedAttr),
    fallbacks: VecDeque<Fallback>,
    given_up: Vec<Fallback>,
    any_open: bool,
    /// Events that are open now, for the text of EMFILE.
    opened: usize,
    limit: Option<u64>,
}

/// Both attrs as they are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attrs {
    pub(crate) event: Attr,
    pub(crate) side: Attr,
}

impl Attrs {
    /// The plan's attrs with what the target calls for: disabled until
    /// started, inherited by what a task starts, enabled by a command's exec.
    pub(crate) fn of(plan: &Plan) -> Attrs {
        let mut event = plan.events.first().map(|event| event.attr.clone()).unwrap_or_default();
        let mut side = plan.side.clone();
        for attr in [&mut event, &mut side] {
            attr.flags.insert(AttrFlags::DISABLED);
            attr.flags.set(AttrFlags::INHERIT, plan.target != Target::System);
            attr.flags.set(AttrFlags::ENABLE_ON_EXEC, plan.target == Target::Command);
        }
        Attrs { event, side }
    }

    /// The sample period; 0: it varies.
    pub(crate) fn period(&self) -> u64 {
        match self.event.sampling() {
            Sampling::Period(period) => period,
            Sampling::Frequency(_) => 0,
        }
    }

    fn encoded(&self) -> io::Result<(EncodedAttr, EncodedAttr)> {
        Ok((EncodedAttr::new(&self.event)?, EncodedAttr::new(&self.side)?))
    }
}

impl<'s> Opener<'s> {
    /// `limit`: open files allowed.
    pub(crate) fn new(
        plan: &'s Plan,
        rings: &'s [CpuRings],
        limit: Option<u64>,
    ) -> Result<Opener<'s>, OpenError> {
        let attrs = Attrs::of(plan);
        let encoded = attrs.encoded().map_err(OpenError::Attr)?;
        let fallbacks = plan.fallbacks.iter().copied().collect();
        Ok(Opener {
            plan,
            rings,
            attrs,
            encoded,
            fallbacks,
            given_up: Vec::new(),
            any_open: false,
            opened: 0,
            limit,
        })
    }

    /// Opens the events of `task` (None: of all), disabled, on every CPU of
    /// the rings. None: there is no such task any more.
    pub(crate) fn open(&mut self, task: Option<Tid>) -> Result<Option<EventSet>, OpenError> {
        let mut pairs = Vec::with_capacity(self.rings.len());
        let rings = self.rings;
        for ring in rings {
            match self.pair(task, ring) {
                Ok(pair) => {
                    self.any_open = true;
                    self.opened += 2;
                    pairs.push(pair);
                }
                Err(failure) => match failure.errno {
                    libc::ESRCH if task.is_some() => {
                        self.opened = self.opened.saturating_sub(2 * pairs.len());
                        return Ok(None);
                    }
                    // The CPU went offline since the rings were mapped.
                    libc::ENODEV => {}
                    libc::EMFILE | libc::ENFILE => return Err(self.too_many()),
                    _ => return Err(OpenError::event(failure, self.plan)),
                },
            }
        }
        Ok(Some(EventSet { pairs }))
    }

    fn pair(&mut self, task: Option<Tid>, ring: &CpuRings) -> Result<Pair, OpenFailure> {
        loop {
            let failure = match self.try_pair(task, ring) {
                Ok(pair) => return Ok(pair),
                Err(failure) => failure,
            };
            // Only the first open of all can tell what the kernel knows.
            if failure.errno != libc::EINVAL || self.any_open {
                return Err(failure);
            }
            let Some(fallback) = self.fallbacks.pop_front() else { return Err(failure) };
            fallback.apply(&mut self.attrs.event);
            fallback.apply(&mut self.attrs.side);
            self.given_up.push(fallback);
            match self.attrs.encoded() {
                Ok(encoded) => self.encoded = encoded,
                Err(_) => return Err(failure),
            }
        }
    }

    fn try_pair(&mut self, task: Option<Tid>, ring: &CpuRings) -> Result<Pair, OpenFailure> {
        let pid = task.map_or(-1, |tid| tid.0);
        let cpu = i32::try_from(ring.cpu.0).unwrap_or(-1);
        let fail = |call| {
            move |error: io::Error| OpenFailure {
                call,
                errno: error.raw_os_error().unwrap_or(0),
                cpu: Some(ring.cpu),
                task,
            }
        };
        let sampled = Event::open(&mut self.encoded.0, pid, cpu).map_err(fail(Call::OpenEvent))?;
        let side = Event::open(&mut self.encoded.1, pid, cpu).map_err(fail(Call::OpenSide))?;
        sampled.output_to(ring.samples.owner()).map_err(fail(Call::SetOutput))?;
        side.output_to(ring.side.owner()).map_err(fail(Call::SetOutput))?;
        Ok(Pair { cpu: ring.cpu, sampled, side })
    }

    fn too_many(&self) -> OpenError {
        OpenError::Descriptors {
            opened: self.opened,
            cpus: self.rings.len(),
            limit: self.limit.map_or_else(|| "the system's".into(), |limit| limit.to_string()),
        }
    }

    /// Enables a set that was opened here for `task`.
    pub(crate) fn enable(&self, set: &EventSet, task: Tid) -> Result<(), OpenError> {
        set.enable(Some(task)).map_err(|failure| OpenError::event(failure, self.plan))
    }

    /// Closes a set that was opened here, and keeps its counts in `retired`.
    pub(crate) fn retire(&mut self, set: EventSet, retired: &mut Retired) {
        self.opened = self.opened.saturating_sub(2 * set.pairs.len());
        retired.add(set, self.attrs.period());
    }

    /// The attrs as opened, and what had to be given up for that.
    pub(crate) fn into_outcome(self) -> (Attrs, Vec<Fallback>) {
        (self.attrs, self.given_up)
    }
}

/// What events have counted: those that are closed, then all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retired {
    pub(crate) sampled: Counts,
    pub(crate) side_lost: u64,
    /// An event's count could not be read.
    pub(crate) unread: bool,
    /// Full periods, summed over events.
    pub(crate) periods: u64,
    /// Ids of closed events, sampled and side: their records may be in the
    /// rings still.
    pub(crate) ids: Vec<(u64, u64)>,
}

impl Retired {
    /// Reads what a set counted, and closes it: events that its tasks'
    /// children inherited go with it.
    fn add(&mut self, set: EventSet, period: u64) {
        self.read(&set, period);
        match set.ids() {
            Ok(ids) => self.ids.extend(ids),
            Err(_) => self.unread = true,
        }
    }

    /// Adds what a set has counted so far; `period` is its events', 0 where
    /// it varies.
    pub(crate) fn read(&mut self, set: &EventSet, period: u64) {
        for pair in &set.pairs {
            match pair.sampled.counts() {
                Ok(counts) => {
                    let sum = &mut self.sampled;
                    sum.count += counts.count;
                    sum.enabled += counts.enabled;
                    sum.running += counts.running;
                    sum.lost += counts.lost;
                    self.periods += counts.count.checked_div(period).unwrap_or(0);
                }
                Err(_) => self.unread = true,
            }
            match pair.side.counts() {
                Ok(counts) => self.side_lost += counts.lost,
                Err(_) => self.unread = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_enable_says_where() {
        let no_event = || Event::from(std::os::fd::OwnedFd::from(std::io::pipe().unwrap().0));
        let pair = Pair { cpu: Cpu(3), sampled: no_event(), side: no_event() };
        let failure = EventSet { pairs: vec![pair] }.enable(Some(Tid(7))).unwrap_err();
        let (cpu, task) = (Some(Cpu(3)), Some(Tid(7)));
        assert_eq!(failure, OpenFailure { call: Call::Enable, errno: libc::ENOTTY, cpu, task });
    }
}
