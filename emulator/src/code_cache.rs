//! All translated code of one address space.

mod link;

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::translate::{
    Assembler, CodeSource, Emitter, Location, Stop, Surroundings, Tracer, Translation, Wanted,
    entry_elsewhere, stop, write_stubs,
};
use crate::zone::{Zone, ZoneId, ZoneMemory};
use link::{Link, Target};

/// Traces that one call translates at most.
const TRACES: usize = 16;
/// Bytes in line and out of line that must be free before a trace.
const ROOM: (u64, u64) = (128 << 10, 256 << 10);

/// Translated code, where it is for which address, and what links it.
#[derive(Debug)]
pub struct CodeCache {
    translation: Translation,
    zones: Vec<Zone>,
    tracer: Tracer,
    targets: FxHashMap<u64, Target>,
    links: Vec<Link>,
    /// Blocks by the pages that they are in.
    pages: FxHashMap<u64, Vec<u64>>,
    /// Pages whose code checks itself.
    checked: FxHashSet<u64>,
    /// Heads of blocks that were invalidated: a breakpoint is there.
    dead: FxHashMap<u64, u64>,
    new_entries: Vec<(u64, u64)>,
    work: Vec<Wanted>,
    /// Branches that were just made, and where to.
    fresh: Vec<(u64, u64)>,
    /// Branches that were there before, to what is being translated.
    unpublished: Vec<(u64, u64)>,
}

/// Why code was not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// No zone is within reach of the code: make one and add it.
    #[error("no zone of the code cache is within 2 GiB of {near:#x}")]
    NoZone {
        /// The address.
        near: u64,
    },
    /// The zone is full: flush when no thread is in translated code.
    #[error("the code cache near {near:#x} is full")]
    Full {
        /// The address.
        near: u64,
    },
}

impl CodeCache {
    /// An empty cache without zones.
    #[must_use]
    pub fn new(translation: Translation) -> CodeCache {
        CodeCache {
            tracer: Tracer::new(Emitter::new(translation.clone())),
            translation,
            zones: Vec::new(),
            targets: FxHashMap::default(),
            links: Vec::new(),
            pages: FxHashMap::default(),
            checked: FxHashSet::default(),
            dead: FxHashMap::default(),
            new_entries: Vec::new(),
            work: Vec::new(),
            fresh: Vec::new(),
            unpublished: Vec::new(),
        }
    }

    /// Adds a zone, mapped in the target at `base`; writes its stubs.
    ///
    /// # Errors
    /// The memory is smaller than 1 MiB or not a multiple of 4 KiB.
    pub fn add_zone(&mut self, base: u64, memory: ZoneMemory) -> Result<ZoneId, ZoneError> {
        let mut memory = memory;
        let size = memory.as_mut().as_mut().len() as u64;
        let fits = base.checked_add(size).is_some_and(|top| top <= 1 << 47);
        let whole = size.is_multiple_of(4096) && base.is_multiple_of(4096);
        if !(1 << 20..=1 << 31).contains(&size) || !whole || !fits {
            return Err(ZoneError);
        }
        let mut zone = Zone::new(base, memory);
        let mut code = Assembler::default();
        code.restart(base);
        zone.stubs = write_stubs(&mut code, &self.translation.runtime);
        zone.write(base, &code.bytes);
        zone.clear();
        self.zones.push(zone);
        Ok(ZoneId(self.zones.len() - 1))
    }

    /// The zone that code at `pc` goes to: the nearest within reach.
    #[must_use]
    pub fn zone_for(&self, pc: u64) -> Option<ZoneId> {
        self.zones
            .iter()
            .enumerate()
            .filter(|(_, zone)| zone.reaches(pc))
            .min_by_key(|(_, zone)| zone.base.abs_diff(pc))
            .map(|(number, _)| ZoneId(number))
    }

    /// Where an indirect branch to an unknown target goes: what all BRANCHES
    /// of a new block hold. None before the first zone.
    #[must_use]
    pub fn miss(&self) -> Option<u64> {
        self.zones.first().map(|zone| zone.stubs.miss)
    }

    /// A stub that stops with [`Stop::Boundary`], all registers as they are.
    #[must_use]
    pub fn boundary(&self) -> Option<u64> {
        self.zones.first().map(|zone| zone.stubs.boundary)
    }

    /// Address in the target of the code for `pc`, translated now with what
    /// it branches to unless it was; indirect branches find it afterwards. A
    /// thread that goes there has all registers in themselves.
    ///
    /// # Errors
    /// [`TranslateError`]; nothing changed.
    pub fn translate(
        &mut self,
        pc: u64,
        source: &mut dyn CodeSource,
    ) -> Result<u64, TranslateError> {
        if let Some(target) = self.targets.get(&pc).filter(|target| target.host != 0) {
            let (host, entry) = (target.host, target.entry);
            if entry == 0 {
                self.add_entry(pc, host);
            }
            return Ok(host);
        }
        // A stop alone, where no code can be read, may be anywhere.
        let stop = (!self.zones.is_empty() && source.read(pc, &mut [0]) == 0).then_some(ZoneId(0));
        let zone = self.zone_for(pc).or(stop);
        let number = zone.ok_or(TranslateError::NoZone { near: pc })?.0;
        let full = TranslateError::Full { near: pc };
        if !self.has_room(number) {
            return Err(full);
        }
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        let mut next = Some(Wanted { pc, entry: true });
        let mut left = TRACES;
        while let Some(wanted) = next {
            let known = self.targets.get(&wanted.pc).is_some_and(|target| target.host != 0);
            let near = self.zones.get(number).is_some_and(|zone| zone.reaches(wanted.pc));
            if !known && (near || wanted.pc == pc) {
                if left == 0 || !self.has_room(number) {
                    break;
                }
                left -= 1;
                self.trace(number, wanted, source, &mut work);
            }
            next = work.pop();
        }
        self.work = work;
        self.publish();
        self.targets.get(&pc).map(|target| target.host).filter(|&host| host != 0).ok_or(full)
    }

    fn has_room(&self, number: usize) -> bool {
        self.zones.get(number).is_some_and(|zone| zone.has_room(ROOM.0, ROOM.1))
    }

    fn trace(
        &mut self,
        number: usize,
        wanted: Wanted,
        source: &mut dyn CodeSource,
        work: &mut Vec<Wanted>,
    ) {
        let Some(zone) = self.zones.get_mut(number) else { return };
        let emitter = &mut self.tracer.emitter;
        emitter.stubs = zone.stubs;
        emitter.zone = zone.base;
        emitter.restart(zone.base + zone.hot, zone.base + zone.cold, zone.marks.len());
        let targets = &self.targets;
        let known = |pc: u64| targets.get(&pc).is_some_and(|target| target.host != 0);
        let mut around = Surroundings { known: &known, checked: &self.checked, source, work };
        self.tracer.trace(wanted, &mut around);
        let emitter = &mut self.tracer.emitter;
        zone.append(&emitter.hot, &emitter.cold);
        zone.blocks.append(&mut emitter.blocks);
        zone.marks.append(&mut emitter.marks);
        zone.colds.append(&mut emitter.colds);
        let heads = std::mem::take(&mut emitter.heads);
        let branches = std::mem::take(&mut emitter.branches);
        let mut before = 0;
        for head in &heads {
            self.add_head(head, before);
            before = head.pc;
        }
        for branch in &branches {
            self.add_branch(branch);
        }
        self.tracer.emitter.heads = heads;
        self.tracer.emitter.branches = branches;
    }

    /// An entry for indirect branches to a block that has none.
    fn add_entry(&mut self, pc: u64, host: u64) {
        let Some(zone) = self.zones.iter_mut().find(|zone| zone.contains(host)) else { return };
        if !zone.has_room(0, 64) {
            return;
        }
        let entry = entry_elsewhere(zone, pc, host);
        if let Some(target) = self.targets.get_mut(&pc) {
            target.entry = entry;
        }
        self.new_entries.push((pc, entry));
    }

    /// Takes what is new for the table of all indirect branches: pairs of an
    /// address in the program and the entry for BRANCHES.
    pub fn take_entries(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.new_entries)
    }

    /// Why a thread stopped whose breakpoint was at `address` (its rip is one
    /// more). None when the breakpoint is not ours.
    #[must_use]
    pub fn stop_at(&mut self, address: u64) -> Option<Stop> {
        if let Some(&target) = self.dead.get(&address) {
            return Some(Stop::Direct { target });
        }
        let zone = self.zones.iter_mut().find(|zone| zone.contains(address))?;
        stop::read(zone.read(address, 16))
    }

    /// What `address` in the code cache means; None outside of it.
    #[must_use]
    pub fn locate(&mut self, address: u64) -> Option<Location> {
        self.zones.iter_mut().find(|zone| zone.contains(address))?.locate(address)
    }

    /// Forgets all code translated from a range. Threads in it run on to the
    /// next branch; entries of it stop from now on. Gives the program's
    /// addresses to take from the table of indirect branches (BRANCHES may
    /// keep them).
    pub fn invalidate(&mut self, range: Range<u64>) -> Vec<u64> {
        let mut gone = Vec::new();
        let mut pages = FxHashSet::default();
        for page in range.start >> 12..=range.end.saturating_sub(1) >> 12 {
            let Some(blocks) = self.pages.get(&page) else { continue };
            let mut hit = Vec::new();
            for &pc in blocks {
                let block = self.targets.get(&pc).filter(|target| target.host != 0);
                if block.is_some_and(|block| pc < range.end && range.start < block.end) {
                    hit.push(pc);
                }
            }
            for mut pc in hit {
                // What runs on into the block has no branch that could lead
                // to a later translation of it: it goes, too.
                while let Some(&Target { host: 1.., end, before, .. }) = self.targets.get(&pc) {
                    self.forget(pc);
                    gone.push(pc);
                    pages.extend(pc >> 12..=end.saturating_sub(1) >> 12);
                    pc = before;
                }
            }
        }
        for page in pages {
            let Some(blocks) = self.pages.get_mut(&page) else { continue };
            let targets = &self.targets;
            blocks.retain(|pc| targets.get(pc).is_some_and(|target| target.host != 0));
            if blocks.is_empty() {
                self.pages.remove(&page);
            }
        }
        gone
    }

    /// Code of these pages checks from now on that it is what was translated.
    /// What was translated without checks is invalidated as by
    /// [`CodeCache::invalidate`].
    pub fn check_pages(&mut self, range: Range<u64>) -> Vec<u64> {
        self.checked.extend(range.start >> 12..=range.end.saturating_sub(1) >> 12);
        self.invalidate(range)
    }

    /// Whether anything was translated from a range.
    #[must_use]
    pub fn has_code(&self, range: Range<u64>) -> bool {
        (range.start >> 12..=range.end.saturating_sub(1) >> 12).any(|page| {
            self.pages.get(&page).is_some_and(|blocks| {
                blocks.iter().any(|pc| {
                    self.targets.get(pc).is_some_and(|block| {
                        block.host != 0 && *pc < range.end && range.start < block.end
                    })
                })
            })
        })
    }

    /// Forgets all code, keeps zones and checked pages. No thread may be in
    /// it; all BRANCHES and the table of indirect branches must be cleared by
    /// the caller.
    pub fn flush(&mut self) {
        self.targets.clear();
        self.links.clear();
        self.pages.clear();
        self.dead.clear();
        self.new_entries.clear();
        for zone in &mut self.zones {
            zone.clear();
        }
    }

    /// Bytes of zones in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.zones.iter().map(Zone::used).sum()
    }
}

/// The memory of a zone cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a zone's memory must be whole pages, 1 MiB to 2 GiB, within 47 bits")]
pub struct ZoneError;
