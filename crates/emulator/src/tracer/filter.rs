//! Seccomp filters of the program: its own calls meet them, as they would
//! natively; calls of the tracer do not, where it may set them aside
//! (PTRACE_O_SUSPEND_SECCOMP, for CAP_SYS_ADMIN). Where it may not, a process
//! with a filter is not emulated: the filter would kill it for a call that it
//! never made.

use super::engine::Engine;
use super::status;
use super::task::TaskError;
use crate::sys::ptrace::{SignalInfo, TraceeRegisters, set_options};

/// prctl(2).
const SET_SECCOMP: u64 = 22;
/// seccomp(2): SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER.
const SET_MODE: [u64; 2] = [0, 1];
/// si_code of a signal that a filter sent.
const SYS_SECCOMP: i32 = 1;

pub(crate) fn adds_filter(guest: &TraceeRegisters) -> bool {
    match guest.rax.cast_signed() {
        libc::SYS_prctl => guest.rdi == SET_SECCOMP,
        libc::SYS_seccomp => SET_MODE.contains(&guest.rdi),
        _ => false,
    }
}

impl Engine {
    /// Sets a stopped thread's filters aside for calls of ours, or puts them
    /// back; nothing for one that has none.
    pub(crate) fn set_aside(&mut self, tid: i32, aside: bool) -> Result<(), TaskError> {
        if self.tasks.get(&tid).is_some_and(|task| task.filtered) {
            set_options(tid, self.kill, aside)?;
        }
        Ok(())
    }

    /// Notes whether a stopped thread has a filter. False: it has, and we may
    /// not set it aside.
    pub(crate) fn note_filter(&mut self, tid: i32) -> Result<bool, TaskError> {
        let filtered = status::status(tid).map_err(|_| TaskError::Gone)?.seccomp != 0;
        self.task(tid)?.filtered = filtered;
        Ok(!filtered || self.may_set_aside(tid))
    }

    fn may_set_aside(&self, tid: i32) -> bool {
        set_options(tid, self.kill, true).is_ok() && set_options(tid, self.kill, false).is_ok()
    }

    /// The program is about to give itself a filter; its state is in `guest`,
    /// at the instruction. False: it was left, and does it natively.
    pub(crate) fn before_filter(&mut self, tid: i32) -> Result<bool, TaskError> {
        if self.may_set_aside(tid) {
            return Ok(true);
        }
        let task = self.task(tid)?;
        let (pid, memory) = (task.pid, task.memory);
        let why = "it put itself under a seccomp filter, which only root sets aside; what it did \
                   before is counted";
        self.account.not_followed.push((perfdata::Pid(pid), why.into()));
        self.leave_memory(memory)?;
        Ok(false)
    }

    /// It has: perhaps all its threads (SECCOMP_FILTER_FLAG_TSYNC).
    pub(crate) fn after_filter(&mut self, tid: i32) -> Result<(), TaskError> {
        let pid = self.task(tid)?.pid;
        for (of, task) in self.tasks.iter_mut().filter(|(_, task)| task.pid == pid) {
            // One that has ended meanwhile needs none.
            task.filtered |= status::status(*of).is_ok_and(|status| status.seccomp != 0);
        }
        let filtered = self.tasks.iter().filter(|(_, task)| task.pid == pid && task.filtered);
        let filtered: Vec<i32> = filtered.map(|(tid, _)| *tid).collect();
        for of in filtered {
            self.filter_turns(of)?;
        }
        Ok(())
    }

    /// What a filter's signal says of the place of the call, as the program
    /// knows it. The thread is settled.
    pub(crate) fn place_of_call(&mut self, tid: i32, info: SignalInfo) -> SignalInfo {
        let of_filter = info.number() == libc::SIGSYS && info.code() == SYS_SECCOMP;
        let guest = self.tasks.get(&tid).and_then(|task| task.guest);
        match guest {
            // si_call_addr lies where faults have si_addr.
            Some(guest) if of_filter => info.with_address(guest.rip),
            _ => info,
        }
    }
}
