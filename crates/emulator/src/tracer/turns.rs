//! Turns of threads, as far as the tracer has a part in them.

use std::sync::atomic::AtomicU64;

use super::engine::Engine;
use super::task::TaskError;
use crate::runtime::RuntimeSetup;
use crate::runtime::guest::run_token::RunToken;
use crate::sys::remote;

impl Engine {
    /// A process is about to have a second thread: from now on its threads
    /// take turns, which its code must be translated for. The thread that
    /// makes it is stopped, its state in `guest`.
    pub(crate) fn take_turns(&mut self, tid: i32) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        let Some(of) = self.memories.get_mut(&memory) else { return Err(TaskError::Gone) };
        if std::mem::replace(&mut of.turns, true) {
            return Ok(());
        }
        self.move_out(tid)
    }

    fn with_run_token<T>(
        &mut self,
        tid: i32,
        use_it: impl FnOnce(RunToken<'_>, usize) -> T,
    ) -> Result<T, TaskError> {
        let task = self.task(tid)?;
        let (memory, block) = (task.memory, task.block.ok_or(TaskError::Gone)?);
        let of = self.memories.get(&memory).ok_or(TaskError::Gone)?;
        let (id, slot) = (of.space, of.slot.ok_or(TaskError::Gone)?);
        let space = self.spaces.get(&id).ok_or(TaskError::Gone)?;
        Ok(use_it(self.plan.setup.run_token(space.slot_words(slot)), block))
    }

    /// A thread is kept in the kernel, in no code of ours: others run.
    pub(crate) fn yield_in_kernel(&mut self, tid: i32) -> Result<(), TaskError> {
        self.with_run_token(tid, |run_token, index| {
            run_token.queue.remove(index);
            wake(&run_token, run_token.pass(index));
        })
    }

    /// A thread that waits in the runtime for its turn is to come out of it,
    /// where it is stopped.
    pub(crate) fn interrupt_wait(&mut self, tid: i32) -> Result<(), TaskError> {
        self.with_run_token(tid, |run_token, index| {
            let wait_slot = run_token.wait_slot(index);
            wait_slot.interrupt_wait();
            wait_slot.ring();
        })
    }

    /// What the kernel clears when a task ends, waking a waiter.
    pub(crate) fn clears_at_end(&mut self, tid: i32, address: u64) -> Result<(), TaskError> {
        self.with_run_token(tid, |run_token, index| run_token.wait_slot(index).clears(address))
    }

    pub(crate) fn filter_turns(&mut self, tid: i32) -> Result<(), TaskError> {
        self.with_run_token(tid, |run_token, index| run_token.wait_slot(index).filter(true))
    }
}

pub(crate) fn leave(setup: &RuntimeSetup, space: &[AtomicU64], index: usize) {
    let run_token = setup.run_token(space);
    wake(&run_token, run_token.leave(index));
}

fn wake(run_token: &RunToken<'_>, next: Option<usize>) {
    let Some(wait_slot) = next.map(|index| run_token.wait_slot(index)) else { return };
    if wait_slot.ring()
        && let Some(wake_word) = wait_slot.wake_word()
    {
        remote::wake(wake_word);
    }
}
