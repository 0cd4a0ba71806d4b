//! System calls that the tracer looks at.

use super::buffers::{self, READS};
use super::engine::Engine;
use super::filter::adds_filter;
use super::relocate::MEMORY_CALLS;
use super::sideband::task;
use super::task::TaskError;
use crate::block;
use crate::sys::ptrace::{self, TraceeRegisters, TraceeStop};

/// ENOSYS as a call returns it.
const NO_SYSTEM_CALL: i64 = -38;
/// prctl(2): sets the thread's name.
const SET_NAME: u64 = 15;
const ARCH_SET_GS: u64 = 0x1001;
const ARCH_SET_FS: u64 = 0x1002;
const ARCH_GET_GS: u64 = 0x1004;
/// Translated calls fill no shadow stack: there is none, as on a CPU without.
const ARCH_SHSTK_ENABLE: u64 = 0x5001;
/// EOPNOTSUPP as a call returns it.
const NOT_SUPPORTED: i64 = -95;
/// mlockall(2): MCL_ONFAULT.
const ON_FAULT: u64 = 4;

/// The calls that stop, beside those that change memory.
const WATCHED: [i64; 11] = [
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_arch_prctl,
    libc::SYS_rseq,
    libc::SYS_mlockall,
    libc::SYS_getrandom,
    libc::SYS_ptrace,
    libc::SYS_clone,
    libc::SYS_clone3,
];

impl Engine {
    pub(crate) fn watch_calls(&mut self, tid: i32) -> Result<(), TaskError> {
        let task = self.task(tid)?;
        let (memory, Some(number)) = (task.memory, task.block) else { return Ok(()) };
        let of = self.memories.get(&memory).ok_or(TaskError::Gone)?;
        let (fixed, space) = (of.fixed, self.spaces.get(&of.space).ok_or(TaskError::Gone)?);
        let at = space.block_offset(number) + block::SYSCALLS;
        let exec: &[i64] = match self.plan.keeps_privileges {
            true => &[],
            false => &[libc::SYS_execve, libc::SYS_execveat],
        };
        let reads: &[i64] = if space.code.reads { &READS } else { &[] };
        let heap = self.follows_heap();
        for &call in WATCHED.iter().chain(&MEMORY_CALLS).chain(exec).chain(reads) {
            if call == libc::SYS_getrandom && !fixed || call == libc::SYS_brk && !heap {
                continue;
            }
            if let Ok(call) = usize::try_from(call)
                && call < block::SYSCALLS_LEN
            {
                space.memory.write(at + call, &[1]);
            }
        }
        Ok(())
    }

    /// A thread is about to make a call; its state is in `guest`, at the
    /// instruction.
    pub(crate) fn system_call(&mut self, tid: i32, next: u64) -> Result<(), TaskError> {
        self.account.work.calls += 1;
        let Some(guest) = self.task(tid)?.guest else { return Err(TaskError::Gone) };
        // The kernel looks at eax alone.
        let number = (guest.rax & 0xffff_ffff).cast_signed();
        match number {
            _ if READS.contains(&number) => self.read_call(tid, &guest),
            libc::SYS_rt_sigreturn => self.return_from_signal(tid, guest),
            libc::SYS_rt_sigaction => self.signal_action(tid, next, guest),
            libc::SYS_rseq => self.answer(tid, next, NO_SYSTEM_CALL),
            libc::SYS_arch_prctl => self.arch_prctl(tid, next, guest),
            libc::SYS_ptrace => self.trace_call(tid, next, guest),
            libc::SYS_clone | libc::SYS_clone3 => self.clone_call(tid, guest),
            libc::SYS_getrandom => self.getrandom(tid, next, guest),
            _ if MEMORY_CALLS.contains(&number) => self.memory_call(tid, next, guest),
            libc::SYS_execve | libc::SYS_execveat => {
                if self.left_for_privileges(tid, &guest)? {
                    return Ok(());
                }
                self.native_step(tid)
            }
            libc::SYS_mlockall => {
                // Ours is large, and mostly not there.
                self.task(tid)?.guest =
                    Some(TraceeRegisters { rdi: guest.rdi | ON_FAULT, ..guest });
                self.make(tid, next)?;
                if let Some(after) = &mut self.task(tid)?.guest {
                    after.rdi = guest.rdi;
                }
                self.enter_and_go(tid)
            }
            libc::SYS_prctl | libc::SYS_seccomp if adds_filter(&guest) => {
                if self.before_filter(tid)? {
                    if self.make(tid, next)? >= 0 {
                        self.after_filter(tid)?;
                    }
                    self.enter_and_go(tid)?;
                }
                Ok(())
            }
            libc::SYS_prctl => {
                let result = self.make(tid, next)?;
                if guest.rdi == SET_NAME && result == 0 {
                    let pid = self.task(tid)?.pid;
                    let name = super::status::name(tid);
                    self.side.comm(&self.plan.ring, task(pid, tid), &name, false);
                }
                self.enter_and_go(tid)
            }
            _ => self.make_and_go(tid, next),
        }
    }

    pub(crate) fn make_and_go(&mut self, tid: i32, next: u64) -> Result<(), TaskError> {
        self.make(tid, next)?;
        self.enter_and_go(tid)
    }

    /// Makes the call as the program asks; its result. `guest` is behind it
    /// then.
    pub(crate) fn make(&mut self, tid: i32, next: u64) -> Result<i64, TaskError> {
        let Some(guest) = self.task(tid)?.guest else { return Err(TaskError::Gone) };
        let arguments = [guest.rdi, guest.rsi, guest.rdx, guest.r10, guest.r8, guest.r9];
        let number = guest.rax.cast_signed();
        let memory = self.task(tid)?.memory;
        let gadget = self.memories.get(&memory).ok_or(TaskError::Gone)?.gadget;
        let result = self.inject_filtered(tid, gadget, |calls| calls.call(number, &arguments))?;
        self.put_result(tid, next, result)?;
        Ok(result)
    }

    fn put_result(&mut self, tid: i32, next: u64, result: i64) -> Result<(), TaskError> {
        if let Some(guest) = &mut self.task(tid)?.guest {
            guest.rax = result.cast_unsigned();
            guest.rcx = next;
            guest.r11 = guest.eflags;
            guest.rip = next;
            guest.orig_rax = u64::MAX;
        }
        Ok(())
    }

    /// Goes on as if the call had returned this.
    fn answer(&mut self, tid: i32, next: u64, result: i64) -> Result<(), TaskError> {
        self.put_result(tid, next, result)?;
        self.enter_and_go(tid)
    }

    /// The kernel puts the state from before a signal back; it is the
    /// program's own.
    fn return_from_signal(&mut self, tid: i32, guest: TraceeRegisters) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        let gadget = self.memories.get(&memory).ok_or(TaskError::Gone)?.gadget;
        let mut registers = guest;
        registers.rip = gadget;
        registers.orig_rax = u64::MAX;
        ptrace::set_registers(tid, &registers)?;
        loop {
            let (stop, after) = self.step_natively(tid)?;
            let TraceeStop::Signal(signal) = stop else { continue };
            let info = ptrace::signal_info(tid)?;
            let done = after.rip != gadget || after.rsp != guest.rsp;
            if signal != libc::SIGTRAP {
                // A frame that cannot be read: the kernel sends SIGSEGV.
                if info.code() > 0 && done {
                    self.task(tid)?.guest = Some(after);
                    return self.deliver(tid, info);
                }
                self.keep_signal(tid, info)?;
                if !done {
                    continue;
                }
            }
            if done {
                self.task(tid)?.guest = Some(after);
                return self.enter_and_go(tid);
            }
        }
    }

    fn arch_prctl(&mut self, tid: i32, next: u64, guest: TraceeRegisters) -> Result<(), TaskError> {
        match guest.rdi {
            ARCH_SET_GS => {
                let (space, number) = self.block_of(tid)?;
                space.set(number, block::GS_BASE, guest.rsi);
                self.answer(tid, next, 0)
            }
            ARCH_GET_GS => {
                let (space, number) = self.block_of(tid)?;
                let value = space.get(number, block::GS_BASE).to_le_bytes();
                let written = crate::sys::remote::write(tid, guest.rsi, &value);
                self.answer(tid, next, if written.is_ok() { 0 } else { -14 })
            }
            ARCH_SET_FS => {
                self.make(tid, next)?;
                let fs_base = ptrace::registers(tid)?.fs_base;
                let base = if self.task(tid)?.guest.is_some_and(|guest| guest.rax == 0) {
                    guest.rsi
                } else {
                    fs_base
                };
                if let Some(guest) = &mut self.task(tid)?.guest {
                    guest.fs_base = base;
                }
                self.enter_and_go(tid)
            }
            ARCH_SHSTK_ENABLE => self.answer(tid, next, NOT_SUPPORTED),
            _ => {
                self.make(tid, next)?;
                self.enter_and_go(tid)
            }
        }
    }

    /// The same numbers in every run.
    fn getrandom(&mut self, tid: i32, next: u64, guest: TraceeRegisters) -> Result<(), TaskError> {
        const MAX_BYTES: u64 = 1 << 20;
        let length = guest.rsi.min(MAX_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        super::fixed_random::fill(&mut self.random, &mut bytes);
        let result = match crate::sys::remote::write(tid, guest.rdi, &bytes) {
            Ok(()) => length.cast_signed(),
            Err(_) => -14,
        };
        self.answer(tid, next, result)
    }

    /// A call reads into memory: pages of it that only we protect are to be
    /// written. The thread, which may have to wait, makes it itself.
    fn read_call(&mut self, tid: i32, guest: &TraceeRegisters) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        let number = (guest.rax & 0xffff_ffff).cast_signed();
        for range in buffers::ranges(tid, number, guest.rsi, guest.rdx) {
            for page in self.space_of(tid)?.code.read_into(&range) {
                self.unprotect(tid, page)?;
            }
        }
        if self.task(tid)?.memory != memory {
            // Where it is now nothing is protected.
            return self.enter_and_go(tid);
        }
        self.task(tid)?.guest = None;
        self.go(tid)
    }
}
