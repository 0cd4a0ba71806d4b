//! What the tracer knows of the target, and its loop.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::injection::Injection;
use super::progress::TracerProgress;
use super::sideband::SidebandWriter;
use super::smaps::{HugePageRange, TransparentHugePages};
use super::space::{Space, SpaceLayout};
use super::status::status;
use super::task::{TaskError, TaskMode, TracedTask};
use crate::account::{EmulationAccount, EmulationState, Fault};
use crate::block;
use crate::runtime::{RuntimeImage, RuntimeSetup};
use crate::settings::EmulationSettings;
use crate::sys::mapping::SharedMemory;
use crate::sys::ptrace::{self, SignalInfo, TraceeStop};
use crate::translate::{CpuFeatures, Instrumentation};

/// What a space's mappings were like when they were last looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageSizes {
    pub(crate) ranges: Vec<HugePageRange>,
    pub(crate) asked: bool,
    pub(crate) heap: u64,
}

/// Bytes of the kernel's struct sigaction.
pub(crate) const ACTION: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SigtrapAction(pub(crate) [u8; ACTION]);

impl SigtrapAction {
    pub(crate) fn handler(&self) -> u64 {
        self.0.first_chunk().copied().map_or(0, u64::from_le_bytes)
    }
}

#[derive(Debug)]
pub(crate) struct AddressSpace {
    pub(crate) space: u32,
    /// Its model there; None: all were taken, it is to move out.
    pub(crate) slot: Option<usize>,
    /// A `syscall` instruction of the program.
    pub(crate) gadget: u64,
    /// Nothing of ours is in it any more.
    pub(crate) unmapped: bool,
    /// ASLR is off: random numbers are made the same each time.
    pub(crate) fixed: bool,
    pub(crate) page_sizes: PageSizes,
    pub(crate) turns: bool,
}

#[derive(Debug)]
pub(crate) struct SpacePlan {
    pub(crate) settings: EmulationSettings,
    pub(crate) setup: RuntimeSetup,
    pub(crate) layout: SpaceLayout,
    pub(crate) image: RuntimeImage,
    pub(crate) features: CpuFeatures,
    pub(crate) instrumentation: Instrumentation,
    pub(crate) ring: Arc<SharedMemory>,
    /// Whether programs get their rights by exec although they are traced.
    pub(crate) keeps_privileges: bool,
    pub(crate) transparent: TransparentHugePages,
}

/// The tracer's state; lives on its thread.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) plan: SpacePlan,
    pub(crate) tasks: FxHashMap<i32, TracedTask>,
    pub(crate) memories: BTreeMap<u32, AddressSpace>,
    pub(crate) sigtrap_actions: FxHashMap<i32, SigtrapAction>,
    pub(crate) spaces: BTreeMap<u32, Space>,
    pub(crate) reports: VecDeque<(i32, TraceeStop)>,
    /// New tasks that stopped before their maker told of them.
    pub(crate) early: FxHashSet<i32>,
    pub(crate) side: SidebandWriter,
    pub(crate) account: EmulationAccount,
    pub(crate) progress: Arc<TracerProgress>,
    /// The process whose end wakes the loop.
    pub(crate) alarm: i32,
    /// The process that the emulation is about.
    pub(crate) first: i32,
    /// Tracees die with us.
    pub(crate) kill: bool,
    pub(crate) next_id: u32,
    /// No task is to be emulated any more.
    pub(crate) leaving: bool,
    pub(crate) random: u64,
}

/// How often is looked for room in the ring.
const ROOM: Duration = Duration::from_micros(300);

impl Engine {
    pub(crate) fn run(mut self) -> Result<EmulationAccount, Fault> {
        // The kernel kills what is traced when this thread ends.
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        let result = worked.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
        self.finish(result)
    }

    fn work(&mut self) -> Result<(), String> {
        loop {
            self.side.flush(&self.plan.ring);
            self.wake_waiting();
            if self.tasks.is_empty() && self.early.is_empty() {
                break Ok(());
            }
            let (tid, stop) = match self.next() {
                Ok(Some(report)) => report,
                Ok(None) => break Ok(()),
                Err(error) => break Err(format!("waiting for the target: {error}")),
            };
            if tid == self.alarm {
                self.leave_all();
                continue;
            }
            self.account.work.stops += 1;
            match self.handle(tid, stop) {
                Ok(()) | Err(TaskError::Gone) => {}
                Err(TaskError::Broken(text)) => self.abandon_space(tid, &text),
            }
        }
    }

    fn finish(mut self, result: Result<(), String>) -> Result<EmulationAccount, Fault> {
        let result = match result {
            Ok(()) => Ok(()),
            Err(text) => Err(Fault(self.give_up(text))),
        };
        self.side.close(&self.plan.ring, Duration::from_secs(1));
        self.account.side_lost += self.side.lost();
        self.add_mapping_counts();
        let state = if self.progress.left() { EmulationState::Left } else { EmulationState::Gone };
        self.progress.set_state(state);
        result.map(|()| self.account)
    }

    pub(crate) fn next(&mut self) -> std::io::Result<Option<(i32, TraceeStop)>> {
        if let Some(report) = self.reports.pop_front() {
            return Ok(Some(report));
        }
        loop {
            if !self.side.has_backlog() && !self.tasks.values().any(|task| task.waits) {
                return ptrace::wait_any();
            }
            if let Some(report) = ptrace::poll_any()? {
                return Ok(Some(report));
            }
            std::thread::sleep(ROOM);
            self.side.flush(&self.plan.ring);
            self.wake_waiting();
        }
    }

    pub(crate) fn handle(&mut self, tid: i32, stop: TraceeStop) -> Result<(), TaskError> {
        if let Some(how) = stop.end() {
            self.task_gone(tid, how);
            return Ok(());
        }
        let Some(task) = self.tasks.get_mut(&tid) else {
            if let TraceeStop::Exec { former } = stop
                && self.tasks.contains_key(&former)
            {
                return self.begin_image(tid, former);
            }
            self.early.insert(tid);
            return Ok(());
        };
        match (task.mode, stop) {
            (_, TraceeStop::Exec { former }) => self.begin_image(tid, former),
            (_, TraceeStop::Group(_)) => Ok(ptrace::listen(tid)?),
            (TaskMode::Emulated, stop) if task.parked => self.unpark(tid, stop),
            (_, TraceeStop::Cloned { child, how }) => self.on_clone(tid, child, how),
            (TaskMode::Held, TraceeStop::Signal(signal)) => Ok(ptrace::resume(tid, signal)?),
            (TaskMode::Held, _) => Ok(ptrace::resume(tid, 0)?),
            (TaskMode::Emulated, TraceeStop::Signal(signal)) if !task.unborn => {
                self.signal(tid, signal)
            }
            (TaskMode::Emulated, _) if task.unborn => self.start_task(tid),
            (TaskMode::Emulated, _) => self.go(tid),
        }
    }

    /// Lets a thread go on in translated code, or to its next signal.
    pub(crate) fn go(&mut self, tid: i32) -> Result<(), TaskError> {
        self.prompt(tid)?;
        Ok(ptrace::resume(tid, 0)?)
    }

    /// Sees to it that a stopped thread stops again for the first signal that
    /// waits, before it does anything else.
    pub(crate) fn prompt(&mut self, tid: i32) -> Result<(), TaskError> {
        let task = self.task(tid)?;
        let Some(waiting) = task.pending.front().map(SignalInfo::number) else { return Ok(()) };
        let (pid, sent) = (task.pid, task.prompted);
        // The kernel keeps for later what is blocked by now, with all it says.
        let blocked = status(tid)?.blocks(waiting);
        // Those that queue would come behind others of their kind.
        let queues = waiting >= libc::SIGRTMIN();
        let with = if blocked || queues { libc::SIGSTOP } else { waiting };
        // SIGCONT may have taken the former.
        if sent != Some(with) || with == libc::SIGSTOP {
            ptrace::prompt(pid, tid, with);
            self.task(tid)?.prompted = Some(with);
        }
        Ok(())
    }

    /// Keeps a signal that a thread stopped for until it can be delivered.
    pub(crate) fn keep_signal(&mut self, tid: i32, info: SignalInfo) -> Result<(), TaskError> {
        let task = self.task(tid)?;
        match info.is_prompt() {
            true => task.prompted = None,
            // One that waits already is enough, as in the kernel's own queue:
            // what comes faster than it is handled must not wait for ever.
            false if task.pending.iter().any(|waiting| waiting.merges(&info)) => {}
            false => task.pending.push_back(info),
        }
        Ok(())
    }

    /// The task, which must be known.
    pub(crate) fn task(&mut self, tid: i32) -> Result<&mut TracedTask, TaskError> {
        self.tasks.get_mut(&tid).ok_or(TaskError::Gone)
    }

    pub(crate) fn space_of(&mut self, tid: i32) -> Result<&mut Space, TaskError> {
        let memory = self.task(tid)?.memory;
        let space = self.memories.get(&memory).map(|memory| memory.space);
        space.and_then(|space| self.spaces.get_mut(&space)).ok_or(TaskError::Gone)
    }

    pub(crate) fn block_of(&mut self, tid: i32) -> Result<(&mut Space, usize), TaskError> {
        let block = self.task(tid)?.block.ok_or(TaskError::Gone)?;
        Ok((self.space_of(tid)?, block))
    }

    pub(crate) fn own_gs_base(&mut self, tid: i32) -> Result<u64, TaskError> {
        match self.task(tid)?.block {
            Some(number) => Ok(self.space_of(tid)?.get(number, block::GS_BASE)),
            None => Ok(self.task(tid)?.gs_base),
        }
    }

    /// Lets a stopped thread make system calls.
    pub(crate) fn inject<T>(
        &mut self,
        tid: i32,
        calls: impl FnOnce(&mut Injection) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        let memory = self.task(tid)?.memory;
        let gadget = self.memories.get(&memory).ok_or(TaskError::Gone)?.gadget;
        self.inject_at(tid, gadget, calls)
    }

    /// The same when its address space is not known yet.
    pub(crate) fn inject_at<T>(
        &mut self,
        tid: i32,
        gadget: u64,
        calls: impl FnOnce(&mut Injection) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        self.set_aside(tid, true)?;
        let result = self.inject_filtered(tid, gadget, calls);
        if !matches!(result, Err(TaskError::Gone)) {
            self.set_aside(tid, false)?;
        }
        result
    }

    /// The same, judged by the thread's own seccomp filter: for calls that
    /// the program makes.
    pub(crate) fn inject_filtered<T>(
        &mut self,
        tid: i32,
        gadget: u64,
        calls: impl FnOnce(&mut Injection) -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        let mut injection = Injection::begin(tid, gadget)?;
        let result = calls(&mut injection);
        let finished = injection.finish();
        if self.tasks.contains_key(&tid) {
            for info in injection.deferred {
                self.keep_signal(tid, info)?;
            }
        }
        if let Some(stop) = injection.end {
            self.report_later(tid, stop);
        }
        let value = result?;
        finished?;
        Ok(value)
    }

    /// Tasks of an address space, in order.
    pub(crate) fn tasks_of(&self, memory: u32) -> Vec<i32> {
        let of = self
            .tasks
            .iter()
            .filter(|(_, task)| task.memory == memory && memory != 0 && !task.dying);
        let mut found: Vec<i32> = of.map(|(tid, _)| *tid).collect();
        found.sort_unstable();
        found
    }

    /// Whether other address spaces run the same translated code.
    pub(crate) fn shares(&self, memory: u32) -> bool {
        let Some(own) = self.memories.get(&memory) else { return false };
        self.memories.iter().any(|(id, other)| *id != memory && other.space == own.space)
    }

    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("an internal error: {}", text.unwrap_or("it says nothing"))
}

impl EmulationAccount {
    pub(crate) fn take(&mut self, setup: &RuntimeSetup, words: &[AtomicU64]) {
        self.lose(setup, words);
        for (counts, sum) in self.by_event.iter_mut().zip(setup.sums(words)) {
            counts.records = counts.records.saturating_add(sum.records);
            counts.beyond = counts.beyond.saturating_add(sum.beyond);
            counts.events = counts.events.saturating_add(sum.events);
            if let Some(coverage) = setup.coverage(words, &sum) {
                *counts.bursts.get_or_insert_default() += coverage;
            }
        }
    }

    /// Books the records of a thread that are due and will not be written.
    pub(crate) fn lose(&mut self, setup: &RuntimeSetup, words: &[AtomicU64]) {
        for (counts, is_due) in self.by_event.iter_mut().zip(setup.give_up(words)) {
            counts.lost += u64::from(is_due);
        }
        self.side_lost += u64::from(setup.give_up_mark(words));
    }
}
