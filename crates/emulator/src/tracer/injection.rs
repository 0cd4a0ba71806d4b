//! System calls made by a stopped thread of the target for the tracer.

use std::io;

use super::task::TaskError;
use crate::sys::ptrace::{self, SignalInfo, TraceeRegisters, TraceeStop};

/// A stopped thread that makes calls at a `syscall` instruction of its
/// program; its registers are put back at the end.
#[derive(Debug)]
pub(crate) struct Injection {
    tid: i32,
    saved: TraceeRegisters,
    blocked: u64,
    gadget: u64,
    /// Signals that came meanwhile: to be delivered later.
    pub(crate) deferred: Vec<SignalInfo>,
    /// The thread's end, if it came meanwhile.
    pub(crate) end: Option<TraceeStop>,
}

/// Reports of other kinds before a step is given up.
const MAX_REPORTS: usize = 1000;

impl Injection {
    /// The thread must be stopped; `gadget` is the address of a `syscall`
    /// instruction.
    pub(crate) fn begin(tid: i32, gadget: u64) -> io::Result<Injection> {
        let saved = ptrace::registers(tid)?;
        let blocked = ptrace::block_signals(tid)?;
        Ok(Injection { tid, saved, blocked, gadget, deferred: Vec::new(), end: None })
    }

    /// Makes a call; what it returned, errors as negative numbers.
    pub(crate) fn call(&mut self, number: i64, arguments: &[u64]) -> Result<i64, TaskError> {
        let mut registers = self.saved;
        let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
        registers.rip = self.gadget;
        registers.rax = number.cast_unsigned();
        registers.orig_rax = u64::MAX;
        registers.rdi = argument(0);
        registers.rsi = argument(1);
        registers.rdx = argument(2);
        registers.r10 = argument(3);
        registers.r8 = argument(4);
        registers.r9 = argument(5);
        ptrace::set_registers(self.tid, &registers)?;
        let after = self.run()?;
        Ok(after.rax.cast_signed())
    }

    /// The same, with an error's text.
    pub(crate) fn checked(&mut self, number: i64, arguments: &[u64]) -> Result<u64, TaskError> {
        let result = self.call(number, arguments)?;
        match i32::try_from(result) {
            Ok(errno @ -4095..=-1) => {
                let error = io::Error::from_raw_os_error(-errno);
                Err(TaskError::Broken(format!("system call {number} in the target: {error}")))
            }
            _ => Ok(result.cast_unsigned()),
        }
    }

    fn run(&mut self) -> Result<TraceeRegisters, TaskError> {
        for _ in 0..MAX_REPORTS {
            ptrace::step(self.tid, 0)?;
            match ptrace::wait_for(self.tid)? {
                Some(TraceeStop::Signal(libc::SIGTRAP)) => {
                    let registers = ptrace::registers(self.tid)?;
                    if registers.rip == self.gadget + 2 {
                        return Ok(registers);
                    }
                }
                Some(TraceeStop::Signal(_)) => {
                    self.deferred.push(ptrace::signal_info(self.tid)?);
                    let registers = ptrace::registers(self.tid)?;
                    if registers.rip == self.gadget + 2 {
                        return Ok(registers);
                    }
                }
                Some(stop @ (TraceeStop::Exited(_) | TraceeStop::Killed(_))) => {
                    self.end = Some(stop);
                    return Err(TaskError::Gone);
                }
                Some(_) => {}
                None => return Err(TaskError::Gone),
            }
        }
        Err(TaskError::Broken(format!(
            "thread {} does not get past the system call at {:#x}",
            self.tid, self.gadget
        )))
    }

    pub(crate) fn finish(&self) -> io::Result<()> {
        match self.end {
            Some(_) => Ok(()),
            None => {
                ptrace::set_blocked_signals(self.tid, self.blocked)?;
                ptrace::set_registers(self.tid, &self.saved)
            }
        }
    }
}
