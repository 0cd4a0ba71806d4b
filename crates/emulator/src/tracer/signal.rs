//! Stops of threads in translated code: breakpoints and signals.

use super::engine::Engine;
use super::status::status;
use super::task::TaskError;
use super::trap::TrapDisposition;
use crate::block::{self, ExitReason};
use crate::sys::ptrace::{self, SI_KERNEL, SignalInfo, TraceeRegisters, TraceeStop};
use crate::translate::{CodeStop, InstructionPhase, Location};

/// si_code of a fault on a page that is there.
const SEGV_ACCERR: i32 = 2;

impl Engine {
    pub(crate) fn signal(&mut self, tid: i32, signal: i32) -> Result<(), TaskError> {
        let info = ptrace::signal_info(tid)?;
        if info.is_prompt() {
            let task = self.task(tid)?;
            task.prompted = None;
            return match task.pending.pop_front() {
                Some(waited) => self.deliver_later(tid, waited),
                None => Ok(ptrace::resume(tid, 0)?),
            };
        }
        if signal == libc::SIGTRAP {
            if info.code() == SI_KERNEL {
                let registers = ptrace::registers(tid)?;
                let at = registers.rip.wrapping_sub(1);
                if let Some(stop) = self.space_of(tid)?.cache.stop_at(at) {
                    return self.code_stop(tid, stop, registers);
                }
            }
            if info.is_step() {
                // A step of ours that something else came before.
                return self.go(tid);
            }
        }
        if is_fault(signal, info.code()) {
            return self.fault(tid, info);
        }
        self.keep_signal(tid, info)?;
        match self.task(tid)?.pending.pop_front() {
            Some(first) => self.deliver_later(tid, first),
            None => self.go(tid),
        }
    }

    fn code_stop(
        &mut self,
        tid: i32,
        stop: CodeStop,
        mut registers: TraceeRegisters,
    ) -> Result<(), TaskError> {
        match stop {
            CodeStop::Direct { target } => registers.rip = target,
            CodeStop::Indirect => {
                let (space, number) = self.block_of(tid)?;
                registers.rip = space.get(number, block::BRANCH);
                self.task(tid)?.guest = Some(registers);
                self.enter(tid)?;
                self.know_branch(tid, registers.rip)?;
                return self.go(tid);
            }
            CodeStop::Syscall { ip, next } => {
                registers.rip = ip;
                self.task(tid)?.guest = Some(registers);
                return self.system_call(tid, next);
            }
            CodeStop::BadAddress { ip, next } => {
                // The kernel may have met pages that are read-only for us
                // alone: then the call is made again.
                let (space, number) = self.block_of(tid)?;
                let call = space.get(number, block::EXIT_ARGUMENT);
                let protected = space.code.protected();
                registers.rcx = next;
                registers.rip = next;
                self.task(tid)?.guest = Some(registers);
                let mut again = false;
                for page in protected {
                    again |= self.unprotect(tid, page)?;
                }
                if again {
                    registers.rax = call;
                    registers.rip = ip;
                }
            }
            CodeStop::Instruction { ip } => {
                registers.rip = ip;
                self.task(tid)?.guest = Some(registers);
                return self.native_step(tid);
            }
            CodeStop::Changed { ip } => {
                registers.rip = ip;
                self.task(tid)?.guest = Some(registers);
                self.code_changed(tid, ip)?;
                return self.enter_and_go(tid);
            }
            CodeStop::Runtime => return self.runtime_asks(tid),
            CodeStop::Boundary => {
                return Err(TaskError::Broken(format!(
                    "thread {tid} met a boundary that none set"
                )));
            }
        }
        self.task(tid)?.guest = Some(registers);
        self.enter_and_go(tid)
    }

    /// Lets an indirect branch of this address space find its target next
    /// time.
    fn know_branch(&mut self, tid: i32, target: u64) -> Result<(), TaskError> {
        let (space, number) = self.block_of(tid)?;
        let variant = space.variant(number);
        let memory = self.task(tid)?.memory;
        let of = self.memories.get(&memory).ok_or(TaskError::Gone)?;
        if let (Some(space), Some(slot)) = (self.spaces.get(&of.space), of.slot) {
            space.enter_branch(&self.plan.setup, slot, variant, target);
        }
        Ok(())
    }

    fn runtime_asks(&mut self, tid: i32) -> Result<(), TaskError> {
        let (space, number) = self.block_of(tid)?;
        let why = space.get(number, block::EXIT);
        if why == ExitReason::RingFull as u64 {
            if self.has_room() {
                return Ok(ptrace::resume(tid, 0)?);
            }
            self.task(tid)?.waits = true;
            self.progress.fill();
            return Ok(());
        }
        if why == ExitReason::Name as u64 {
            self.read_name(tid)?;
            return Ok(ptrace::resume(tid, 0)?);
        }
        if why == ExitReason::Count as u64 {
            self.settle(tid)?;
            self.leave_all();
            return Ok(());
        }
        self.runtime_fault(tid).map(|_| ())
    }

    pub(crate) fn runtime_fault(&mut self, tid: i32) -> Result<bool, TaskError> {
        let (space, number) = self.block_of(tid)?;
        let (why, site) = (space.get(number, block::EXIT), space.get(number, block::SITE));
        let ip = self.site_ip(tid, site)?;
        Err(TaskError::Broken(format!("the runtime gave up ({why}) at the instruction {ip:#x}")))
    }

    /// The program's own instruction faulted, or something of ours.
    fn fault(&mut self, tid: i32, info: SignalInfo) -> Result<(), TaskError> {
        let registers = ptrace::registers(tid)?;
        let space = self.space_of(tid)?;
        let location = space.cache.locate(registers.rip);
        let ours = matches!(location, Some(Location { phase: InstructionPhase::Runtime, .. }))
            || location.is_none() && space.in_runtime(registers.rip);
        if ours {
            let (space, number) = self.block_of(tid)?;
            let site = space.get(number, block::SITE);
            let ip = self.site_ip(tid, site).unwrap_or(0);
            return Err(TaskError::Broken(format!(
                "the emulator itself met {info:?} at {:#x} (address {:#x}), for the instruction {ip:#x}",
                registers.rip,
                info.address()
            )));
        }
        let guest = match location {
            Some(location) => self.guest_at(tid, registers, location)?,
            None => registers,
        };
        self.task(tid)?.guest = Some(guest);
        if is_write(info) && self.unprotect(tid, info.address())? {
            // What it writes may be the very next instruction.
            return self.native_step(tid);
        }
        let names_code = matches!(info.number(), libc::SIGILL | libc::SIGFPE);
        self.deliver(tid, if names_code { info.with_address(guest.rip) } else { info })
    }

    /// A signal from elsewhere: delivered at an instruction's begin.
    fn deliver_later(&mut self, tid: i32, info: SignalInfo) -> Result<(), TaskError> {
        let number = info.number();
        if !self.catches(tid, number)? {
            // Its default, or nothing: the thread stays where it is.
            let ignored =
                number == libc::SIGTRAP && self.trap_disposition(tid)? == TrapDisposition::Ignored;
            ptrace::set_signal_info(tid, &info)?;
            self.prompt(tid)?;
            return Ok(ptrace::resume(tid, if ignored { 0 } else { number })?);
        }
        self.settle(tid)?;
        let info = self.place_of_call(tid, info);
        self.deliver(tid, info)
    }

    fn catches(&mut self, tid: i32, signal: i32) -> Result<bool, TaskError> {
        if signal == libc::SIGTRAP {
            match self.trap_disposition(tid)? {
                TrapDisposition::Unset => {}
                told => return Ok(told == TrapDisposition::Caught),
            }
        }
        Ok(status(tid).map_err(|_| TaskError::Gone)?.catches(signal))
    }

    /// Delivers a signal to a thread whose state is in `guest`, and which is
    /// in the stop of a signal's delivery.
    pub(crate) fn deliver(&mut self, tid: i32, mut info: SignalInfo) -> Result<(), TaskError> {
        self.account.work.signals += 1;
        if info.number() == libc::SIGTRAP {
            self.renew_trap_action(tid)?;
        }
        loop {
            let Some(mut guest) = self.task(tid)?.guest else { return Err(TaskError::Gone) };
            // The kernel makes the handler's frame from this state.
            let (space, number) = self.block_of(tid)?;
            guest.gs_base = space.get(number, block::GS_BASE);
            ptrace::set_registers(tid, &guest)?;
            ptrace::set_signal_info(tid, &info)?;
            ptrace::step(tid, info.number())?;
            let stop = self.stop_of(tid)?;
            self.task(tid)?.guest = Some(ptrace::registers(tid)?);
            match stop {
                TraceeStop::Signal(signal) => {
                    let next = ptrace::signal_info(tid)?;
                    if next.is_prompt() {
                        self.keep_signal(tid, next)?;
                    } else if signal != libc::SIGTRAP || next.code() <= 0 {
                        // The frame could not be made, say: the stack is full.
                        info = next;
                        continue;
                    }
                    // At the handler's first instruction.
                    return self.enter_and_go(tid);
                }
                stop => {
                    self.enter(tid)?;
                    self.reports.push_front((tid, stop));
                    return Ok(());
                }
            }
        }
    }

    /// Delivers a signal that the program's own instruction caused.
    pub(crate) fn deliver_or_die(&mut self, tid: i32, info: SignalInfo) -> Result<(), TaskError> {
        if self.catches(tid, info.number())? {
            return self.deliver(tid, info);
        }
        Ok(ptrace::resume(tid, info.number())?)
    }

    fn code_changed(&mut self, tid: i32, ip: u64) -> Result<(), TaskError> {
        use super::maps::PAGE;
        let first = ip & !(PAGE - 1);
        let changed = self.space_of(tid)?.code.changed(tid, &(first..first + 2 * PAGE));
        let itself = ip..ip + 1;
        self.code_differs(tid, if changed.is_empty() { vec![itself] } else { changed })
    }

    pub(crate) fn wake_waiting(&mut self) {
        if !self.tasks.values().any(|task| task.waits) || !self.has_room() {
            return;
        }
        for (tid, task) in self.tasks.iter_mut().filter(|(_, task)| task.waits) {
            task.waits = false;
            // A thread that was killed meanwhile reports that itself.
            let _gone = ptrace::resume(*tid, 0);
        }
    }

    /// Whether at least a sixteenth of the ring is free.
    pub(crate) fn has_room(&self) -> bool {
        use crate::runtime::guest::ring::{HEAD, PAGE, TAIL};
        use std::sync::atomic::Ordering;
        let word = |at| self.plan.ring.word(at).load(Ordering::Acquire);
        let size = (self.plan.ring.len() - PAGE) as u64;
        word(HEAD).wrapping_sub(word(TAIL)) <= size - size / 16
    }
}

/// Whether a fault may be a write to a page that can be read.
pub(crate) fn is_write(info: SignalInfo) -> bool {
    info.number() == libc::SIGSEGV && info.code() == SEGV_ACCERR
}

/// Whether a signal is a fault of the instruction that was about to run.
pub(crate) fn is_fault(signal: i32, code: i32) -> bool {
    code > 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE)
}
