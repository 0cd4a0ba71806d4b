//! From a program's address to translated code, and into it.

use std::ops::Range;

use super::code::{CodeReader, WriteDetection};
use super::engine::Engine;
use super::maps::PAGE;
use super::registers::restart_call;
use super::space::ZONE;
use super::task::TaskError;
use crate::block;
use crate::code_cache::TranslateError;
use crate::sys::ptrace;

/// Rounds of translation, protection and change before it is given up.
const ROUNDS: usize = 64;
/// PROT_READ and PROT_EXEC.
const READ_EXEC: u64 = 5;

impl Engine {
    /// Takes a task that stands at an instruction of its program (`guest`)
    /// to the translation of it; does not let it run.
    pub(crate) fn enter(&mut self, tid: i32) -> Result<(), TaskError> {
        let mut guest = self.task(tid)?.guest.ok_or(TaskError::Gone)?;
        restart_call(&mut guest);
        self.task(tid)?.guest = Some(guest);
        let to = self.translate(tid, guest.rip)?;
        let setup = self.plan.setup.clone();
        let (space, number) = self.block_of(tid)?;
        setup.undo_turn(space.block_words(number));
        let mut registers = guest;
        registers.rip = to;
        registers.gs_base = space.address(space.block_offset(number));
        space.set(number, block::FS_BASE, guest.fs_base);
        ptrace::set_registers(tid, &registers)?;
        self.task(tid)?.guest = None;
        Ok(())
    }

    pub(crate) fn enter_and_go(&mut self, tid: i32) -> Result<(), TaskError> {
        self.enter(tid)?;
        self.go(tid)
    }

    /// The translation of an address; `tid` is stopped, its state in `guest`.
    fn translate(&mut self, tid: i32, pc: u64) -> Result<u64, TaskError> {
        self.account.work.translations += 1;
        for _ in 0..ROUNDS {
            let (space, number) = self.block_of(tid)?;
            let variant = space.variant(number);
            let mut source = CodeReader::new(tid, &mut space.code);
            let result = space.cache.translate(variant, pc, &mut source);
            let (protect, check, changed) = (source.protect, source.check, source.changed);
            let unchanged = changed.is_empty();
            if !unchanged {
                self.code_differs(tid, changed)?;
            }
            if !(protect.is_empty() && check.is_empty()) {
                self.watch(tid, &protect, &check)?;
                continue;
            }
            if !unchanged {
                continue;
            }
            match result {
                Ok(to) => {
                    let setup = self.plan.setup.clone();
                    let memory = self.task(tid)?.memory;
                    let slot = self.memories.get(&memory).and_then(|of| of.slot);
                    self.space_of(tid)?.enter_branches(&setup, slot.ok_or(TaskError::Gone)?);
                    return Ok(to);
                }
                Err(TranslateError::NoZone { near }) => self.add_zone(tid, near)?,
                Err(TranslateError::Full { .. }) => self.flush(tid)?,
            }
        }
        Err(TaskError::Broken(format!("the code at {pc:#x} could not be translated: it changes")))
    }

    /// Sees to it that changes of new pages of code come to be known.
    fn watch(&mut self, tid: i32, protect: &[u64], check: &[u64]) -> Result<(), TaskError> {
        if !protect.is_empty() {
            let memory = self.task(tid)?.memory;
            if self.shares(memory) {
                return self.move_out(tid);
            }
            self.inject(tid, |calls| {
                for page in protect {
                    calls.checked(libc::SYS_mprotect, &[*page, PAGE, READ_EXEC])?;
                }
                Ok(())
            })?;
            // It may have been written between reading and protecting.
            for page in protect {
                let space = self.space_of(tid)?;
                space.code.stale();
                for range in space.code.changed(tid, &(*page..page + PAGE)) {
                    self.drop_code(tid, range)?;
                }
            }
            if !std::mem::replace(&mut self.space_of(tid)?.code.reads, true) {
                for task in self.tasks_of(memory) {
                    self.watch_calls(task)?;
                }
            }
        }
        for page in check {
            let setup = self.plan.setup.clone();
            let space = self.space_of(tid)?;
            let gone = space.cache.check_pages(*page..page + PAGE);
            space.drop_branches(&setup, &gone);
        }
        Ok(())
    }

    /// Ranges of code are not what was translated. Who shares the translation
    /// keeps it.
    pub(crate) fn code_differs(
        &mut self,
        tid: i32,
        ranges: Vec<Range<u64>>,
    ) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        if self.shares(memory) {
            return self.move_out(tid);
        }
        for range in ranges {
            self.drop_code(tid, range)?;
        }
        Ok(())
    }

    pub(crate) fn drop_code(&mut self, tid: i32, range: Range<u64>) -> Result<(), TaskError> {
        self.account.work.changes += 1;
        let setup = self.plan.setup.clone();
        let space = self.space_of(tid)?;
        let gone = space.cache.invalidate(range);
        space.drop_branches(&setup, &gone);
        Ok(())
    }

    /// The program writes to a page that was protected for its code: lets it,
    /// and forgets the code. False: the fault is the program's own. The
    /// task's state is in `guest`.
    pub(crate) fn unprotect(&mut self, tid: i32, address: u64) -> Result<bool, TaskError> {
        const ALL: u64 = 7;
        let page = address & !(PAGE - 1);
        let space = self.space_of(tid)?;
        match space.code.pages.get(&page) {
            Some(known) if known.write_detection == WriteDetection::Protected => {}
            // Another thread's fault was first.
            _ => return Ok(space.code.written.contains_key(&page) && self.writable(tid, page)?),
        }
        let memory = self.task(tid)?.memory;
        if self.shares(memory) {
            // The others' page stays as it is, and protected.
            self.move_out(tid)?;
            return Ok(true);
        }
        let space = self.space_of(tid)?;
        space.code.pages.remove(&page);
        *space.code.written.entry(page).or_default() += 1;
        self.drop_code(tid, page..page + PAGE)?;
        self.inject(tid, |calls| calls.checked(libc::SYS_mprotect, &[page, PAGE, ALL]))?;
        self.space_of(tid)?.code.stale();
        Ok(true)
    }

    fn writable(&mut self, tid: i32, address: u64) -> Result<bool, TaskError> {
        let regions = super::maps::regions(tid)?;
        Ok(regions.iter().any(|region| region.holds(address) && region.is_writable()))
    }

    pub(crate) fn add_zone(&mut self, tid: i32, near: u64) -> Result<(), TaskError> {
        self.add_zone_avoiding(tid, near, &(0..0))
    }

    pub(crate) fn add_zone_avoiding(
        &mut self,
        tid: i32,
        near: u64,
        range: &Range<u64>,
    ) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        if self.shares(memory) {
            return self.move_out(tid);
        }
        let regions = super::maps::regions_and(tid, range)?;
        let no_room = || TaskError::Broken(format!("no room for translated code near {near:#x}"));
        let base = super::maps::room_near(&regions, near, ZONE as u64).ok_or_else(no_room)?;
        let space = self.space_of(tid)?;
        // All in use, near code that may be gone by now.
        let Some(offset) = space.next_zone() else { return self.move_out(tid) };
        let file = std::sync::Arc::clone(&space.memory);
        self.map(tid, &file, &[(base, offset, ZONE, READ_EXEC)])?;
        let space = self.space_of(tid)?;
        let part = Box::new(space.memory.part(offset, ZONE));
        space.cache.add_zone(base, part).map_err(|e| TaskError::Broken(e.to_string()))?;
        space.zones.insert(base, offset);
        space.code.stale();
        Ok(())
    }

    fn flush(&mut self, tid: i32) -> Result<(), TaskError> {
        self.account.work.flushes += 1;
        let setup = self.plan.setup.clone();
        let memory = self.task(tid)?.memory;
        let id = self.memories.get(&memory).map(|memory| memory.space);
        let sharing: Vec<u32> = self
            .memories
            .iter()
            .filter(|(_, memory)| Some(memory.space) == id)
            .map(|(number, _)| *number)
            .collect();
        let mut stopped = Vec::new();
        for memory in sharing {
            stopped.extend(self.halt_all(memory, tid)?);
        }
        self_used(&mut self.account.work.code, self.spaces.values().map(|s| s.cache.used()));
        let space = self.space_of(tid)?;
        space.cache.flush();
        space.clear_all_branches(&setup);
        self.restart(&stopped)
    }

    fn start_again(&mut self, tid: i32) -> Result<(), TaskError> {
        self.enter(tid)?;
        if std::mem::take(&mut self.task(tid)?.group_stop) {
            // It stops with its group again before it does anything.
            ptrace::interrupt(tid)?;
        }
        self.go(tid)
    }

    pub(crate) fn restart(&mut self, stopped: &[i32]) -> Result<(), TaskError> {
        for tid in stopped {
            match self.start_again(*tid) {
                Ok(()) | Err(TaskError::Gone) => {}
                Err(broken) => return Err(broken),
            }
        }
        Ok(())
    }
}

fn self_used(most: &mut u64, used: impl Iterator<Item = u64>) {
    *most = used.fold(*most, u64::max);
}
