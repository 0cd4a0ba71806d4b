//! Single steps of threads, in translated code and outside of it.

use std::time::{Duration, Instant};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

use super::engine::Engine;
use super::relocate::narrow_call;
use super::signal::{is_fault, is_write};
use super::task::TaskError;
use crate::block;
use crate::sys::ptrace::{self, SI_KERNEL, TraceeRegisters, TraceeStop};
use crate::sys::remote;

/// How long a repeated instruction may take: the memory that it touches may
/// have to be read from disks first.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// RFLAGS that `pushf` does not save: RF and VM.
const NOT_PUSHED: u64 = 0x3_0000;

impl Engine {
    /// One instruction of translated code, at least; the stop is one in which
    /// signals can be delivered. A fault of it leaves the program at that
    /// instruction, where it will come again: `guest` is set then.
    pub(crate) fn one_step(&mut self, tid: i32) -> Result<TraceeRegisters, TaskError> {
        while push_flags(tid)?.is_some() {}
        loop {
            ptrace::step(tid, 0)?;
            match self.stop_of(tid)? {
                TraceeStop::Signal(signal) => {
                    let info = ptrace::signal_info(tid)?;
                    let registers = ptrace::registers(tid)?;
                    if is_fault(signal, info.code()) {
                        self.stay_at_fault(tid, registers)?;
                        return Ok(registers);
                    }
                    if signal == libc::SIGTRAP && info.code() > 0 {
                        if info.code() == SI_KERNEL {
                            // At a breakpoint `guest` is set.
                            self.take_stop(tid)?;
                        }
                        return Ok(registers);
                    }
                    self.keep_signal(tid, info)?;
                }
                TraceeStop::Cloned { child, how } if self.note_clone(tid, child, how)? => {
                    return Ok(ptrace::registers(tid)?);
                }
                _ => {}
            }
        }
    }

    /// A thread met a fault where it will meet it again: takes it to the
    /// begin of the instruction.
    pub(crate) fn stay_at_fault(
        &mut self,
        tid: i32,
        registers: TraceeRegisters,
    ) -> Result<(), TaskError> {
        if let Some(location) = self.space_of(tid)?.cache.locate(registers.rip) {
            let guest = self.guest_at(tid, registers, location)?;
            self.task(tid)?.guest = Some(guest);
        }
        Ok(())
    }

    /// The stop of a thread that was let run; its end is kept for later.
    pub(crate) fn stop_of(&mut self, tid: i32) -> Result<TraceeStop, TaskError> {
        let stop = ptrace::wait_for(tid)?.ok_or(TaskError::Gone)?;
        if let TraceeStop::Exited(_) | TraceeStop::Killed(_) | TraceeStop::Exec { .. } = stop {
            self.report_later(tid, stop);
            return Err(TaskError::Gone);
        }
        Ok(stop)
    }

    fn stop_within(&mut self, tid: i32, longest: Duration) -> Result<TraceeStop, TaskError> {
        const PAUSE: Duration = Duration::from_micros(50);
        let end = Instant::now() + longest;
        loop {
            match ptrace::poll_for(tid)? {
                Some(
                    stop
                    @ (TraceeStop::Exited(_) | TraceeStop::Killed(_) | TraceeStop::Exec { .. }),
                ) => {
                    self.report_later(tid, stop);
                    return Err(TaskError::Gone);
                }
                Some(stop) => return Ok(stop),
                None if Instant::now() > end => {
                    let text = format!("thread {tid} does not come to the end of an instruction");
                    return Err(TaskError::Broken(text));
                }
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// One step outside of translated code: how it stopped, and its registers
    /// then.
    pub(crate) fn step_natively(
        &mut self,
        tid: i32,
    ) -> Result<(TraceeStop, TraceeRegisters), TaskError> {
        ptrace::step(tid, 0)?;
        let stop = self.stop_of(tid)?;
        Ok((stop, ptrace::registers(tid)?))
    }

    /// Lets the thread do one instruction of its program natively: its state
    /// is in `guest`.
    pub(crate) fn native_step(&mut self, tid: i32) -> Result<(), TaskError> {
        let Some(mut guest) = self.task(tid)?.guest else { return Err(TaskError::Gone) };
        let memory_call = narrow_call(tid, &guest);
        if let Some(call) = &memory_call {
            self.relocate_for_call(tid, call)?;
        }
        let (space, number) = self.block_of(tid)?;
        guest.gs_base = space.get(number, block::GS_BASE);
        guest.orig_rax = u64::MAX;
        ptrace::set_registers(tid, &guest)?;
        if let Some(after) = push_flags(tid)? {
            self.task(tid)?.guest = Some(after);
            return self.enter_and_go(tid);
        }
        loop {
            let (stop, after) = self.step_natively(tid)?;
            self.task(tid)?.guest = Some(after);
            let (space, number) = self.block_of(tid)?;
            space.set(number, block::GS_BASE, after.gs_base);
            match stop {
                TraceeStop::Signal(_) => {
                    let info = ptrace::signal_info(tid)?;
                    if info.is_step() {
                        if memory_call.is_some() {
                            self.mappings_changed(tid, 0, u64::MAX, true)?;
                        }
                        return self.enter_and_go(tid);
                    }
                    if is_write(info) && self.unprotect(tid, info.address())? {
                        continue;
                    }
                    if info.code() > 0 {
                        return self.deliver_or_die(tid, info);
                    }
                    self.keep_signal(tid, info)?;
                }
                TraceeStop::Cloned { child, how } if self.note_clone(tid, child, how)? => {
                    return Ok(());
                }
                _ => {}
            }
        }
    }
}

impl Engine {
    /// Lets a thread finish the repeated string instruction that it is in: the
    /// model has looked all of it up. None: it cannot be done here.
    pub(crate) fn finish_repeat(
        &mut self,
        tid: i32,
        at: TraceeRegisters,
    ) -> Result<Option<TraceeRegisters>, TaskError> {
        let end = instruction(tid, at.rip).next_ip();
        if ptrace::set_breakpoint(tid, Some(end)).is_err() {
            return Ok(None);
        }
        let result = self.run_to(tid, end);
        // Who is gone has none.
        let _gone = ptrace::set_breakpoint(tid, None);
        result.map(Some)
    }

    fn run_to(&mut self, tid: i32, end: u64) -> Result<TraceeRegisters, TaskError> {
        loop {
            ptrace::resume(tid, 0)?;
            let stop = self.stop_within(tid, STEP_TIMEOUT)?;
            let registers = ptrace::registers(tid)?;
            if let TraceeStop::Signal(signal) = stop {
                let info = ptrace::signal_info(tid)?;
                if is_fault(signal, info.code()) {
                    self.stay_at_fault(tid, registers)?;
                    return Ok(registers);
                }
                if signal == libc::SIGTRAP && registers.rip == end {
                    return Ok(registers);
                }
                self.keep_signal(tid, info)?;
            }
        }
    }
}

fn instruction(tid: i32, address: u64) -> Instruction {
    let mut code = [0; 15];
    let read = remote::read(tid, address, &mut code).unwrap_or(0);
    let code = code.get(..read).unwrap_or_default();
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode()
}

/// Whether a string instruction that repeats is at an address: a step of it is
/// one element of what may be millions.
pub(crate) fn repeats(tid: i32, address: u64) -> bool {
    let found = instruction(tid, address);
    found.is_string_instruction() && (found.has_rep_prefix() || found.has_repne_prefix())
}

/// Does a `pushf` that a stopped thread is about to do: in a single step it
/// would save the flag that asks for the step. The registers behind it; None:
/// it is about to do something else, or what the processor must say.
fn push_flags(tid: i32) -> Result<Option<TraceeRegisters>, TaskError> {
    let mut registers = ptrace::registers(tid)?;
    let found = instruction(tid, registers.rip);
    let bytes = match found.mnemonic() {
        Mnemonic::Pushfq => 8,
        Mnemonic::Pushf => 2,
        _ => return Ok(None),
    };
    let flags = (registers.eflags & !NOT_PUSHED).to_le_bytes();
    let to = registers.rsp.wrapping_sub(bytes as u64);
    if remote::write(tid, to, &flags[..bytes]).is_err() {
        return Ok(None);
    }
    registers.rsp = to;
    registers.rip = found.next_ip();
    ptrace::set_registers(tid, &registers)?;
    Ok(Some(registers))
}
