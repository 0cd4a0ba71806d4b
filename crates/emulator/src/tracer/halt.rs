//! Stopping threads wherever they are.

use std::time::{Duration, Instant};

use super::engine::Engine;
use super::signal::is_fault;
use super::status::status;
use super::task::{TaskError, TaskMode};
use crate::sys::ptrace::{self, SI_KERNEL, TraceeStop};

/// How often is looked whether a thread has stopped, and after how long
/// whether it can.
const PAUSE: Duration = Duration::from_micros(20);
const LONG: Duration = Duration::from_millis(2);

impl Engine {
    pub(crate) fn halt(&mut self, tid: i32) -> Result<(), TaskError> {
        let task = self.task(tid)?;
        if task.guest.is_some() || task.parked || task.mode == TaskMode::Held {
            return Ok(());
        }
        if std::mem::take(&mut task.waits) {
            // It stands at the runtime's breakpoint, and the record waits.
            if !self.runtime_stop(tid)? {
                return self.settle(tid);
            }
            return Ok(());
        }
        let queued = self.reports.iter().position(|(of, _)| *of == tid);
        let stop = match queued.and_then(|at| self.reports.remove(at)) {
            Some((_, stop)) => stop,
            None => self.interrupted(tid)?,
        };
        match stop {
            TraceeStop::Signal(signal) => {
                let info = ptrace::signal_info(tid)?;
                if is_fault(signal, info.code()) {
                    // It will fault again where it is taken to.
                    self.stay_at_fault(tid, ptrace::registers(tid)?)?;
                } else if signal == libc::SIGTRAP && info.code() == SI_KERNEL {
                    self.take_stop(tid)?;
                } else if !info.is_step() {
                    self.keep_signal(tid, info)?;
                }
            }
            TraceeStop::Cloned { child, how } => {
                if self.note_clone(tid, child, how)? {
                    return Ok(());
                }
                // The call has no result yet, and would put it into what a call
                // of ours is made with.
                self.one_step(tid)?;
            }
            TraceeStop::Exited(_) | TraceeStop::Killed(_) | TraceeStop::Exec { .. } => {
                self.report_later(tid, stop);
                return Err(TaskError::Gone);
            }
            TraceeStop::Group(_) => {
                let task = self.task(tid)?;
                task.unborn = false;
                task.group_stop = true;
            }
            TraceeStop::Interrupted | TraceeStop::Other => self.task(tid)?.unborn = false,
        }
        self.settle(tid)
    }

    /// Interrupts a running task; its stop. The end of a process's first
    /// thread is reported only when the others have ended as well: it is gone
    /// before that.
    fn interrupted(&mut self, tid: i32) -> Result<TraceeStop, TaskError> {
        ptrace::interrupt(tid)?;
        let mut look = Instant::now() + LONG;
        loop {
            if let Some(stop) = ptrace::poll_for(tid)? {
                return Ok(stop);
            }
            if Instant::now() > look {
                if status(tid).map_or(true, |status| status.ended) {
                    return ptrace::poll_for(tid)?.ok_or(TaskError::Gone);
                }
                look = Instant::now() + LONG;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Halts the tasks of an address space but one; those that were running.
    /// Those that wait for a child of vfork stay where they are, which is in
    /// no code of ours.
    pub(crate) fn halt_all(&mut self, memory: u32, but: i32) -> Result<Vec<i32>, TaskError> {
        let mut halted = Vec::new();
        // What is halted may have made others meanwhile.
        loop {
            let left: Vec<i32> = self
                .tasks_of(memory)
                .into_iter()
                .filter(|tid| *tid != but && self.tasks.get(tid).is_some_and(|task| task.runs()))
                .collect();
            if left.is_empty() {
                return Ok(halted);
            }
            for tid in left {
                match self.halt(tid) {
                    Ok(()) if self.task(tid).is_ok_and(|task| task.parked) => {}
                    Ok(()) => halted.push(tid),
                    Err(TaskError::Gone) => self.vanish(tid),
                    Err(broken) => return Err(broken),
                }
            }
        }
    }

    /// A task whose report of its end is on the way: it takes part no more.
    pub(crate) fn vanish(&mut self, tid: i32) {
        if let Ok(task) = self.task(tid) {
            task.dying = true;
        }
    }

    /// A thread has made a child by vfork, and is about to wait in the kernel
    /// until that is gone. It is taken out of translated code at once: behind
    /// the call it stops at its program's own next instruction, before that
    /// is done.
    pub(crate) fn park(&mut self, tid: i32) -> Result<(), TaskError> {
        let registers = ptrace::registers(tid)?;
        if let Some(location) = self.space_of(tid)?.cache.locate(registers.rip) {
            let mut guest = self.guest_at(tid, registers, location)?;
            guest.gs_base = self.own_gs_base(tid)?;
            ptrace::set_registers(tid, &guest)?;
        }
        self.task(tid)?.parked = true;
        self.yield_in_kernel(tid)?;
        Ok(ptrace::step(tid, 0)?)
    }

    /// The child of a thread that was parked is gone, and the thread behind
    /// its call.
    pub(crate) fn unpark(&mut self, tid: i32, stop: TraceeStop) -> Result<(), TaskError> {
        let mut behind = false;
        if let TraceeStop::Signal(_) = stop {
            let info = ptrace::signal_info(tid)?;
            behind = info.is_step();
            if !behind {
                self.keep_signal(tid, info)?;
            }
        }
        if !behind {
            // The trap of the step waits, and would kill a program that was left.
            return Ok(ptrace::resume(tid, 0)?);
        }
        let mut guest = ptrace::registers(tid)?;
        guest.rcx = guest.rip;
        guest.r11 = guest.eflags;
        guest.orig_rax = u64::MAX;
        let task = self.task(tid)?;
        task.parked = false;
        task.guest = Some(guest);
        let memory = task.memory;
        let left = self.memories.get(&memory).is_none_or(|memory| memory.unmapped);
        if self.leaving || left { self.leave_memory(memory) } else { self.enter_and_go(tid) }
    }
}
