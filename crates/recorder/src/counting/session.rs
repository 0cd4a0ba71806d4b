//! Groups that count, from their opening to the last look at them.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use perfdata::{Cpu, Pid, Tid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use super::open_group::{CountingPlace, OpenGroup, explained};
use super::{Counting, CountingPlan, EventCount, SliceSums, TotalCounts};
use crate::machine::{facts, raise_open_files};
use crate::session::{AttachError, OpenError, SessionError, TargetState};
use crate::{Command, OpenFailure, Target};

/// How often groups that take turns are looked at: some of the kernel's
/// turns, 4 ms each.
const TURNS: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub struct CountingSettings {
    pub target: Target,
    /// The command: the target, or beside the system the span of counting.
    pub command: Vec<OsString>,
    /// For the system: these CPUs alone; None: all that are online.
    pub cpus: Option<Vec<Cpu>>,
    /// Where /proc and /sys are: `/`.
    pub root: PathBuf,
}

/// Groups that are open, and what they counted so far.
#[derive(Debug)]
pub struct CountingSession {
    plan: CountingPlan,
    settings: CountingSettings,
    open: Vec<OpenGroup>,
    /// Events that did not open, by group and event.
    refused: Vec<Vec<Option<String>>>,
    notes: Vec<String>,
    command: Option<Command>,
    pidfd: Option<OwnedFd>,
    started: Option<Instant>,
    window_began: Option<Instant>,
    wall: Duration,
}

impl CountingSession {
    /// Opens everything; a command is forked and waits.
    ///
    /// # Errors
    /// What the kernel refused for want of rights; a target that is not
    /// there. An event that this machine lacks is told in the counts.
    pub fn open(
        plan: CountingPlan,
        settings: CountingSettings,
    ) -> Result<CountingSession, SessionError> {
        let command = match settings.command.is_empty() {
            true => None,
            false => Some(Command::hold(&settings.command)?),
        };
        raise_open_files();
        let refused = plan.groups.iter().map(|group| vec![None; group.events.len()]).collect();
        let mut session = CountingSession {
            plan,
            settings,
            open: Vec::new(),
            refused,
            notes: Vec::new(),
            command,
            pidfd: None,
            started: None,
            window_began: None,
            wall: Duration::ZERO,
        };
        match session.settings.target {
            Target::Process(pid) => session.open_process(pid)?,
            Target::Command => {
                let task = session.command.as_ref().map(|command| Tid(command.pid().0));
                session.open_at(&|_| vec![CountingPlace { task, cpu: None }])?;
            }
            Target::System | Target::Cgroup => session.open_system()?,
        }
        Ok(session)
    }

    fn open_system(&mut self) -> Result<(), SessionError> {
        let online = facts::online_cpus(&self.settings.root).unwrap_or_default();
        let wanted = self.settings.cpus.clone();
        if let Some(&cpu) = wanted.iter().flatten().find(|cpu| !online.contains(cpu)) {
            return Err(OpenError::Offline { cpu, online: facts::listed(&online) }.into());
        }
        let is_wanted = |cpu: &Cpu| wanted.as_ref().is_none_or(|wanted| wanted.contains(cpu));
        self.open_at(&|cpus: Option<&Vec<Cpu>>| {
            let has = |cpu: &&Cpu| cpus.is_none_or(|cpus| cpus.contains(cpu)) && is_wanted(cpu);
            let place = |cpu: &Cpu| CountingPlace { task: None, cpu: Some(*cpu) };
            online.iter().filter(has).map(place).collect()
        })
    }

    /// All threads, until a look finds none without events.
    fn open_process(&mut self, pid: Pid) -> Result<(), SessionError> {
        let absent = || AttachError::Absent { pid };
        let raw = rustix::process::Pid::from_raw(pid.0).ok_or_else(absent)?;
        self.pidfd = Some(pidfd_open(raw, PidfdFlags::empty()).map_err(|_| absent())?);
        let tasks = self.settings.root.join(format!("proc/{pid}/task"));
        let mut seen: Vec<i32> = Vec::new();
        loop {
            let found = std::fs::read_dir(&tasks);
            let found = found.map_err(|error| AttachError::Look { pid, error })?;
            let numbers =
                found.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let fresh: Vec<i32> = numbers.filter(|tid| !seen.contains(tid)).collect();
            if fresh.is_empty() {
                break;
            }
            if !seen.is_empty() {
                self.notes.push(format!(
                    "process {pid} started {} threads while it was attached to: what these do may \
                     be counted twice",
                    fresh.len()
                ));
            }
            let begin = self.open.len();
            self.open_at(&|_| {
                let place = |tid: &i32| CountingPlace { task: Some(Tid(*tid)), cpu: None };
                fresh.iter().map(place).collect()
            })?;
            for open in &self.open[begin..] {
                open.enable().map_err(SessionError::system("PERF_EVENT_IOC_ENABLE"))?;
            }
            seen.extend(fresh);
        }
        if self.open.is_empty() {
            return Err(AttachError::Gone { pid }.into());
        }
        self.started = Some(Instant::now());
        Ok(())
    }

    fn open_at(
        &mut self,
        places: &dyn Fn(Option<&Vec<Cpu>>) -> Vec<CountingPlace>,
    ) -> Result<(), SessionError> {
        for group in 0..self.plan.groups.len() {
            let cpus = self.plan.groups[group].events.first().and_then(|event| event.cpus.clone());
            for place in places(cpus.as_ref()) {
                self.open_group(group, place)?;
            }
        }
        Ok(())
    }

    /// A group as a whole; where the kernel takes it not, each event alone.
    fn open_group(&mut self, group: usize, place: CountingPlace) -> Result<(), SessionError> {
        let planned = &self.plan.groups[group];
        let target = self.settings.target;
        let all: Vec<usize> = (0..planned.events.len())
            .filter(|event| self.refused[group][*event].is_none())
            .collect();
        let whole = OpenGroup::open(planned, group, &all, place, target);
        if let Ok(open) = whole {
            self.open.push(open);
            return Ok(());
        }
        let (mut alone, mut parted) = (Vec::new(), 0);
        for member in all {
            match OpenGroup::open(planned, group, &[member], place, target) {
                Ok(open) => {
                    alone.push(open);
                    parted += 1;
                }
                Err(OpenFailure { errno: libc::ESRCH | libc::ENODEV, .. }) => {}
                Err(failure) => {
                    let error = explained(planned, member, failure);
                    match failure.errno {
                        libc::EACCES | libc::EPERM | libc::EMFILE | libc::ENFILE => {
                            return Err(error.into());
                        }
                        _ => self.refused[group][member] = Some(error.to_string()),
                    }
                }
            }
        }
        if alone.len() > 1 && self.refused[group].iter().flatten().next().is_none() {
            let names: Vec<&str> = planned.events.iter().map(|event| event.name.as_str()).collect();
            let note = format!(
                "the counters do not take {} together (the NMI watchdog or another profiler may have \
                 one): {parted} events take turns, and ratios of them are less sure",
                names.join(", ")
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            self.open.extend(alone);
            return Ok(());
        }
        // Without those that the machine has not, the rest may go together.
        let rest: Vec<usize> = alone.iter().flat_map(|open| open.members.clone()).collect();
        match OpenGroup::open(planned, group, &rest, place, target) {
            Ok(open) if !rest.is_empty() => self.open.push(open),
            _ => self.open.extend(alone),
        }
        Ok(())
    }

    fn takes_turns(&self) -> bool {
        self.open.iter().any(OpenGroup::waits)
            || self.plan.groups.iter().filter(|group| group.pmu != "software").count() > 1
    }

    fn poll(&self, timeout: Duration) -> Result<bool, SessionError> {
        let target = self.command.as_ref().map(AsFd::as_fd);
        let target = target.or(self.pidfd.as_ref().map(AsFd::as_fd));
        let mut fds: Vec<PollFd<'_>> =
            target.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).into_iter().collect();
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => Ok(fds.iter().any(|fd| !fd.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(SessionError::system("poll")(errno.into())),
        }
    }

    fn look(&mut self) -> Result<(), SessionError> {
        let mut looks = self.open.iter_mut().map(OpenGroup::look);
        looks.try_for_each(|look| look.map_err(SessionError::system("read of a counter")))
    }

    fn counts(&self, wall: Duration, of: impl Fn(&OpenGroup) -> &Vec<SliceSums>) -> TotalCounts {
        let event = |group: usize, event: usize| {
            if let Some(why) = &self.refused[group][event] {
                return EventCount::refused(why.clone());
            }
            let here = self.open.iter().filter(|open| open.group == group);
            let sums = here.filter_map(|open| {
                let place = open.members.iter().position(|member| *member == event)?;
                of(open).get(place).copied()
            });
            let sums: Vec<SliceSums> = sums.collect();
            let nanoseconds =
                |each: fn(&SliceSums) -> u64| Duration::from_nanos(sums.iter().map(each).sum());
            EventCount {
                figure: SliceSums::figure(&sums),
                counted: sums.iter().map(|sums| sums.counted).sum(),
                enabled: nanoseconds(|sums| sums.enabled),
                running: nanoseconds(|sums| sums.running),
                refused: None,
                agrees: None,
            }
        };
        let groups = self.plan.groups.iter().enumerate();
        let groups =
            groups.map(|(at, group)| (0..group.events.len()).map(|it| event(at, it)).collect());
        TotalCounts { groups: groups.collect(), wall }
    }
}

impl Counting for CountingSession {
    fn start(&mut self) -> Result<(), SessionError> {
        let now = Instant::now();
        if self.settings.target.is_of_cpus() {
            for open in &self.open {
                open.enable().map_err(SessionError::system("PERF_EVENT_IOC_ENABLE"))?;
            }
        }
        if let Some(command) = &mut self.command {
            command.release()?;
        }
        self.started.get_or_insert(now);
        self.window_began.get_or_insert(now);
        Ok(())
    }

    /// Looks at the counters, meanwhile too where they take turns.
    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let slice = if self.takes_turns() { left.min(TURNS) } else { left };
            let has_ended = self.poll(slice)?;
            self.look()?;
            if has_ended {
                return Ok(TargetState::Left);
            }
            if slice == left {
                return Ok(TargetState::Running);
            }
        }
    }

    fn window(&mut self) -> Option<TotalCounts> {
        let now = Instant::now();
        let began = self.window_began.replace(now).unwrap_or(now);
        let counts = self.counts(now - began, |open| &open.window);
        for open in &mut self.open {
            open.window.fill(SliceSums::default());
        }
        Some(counts)
    }

    fn finish(&mut self) -> Result<TotalCounts, SessionError> {
        self.open.iter().for_each(OpenGroup::disable);
        self.wall = self.started.map_or(Duration::ZERO, |at| at.elapsed());
        self.look()?;
        Ok(self.counts(self.wall, |open| &open.sums))
    }

    fn command(&mut self) -> Option<&mut Command> {
        self.command.as_mut()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
