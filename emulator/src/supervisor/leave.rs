//! Letting the target run on natively.

use super::engine::{Engine, Mode};
use super::trouble::Trouble;
use crate::sys::ptrace;

impl Engine {
    /// Brings a thread that reached the count of records to where it can be
    /// left: it goes on behind the runtime's breakpoint.
    pub(crate) fn settle_after_count(&mut self, tid: i32) -> Result<(), Trouble> {
        self.settle(tid)
    }

    /// Leaves every task. What cannot be left is killed, and the books say
    /// so.
    pub(crate) fn leave_all(&mut self) {
        self.leaving = true;
        loop {
            let Some(memory) = self.tasks.values().map(|task| task.memory).min() else { return };
            let tasks = match memory {
                0 => self
                    .tasks
                    .iter()
                    .filter(|(_, task)| task.memory == 0)
                    .map(|(tid, _)| *tid)
                    .collect(),
                _ => self.tasks_of(memory),
            };
            if tasks.is_empty() {
                // Only such whose end is about to be reported.
                let ending: Vec<i32> = self.tasks.keys().copied().collect();
                for tid in ending {
                    self.forget(tid);
                }
                return;
            }
            let result =
                if memory == 0 { self.leave_held(&tasks) } else { self.leave_memory(memory) };
            if let Err(Trouble::Broken(text)) = result {
                self.kill_memory(&tasks, &text);
            }
        }
    }

    fn leave_held(&mut self, tasks: &[i32]) -> Result<(), Trouble> {
        for tid in tasks {
            // One whose space could not be made: stopped, in its own state.
            if let Some(guest) = self.tasks.get(tid).and_then(|task| task.guest) {
                ptrace::set_registers(*tid, &guest)?;
                self.progress.leave();
                ptrace::detach(*tid, 0)?;
                self.forget(*tid);
                continue;
            }
            if ptrace::interrupt(*tid).is_ok()
                && let Ok(Some(stop)) = ptrace::wait_for(*tid)
            {
                let signal = match stop {
                    ptrace::Stop::Signal(signal) => signal,
                    ptrace::Stop::Exited(_) | ptrace::Stop::Killed(_) => {
                        self.reports.push_back((*tid, stop));
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

    /// Leaves an address space's tasks.
    pub(crate) fn leave_memory(&mut self, memory: u32) -> Result<(), Trouble> {
        self.halt_all(memory, 0)?;
        let tasks: Vec<i32> = self.tasks_of(memory);
        let Some(first) = tasks.first() else { return Ok(()) };
        match self.unmap(*first, (0, 0)) {
            Ok(()) | Err(Trouble::Gone) => {}
            Err(broken) => return Err(broken),
        }
        for tid in &tasks {
            self.leave_one(*tid)?;
        }
        Ok(())
    }

    /// Leaves a settled task, and takes it out of the books.
    pub(crate) fn leave_one(&mut self, tid: i32) -> Result<(), Trouble> {
        match self.leave(tid) {
            Ok(()) | Err(Trouble::Gone) => {}
            Err(broken) => return Err(broken),
        }
        self.progress.leave();
        self.forget(tid);
        Ok(())
    }

    /// Detaches a settled task with its own state.
    fn leave(&mut self, tid: i32) -> Result<(), Trouble> {
        let gs_base = self.own_gs_base(tid)?;
        let task = self.task(tid)?;
        let mut guest = task.guest.ok_or(Trouble::Gone)?;
        let pending: Vec<_> = task.pending.drain(..).collect();
        let rseq = task.rseq.take();
        if let Some(rseq) = rseq {
            let arguments = [rseq.address, u64::from(rseq.size), 0, u64::from(rseq.signature)];
            self.inject(tid, |calls| calls.call(libc::SYS_rseq, &arguments))?;
        }
        super::registers::restart_call(&mut guest);
        guest.gs_base = gs_base;
        ptrace::set_registers(tid, &guest)?;
        let pid = self.task(tid)?.pid;
        for info in &pending {
            // Its sender's name is lost, the signal is not.
            ptrace::send(pid, tid, info.number());
        }
        ptrace::detach(tid, 0)?;
        Ok(())
    }

    /// The last resort.
    fn kill_memory(&mut self, tasks: &[i32], text: &str) {
        for tid in tasks {
            if let Some(task) = self.tasks.get(tid) {
                let pid = task.pid;
                ptrace::kill(pid);
                self.account
                    .not_followed
                    .push((record::Pid(pid), format!("killed, as it could not be left: {text}")));
            }
            // Its end is reported, and not waited for.
            let _ended = ptrace::wait_for(*tid);
            self.forget(*tid);
        }
    }

    /// An internal fault: leaves what can be left. What the message says of
    /// it.
    pub(crate) fn give_up(&mut self, text: String) -> String {
        let before = self.account.not_followed.len();
        let held = self.tasks.values().any(|task| task.mode == Mode::Held);
        self.leave_all();
        let killed: Vec<String> = self
            .account
            .not_followed
            .iter()
            .skip(before)
            .map(|(pid, why)| format!("process {pid} was {why}"))
            .collect();
        let rest = match (killed.is_empty(), held) {
            (true, _) => "the target was left, and runs on natively".to_owned(),
            (false, _) => killed.join("; "),
        };
        format!("the emulated PMU broke off: {text}; {rest}")
    }
}
