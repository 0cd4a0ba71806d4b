//! Taking hold of the target.

use std::collections::{BTreeMap, VecDeque};
use std::io::PipeWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use perfdata::Pid;
use raw_cpuid::CpuId;

use super::engine::{Engine, SpacePlan, panicked};
use super::maps;
use super::progress::TracerProgress;
use super::sideband::{SidebandWriter, task};
use super::space::SpaceLayout;
use super::status;
use super::task::{TaskError, TaskMode, TracedTask};
use crate::account::{EmulationAccount, StartError};
use crate::event::{Class, EmulatedEvent};
use crate::runtime::{EventSetup, RuntimeSetup, SetupError, image};
use crate::settings::{Burst, EmulationSettings, EmulationTarget, EventSettings};
use crate::sys::mapping::SharedMemory;
use crate::sys::{alarm, ptrace};
use crate::translate::{Countdown, CpuFeatures, EventCountdown, Instrumentation};

pub(crate) fn begin(
    target: EmulationTarget,
    settings: EmulationSettings,
    ring: Arc<SharedMemory>,
    progress: Arc<TracerProgress>,
) -> Result<(Engine, PipeWriter), StartError> {
    let (EmulationTarget::Held(Pid(pid)) | EmulationTarget::Process(Pid(pid))) = target;
    let events = settings.events.len();
    let plan = plan(settings, ring)?;
    let held = matches!(target, EmulationTarget::Held(_));
    check(pid, held)?;
    let side = SidebandWriter::new(
        &plan.settings.side_attr,
        plan.settings.side_id,
        plan.settings.data_mappings,
    );
    let side = side.map_err(StartError::Settings)?;
    let (alarm, writer) = alarm::arm().map_err(StartError::system("starting a process"))?;
    let mut engine = Engine {
        plan,
        tasks: Default::default(),
        memories: BTreeMap::new(),
        spaces: BTreeMap::new(),
        sigtrap_actions: Default::default(),
        reports: VecDeque::new(),
        early: Default::default(),
        side,
        account: EmulationAccount::of(events),
        progress,
        alarm,
        first: pid,
        kill: true,
        next_id: 0,
        leaving: false,
        random: 1,
    };
    if held {
        ptrace::seize(pid, ptrace::OPTIONS | libc::PTRACE_O_EXITKILL)
            .map_err(|error| refused(pid, error))?;
        engine.tasks.insert(pid, TracedTask::new(pid, TaskMode::Held));
        return Ok((engine, writer));
    }
    engine.attach(pid)?;
    Ok((engine, writer))
}

fn plan(settings: EmulationSettings, ring: Arc<SharedMemory>) -> Result<SpacePlan, StartError> {
    let event = |one: &EventSettings| {
        let event = EventSetup::new(one.event, one.interval, &one.attr, one.id)?;
        Ok(event.with_drawn_periods(one.seed).with_adapted_mean(one.adapted))
    };
    let events: Result<Vec<EventSetup>, SetupError> = settings.events.iter().map(event).collect();
    let setup = events
        .and_then(|events| RuntimeSetup::new(&settings.geometry, events))
        .map_err(|error| StartError::Settings(error.to_string()))?
        .with_prefetch(settings.prefetch)
        .with_layouts(&settings.layouts, &settings.geometry);
    if let Some(burst) = settings.burst {
        check_burst(burst, settings.counted())?;
    }
    let warm = settings.burst.map(|burst| burst.warm_up(&settings.geometry, settings.counted()));
    let setup = setup.with_bursts(settings.burst, warm.unwrap_or(0));
    let (image, features, transparent) = (image(), features(), super::smaps::transparent());
    let keeps_privileges = super::privileged_exec::keeps_privileges();
    let (layout, instrumentation) = (SpaceLayout::new(&setup), instrumentation(&settings)?);
    Ok(SpacePlan {
        setup,
        layout,
        image,
        features,
        instrumentation,
        ring,
        keeps_privileges,
        transparent,
        settings,
    })
}

/// Places among so many instructions can be told apart.
const MAX_PERIOD: u64 = 1 << 60;

fn check_burst(
    Burst { on, every, .. }: Burst,
    events: impl Iterator<Item = EmulatedEvent>,
) -> Result<(), StartError> {
    let wrong = |text: String| Err(StartError::Settings(text));
    if on == 0 || on > every || every > MAX_PERIOD {
        return wrong(format!(
            "bursts of {on} instructions of every {every}: use 1 or more, and not more than the \
             whole, which is {MAX_PERIOD} at most"
        ));
    }
    let events: Vec<EmulatedEvent> = events.collect();
    if events.iter().any(|event| event.is_of_heap()) {
        return wrong(
            "blocks of the heap that come and go between bursts are not seen: leave the bursts \
             out"
            .into(),
        );
    }
    if events.contains(&EmulatedEvent::HitModified) {
        return wrong(
            "lines that another thread has modified are not known in bursts, as each thread has \
             its own: leave the bursts out"
                .into(),
        );
    }
    Ok(())
}

fn instrumentation(settings: &EmulationSettings) -> Result<Instrumentation, StartError> {
    let mut instrumentation =
        Instrumentation { burst: settings.burst.is_some(), ..Instrumentation::default() };
    for (event, one) in (0..).zip(&settings.events) {
        instrumentation.data |= one.event.is_of_data();
        // Code takes room from data in the levels that hold both.
        instrumentation.fetch |= settings.geometry.l1i.is_some()
            && matches!(one.event, EmulatedEvent::L2Miss | EmulatedEvent::L3Miss);
        let of = match one.event {
            EmulatedEvent::Class(Class::Retired) => Countdown::All,
            EmulatedEvent::Class(Class::Of(kind)) => {
                Countdown::Of(one.classifier.clone().ok_or_else(|| {
                    StartError::Settings(format!("the class {kind} is given without its rule"))
                })?)
            }
            of if of.is_of_heap() => {
                instrumentation.heap = true;
                continue;
            }
            _ => continue,
        };
        instrumentation.countdowns.push(EventCountdown { event, of });
    }
    Ok(instrumentation)
}

/// What can be told before anything is changed.
fn check(pid: i32, held: bool) -> Result<(), StartError> {
    let gone = |error| unseen(error).unwrap_or(StartError::Gone { pid: Pid(pid) });
    let state = status::status(pid).map_err(gone)?;
    if state.process != pid {
        return Err(StartError::Settings(format!(
            "{pid} is a thread of process {}; give that number",
            state.process
        )));
    }
    if state.tracer != 0 {
        return Err(StartError::Traced { pid: Pid(pid), tracer: Pid(state.tracer) });
    }
    if held {
        return Ok(());
    }
    if state.shadow_stack {
        return Err(StartError::ShadowStack { pid: Pid(pid) });
    }
    match status::foreign(pid) {
        Ok(None) => Ok(()),
        Ok(Some(what)) => Err(StartError::Foreign { pid: Pid(pid), what }),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(StartError::Rights { pid: Pid(pid), error })
        }
        Err(error) => {
            // A thread of the kernel has none.
            let kernels = || StartError::Foreign { pid: Pid(pid), what: "kernel's own".into() };
            Err(unseen(error).unwrap_or_else(kernels))
        }
    }
}

/// Where this process can open no file more it has seen nothing of a target.
fn unseen(error: std::io::Error) -> Option<StartError> {
    let is_full = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
    is_full.then_some(StartError::System { doing: "looking at the process", error })
}

fn refused(pid: i32, error: std::io::Error) -> StartError {
    match error.raw_os_error() {
        Some(libc::ESRCH) => StartError::Gone { pid: Pid(pid) },
        Some(libc::EMFILE | libc::ENFILE) => {
            StartError::System { doing: "looking at the process's threads", error }
        }
        _ => StartError::Rights { pid: Pid(pid), error },
    }
}

fn not_taken(pid: i32, error: TaskError) -> StartError {
    match error {
        TaskError::Gone => StartError::Gone { pid: Pid(pid) },
        TaskError::Broken(text) => {
            StartError::Settings(format!("process {pid} could not be emulated: {text}"))
        }
    }
}

impl Engine {
    /// Takes hold of all threads of a process; emulated from where they are.
    fn attach(&mut self, pid: i32) -> Result<(), StartError> {
        loop {
            let mut new = false;
            for tid in status::threads(pid).map_err(|error| refused(pid, error))? {
                if self.tasks.contains_key(&tid) {
                    continue;
                }
                match ptrace::seize(tid, ptrace::OPTIONS | libc::PTRACE_O_EXITKILL) {
                    Ok(()) => {}
                    // It has ended meanwhile, or its maker's trace took it.
                    Err(_) if tid != pid => continue,
                    Err(error) => return Err(refused(pid, error)),
                }
                self.tasks.insert(tid, TracedTask::new(pid, TaskMode::Emulated));
                new = true;
            }
            if !new {
                break;
            }
        }
        // The kernel kills what is traced when this thread ends.
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let tasks = self.stop_natives(pid)?;
            self.take_over(pid, &tasks).map_err(|error| not_taken(pid, error))
        }));
        let taken = taken.unwrap_or_else(|panic| {
            Err(not_taken(pid, TaskError::Broken(panicked(panic.as_ref()))))
        });
        if taken.is_err() {
            self.abandon();
        }
        taken
    }

    /// Stops all that were seized: those that are there.
    fn stop_natives(&mut self, pid: i32) -> Result<Vec<i32>, StartError> {
        let mut seized: Vec<i32> = self.tasks.keys().copied().collect();
        seized.sort_unstable();
        let mut stopped = Vec::new();
        for tid in seized {
            match self.stop_native(tid).and_then(|()| self.note_filter(tid)) {
                Ok(true) => stopped.push(tid),
                Ok(false) => return Err(StartError::Seccomp { pid: Pid(pid) }),
                Err(TaskError::Gone) => {}
                Err(broken) => return Err(not_taken(pid, broken)),
            }
        }
        Ok(stopped)
    }

    fn take_over(&mut self, pid: i32, tasks: &[i32]) -> Result<(), TaskError> {
        let Some(first) = tasks.first().copied() else { return Err(TaskError::Gone) };
        self.make_space(first, tasks.len() > 1)?;
        let memory = self.task(first)?.memory;
        for tid in tasks {
            self.task(*tid)?.memory = memory;
        }
        self.side.comm(&self.plan.ring, task(pid, pid), &status::name(pid), false);
        for region in maps::regions_with_stack(first)? {
            self.side.mapping(&self.plan.ring, task(pid, pid), &region);
        }
        self.account.processes += 1;
        self.look_at_pages(first)?;
        for tid in tasks {
            self.suspend_rseq(*tid)?;
            let gs_base = self.task(*tid)?.guest.map_or(0, |guest| guest.gs_base);
            let number = self.give_block(*tid)?;
            self.space_of(*tid)?.set(number, crate::block::GS_BASE, gs_base);
        }
        self.restart(tasks)
    }

    fn stop_native(&mut self, tid: i32) -> Result<(), TaskError> {
        ptrace::interrupt(tid)?;
        match ptrace::wait_for(tid)?.ok_or(TaskError::Gone)? {
            stop @ (ptrace::TraceeStop::Exited(_) | ptrace::TraceeStop::Killed(_)) => {
                self.report_later(tid, stop);
                return Err(TaskError::Gone);
            }
            ptrace::TraceeStop::Signal(_) => {
                let info = ptrace::signal_info(tid)?;
                self.keep_signal(tid, info)?;
            }
            _ => {}
        }
        let guest = ptrace::registers(tid)?;
        let task = self.task(tid)?;
        (task.guest, task.gs_base) = (Some(guest), guest.gs_base);
        Ok(())
    }

    /// Translated code is in no restartable sequence the kernel knows:
    /// programs do without while they are emulated.
    fn suspend_rseq(&mut self, tid: i32) -> Result<(), TaskError> {
        const UNREGISTER: u64 = 1;
        let Ok(rseq) = ptrace::rseq(tid) else { return Ok(()) };
        if rseq.address == 0 {
            return Ok(());
        }
        let arguments = [rseq.address, u64::from(rseq.size), UNREGISTER, u64::from(rseq.signature)];
        let result = self.inject(tid, |calls| calls.call(libc::SYS_rseq, &arguments))?;
        if result == 0 {
            self.task(tid)?.rseq = Some(rseq);
        }
        Ok(())
    }

    fn abandon(&mut self) {
        if !self.memories.is_empty() {
            // Some may be in translated code already.
            return self.leave_all();
        }
        for (tid, task) in &self.tasks {
            if let Some(guest) = &task.guest {
                // A task that is gone needs nothing.
                let _gone = ptrace::set_registers(*tid, guest);
            }
            let _gone = ptrace::detach(*tid, 0);
        }
        self.tasks.clear();
    }
}

/// Bit of AT_HWCAP2: user space may use rdfsbase.
const FSGSBASE: usize = 2;
/// What fxsave writes.
const LEGACY_STATE: u16 = 512;

pub(crate) fn features() -> CpuFeatures {
    let cpu = CpuId::new();
    let extended = cpu.get_extended_feature_info();
    let has = |test: fn(&raw_cpuid::ExtendedFeatures) -> bool| extended.as_ref().is_some_and(test);
    let state = cpu.get_extended_state_info();
    let xsave = state.map_or(0, |state| state.xsave_area_size_enabled_features());
    let (_, hwcap2) = rustix::param::linux_hwcap();
    CpuFeatures {
        bmi2: has(raw_cpuid::ExtendedFeatures::has_bmi2),
        fsgsbase: hwcap2 & FSGSBASE != 0,
        avx512bw: has(raw_cpuid::ExtendedFeatures::has_avx512bw),
        xsave_bytes: u16::try_from(xsave).unwrap_or(u16::MAX).max(LEGACY_STATE),
    }
}
