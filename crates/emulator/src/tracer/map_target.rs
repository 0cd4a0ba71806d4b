//! Bringing the tracer's memory into a target.

use std::ops::Range;
use std::sync::Arc;

use super::allocators::MappedAllocators;
use super::engine::{AddressSpace, Engine};
use super::maps::{self, MappedRegion, PAGE};
use super::pass_fd::{MappingRequest, map_file};
use super::space::Space;
use super::task::TaskError;
use crate::block;
use crate::code_cache::CodeCache;
use crate::runtime::ThreadSetup;
use crate::sys::mapping::SharedMemory;
use crate::sys::remote;
use crate::translate::{Instrumentation, RuntimeAddresses, Translation};

const READ_WRITE: u64 = 3;
const READ_EXEC: u64 = 5;

/// A `syscall` instruction that the program has anyway: the vdso's, or any.
pub(crate) fn gadget(tid: i32, regions: &[MappedRegion]) -> Option<u64> {
    let executable = || regions.iter().filter(|region| region.is_executable());
    let vdso = executable().filter(|region| region.path == b"[vdso]");
    let others =
        executable().filter(|region| !region.is_writable() && !region.path.starts_with(b"["));
    for region in vdso.chain(others) {
        let bytes = usize::try_from(region.end - region.start).ok()?.min(16 << 20);
        let mut code = vec![0; bytes];
        let read = remote::read(tid, region.start, &mut code).unwrap_or(0);
        let code = code.get(..read).unwrap_or_default();
        if let Some(at) = code.windows(2).position(|pair| pair == [0x0f, 0x05]) {
            return Some(region.start + at as u64);
        }
    }
    None
}

impl Engine {
    /// Maps parts of a file of ours in the target, by a stopped thread of it.
    pub(crate) fn map(
        &mut self,
        tid: i32,
        file: &SharedMemory,
        requests: &[MappingRequest],
    ) -> Result<(), TaskError> {
        self.inject(tid, |calls| map_file(calls, tid, file, requests))
    }

    /// Gives a stopped task whose state is in `guest` an address space of its
    /// own, with new memory: what it had must be gone.
    /// With `turns` its threads take turns.
    pub(crate) fn make_space(&mut self, tid: i32, turns: bool) -> Result<(), TaskError> {
        self.make_space_avoiding(tid, turns, &(0..0))
    }

    fn make_space_avoiding(
        &mut self,
        tid: i32,
        turns: bool,
        range: &Range<u64>,
    ) -> Result<(), TaskError> {
        let regions = maps::regions_and(tid, range)?;
        let broken = |text: &str| TaskError::Broken(text.to_owned());
        let gadget = gadget(tid, &regions)
            .ok_or_else(|| broken("the program has no `syscall` instruction to use"))?;
        let layout = self.plan.layout.within(super::limits::address_space(tid)?);
        let memory = Space::memory(&layout, &self.plan.image)?;
        let ring = Arc::clone(&self.plan.ring);
        let bytes = layout.data() + ring.len();
        let base = maps::room(&regions, bytes as u64).ok_or_else(|| broken("no room in it"))?;
        let ring_at = base + layout.data() as u64;
        let image = layout.image();
        let parts = [
            (base, 0, image, READ_EXEC),
            (base + image as u64, image, layout.data() - image, READ_WRITE),
        ];
        self.inject_at(tid, gadget, |calls| {
            map_file(calls, tid, &memory, &parts)?;
            map_file(calls, tid, &ring, &[(ring_at, 0, ring.len(), READ_WRITE)])
        })
        .map_err(|error| error.doing("mapping the emulator's memory"))?;
        let cache = CodeCache::new(Translation {
            features: self.plan.features,
            instrumentation: Instrumentation { turns, ..self.plan.instrumentation.clone() },
            runtime: RuntimeAddresses {
                quick: base + self.plan.image.quick as u64,
                access: base + self.plan.image.access as u64,
                record: base + self.plan.image.record as u64,
                lookup: base + self.plan.image.lookup as u64,
                turn: base + self.plan.image.turn as u64,
                vectors: self.plan.image.vectors,
            },
        });
        let id = self.new_id();
        let mut space = Space::new(memory, layout, base, ring_at, cache);
        space.code.allocators = MappedAllocators::new(self.plan.settings.allocators.clone());
        let slot = space.take_slot(&self.plan.setup, self.ring_bytes(), turns);
        self.spaces.insert(id, space);
        let number = self.new_id();
        let fixed = super::fixed_random::is_fixed(tid);
        let before = self.task(tid)?.memory;
        let before = self.memories.get(&before);
        let page_sizes = before.map(|memory| memory.page_sizes.clone()).unwrap_or_default();
        let memory =
            AddressSpace { space: id, slot, gadget, unmapped: false, fixed, page_sizes, turns };
        self.memories.insert(number, memory);
        self.task(tid)?.memory = number;
        self.update_page_sizes(tid)?;
        // Threads' tables are filled with a stub that is in a zone.
        let near = self.task(tid)?.guest.map_or(base, |guest| guest.rip);
        self.add_zone_avoiding(tid, near, range)
    }

    pub(crate) fn ring_bytes(&self) -> u64 {
        self.plan.ring.len() as u64 - PAGE
    }

    pub(crate) fn give_block(&mut self, tid: i32) -> Result<usize, TaskError> {
        let task = self.task(tid)?;
        let (pid, memory, filtered) = (task.pid, task.memory, task.filtered);
        let seed = u64::from(self.new_id());
        let of = self.memories.get(&memory).ok_or(TaskError::Gone)?;
        let (slot, id) = (of.slot.ok_or(TaskError::Gone)?, of.space);
        let space = self.spaces.get_mut(&id).ok_or(TaskError::Gone)?;
        let number = space
            .take_block()
            .ok_or_else(|| TaskError::Broken("too many threads at once in one process".into()))?;
        let no_zone = || TaskError::Broken("a space without a zone".into());
        let miss = space.cache.miss().ok_or_else(no_zone)?;
        let thread = ThreadSetup {
            index: number,
            pid: perfdata::Pid(pid),
            tid: perfdata::Tid(tid),
            block: space.address(space.block_offset(number)),
            space: space.address(space.slot_offset(slot)),
            miss,
            seed,
            filtered,
        };
        self.plan.setup.thread(space.slot_words(slot), space.block_words(number), thread);
        self.task(tid)?.block = Some(number);
        self.watch_calls(tid)?;
        self.account.threads += 1;
        Ok(number)
    }

    /// Gives the address space of a task new memory of ours: away from what
    /// it shares with others. The task is stopped, its state in `guest`.
    pub(crate) fn move_out(&mut self, tid: i32) -> Result<(), TaskError> {
        self.move_out_avoiding(tid, &(0..0))
    }

    /// The same; nothing of ours will be in the range, which the program
    /// means to use.
    pub(crate) fn move_out_avoiding(
        &mut self,
        tid: i32,
        range: &Range<u64>,
    ) -> Result<(), TaskError> {
        let old = self.task(tid)?.memory;
        let stopped = self.halt_all(old, tid)?;
        let tasks = self.tasks_of(old);
        let mut bases = Vec::new();
        for task in &tasks {
            bases.push(self.own_gs_base(*task)?);
        }
        self.unmap(tid)?;
        let mut blocks = Vec::new();
        for task in &tasks {
            blocks.push(self.task(*task)?.block.take());
        }
        let turns = self.memories.get(&old).is_some_and(|memory| memory.turns);
        let made = self.make_space_avoiding(tid, turns, range);
        let new = self.task(tid)?.memory;
        // The books of each, before the last one leaves the old memory: `tid`,
        // which has left it, cannot be the last.
        let (own, others): (Vec<_>, Vec<_>) =
            tasks.iter().copied().zip(blocks).partition(|(task, _)| *task == tid);
        for (task, block) in own.into_iter().chain(others) {
            self.task(task)?.memory = new;
            self.release(old, block);
        }
        if made.is_err() {
            // They are left as they stand: their blocks, which had this, are gone.
            for (task, base) in tasks.iter().zip(bases) {
                self.task(*task)?.gs_base = base;
            }
            return made;
        }
        for (task, base) in tasks.iter().zip(bases) {
            let number = self.give_block(*task)?;
            self.account.threads -= 1;
            self.space_of(*task)?.set(number, block::GS_BASE, base);
            if self.task(*task)?.parked {
                self.yield_in_kernel(*task)?;
            }
        }
        self.restart(&stopped)
    }

    /// Takes all memory of ours out of a target, and the protection of its
    /// code. No thread of it may be in translated code.
    pub(crate) fn unmap(&mut self, tid: i32) -> Result<(), TaskError> {
        const ALL: u64 = 7;
        let ring = self.plan.ring.len() as u64;
        let space = self.space_of(tid)?;
        let ranges = space.ranges(ring);
        let protected = space.code.protected();
        self.inject(tid, |calls| {
            for page in protected {
                // The program may have unmapped it since.
                calls.call(libc::SYS_mprotect, &[page, PAGE, ALL])?;
            }
            for range in ranges {
                calls.checked(libc::SYS_munmap, &[range.start, range.end - range.start])?;
            }
            Ok(())
        })
    }
}
