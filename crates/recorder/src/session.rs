//! One sampling job from its first descriptor to its last record.
//!
//! Everything runs on the caller's thread: [`Session::wait`] until a ring
//! has filled up somewhat, [`Session::drain`] what there is into the sink.

pub mod attach;
pub mod attrs;
pub(crate) mod closed_event_totals;
pub mod command;
mod count_filter;
mod cutoff;
mod decimator;
pub mod detached_tracer;
pub(crate) mod error;
pub(crate) mod event_set;
mod finish;
mod heap;
mod in_kernel;
pub mod interval;
pub mod kernel;
pub mod ledger;
mod losses;
mod negotiation;
pub mod open_error;
pub(crate) mod opener;
mod pass;
mod pausing;
pub mod preamble;
mod ring_losses;
mod rings;
mod sample_origin;
mod scrub;
mod settings;
mod shadow_counter;
pub(crate) mod sink;
pub mod synthesize;
mod wait;
pub mod watched_place;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use perfdata::{Pid, Tid};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::heap::{HeapLog, HeapSampler};
use crate::machine::process_identity::is_alive;
use crate::machine::raise_open_files;
use crate::regions::RegionLog;
use crate::session::attach::{AttachedEvents, attach};
use crate::session::command::Command;
use crate::session::ledger::Ledger;
use crate::{Fallback, Plan, PlannedEvent, Target};
use attrs::SessionAttrs;
use closed_event_totals::ClosedEventTotals;
use count_filter::CountFilter;
use decimator::Decimator;
pub use error::{AttachError, OpenError, SessionError};
use event_set::{EventSet, OpenedEventIds};
use in_kernel::Programs;
use kernel::{Kernel, Linux};
use negotiation::NegotiatedAttrs;
use opener::Opener;
pub use pass::DrainPass;
use pass::RingState;
use pausing::Pauses;
use perfdata::kernel_list::PackedKernelList;
use preamble::{ProcessDescriber, SynthesizedRecords, kernel_list};
use rings::CpuRings;
use sample_origin::{EventIds, RingEvents};
pub use scrub::SampleScrubber;
pub use settings::SessionSettings;
use sink::OutputBuffer;
pub use sink::Sink;
pub use wait::{SessionWake, TargetState};

/// Said of a program that the kernel lets nobody sample from its start on.
const SET_USER_ID: &str = "the command is a set-user-ID or set-group-ID program of another user: \
                           the kernel ends sampling when it starts; run ebs as that user, or \
                           attach to its PID as root";

/// Open events, their rings, and the account of what came through them.
///
/// In order: [`open`](Session::open), [`preamble`](Session::preamble),
/// [`start`](Session::start), then [`wait`](Session::wait) and
/// [`drain`](Session::drain) in turn, [`finish`](Session::finish). Dropped
/// at any point, it stops sampling and leaves the target running.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    attrs: SessionAttrs,
    given_up: Vec<Fallback>,
    settings: SessionSettings,
    notes: Vec<String>,
    // Events before rings: what writes goes before what is written to.
    sets: Vec<EventSet>,
    programs: Programs,
    closed_totals: ClosedEventTotals,
    rings: Vec<CpuRings>,
    ring_states: Vec<RingState>,
    command: Option<Command>,
    /// Of an attached process.
    pidfd: Option<OwnedFd>,
    state: TargetState,
    /// The thread that opened the rings has ended: poll(2) says only that.
    rings_unpollable: bool,
    /// Records that are alike are one event seen twice.
    drop_duplicates: bool,
    ids: OpenedEventIds,
    event_ids: EventIds,
    /// For each event of the ledger, what shows the kernel in its samples.
    scrubs: Vec<SampleScrubber>,
    /// The attached process and its children, read at once: they may end
    /// before the preamble is written.
    synthesized: SynthesizedRecords,
    kernel_list: Option<PackedKernelList>,
    /// For each event of the ledger, which of its samples are kept.
    decimators: Vec<Decimator>,
    /// The same for what a count is of; None: all samples.
    count_filters: Vec<Option<CountFilter>>,
    regions: Option<RegionLog>,
    heap: Option<HeapLog>,
    heap_sampler: HeapSampler,
    last_notes: Vec<String>,
    output_buffer: OutputBuffer,
    ledger: Ledger,
    seen: PassSnapshot,
    /// When the counts of rings that were full were looked at last.
    looked_at_losses: Option<Instant>,
    started: Option<Instant>,
    stopped: Option<Duration>,
    pauses: Pauses,
    /// The kernel's interval is not what it was at the start.
    interval_changed: bool,
    /// kernel.perf_event_max_sample_rate when the session opened.
    sample_rate: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PassSnapshot {
    samples: u64,
    /// Of these, samples that count.
    counted: u64,
    /// Tasks that were started meanwhile.
    forks: u64,
}

impl Session {
    /// Opens everything: rings, and the events of the plan's target. A
    /// command is forked and waits; its files, signal mask and limits are the
    /// caller's as they are now. A process is sampled from here on, as only
    /// the attach can enable events without missing a thread; the others from
    /// [`start`](Session::start) on. The session must stay with
    /// threads of this process, best the calling one: the rings wake only
    /// while that lives.
    ///
    /// # Errors
    /// What the kernel refused, in words; a target that is not there.
    pub fn open(plan: Plan, settings: SessionSettings) -> Result<Session, SessionError> {
        Session::open_on(&Linux, plan, settings)
    }

    pub fn open_on(
        kernel: &dyn Kernel,
        plan: Plan,
        settings: SessionSettings,
    ) -> Result<Session, SessionError> {
        Session::open_with(kernel, plan, settings, None)
    }

    /// The same for a command that stands behind its exec
    /// ([`Command::enter`]): it is sampled from there on.
    ///
    /// # Errors
    /// As of [`open`](Session::open).
    pub fn open_entered(
        plan: Plan,
        settings: SessionSettings,
        command: Command,
    ) -> Result<Session, SessionError> {
        Session::open_with(&Linux, plan, settings, Some(command))
    }

    fn open_with(
        kernel: &dyn Kernel,
        mut plan: Plan,
        settings: SessionSettings,
        entered: Option<Command>,
    ) -> Result<Session, SessionError> {
        let mut notes = Vec::new();
        let kernel_list = kernel_list(&plan, &settings, &mut notes);
        let regions = settings.regions.then(RegionLog::create).transpose();
        let regions = regions.map_err(SessionError::system("memfd_create"))?;
        let heap = settings.heap.clone().map(|it| heap::open(it, &settings.root)).transpose()?;
        let mut variables: Vec<_> = regions.iter().map(RegionLog::variable).collect();
        variables.extend(heap.iter().flat_map(HeapLog::variables));
        notes.extend(heap.as_ref().and_then(heap::begun));
        let command = match plan.target {
            Target::Command if entered.is_some() => entered,
            Target::Command if settings.held.is_some() => None,
            Target::Command => Some(Command::hold_with(&settings.command, &variables)?),
            Target::Process(_) | Target::System | Target::Cgroup => None,
        };
        // After the fork: the command keeps the limit it was given.
        let limit = raise_open_files();
        let held = settings.held.as_ref().map(|(pid, _)| *pid);
        let held = command.as_ref().map(Command::pid).or(held);
        let mut programs = Programs::load(kernel, &mut plan, &settings, held)?;
        let pauses = Pauses::new(settings.begins_paused);
        if pauses.are_on() {
            programs.stop();
        }
        let (rings, of_rings) = rings::map(&plan)?;
        notes.extend(of_rings);
        let offline = |event: &&PlannedEvent| {
            !event.carrier && !rings.iter().any(|ring| event.is_on(ring.cpu))
        };
        notes.extend(
            plan.events
                .iter()
                .filter(offline)
                .map(|event| format!("{} is not sampled: none of its CPUs is online", event.name)),
        );
        let outputs = rings.iter().map(Into::into).collect();
        let cgroup = settings.cgroup.as_deref().filter(|_| plan.target == Target::Cgroup);
        if plan.target == Target::Cgroup && cgroup.is_none() {
            return Err(SessionError::NoGroup);
        }
        let mut opener = Opener::new(&plan, kernel, outputs, limit)?;
        opener = opener.in_group(cgroup).with_programs(&programs).paused(pauses.are_on())?;
        opener = opener.of_one_thread(settings.thread.is_some())?;
        let is_entered = command.as_ref().is_some_and(Command::is_entered);
        opener = opener.behind_exec(is_entered)?;
        let mut attached = AttachedEvents::default();
        let mut pidfd = None;
        match plan.target {
            Target::System | Target::Cgroup => attached.sets.extend(opener.open(None)?),
            Target::Command => {
                let held = settings.held.as_ref();
                if let Some((_, held)) = held {
                    pidfd = Some(held.try_clone().map_err(SessionError::system("dup"))?);
                }
                let held = held.map_or(Pid(0), |(pid, _)| *pid);
                let pid = command.as_ref().map_or(held, Command::pid);
                let set = opener.open(Some(Tid(pid.0)))?;
                attached.sets.push(set.ok_or(AttachError::Gone { pid })?);
                still_alive(pid, pidfd.as_ref())?;
            }
            Target::Process(pid) => {
                attached = match settings.thread {
                    Some(tid) => attach_to_thread(pid, tid, &mut opener)?,
                    None => attach_on_own_thread(pid, &settings, &mut opener)?,
                };
                let named = settings.process.as_ref().map(|named| named.try_clone()).transpose();
                pidfd = named.map_err(SessionError::system("dup"))?;
                still_alive(pid, pidfd.as_ref())?;
                if pidfd.is_none() {
                    pidfd = Some(open_pidfd(pid)?);
                }
            }
        }
        let NegotiatedAttrs { attrs, given_up, notes: lessons } = opener.into_outcome();
        notes.extend(lessons);
        notes.extend(attached.gaps.notes());
        notes.extend(programs.notes(attached.gaps.untraced));
        if command.as_ref().is_some_and(Command::changes_user) {
            notes.push(SET_USER_ID.into());
        }
        let ids = ids(&attached)?;
        let is_sampled = matches!(plan.target, Target::Process(_));
        if is_sampled && !pauses.are_on() {
            programs.start();
        }
        let here = match (&command, plan.target) {
            (Some(command), _) if is_entered => Some(Target::Process(command.pid())),
            (_, Target::Process(_)) => Some(plan.target),
            (_, Target::Command | Target::System | Target::Cgroup) => None,
        };
        let synthesized = here.map_or_else(SynthesizedRecords::default, |target| {
            ProcessDescriber::new(target, &settings, &attrs.side).describe()
        });
        let ring_state = |ring: &CpuRings| RingState::new(RingEvents::of(ring.cpu, &attrs, &ids));
        let ring_states = rings.iter().map(ring_state).collect();
        let event_ids = EventIds::new(&attrs, &ids);
        let scrubs = match settings.scrub {
            true => attrs.sampled().map(|(_, event)| SampleScrubber::of(event)).collect(),
            false => Vec::new(),
        };
        let decimators = attrs.sampled().map(|(_, event)| Decimator::new(&event.attr)).collect();
        let count_filters = attrs.sampled().map(|(_, event)| CountFilter::of(event)).collect();
        let ledger = Ledger::of(attrs.sampled().map(|(_, event)| event.name.as_str()));
        let sample_rate = sample_rate(&settings.root);
        Ok(Session {
            plan,
            output_buffer: OutputBuffer::new(ledger.by_event.len()),
            attrs,
            regions,
            heap,
            heap_sampler: HeapSampler::default(),
            last_notes: Vec::new(),
            given_up,
            settings,
            notes,
            sets: attached.sets,
            programs,
            closed_totals: attached.closed_totals,
            rings,
            ring_states,
            command,
            pidfd,
            state: TargetState::Running,
            rings_unpollable: false,
            drop_duplicates: attached.gaps.untraced,
            ids,
            event_ids,
            scrubs,
            decimators,
            count_filters,
            synthesized,
            kernel_list,
            ledger,
            seen: PassSnapshot::default(),
            looked_at_losses: None,
            started: is_sampled.then(Instant::now),
            stopped: None,
            pauses,
            interval_changed: false,
            sample_rate,
        })
    }

    /// Lets the command exec, or enables the system's events; then describes
    /// the processes that run already.
    ///
    /// # Errors
    /// A command that cannot be executed; a sink that fails.
    pub fn start(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let now = Instant::now();
        let paused = self.pauses.are_on();
        if !paused {
            self.programs.start();
        }
        match (&mut self.command, self.plan.target) {
            (Some(command), _) if !command.is_entered() => command.release()?,
            (Some(_), _) | (None, Target::System | Target::Cgroup) => {
                let enabled = self.sets.iter().try_for_each(|set| match paused {
                    true => set.enable_side(None),
                    false => set.enable(None),
                });
                enabled.map_err(|failure| OpenError::event(failure, &self.plan))?;
                self.command.as_mut().map_or(Ok(()), Command::release)?;
            }
            (None, _) => {}
        }
        self.started.get_or_insert(now);
        self.describe_processes(sink)
    }

    /// Stops sampling, in all threads and children; the command runs on.
    /// What the rings hold stays to be drained.
    pub fn stop(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        self.sets.iter().for_each(EventSet::disable);
        self.programs.stop();
        self.heap.iter().for_each(HeapLog::stop);
        self.stopped = Some(self.started.map_or(Duration::ZERO, |at| at.elapsed()));
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan's events as they were opened: with the attr that the kernel
    /// took and the promises that hold for that.
    pub fn events(&self) -> &[PlannedEvent] {
        &self.attrs.events
    }

    /// What had to be given up of all events, as this kernel does not know
    /// it. Lower precision is in [`events`](Session::events).
    pub fn given_up(&self) -> &[Fallback] {
        &self.given_up
    }

    /// What a program in the kernel does, in words; None: nothing was asked
    /// of one.
    pub fn delivery_in_words(&self) -> Option<&str> {
        self.programs.delivery_mode.in_words()
    }

    /// Said to the user, beside the plan's own notes: smaller rings, older
    /// kernels, doubts about an attach.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The command, for its status; None for other targets.
    pub fn command(&mut self) -> Option<&mut Command> {
        self.command.as_mut()
    }

    pub fn last_notes(&self) -> &[String] {
        &self.last_notes
    }

    pub fn regions(&self) -> Option<&RegionLog> {
        self.regions.as_ref()
    }

    /// The account so far; complete only after [`finish`](Session::finish).
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// A thread alone can start nobody whose events would have to be watched.
fn attach_to_thread(
    pid: Pid,
    tid: Tid,
    opener: &mut Opener<'_>,
) -> Result<AttachedEvents, AttachError> {
    let set = opener.open(Some(tid))?.ok_or(AttachError::Gone { pid })?;
    opener.enable(&set, tid)?;
    Ok(AttachedEvents { sets: vec![set], ..AttachedEvents::default() })
}

/// A tracer must be one thread, and lets its target go by ending.
fn attach_on_own_thread(
    pid: Pid,
    settings: &SessionSettings,
    opener: &mut Opener<'_>,
) -> Result<AttachedEvents, AttachError> {
    let proc = settings.root.join("proc");
    std::thread::scope(|scope| {
        let tracer = scope.spawn(|| attach(pid, &proc, opener, settings.attach_budget));
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Whether what was opened by number is the process that was named: as long
/// as that is alive, nobody else has its number.
fn still_alive(pid: Pid, named: Option<&OwnedFd>) -> Result<(), AttachError> {
    match named {
        Some(pidfd) if !is_alive(pidfd.as_fd()) => Err(AttachError::Gone { pid }),
        _ => Ok(()),
    }
}

fn open_pidfd(pid: Pid) -> Result<OwnedFd, AttachError> {
    let raw = rustix::process::Pid::from_raw(pid.0).ok_or(AttachError::Absent { pid })?;
    pidfd_open(raw, PidfdFlags::empty()).map_err(|errno| match errno {
        rustix::io::Errno::SRCH => AttachError::Gone { pid },
        other => AttachError::Look { pid, error: other.into() },
    })
}

/// Ids of all events, closed ones included.
fn ids(attached: &AttachedEvents) -> Result<OpenedEventIds, SessionError> {
    let mut ids = attached.closed_totals.ids.clone();
    for set in &attached.sets {
        ids.add(set).map_err(SessionError::system("PERF_EVENT_IOC_ID"))?;
    }
    Ok(ids)
}

/// kernel.perf_event_max_sample_rate now, samples a second on each CPU.
fn sample_rate(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/sys/kernel/perf_event_max_sample_rate"));
    text.ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
