//! New threads, processes and programs.

use super::engine::{AddressSpace, Engine};
use super::maps;
use super::sideband;
use super::status;
use super::task::{TaskError, TaskMode, TracedTask};
use crate::block;
use crate::sys::ptrace::{self, CloneKind, TraceeStop};

const CLONE_VM: u64 = 0x100;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
/// Stops between an exec's event and its end.
const MAX_STOPS: usize = 100;

impl Engine {
    pub(crate) fn on_clone(
        &mut self,
        tid: i32,
        child: i32,
        how: CloneKind,
    ) -> Result<(), TaskError> {
        if self.note_clone(tid, child, how)? {
            return Ok(());
        }
        match self.task(tid)?.mode {
            TaskMode::Held => Ok(ptrace::resume(tid, 0)?),
            TaskMode::Emulated => self.go(tid),
        }
    }

    /// Enters a new task in the books. True: its maker waits for its end, and
    /// runs already.
    pub(crate) fn note_clone(
        &mut self,
        tid: i32,
        child: i32,
        how: CloneKind,
    ) -> Result<bool, TaskError> {
        if child != 0 && !self.tasks.contains_key(&child) {
            self.enter_task(tid, child, how)?;
        }
        let waits = how == CloneKind::Vfork && self.task(tid)?.mode == TaskMode::Emulated;
        if waits {
            self.park(tid)?;
        }
        Ok(waits)
    }

    fn enter_task(&mut self, tid: i32, child: i32, how: CloneKind) -> Result<(), TaskError> {
        let parent = self.task(tid)?;
        let (parent_pid, mode, memory) = (parent.pid, parent.mode, parent.memory);
        let filtered = parent.filtered;
        let flags = self.clone_flags(tid, how);
        let thread = flags & CLONE_THREAD != 0;
        let pid = if thread { parent_pid } else { child };
        let mut task = TracedTask::new(pid, mode);
        task.filtered = filtered;
        if mode == TaskMode::Emulated {
            let shared = flags & CLONE_VM != 0;
            task.memory = if shared { memory } else { self.fork_memory(memory)? };
            self.side.fork(
                &self.plan.ring,
                sideband::task(pid, child),
                sideband::task(parent_pid, tid),
            );
            if !thread {
                self.account.processes += 1;
                self.inherit_trap_action(parent_pid, pid);
            }
        }
        self.tasks.insert(child, task);
        if self.early.remove(&child) {
            self.reports.push_back((child, TraceeStop::Interrupted));
        }
        // The program's own GS base is the maker's.
        if mode == TaskMode::Emulated {
            let (space, number) = self.block_of(tid)?;
            let base = space.get(number, block::GS_BASE);
            self.task(child)?.unborn = true;
            let memory = self.task(child)?.memory;
            if self.memories.get(&memory).is_some_and(|of| of.slot.is_none()) {
                self.task(child)?.gs_base = base;
                self.account.threads += 1;
                return Ok(());
            }
            let to = self.give_block(child)?;
            let (setup, seed) = (self.plan.setup.clone(), u64::from(self.new_id()));
            let space = self.space_of(child)?;
            space.set(to, block::GS_BASE, base);
            space.copy_branches(number, to);
            let (maker, words) = (space.block_words(number), space.block_words(to));
            setup.follow(maker, words, seed);
            // The new task goes on amid the code of its maker, which may
            // know that a slot has a register's value.
            for at in (block::REGISTERS..block::REGISTERS + 128).step_by(8) {
                let value = space.get(number, at);
                space.set(to, at, value);
            }
            self.update_page_sizes(child)?;
            self.set_clear_address(tid, child)?;
            self.watch_clone(tid, true)?;
        }
        Ok(())
    }

    /// Tells a new task's wait slot what the kernel clears at its end, where its
    /// maker asked for that.
    fn set_clear_address(&mut self, tid: i32, child: i32) -> Result<(), TaskError> {
        let registers = ptrace::registers(tid)?;
        let address = match registers.orig_rax.cast_signed() {
            libc::SYS_clone if registers.rdi & CLONE_CHILD_CLEARTID != 0 => registers.r10,
            libc::SYS_clone3 => {
                let [flags, _, address] = clone_arguments(tid, registers.rdi);
                if flags & CLONE_CHILD_CLEARTID == 0 { 0 } else { address }
            }
            _ => 0,
        };
        self.clears_at_end(child, address)
    }

    fn clone_flags(&self, tid: i32, how: CloneKind) -> u64 {
        let Ok(registers) = ptrace::registers(tid) else { return 0 };
        match registers.orig_rax.cast_signed() {
            libc::SYS_clone => registers.rdi,
            libc::SYS_clone3 => clone_arguments(tid, registers.rdi)[0],
            libc::SYS_fork => 0,
            libc::SYS_vfork => CLONE_VM,
            _ if how == CloneKind::Clone => CLONE_VM | CLONE_THREAD,
            _ if how == CloneKind::Vfork => CLONE_VM,
            _ => 0,
        }
    }

    /// The address space of a forked process: it runs the same translated
    /// code, on a model of its own, until either changes its code. Where no
    /// model is free it gets code of its own, when it starts.
    fn fork_memory(&mut self, parent: u32) -> Result<u32, TaskError> {
        let of = self.memories.get(&parent).ok_or(TaskError::Gone)?;
        let (id, gadget, fixed) = (of.space, of.gadget, of.fixed);
        let (page_sizes, turns) = (of.page_sizes.clone(), of.turns);
        let bytes = self.ring_bytes();
        let space = self.spaces.get_mut(&id).ok_or(TaskError::Gone)?;
        let slot = space.take_slot(&self.plan.setup, bytes, turns);
        let number = self.new_id();
        let memory =
            AddressSpace { space: id, slot, gadget, unmapped: false, fixed, page_sizes, turns };
        self.memories.insert(number, memory);
        Ok(number)
    }

    /// A new task stands behind the call that made it, in translated code,
    /// with its maker's block.
    pub(crate) fn start_task(&mut self, tid: i32) -> Result<(), TaskError> {
        self.task(tid)?.unborn = false;
        let Some(number) = self.task(tid)?.block else {
            self.settle(tid)?;
            self.move_out(tid)?;
            return self.enter_and_go(tid);
        };
        let mut registers = ptrace::registers(tid)?;
        let space = self.space_of(tid)?;
        registers.gs_base = space.address(space.block_offset(number));
        space.set(number, block::FS_BASE, registers.fs_base);
        ptrace::set_registers(tid, &registers)?;
        self.go(tid)
    }

    /// A process runs another program: `former` called exec, and is `tid`
    /// now.
    pub(crate) fn begin_image(&mut self, tid: i32, former: i32) -> Result<(), TaskError> {
        if self.leaving {
            return self.leave_image(tid, former);
        }
        let was = self.tasks.get(&former).or_else(|| self.tasks.get(&tid)).map(|task| task.mode);
        self.early.remove(&former);
        for old in [former, tid] {
            self.forget(old);
        }
        let mut task = TracedTask::new(tid, TaskMode::Emulated);
        task.memory = 0;
        self.tasks.insert(tid, task);
        if was == Some(TaskMode::Held) {
            self.account.processes += 1;
        }
        self.keep_ignored_trap(tid);
        self.finish_exec(tid)?;
        if let Some(what) = status::foreign(tid).map_err(|_| TaskError::Gone)? {
            let why = format!("it went on to run a {what} program");
            return self.leave_task(tid, why);
        }
        if !self.note_filter(tid)? {
            let why = "it runs a program under a seccomp filter, which only root sets aside";
            return self.leave_task(tid, why.into());
        }
        let mut registers = ptrace::registers(tid)?;
        registers.orig_rax = u64::MAX;
        let name = status::name(tid);
        self.side.comm(&self.plan.ring, sideband::task(tid, tid), &name, true);
        for region in maps::regions_with_stack(tid).map_err(|_| TaskError::Gone)? {
            self.side.mapping(&self.plan.ring, sideband::task(tid, tid), &region);
        }
        self.task(tid)?.guest = Some(registers);
        self.make_space(tid, false)?;
        self.give_block(tid)?;
        let memory = self.task(tid)?.memory;
        if self.memories.get(&memory).is_some_and(|memory| memory.fixed)
            && let Some(at) = super::fixed_random::random_bytes(tid)
        {
            let mut bytes = [0; 16];
            super::fixed_random::fill(&mut self.random, &mut bytes);
            crate::sys::remote::write(tid, at, &bytes)?;
        }
        self.enter_and_go(tid)
    }

    fn finish_exec(&mut self, tid: i32) -> Result<(), TaskError> {
        for _ in 0..MAX_STOPS {
            ptrace::resume_to_call(tid)?;
            match ptrace::wait_for(tid)?.ok_or(TaskError::Gone)? {
                TraceeStop::Signal(signal) if signal == libc::SIGTRAP | 0x80 => return Ok(()),
                stop @ (TraceeStop::Exited(_) | TraceeStop::Killed(_)) => {
                    self.report_later(tid, stop);
                    return Err(TaskError::Gone);
                }
                TraceeStop::Signal(_) => {
                    let info = ptrace::signal_info(tid)?;
                    self.keep_signal(tid, info)?;
                }
                _ => {}
            }
        }
        Err(TaskError::Broken(format!("process {tid} does not come to the end of its exec")))
    }

    pub(crate) fn leave_task(&mut self, tid: i32, why: String) -> Result<(), TaskError> {
        self.account.not_followed.push((perfdata::Pid(tid), why));
        self.progress.leave();
        ptrace::detach(tid, 0)?;
        self.forget(tid);
        Ok(())
    }
}

/// The first words of clone3(2)'s argument: flags, where the PID's file goes,
/// what is cleared at the end.
pub(crate) fn clone_arguments(tid: i32, address: u64) -> [u64; 3] {
    let mut words = [[0; 8]; 3];
    let read = crate::sys::remote::read(tid, address, words.as_flattened_mut());
    if read.is_ok_and(|read| read == 24) { words.map(u64::from_le_bytes) } else { [0; 3] }
}
