//! Ends of tasks. A wait for one task may bring the end of another, and no
//! wait brings it twice: it is kept until its turn. How the first process
//! ended is published at once, as others wait for just that, and its turn
//! may not come.

use super::engine::Engine;
use super::task::TaskMode;
use super::turns;
use crate::account::TaskExit;
use crate::sys::ptrace::TraceeStop;

impl Engine {
    pub(crate) fn report_later(&mut self, tid: i32, stop: TraceeStop) {
        if let Some(how) = stop.end() {
            self.publish_end(tid, how);
        }
        self.reports.push_back((tid, stop));
    }

    pub(crate) fn task_gone(&mut self, tid: i32, how: TaskExit) {
        self.early.remove(&tid);
        self.publish_end(tid, how);
        // One whose end was noticed before its report has no books any more.
        let Some(task) = self.tasks.get(&tid) else { return };
        let pid = task.pid;
        if task.mode == TaskMode::Emulated {
            self.side.exit(&self.plan.ring, pid, tid);
        }
        self.forget(tid);
        if tid == pid {
            self.sigtrap_actions.remove(&pid);
        }
    }

    /// Takes a task out of the books: it is gone, or left, or runs another
    /// program.
    pub(crate) fn forget(&mut self, tid: i32) {
        self.side.free_lock(&self.plan.ring, tid);
        let Some(task) = self.tasks.remove(&tid) else { return };
        self.release(task.memory, task.block);
    }

    pub(crate) fn count_due_as_lost(&mut self, tid: i32) {
        let Some(task) = self.tasks.get(&tid) else { return };
        let of = self.memories.get(&task.memory);
        let space = of.and_then(|of| self.spaces.get(&of.space));
        if let (Some(space), Some(block)) = (space, task.block) {
            self.account.lose(&self.plan.setup, space.block_words(block));
        }
    }

    /// Gives back a task's block, and what only it used.
    pub(crate) fn release(&mut self, memory: u32, block: Option<usize>) {
        let Some(of) = self.memories.get(&memory) else { return };
        let (id, slot) = (of.space, of.slot);
        if let (Some(space), Some(block), Some(slot)) = (self.spaces.get_mut(&id), block, slot) {
            let words = space.block_words(block);
            self.account.take(&self.plan.setup, words);
            let last = self.plan.setup.remove_thread(space.slot_words(slot), block);
            if let Some(last) = last {
                self.plan.setup.unlist(space.block_words(last));
            }
            turns::leave(&self.plan.setup, space.slot_words(slot), block);
            // All of it goes at once when nobody is left in it.
            if !self.leaving {
                space.free_block(block);
            }
        }
        if self.tasks.values().any(|task| task.memory == memory) {
            return;
        }
        self.memories.remove(&memory);
        if let Some(space) = self.spaces.get_mut(&id) {
            self.account.work.code = self.account.work.code.max(space.cache.used());
            if let Some(slot) = slot.filter(|_| !self.leaving) {
                space.free_slot(slot);
            }
        }
        if !self.leaving && !self.memories.values().any(|memory| memory.space == id) {
            self.spaces.remove(&id);
        }
    }

    pub(crate) fn publish_end(&self, tid: i32, how: TaskExit) {
        if tid == self.first {
            self.progress.end(how);
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use std::io::Write;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;

    use perfdata::{Attr, AttrFlags, Pid};
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::account::EmulationState;
    use crate::event::EmulatedEvent;
    use crate::geometry::Geometry;
    use crate::runtime::guest::ring::PAGE;
    use crate::settings::{EmulationSettings, EmulationTarget, EventSettings};
    use crate::sys::mapping::SharedMemory;
    use crate::tracer::attach;
    use crate::tracer::progress::TracerProgress;
    use crate::tracer::task::TaskError;

    const RING_PAGES: u32 = 16;
    const KILLED: Option<TaskExit> = Some(TaskExit::Killed(libc::SIGKILL));

    struct Traced {
        engine: Engine,
        progress: Arc<TracerProgress>,
        command: Child,
        pid: i32,
    }

    impl Traced {
        /// It waits for a line, and becomes another program then.
        #[allow(clippy::zombie_processes, reason = "the engine reaps it")]
        fn held() -> Traced {
            let command = Command::new("sh")
                .args(["-c", "read line; exec sleep 1000"])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let pid = i32::try_from(command.id()).unwrap();
            let bytes = usize::try_from(RING_PAGES + 1).unwrap() * PAGE;
            let ring = Arc::new(SharedMemory::new("ring", bytes).unwrap());
            let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
            let progress = Arc::new(TracerProgress::new(wake_fd));
            let target = EmulationTarget::Held(Pid(pid));
            let (engine, _alarm) =
                attach::begin(target, settings(), ring, Arc::clone(&progress)).unwrap();
            Traced { engine, progress, command, pid }
        }

        fn emulated() -> Traced {
            let mut traced = Traced::held();
            traced.command.stdin.take().unwrap().write_all(b"\n").unwrap();
            while traced.engine.tasks[&traced.pid].mode == TaskMode::Held {
                let (tid, stop) = traced.engine.next().unwrap().unwrap();
                traced.engine.handle(tid, stop).unwrap();
            }
            traced
        }

        /// Kills the command. Who works on it, and waits for its next stop,
        /// reaps it: it is left to others to say so.
        fn reap(&mut self) {
            self.command.kill().unwrap();
            let stop = self.engine.stop_of(self.pid);
            assert!(matches!(stop, Err(TaskError::Gone)), "{stop:?}");
            let waited = self.command.try_wait().map_err(|error| error.raw_os_error());
            assert_eq!(waited, Err(Some(libc::ECHILD)), "it is reaped");
        }
    }

    fn settings() -> EmulationSettings {
        let attr = Attr { flags: AttrFlags::SAMPLE_ID_ALL, ..Attr::default() };
        let event = EventSettings {
            event: EmulatedEvent::L1DataMiss,
            interval: 1000,
            seed: None,
            adapted: false,
            classifier: None,
            attr: attr.clone(),
            id: 1,
        };
        EmulationSettings {
            geometry: Geometry::default(),
            prefetch: false,
            events: vec![event],
            side_attr: attr,
            side_id: 2,
            burst: None,
            count: None,
            ring_pages: RING_PAGES,
            layouts: Vec::new(),
            data_mappings: false,
            allocators: None,
        }
    }

    /// As when SIGINT ends the command and its sampling at once.
    #[test]
    fn the_end_of_a_command_that_was_reaped_while_it_was_left_is_known() {
        for mut traced in [Traced::emulated(), Traced::held()] {
            traced.reap();
            traced.engine.leave_all();
            assert_eq!(traced.progress.ended(), KILLED);
            assert!(traced.engine.tasks.is_empty() && !traced.progress.left());
        }
    }

    #[test]
    fn the_end_of_a_command_that_was_forgotten_first_is_known() {
        let mut traced = Traced::emulated();
        traced.reap();
        let pid = traced.pid;
        assert!(traced.engine.leave_one(pid).is_ok());
        assert!(traced.engine.tasks.is_empty());
        let Traced { engine, progress, .. } = traced;
        engine.run().unwrap();
        assert_eq!(progress.ended(), KILLED);
        assert_eq!(progress.state(), EmulationState::Gone);
    }

    /// One that is killed as the last resort may have been reaped before.
    #[test]
    fn the_end_of_a_command_that_was_reaped_and_then_given_up_is_known() {
        let mut traced = Traced::emulated();
        traced.reap();
        let pid = traced.pid;
        traced.engine.kill_memory(&[pid], "a fault");
        assert_eq!(traced.progress.ended(), KILLED);
    }
}
