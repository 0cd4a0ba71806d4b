//! Letting the target run on natively.

use super::engine::Engine;
use super::registers::restart_call;
use super::task::TaskError;
use crate::account::TaskExit;
use crate::sys::ptrace::{self, TraceeStop};

/// Steps in which a signal that waits for nothing must have come.
const MAX_STEPS: usize = 100;

/// A task that stands in its own state, and the signal that it goes on with;
/// 0: none.
struct ReadyTask {
    tid: i32,
    signal: i32,
}

impl ReadyTask {
    fn detach(self) -> Result<(), TaskError> {
        match ptrace::detach(self.tid, self.signal).map_err(TaskError::from) {
            Err(TaskError::Gone) => Ok(()),
            detached => detached,
        }
    }
}

impl Engine {
    /// Leaves every task. What cannot be left is killed, and the books say
    /// so.
    pub(crate) fn leave_all(&mut self) {
        self.leaving = true;
        self.account.left |= !self.tasks.is_empty();
        let there = |task: &&super::task::TracedTask| !task.parked && !task.dying;
        while let Some(memory) = self.tasks.values().filter(there).map(|task| task.memory).min() {
            self.leave_or_kill(memory);
        }
        self.await_parked();
        while let Some((tid, stop)) = self.reports.pop_front() {
            if let TraceeStop::Exec { former } = stop {
                // One that has gone meanwhile needs nothing.
                let _gone = self.leave_image(tid, former);
            } else if let Some(how) = stop.end() {
                self.task_gone(tid, how);
            }
        }
        let ending: Vec<i32> = self.tasks.keys().copied().collect();
        for tid in ending {
            let stop = ptrace::poll_for(tid).ok().flatten();
            let Some(how) = stop.and_then(TraceeStop::end) else {
                self.forget(tid);
                continue;
            };
            self.account.work.stops += 1;
            self.task_gone(tid, how);
        }
    }

    /// Leaves the tasks of an address space, or kills them if they cannot be
    /// left. 0: those that are held.
    fn leave_or_kill(&mut self, memory: u32) {
        let of = self.tasks.iter().filter(|(_, task)| task.memory == memory);
        let mut tasks: Vec<i32> = of.map(|(tid, _)| *tid).collect();
        tasks.sort_unstable();
        let result = if memory == 0 { self.leave_held(&tasks) } else { self.leave_memory(memory) };
        if let Err(TaskError::Broken(text)) = result {
            self.kill_memory(&tasks, &text);
        }
    }

    /// The emulation of a task cannot go on: gives up its address space. All
    /// others are emulated as before.
    pub(crate) fn abandon_space(&mut self, tid: i32, text: &str) {
        let Some(task) = self.tasks.get(&tid) else {
            return self.account.broken.push((perfdata::Pid(tid), format!("is gone: {text}")));
        };
        let (pid, memory) = (perfdata::Pid(task.pid), task.memory);
        let before = self.account.broken.len();
        // Who halts it must know that it stands already.
        self.reports.push_back((tid, TraceeStop::Interrupted));
        self.leave_or_kill(memory);
        // Of one that was left it is no new task's.
        self.reports.retain(|(of, stop)| *of != tid || *stop != TraceeStop::Interrupted);
        // One that was killed instead has said so.
        if self.account.broken.len() == before {
            self.account.broken.push((pid, "runs on natively".to_owned()));
        }
        if let Some((_, became)) = self.account.broken.get_mut(before) {
            *became = format!("{became}: {text}");
        }
    }

    /// Threads that wait for a child of vfork can be left when they need not
    /// any more: the child runs on natively by now.
    fn await_parked(&mut self) {
        while self.tasks.values().any(|task| task.parked) {
            let Ok(Some((tid, stop))) = self.next() else { return };
            if tid == self.alarm {
                continue;
            }
            if let Err(TaskError::Broken(text)) = self.handle(tid, stop) {
                self.kill_memory(&[tid], &text);
            }
        }
    }

    /// A process that has just begun another program, natively so far.
    pub(crate) fn leave_image(&mut self, tid: i32, former: i32) -> Result<(), TaskError> {
        self.forget(former);
        self.forget(tid);
        self.progress.leave();
        Ok(ptrace::detach(tid, 0)?)
    }

    fn leave_held(&mut self, tasks: &[i32]) -> Result<(), TaskError> {
        for tid in tasks {
            // One whose space could not be made: stopped, in its own state.
            if self.tasks.get(tid).is_some_and(|task| task.guest.is_some()) {
                self.leave_one(*tid)?;
                continue;
            }
            // One that stands already reports no other stop.
            let stands = self.reports.iter().position(|(of, _)| of == tid);
            let stop = match stands.and_then(|at| self.reports.remove(at)) {
                Some((_, stop)) => Some(stop),
                None if ptrace::interrupt(*tid).is_ok() => ptrace::wait_for(*tid).ok().flatten(),
                None => None,
            };
            if let Some(stop) = stop {
                let signal = match stop {
                    TraceeStop::Signal(signal) => signal,
                    TraceeStop::Exited(_) | TraceeStop::Killed(_) => {
                        self.report_later(*tid, stop);
                        self.vanish(*tid);
                        continue;
                    }
                    _ => 0,
                };
                self.progress.leave();
                ptrace::detach(*tid, signal)?;
            }
            self.forget(*tid);
        }
        Ok(())
    }

    /// Leaves an address space's tasks, but those that wait for a child.
    pub(crate) fn leave_memory(&mut self, memory: u32) -> Result<(), TaskError> {
        self.halt_all(memory, 0)?;
        let mut tasks: Vec<i32> = self.tasks_of(memory);
        tasks.retain(|tid| self.tasks.get(tid).is_some_and(|task| task.guest.is_some()));
        let Some(first) = tasks.first().copied() else { return Ok(()) };
        if self.memories.get(&memory).is_some_and(|memory| !memory.unmapped) {
            self.unmap(first)?;
            if let Some(memory) = self.memories.get_mut(&memory) {
                memory.unmapped = true;
            }
        }
        // Each has steps to do, and there are books to close: nothing that
        // runs natively may take the CPU from that.
        let mut ready = Vec::new();
        for tid in tasks {
            match self.make_ready(tid) {
                Ok(task) => ready.push(task),
                Err(TaskError::Gone) => self.forget(tid),
                Err(broken) => return Err(broken),
            }
        }
        for ReadyTask { tid, .. } in &ready {
            self.forget(*tid);
        }
        let mut left = Ok(());
        for task in ready {
            left = left.and(task.detach());
        }
        left
    }

    pub(crate) fn leave_one(&mut self, tid: i32) -> Result<(), TaskError> {
        match self.make_ready(tid) {
            Ok(ready) => {
                self.forget(tid);
                ready.detach()
            }
            Err(TaskError::Gone) => {
                self.forget(tid);
                Ok(())
            }
            Err(broken) => Err(broken),
        }
    }

    fn make_ready(&mut self, tid: i32) -> Result<ReadyTask, TaskError> {
        let gs_base = self.own_gs_base(tid)?;
        if let Some(rseq) = self.task(tid)?.rseq.take() {
            let arguments = [rseq.address, u64::from(rseq.size), 0, u64::from(rseq.signature)];
            self.inject(tid, |calls| calls.call(libc::SYS_rseq, &arguments))?;
        }
        let mut guest = self.task(tid)?.guest.ok_or(TaskError::Gone)?;
        restart_call(&mut guest);
        guest.gs_base = gs_base;
        ptrace::set_registers(tid, &guest)?;
        self.hand_trap_action(tid, &guest)?;
        let signal = self.deliver_pending(tid)?;
        self.progress.leave();
        Ok(ReadyTask { tid, signal })
    }

    /// Has a thread, stopped in its own state, take the signals that wait for
    /// it; the last one goes with its detaching.
    fn deliver_pending(&mut self, tid: i32) -> Result<i32, TaskError> {
        for _ in 0..MAX_STEPS {
            let task = self.task(tid)?;
            if task.pending.is_empty() && task.prompted.is_none() {
                return Ok(0);
            }
            self.prompt(tid)?;
            match self.task(tid)?.prompted {
                // It may be lost.
                Some(libc::SIGSTOP) => ptrace::step(tid, 0)?,
                _ => ptrace::resume(tid, 0)?,
            }
            let TraceeStop::Signal(_) = self.stop_of(tid)? else { continue };
            let info = ptrace::signal_info(tid)?;
            if !info.is_prompt() {
                if !info.is_step() {
                    self.keep_signal(tid, info)?;
                }
                continue;
            }
            let task = self.task(tid)?;
            task.prompted = None;
            let Some(waited) = task.pending.pop_front() else { continue };
            let last = task.pending.is_empty();
            ptrace::set_signal_info(tid, &waited)?;
            if last {
                return Ok(waited.number());
            }
            // To its handler's first instruction, if it has one.
            ptrace::step(tid, waited.number())?;
            self.stop_of(tid)?;
        }
        Ok(0)
    }

    pub(crate) fn kill_memory(&mut self, tasks: &[i32], text: &str) {
        // A process's first thread ends last.
        for tid in tasks.iter().rev() {
            if let Some(task) = self.tasks.get(tid) {
                let pid = task.pid;
                ptrace::kill(pid);
                let said = self.account.broken.iter().any(|(of, _)| of.0 == pid);
                if !said {
                    let became = format!("was killed, as it could not be left: {text}");
                    self.account.broken.push((perfdata::Pid(pid), became));
                }
            }
            if let Some(how) = end_of(*tid) {
                self.publish_end(*tid, how);
            }
            self.forget(*tid);
        }
    }

    /// An internal fault: leaves what can be left. What the message says of
    /// it.
    pub(crate) fn give_up(&mut self, text: String) -> String {
        let before = self.account.broken.len();
        self.leave_all();
        let killed = self.account.broken.iter().skip(before);
        let killed: Vec<String> =
            killed.map(|(pid, became)| format!("process {pid} {became}")).collect();
        let rest = match killed.is_empty() {
            true => "the target was left, and runs on natively".to_owned(),
            false => killed.join("; "),
        };
        format!("the emulated PMU broke off: {text}; {rest}")
    }
}

/// How a task ended that was killed; stops that were on the way come first.
fn end_of(tid: i32) -> Option<TaskExit> {
    for _ in 0..MAX_STEPS {
        if let Some(how) = ptrace::wait_for(tid).ok()??.end() {
            return Some(how);
        }
    }
    None
}
