//! The memory that the tracer has in common with processes that run the
//! same code: threads' blocks, the models' state, translated code.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::code::CodePages;
use crate::block;
use crate::code_cache::CodeCache;
use crate::runtime::guest::branches;
use crate::runtime::{RuntimeImage, RuntimeSetup};
use crate::sys::mapping::SharedMemory;
use crate::translate::CodeVariant;

const IMAGE: usize = 1 << 20;
/// Address spaces that can share code, as they do between fork and exec.
const SLOTS: usize = 512;
/// Threads of them at most at one time.
const BLOCKS: usize = 4096;
/// Of an address space that is limited (RLIMIT_AS), a thread's share at most:
/// one in so many bytes.
const SHARE: u64 = 4;
/// So many of both a limited one has at least: what does not find room then
/// is refused, with that as the reason.
const MIN_COUNT: usize = 4;
const ZONES: usize = 24;
/// Bytes of one: reserved, not used.
pub(crate) const ZONE: usize = 128 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceLayout {
    slot: usize,
    slots: usize,
    blocks: usize,
    block: usize,
    threads: usize,
    zones: usize,
    size: usize,
}

impl SpaceLayout {
    pub(crate) fn new(setup: &RuntimeSetup) -> SpaceLayout {
        SpaceLayout::of(setup.space_size(), SLOTS, setup.thread_size(), BLOCKS)
    }

    /// The same with fewer address spaces and threads, for a program that may
    /// map no more than `limit` bytes.
    pub(crate) fn within(&self, limit: Option<u64>) -> SpaceLayout {
        let mut fitting = *self;
        let share = |bytes: u64| bytes / SHARE;
        while limit.is_some_and(|limit| fitting.data() as u64 > share(limit)) {
            let (slots, threads) = (fitting.slots / 2, fitting.threads / 2);
            if slots < MIN_COUNT || threads < MIN_COUNT {
                break;
            }
            fitting = SpaceLayout::of(self.slot, slots, self.block, threads);
        }
        fitting
    }

    fn of(slot: usize, slots: usize, block: usize, threads: usize) -> SpaceLayout {
        let blocks = IMAGE + slots * slot;
        let zones = blocks + threads * block;
        SpaceLayout { slot, slots, blocks, block, threads, zones, size: zones + ZONES * ZONE }
    }

    /// Bytes of the runtime's place, which is first.
    pub(crate) fn image(&self) -> usize {
        IMAGE
    }

    /// Bytes before the zones.
    pub(crate) fn data(&self) -> usize {
        self.zones
    }
}

#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) layout: SpaceLayout,
    /// Where the target has everything before the zones.
    pub(crate) base: u64,
    pub(crate) ring: u64,
    pub(crate) cache: CodeCache,
    pub(crate) code: CodePages,
    /// Zones: address in the target, offset in the memory.
    pub(crate) zones: BTreeMap<u64, usize>,
    /// Where indirect branches go, all that were told so far.
    entries: FxHashMap<u64, u64>,
    slots: Vec<bool>,
    blocks: Vec<bool>,
}

impl Space {
    /// Memory for a space, not yet mapped in a target.
    pub(crate) fn memory(
        layout: &SpaceLayout,
        image: &RuntimeImage,
    ) -> io::Result<Arc<SharedMemory>> {
        let memory = SharedMemory::new(crate::zone::MEMORY_NAME, layout.size)?;
        if image.bytes.len() > IMAGE {
            return Err(io::Error::other("the runtime is larger than its place"));
        }
        memory.write(0, image.bytes);
        Ok(Arc::new(memory))
    }

    pub(crate) fn new(
        memory: Arc<SharedMemory>,
        layout: SpaceLayout,
        base: u64,
        ring: u64,
        cache: CodeCache,
    ) -> Space {
        let (slots, blocks) = (vec![false; layout.slots], vec![false; layout.threads]);
        let code = CodePages::default();
        let (zones, entries) = (BTreeMap::new(), FxHashMap::default());
        Space { memory, layout, base, ring, cache, code, zones, entries, slots, blocks }
    }

    pub(crate) fn take_slot(
        &mut self,
        setup: &RuntimeSetup,
        ring_bytes: u64,
        turns: bool,
    ) -> Option<usize> {
        let slot = self.slots.iter().position(|taken| !taken)?;
        *self.slots.get_mut(slot)? = true;
        let words = self.memory.words(self.slot_offset(slot), self.layout.slot);
        setup.space(words, self.ring, ring_bytes, turns);
        Some(slot)
    }

    pub(crate) fn free_slot(&mut self, slot: usize) {
        if let Some(taken) = self.slots.get_mut(slot) {
            *taken = false;
            // Freed memory reads as zero, which the next user needs.
            let _kept = self.memory.clear(self.slot_offset(slot), self.layout.slot);
        }
    }

    pub(crate) fn slot_offset(&self, slot: usize) -> usize {
        IMAGE + slot * self.layout.slot
    }

    pub(crate) fn slot_words(&self, slot: usize) -> &[AtomicU64] {
        self.memory.words(self.slot_offset(slot), self.layout.slot)
    }

    pub(crate) fn take_block(&mut self) -> Option<usize> {
        let number = self.blocks.iter().position(|taken| !taken)?;
        *self.blocks.get_mut(number)? = true;
        Some(number)
    }

    pub(crate) fn free_block(&mut self, number: usize) {
        if let Some(taken) = self.blocks.get_mut(number) {
            *taken = false;
            let _kept = self.memory.clear(self.block_offset(number), self.layout.block);
        }
    }

    pub(crate) fn block_offset(&self, number: usize) -> usize {
        self.layout.blocks + number * self.layout.block
    }

    /// Words of a block, and of what lies behind it.
    pub(crate) fn block_words(&self, number: usize) -> &[AtomicU64] {
        self.memory.words(self.block_offset(number), self.layout.block)
    }

    /// The target's address of something before the zones.
    pub(crate) fn address(&self, offset: usize) -> u64 {
        self.base + offset as u64
    }

    pub(crate) fn get(&self, number: usize, at: usize) -> u64 {
        self.memory.word(self.block_offset(number) + at).load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, number: usize, at: usize, value: u64) {
        self.memory.word(self.block_offset(number) + at).store(value, Ordering::Release);
    }

    /// The tables of a block's indirect branches, of each translation there
    /// is.
    fn tables(&self, number: usize) -> impl Iterator<Item = &[AtomicU64]> {
        let halves = if self.cache.has_bare() {
            &[CodeVariant::Modelled, CodeVariant::Bare][..]
        } else {
            &[CodeVariant::Modelled]
        };
        let block = self.block_offset(number);
        halves
            .iter()
            .map(move |variant| self.memory.words(block + variant.table(), block::ENTRIES * 8))
    }

    pub(crate) fn variant(&self, number: usize) -> CodeVariant {
        CodeVariant::of(self.get(number, block::VARIANT))
    }

    /// Lets every indirect branch of a block be looked up anew.
    pub(crate) fn clear_branches(&self, number: usize) {
        let Some(miss) = self.cache.miss() else { return };
        for word in self.tables(number).flatten() {
            word.store(miss, Ordering::Relaxed);
        }
    }

    /// Enters new code into the table of the address space that it was
    /// translated for. Others that share it come to ask.
    pub(crate) fn enter_branches(&mut self, setup: &RuntimeSetup, slot: usize) {
        for entry in self.cache.take_entries() {
            let Some(target) = branches::name(entry.variant.word(), entry.pc) else { continue };
            let to = entry.to;
            self.entries.insert(target, to);
            let table = setup.branches(self.slot_words(slot));
            if !branches::set(table, target, to) {
                branches::clear(table);
                branches::set(table, target, to);
            }
        }
    }

    /// Enters a target into the table of one address space, which did not
    /// know it.
    pub(crate) fn enter_branch(
        &self,
        setup: &RuntimeSetup,
        slot: usize,
        variant: CodeVariant,
        target: u64,
    ) {
        let known = branches::name(variant.word(), target)
            .and_then(|name| self.entries.get(&name).map(|to| (name, *to)));
        if let Some((name, to)) = known {
            branches::set(setup.branches(self.slot_words(slot)), name, to);
        }
    }

    /// Copies the branches that a block knows to the block of a fork.
    pub(crate) fn copy_branches(&self, from: usize, to: usize) {
        for (from, to) in self.tables(from).flatten().zip(self.tables(to).flatten()) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    pub(crate) fn drop_branches(&mut self, setup: &RuntimeSetup, gone: &[(CodeVariant, u64)]) {
        let name = |(variant, target): &(CodeVariant, u64)| branches::name(variant.word(), *target);
        let gone: Vec<u64> = gone.iter().filter_map(name).collect();
        for target in &gone {
            self.entries.remove(target);
        }
        for slot in self.used_slots() {
            let table = setup.branches(self.slot_words(slot));
            for target in &gone {
                branches::set(table, *target, 0);
            }
        }
    }

    /// Empties them. No thread may be in translated code.
    pub(crate) fn clear_all_branches(&mut self, setup: &RuntimeSetup) {
        self.entries.clear();
        for slot in self.used_slots() {
            branches::clear(setup.branches(self.slot_words(slot)));
        }
        for number in
            (0..self.blocks.len()).filter(|number| self.blocks.get(*number) == Some(&true))
        {
            self.clear_branches(number);
        }
    }

    fn used_slots(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|slot| self.slots.get(*slot) == Some(&true))
    }

    pub(crate) fn in_runtime(&self, address: u64) -> bool {
        (self.base..self.base + IMAGE as u64).contains(&address)
    }

    pub(crate) fn ranges(&self, ring_bytes: u64) -> Vec<Range<u64>> {
        let range = |start: u64, bytes: u64| start..start + bytes;
        let mut ranges =
            vec![range(self.base, self.layout.data() as u64), range(self.ring, ring_bytes)];
        ranges.extend(self.zones.keys().map(|zone| range(*zone, ZONE as u64)));
        ranges
    }

    pub(crate) fn overlaps(&self, start: u64, end: u64, ring_bytes: u64) -> bool {
        self.ranges(ring_bytes).iter().any(|ours| start < ours.end && ours.start < end)
    }

    pub(crate) fn next_zone(&self) -> Option<usize> {
        let taken = self.zones.len();
        (taken < ZONES).then(|| self.layout.zones + taken * ZONE)
    }
}
