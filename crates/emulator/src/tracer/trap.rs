//! What programs want to be done at SIGTRAP, which breakpoints of ours use as
//! well: the kernel forgets it when one is met while the signal is blocked or
//! ignored (force_sig_info_to_task() in kernel/signal.c).

use super::engine::{ACTION, Engine, SigtrapAction};
use super::task::TaskError;
use crate::block;
use crate::sys::ptrace::{self, TraceeRegisters, TraceeStop};
use crate::sys::remote;

const SIG_IGN: u64 = 1;
const SIGTRAP: u64 = 5;
/// The begin or end of a call (PTRACE_O_TRACESYSGOOD).
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrapDisposition {
    Unset,
    Dies,
    Ignored,
    Caught,
}

impl Engine {
    pub(crate) fn trap_disposition(&mut self, tid: i32) -> Result<TrapDisposition, TaskError> {
        let pid = self.task(tid)?.pid;
        Ok(match self.sigtrap_actions.get(&pid).map(SigtrapAction::handler) {
            None => TrapDisposition::Unset,
            Some(0) => TrapDisposition::Dies,
            Some(SIG_IGN) => TrapDisposition::Ignored,
            Some(_) => TrapDisposition::Caught,
        })
    }

    /// rt_sigaction(2) of the program; `guest` is its state before.
    pub(crate) fn signal_action(
        &mut self,
        tid: i32,
        next: u64,
        guest: TraceeRegisters,
    ) -> Result<(), TaskError> {
        let mut wanted = [0; ACTION];
        let sets = guest.rdi == SIGTRAP
            && guest.rsi != 0
            && remote::read(tid, guest.rsi, &mut wanted).unwrap_or(0) == ACTION;
        let result = self.make(tid, next)?;
        if guest.rdi == SIGTRAP && result == 0 {
            let pid = self.task(tid)?.pid;
            if guest.rdx != 0
                && let Some(known) = self.sigtrap_actions.get(&pid)
            {
                remote::write(tid, guest.rdx, &known.0)?;
            }
            if sets {
                self.sigtrap_actions.insert(pid, SigtrapAction(wanted));
            }
        }
        self.enter_and_go(tid)
    }

    /// Makes the kernel know it again. The thread is settled.
    pub(crate) fn renew_trap_action(&mut self, tid: i32) -> Result<(), TaskError> {
        let pid = self.task(tid)?.pid;
        let Some(action) = self.sigtrap_actions.get(&pid).copied() else { return Ok(()) };
        let (space, number) = self.block_of(tid)?;
        // No instruction is under way that has vectors there.
        let offset = space.block_offset(number) + block::VECTORS;
        space.memory.write(offset, &action.0);
        let arguments = [SIGTRAP, space.address(offset), 0, 8];
        self.inject(tid, |calls| calls.call(libc::SYS_rt_sigaction, &arguments)).map(|_| ())
    }

    /// The same for a thread that is about to be left, with its own state: by
    /// stops that are no signals.
    pub(crate) fn hand_trap_action(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<(), TaskError> {
        /// Behind what the program may have below its stack pointer.
        const BELOW: u64 = 512;
        let task = self.task(tid)?;
        let (pid, memory) = (task.pid, task.memory);
        let Some(action) = self.sigtrap_actions.get(&pid).copied() else { return Ok(()) };
        let Some(gadget) = self.memories.get(&memory).map(|memory| memory.gadget) else {
            return Ok(());
        };
        let at = guest.rsp.wrapping_sub(BELOW) & !15;
        if remote::write(tid, at, &action.0).is_err() {
            return Ok(());
        }
        let mut registers = *guest;
        registers.rip = gadget;
        registers.rax = libc::SYS_rt_sigaction.cast_unsigned();
        registers.orig_rax = u64::MAX;
        (registers.rdi, registers.rsi, registers.rdx, registers.r10) = (SIGTRAP, at, 0, 8);
        ptrace::set_registers(tid, &registers)?;
        self.set_aside(tid, true)?;
        for _begin_and_end in 0..2 {
            loop {
                ptrace::resume_to_call(tid)?;
                match self.stop_of(tid)? {
                    TraceeStop::Signal(SYSCALL_STOP) => break,
                    TraceeStop::Signal(_) => self.keep_signal(tid, ptrace::signal_info(tid)?)?,
                    _ => {}
                }
            }
        }
        self.set_aside(tid, false)?;
        Ok(ptrace::set_registers(tid, guest)?)
    }

    pub(crate) fn inherit_trap_action(&mut self, from: i32, to: i32) {
        if let Some(action) = self.sigtrap_actions.get(&from).copied() {
            self.sigtrap_actions.insert(to, action);
        }
    }

    /// A process runs another program: what is ignored stays so, handlers are
    /// gone.
    pub(crate) fn keep_ignored_trap(&mut self, pid: i32) {
        if self.sigtrap_actions.get(&pid).is_some_and(|action| action.handler() != SIG_IGN) {
            self.sigtrap_actions.remove(&pid);
        }
    }
}
