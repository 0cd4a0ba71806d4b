//! Turns of threads, as far as the tracer has a part in them.

use std::sync::atomic::AtomicU64;

use super::engine::{Engine, Trouble};
use crate::runtime::Setup;
use crate::runtime::guest::baton::Baton;
use crate::sys::remote;

impl Engine {
    /// A process is about to have a second thread: from now on its threads
    /// take turns, which its code must be translated for. The thread that
    /// makes it is stopped, its state in `guest`.
    pub(crate) fn take_turns(&mut self, tid: i32) -> Result<(), Trouble> {
        let memory = self.task(tid)?.memory;
        let Some(of) = self.memories.get_mut(&memory) else { return Err(Trouble::Gone) };
        if std::mem::replace(&mut of.turns, true) {
            return Ok(());
        }
        self.move_out(tid)
    }

    fn with_baton<T>(
        &mut self,
        tid: i32,
        use_it: impl FnOnce(Baton<'_>, usize) -> T,
    ) -> Result<T, Trouble> {
        let task = self.task(tid)?;
        let (memory, block) = (task.memory, task.block.ok_or(Trouble::Gone)?);
        let of = self.memories.get(&memory).ok_or(Trouble::Gone)?;
        let (id, slot) = (of.space, of.slot.ok_or(Trouble::Gone)?);
        let space = self.spaces.get(&id).ok_or(Trouble::Gone)?;
        Ok(use_it(self.plan.setup.baton(space.slot_words(slot)), block))
    }

    /// A thread is kept in the kernel, in no code of ours: others run.
    pub(crate) fn stand_aside(&mut self, tid: i32) -> Result<(), Trouble> {
        self.with_baton(tid, |baton, index| {
            baton.queue.remove(index);
            wake(&baton, baton.pass(index));
        })
    }

    /// A thread that waits in the runtime for its turn is to come out of it,
    /// where it is stopped.
    pub(crate) fn call_out(&mut self, tid: i32) -> Result<(), Trouble> {
        self.with_baton(tid, |baton, index| {
            let seat = baton.seat(index);
            seat.call_out();
            seat.ring();
        })
    }

    /// What the kernel clears when a task ends, waking a waiter.
    pub(crate) fn clears_at_end(&mut self, tid: i32, address: u64) -> Result<(), Trouble> {
        self.with_baton(tid, |baton, index| baton.seat(index).clears(address))
    }

    pub(crate) fn filter_turns(&mut self, tid: i32) -> Result<(), Trouble> {
        self.with_baton(tid, |baton, index| baton.seat(index).filter(true))
    }
}

pub(crate) fn leave(setup: &Setup, space: &[AtomicU64], index: usize) {
    let baton = setup.baton(space);
    wake(&baton, baton.leave(index));
}

fn wake(baton: &Baton<'_>, next: Option<usize>) {
    let Some(seat) = next.map(|index| baton.seat(index)) else { return };
    if seat.ring()
        && let Some(bell) = seat.bell()
    {
        remote::wake(bell);
    }
}
