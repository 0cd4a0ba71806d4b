//! Programs that trace others themselves: a task has one tracer at most, so
//! what they trace is left to them.

use super::clone_exec::clone_arguments;
use super::engine::Engine;
use super::task::{TaskError, TaskMode};
use crate::block;
use crate::sys::ptrace::TraceeRegisters;

const TRACE_ME: u64 = 0;
const ATTACH: u64 = 16;
const SEIZE: u64 = 0x4206;
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_UNTRACED: u64 = 0x80_0000;

impl Engine {
    /// A thread is about to call ptrace(2): debuggers, strace, and the leak
    /// check of LLVM's and GCC's sanitizers.
    pub(crate) fn trace_call(
        &mut self,
        tid: i32,
        next: u64,
        guest: TraceeRegisters,
    ) -> Result<(), TaskError> {
        match guest.rdi {
            TRACE_ME => {
                let (pid, memory) = {
                    let task = self.task(tid)?;
                    (task.pid, task.memory)
                };
                let why = "its parent traces it".to_owned();
                self.account.not_followed.push((perfdata::Pid(pid), why));
                if self.tasks_of(memory).len() == 1 {
                    return self.leave_memory(memory);
                }
                // A child by vfork, which goes on to another program.
                self.leave_one(tid)
            }
            ATTACH | SEIZE => {
                let other = i32::try_from(guest.rsi).unwrap_or(0);
                let by = self.task(tid)?.pid;
                if let Some(task) = self.tasks.get(&other).filter(|t| t.mode == TaskMode::Emulated)
                {
                    let (pid, memory) = (task.pid, task.memory);
                    let why = format!("process {by} of the target traces it");
                    self.account.not_followed.push((perfdata::Pid(pid), why));
                    self.leave_memory(memory)?;
                }
                // Its own address space may have been left: then it makes
                // the call by itself.
                if self.tasks.contains_key(&tid) { self.make_and_go(tid, next) } else { Ok(()) }
            }
            _ => self.make_and_go(tid, next),
        }
    }

    /// A thread is about to make another task, which must be known to us,
    /// too: untraced it would run our code in its maker's block.
    pub(crate) fn clone_call(
        &mut self,
        tid: i32,
        mut guest: TraceeRegisters,
    ) -> Result<(), TaskError> {
        let flags = if guest.rax & 0xffff_ffff == libc::SYS_clone as u64 {
            guest.rdi &= !CLONE_UNTRACED;
            guest.rdi
        } else {
            clone_arguments(tid, guest.rdi)[0]
        };
        self.task(tid)?.guest = Some(guest);
        if flags & (CLONE_VM | CLONE_VFORK) == CLONE_VM {
            self.take_turns(tid)?;
        }
        self.watch_clone(tid, false)?;
        self.enter_and_go(tid)
    }

    /// Whether the thread stops at its next clone(2) or clone3(2): not at the one that was
    /// looked at, but after it.
    pub(crate) fn watch_clone(&mut self, tid: i32, on: bool) -> Result<(), TaskError> {
        let (space, number) = self.block_of(tid)?;
        for call in [libc::SYS_clone, libc::SYS_clone3] {
            let call = usize::try_from(call).unwrap_or(0);
            let at = space.block_offset(number) + block::SYSCALLS + call;
            space.memory.write(at, &[u8::from(on)]);
        }
        Ok(())
    }
}
