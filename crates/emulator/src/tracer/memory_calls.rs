//! Calls of the program that change its memory.

use std::ops::Range;

use super::engine::Engine;
use super::maps;
use super::maps::PAGE;
use super::relocate::{REMAP_FIXED, pages};
use super::sideband::task;
use super::task::TaskError;
use crate::sys::ptrace::TraceeRegisters;

/// mmap(2).
const FIXED: u64 = 0x10;

impl Engine {
    pub(crate) fn memory_call(
        &mut self,
        tid: i32,
        next: u64,
        guest: TraceeRegisters,
    ) -> Result<(), TaskError> {
        let number = (guest.rax & 0xffff_ffff).cast_signed();
        self.relocate_for_call(tid, &guest)?;
        match number {
            libc::SYS_mmap => self.map_call(tid, next, guest)?,
            libc::SYS_munmap => {
                let result = self.make(tid, next)?;
                if result == 0 {
                    self.record_unmapped(tid, &guest)?;
                    self.mappings_changed(tid, guest.rdi, guest.rsi, false)?;
                    let end = guest.rdi.saturating_add(guest.rsi);
                    self.pages_changed(tid, guest.rdi..end, false)?;
                }
            }
            libc::SYS_mprotect | libc::SYS_pkey_mprotect => self.protect_call(tid, next, guest)?,
            libc::SYS_mremap => self.remap_call(tid, next, guest)?,
            libc::SYS_shmat | libc::SYS_shmdt | libc::SYS_remap_file_pages => {
                let result = self.make(tid, next)?;
                if number == libc::SYS_shmat && !is_error(result) {
                    self.record_mappings(tid, result.cast_unsigned(), 1)?;
                }
                self.mappings_changed(tid, 0, u64::MAX, true)?;
                self.pages_changed(tid, 0..u64::MAX, true)?;
            }
            libc::SYS_madvise => {
                let result = self.make(tid, next)?;
                if result == 0 {
                    if self
                        .space_of(tid)?
                        .code
                        .meets(&pages(&(guest.rdi..guest.rdi.saturating_add(guest.rsi))))
                    {
                        self.mappings_changed(tid, guest.rdi, guest.rsi, false)?;
                    }
                    self.pages_advised(tid, &guest)?;
                }
            }
            libc::SYS_brk => {
                let end = self.make(tid, next)?.cast_unsigned();
                let before = self.heap_moved(tid, end)?;
                if before.is_none_or(|before| before < end) {
                    self.record_data_mappings(tid, end.wrapping_sub(1), 1)?;
                }
            }
            _ => {
                self.make(tid, next)?;
            }
        }
        self.enter_and_go(tid)
    }

    fn map_call(&mut self, tid: i32, next: u64, guest: TraceeRegisters) -> Result<(), TaskError> {
        let length = guest.rsi;
        let result = self.make(tid, next)?;
        if !is_error(result) {
            self.record_mapped(tid, &guest, result.cast_unsigned())?;
            let code = guest.rdx & u64::from(maps::EXEC) != 0;
            if code || guest.r10 & FIXED != 0 {
                self.mappings_changed(tid, result.cast_unsigned(), length, code)?;
            }
            if code || self.plan.settings.data_mappings {
                self.record_mappings(tid, result.cast_unsigned(), length)?;
            }
            self.pages_mapped(tid, result.cast_unsigned(), &guest)?;
        }
        Ok(())
    }

    fn protect_call(
        &mut self,
        tid: i32,
        next: u64,
        guest: TraceeRegisters,
    ) -> Result<(), TaskError> {
        let (address, length) = (guest.rdi, guest.rsi);
        let result = self.make(tid, next)?;
        if result == 0 {
            self.pages_changed(tid, address..address.saturating_add(length), false)?;
            if guest.rdx & u64::from(maps::EXEC) != 0 {
                self.mappings_changed(tid, address, length, true)?;
                self.record_mappings(tid, address, length)?;
            } else if guest.rdx & u64::from(maps::WRITE) == 0 {
                self.mappings_changed(tid, address, length, false)?;
            } else {
                self.written_now(tid, address, length)?;
            }
        }
        Ok(())
    }

    fn remap_call(&mut self, tid: i32, next: u64, guest: TraceeRegisters) -> Result<(), TaskError> {
        let old = guest.rdi..guest.rdi.saturating_add(guest.rsi);
        // Pages keep their protection where they are moved to.
        self.unprotect_all(tid, &old)?;
        let result = self.make(tid, next)?;
        if !is_error(result) {
            let to = result.cast_unsigned();
            self.record_remapped(tid, &guest, to)?;
            self.record_data_mappings(tid, to, guest.rdx)?;
            self.mappings_changed(tid, guest.rdi, guest.rsi, false)?;
            if guest.r10 & REMAP_FIXED != 0 {
                self.mappings_changed(tid, guest.r8, guest.rdx, false)?;
            }
            self.pages_changed(tid, old, false)?;
            self.pages_changed(tid, to..to.saturating_add(guest.rdx), false)?;
        }
        Ok(())
    }

    /// Records of the mappings in a range, where those of data are told.
    fn record_data_mappings(&mut self, tid: i32, start: u64, length: u64) -> Result<(), TaskError> {
        match self.plan.settings.data_mappings {
            true => self.record_mappings(tid, start, length),
            false => Ok(()),
        }
    }

    /// Records of the mappings in a range: those that hold code, and data
    /// where that is told.
    fn record_mappings(&mut self, tid: i32, start: u64, length: u64) -> Result<(), TaskError> {
        let pid = self.task(tid)?.pid;
        let end = start.saturating_add(length);
        for region in maps::regions(tid).map_err(|_| TaskError::Gone)? {
            if region.start < end && start < region.end {
                self.side.mapping(&self.plan.ring, task(pid, tid), &region);
            }
        }
        Ok(())
    }

    /// A range can be written and not executed, so that new code may be made
    /// there: what is another is seen when it can be executed again. Until
    /// then what was translated stays.
    fn written_now(&mut self, tid: i32, start: u64, length: u64) -> Result<(), TaskError> {
        let range = pages(&(start..start.saturating_add(length)));
        let memory = self.task(tid)?.memory;
        let shares = self.shares(memory);
        let code = &mut self.space_of(tid)?.code;
        code.stale();
        if !code.protected().iter().any(|page| range.contains(page)) {
            return Ok(());
        }
        if shares {
            return self.move_out(tid);
        }
        for page in self.space_of(tid)?.code.forget_unwatched(tid, &range) {
            self.drop_code(tid, page..page + PAGE)?;
        }
        Ok(())
    }

    fn unprotect_all(&mut self, tid: i32, range: &Range<u64>) -> Result<(), TaskError> {
        for page in self.space_of(tid)?.code.protected() {
            if range.contains(&page) {
                self.unprotect(tid, page)?;
            }
        }
        Ok(())
    }

    /// Mappings of a range are not what they were: code from there that
    /// differs is forgotten. `code`: some can be executed now.
    pub(crate) fn mappings_changed(
        &mut self,
        tid: i32,
        start: u64,
        length: u64,
        code: bool,
    ) -> Result<(), TaskError> {
        let range = pages(&(start..start.saturating_add(length)));
        let space = self.space_of(tid)?;
        space.code.stale();
        let shared_with_others = {
            let memory = self.task(tid)?.memory;
            self.shares(memory)
        };
        let meets = self.space_of(tid)?.code.meets(&range);
        if shared_with_others && (meets || code) {
            // What the others have there, or will have, is another's code.
            return self.move_out(tid);
        }
        if !meets {
            return Ok(());
        }
        let space = self.space_of(tid)?;
        let unwatched = space.code.forget_unwatched(tid, &range);
        let changed = space.code.changed(tid, &range);
        for range in changed {
            self.drop_code(tid, range)?;
        }
        for page in unwatched {
            self.drop_code(tid, page..page + PAGE)?;
        }
        Ok(())
    }
}

fn is_error(result: i64) -> bool {
    (-4095..0).contains(&result)
}
