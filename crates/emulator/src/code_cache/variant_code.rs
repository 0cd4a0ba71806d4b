//! All code of one translation, and which of its branches leads where.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use rustc_hash::{FxHashMap, FxHashSet};

use super::TranslateError;
use crate::translate::{
    Assembler, BlockHead, CodeSource, CodeVariant, ColdMark, DirectBranch, ENTRY_MATCHED, Emitter,
    MarkPhase, TraceContext, TraceRequest, TraceWriter, Translation, reach, stop,
};
use crate::zone::Zone;

/// Traces that one call translates at most.
const TRACES: usize = 16;
/// Bytes in line that must be free before a trace, and out of line; and more
/// of them for each event but the first that counts instructions.
const ROOM: u64 = 128 << 10;
const COLD_ROOM: u64 = 256 << 10;
const ROOM_FOR_EVENT: u64 = 8 << 10;
const COLD_ROOM_FOR_EVENT: u64 = 64 << 10;

/// An address in the program that code or branches in the cache stand for.
#[derive(Clone, Copy, Debug, Default)]
struct BranchTarget {
    /// Its code; 0 = not translated.
    host: u64,
    /// Its entry for indirect branches; 0 = none.
    entry: u64,
    /// Behind the block's last byte in the program.
    end: u64,
    /// The block of its trace that runs on into it without a branch; 0 = none.
    before: u64,
    /// The stop for branches to it while it is not translated; 0 = none.
    stub: u64,
    /// The first of its links, plus 1.
    links: u32,
}

#[derive(Clone, Copy, Debug)]
struct BranchLink {
    /// Address of its 32 bits.
    place: u64,
    /// The next one of the target, plus 1.
    next: u32,
}

/// Translated code, where it is for which address, and what links it. No
/// branch leads from here to another part.
#[derive(Debug)]
pub(super) struct VariantCode {
    pub(super) variant: CodeVariant,
    writer: TraceWriter,
    room: TraceSizeLimit,
    targets: FxHashMap<u64, BranchTarget>,
    links: Vec<BranchLink>,
    /// Blocks by the pages that they are in.
    pages: FxHashMap<u64, Vec<u64>>,
    /// Heads of blocks that were invalidated: a breakpoint is there.
    pub(super) dead: FxHashMap<u64, u64>,
    /// Entries of indirect branches that nobody was told of.
    pub(super) new_entries: Vec<(u64, u64)>,
    work: Vec<TraceRequest>,
    /// Branches that were just made, and where to.
    fresh: Vec<(u64, u64)>,
    /// Branches that were there before, to what is being translated.
    unpublished: Vec<(u64, u64)>,
}

impl VariantCode {
    pub(super) fn new(translation: Translation, variant: CodeVariant) -> VariantCode {
        VariantCode {
            variant,
            room: TraceSizeLimit::new(translation.instrumentation.countdowns.len()),
            writer: TraceWriter::new(Emitter::new(translation, variant)),
            targets: FxHashMap::default(),
            links: Vec::new(),
            pages: FxHashMap::default(),
            dead: FxHashMap::default(),
            new_entries: Vec::new(),
            work: Vec::new(),
            fresh: Vec::new(),
            unpublished: Vec::new(),
        }
    }

    pub(super) fn translate(
        &mut self,
        zones: &mut [Zone],
        checked: &FxHashSet<u64>,
        pc: u64,
        source: &mut dyn CodeSource,
    ) -> Result<u64, TranslateError> {
        if let Some(target) = self.targets.get(&pc).filter(|target| target.host != 0) {
            let (host, entry) = (target.host, target.entry);
            if entry == 0 {
                self.add_entry(zones, pc, host);
            }
            return Ok(host);
        }
        // A stop alone, where no code can be read, may be anywhere.
        let stop = (!zones.is_empty() && source.read(pc, &mut [0]) == 0).then_some(0);
        let number = nearest(zones, pc).or(stop).ok_or(TranslateError::NoZone { near: pc })?;
        let full = TranslateError::Full { near: pc };
        if !self.room.is_in(zones, number) {
            return Err(full);
        }
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        let mut next = Some(TraceRequest { pc, entry: true });
        let mut left = TRACES;
        while let Some(request) = next {
            let known = self.targets.get(&request.pc).is_some_and(|target| target.host != 0);
            let near = zones.get(number).is_some_and(|zone| zone.reaches(request.pc));
            if !known && (near || request.pc == pc) {
                if left == 0 || !self.room.is_in(zones, number) {
                    break;
                }
                left -= 1;
                let targets = &self.targets;
                let known = |pc: u64| targets.get(&pc).is_some_and(|target| target.host != 0);
                let work = &mut work;
                let mut context = TraceContext { known: &known, checked, source, work };
                if let Some(zone) = zones.get_mut(number) {
                    trace(&mut self.writer, zone, request, &mut context);
                }
                self.enter(zones);
            }
            next = work.pop();
        }
        self.work = work;
        self.publish(zones);
        self.targets.get(&pc).map(|target| target.host).filter(|&host| host != 0).ok_or(full)
    }

    fn enter(&mut self, zones: &mut [Zone]) {
        let heads = std::mem::take(&mut self.writer.emitter.heads);
        let branches = std::mem::take(&mut self.writer.emitter.branches);
        let mut before = 0;
        for head in &heads {
            self.add_head(head, before);
            before = head.pc;
        }
        for branch in &branches {
            self.add_branch(zones, branch);
        }
        self.writer.emitter.heads = heads;
        self.writer.emitter.branches = branches;
    }

    /// An entry for indirect branches to a block that has none.
    fn add_entry(&mut self, zones: &mut [Zone], pc: u64, host: u64) {
        let Some(zone) = zones.iter_mut().find(|zone| zone.contains(host)) else { return };
        if !zone.has_room(0, 64) {
            return;
        }
        let entry = zone.add_entry(pc, host);
        if let Some(target) = self.targets.get_mut(&pc) {
            target.entry = entry;
        }
        self.new_entries.push((pc, entry));
    }

    /// Enters a block, and which one runs on into it. Branches to it are
    /// linked by [`VariantCode::publish`], when its own are.
    fn add_head(&mut self, head: &BlockHead, before: u64) {
        let target = self.targets.entry(head.pc).or_default();
        target.host = head.host;
        target.entry = head.entry;
        target.end = head.end;
        target.before = before;
        let mut links = target.links;
        if head.entry != 0 {
            self.new_entries.push((head.pc, head.entry));
        }
        for page in head.pc >> 12..=head.end.saturating_sub(1) >> 12 {
            let blocks = self.pages.entry(page).or_default();
            blocks.push(head.pc);
        }
        while let Some(link) = self.link(links) {
            self.unpublished.push((link.place, head.pc));
            links = link.next;
        }
    }

    /// Links what was translated, first its own branches, then those that
    /// lead there from code that threads may be in: none of them may meet a
    /// branch that leads nowhere yet.
    fn publish(&mut self, zones: &mut [Zone]) {
        let mut links = std::mem::take(&mut self.fresh);
        for &(place, pc) in &links {
            match self.targets.get(&pc).map_or(0, |target| target.host) {
                0 => self.link_to_stub(zones, place, pc),
                host => patch(zones, place, host, pc),
            }
        }
        links.clear();
        self.fresh = links;
        fence(Ordering::Release);
        let mut links = std::mem::take(&mut self.unpublished);
        for &(place, pc) in &links {
            if let Some(&BranchTarget { host: host @ 1.., .. }) = self.targets.get(&pc) {
                patch(zones, place, host, pc);
            }
        }
        links.clear();
        self.unpublished = links;
    }

    fn add_branch(&mut self, zones: &mut [Zone], branch: &DirectBranch) {
        let number = u32::try_from(self.links.len() + 1).unwrap_or(0);
        let target = self.targets.entry(branch.target).or_default();
        self.links.push(BranchLink { place: branch.place, next: target.links });
        target.links = number;
        match target.host {
            0 => self.fresh.push((branch.place, branch.target)),
            host => patch(zones, branch.place, host, branch.target),
        }
    }

    fn link(&self, number: u32) -> Option<BranchLink> {
        self.links.get((number as usize).checked_sub(1)?).copied()
    }

    /// Lets a branch lead to the stop of a target that is not translated.
    fn link_to_stub(&mut self, zones: &mut [Zone], place: u64, pc: u64) {
        let known = self.targets.get(&pc).map_or(0, |target| target.stub);
        let near = known != 0 && reach(place + 4, known).is_some();
        let stub = if near {
            known
        } else {
            let write = |code: &mut Assembler| stop::write(code, stop::DIRECT, pc, 0);
            let Some(stub) = out_of_line(zones, place, write) else { return };
            if let Some(target) = self.targets.get_mut(&pc) {
                target.stub = stub;
            }
            stub
        };
        patch(zones, place, stub, pc);
    }

    /// Takes the blocks out that were made from a range; their addresses.
    pub(super) fn invalidate(&mut self, zones: &mut [Zone], range: &Range<u64>) -> Vec<u64> {
        let mut gone = Vec::new();
        let mut pages = FxHashSet::default();
        for page in range.start >> 12..=range.end.saturating_sub(1) >> 12 {
            let Some(blocks) = self.pages.get(&page) else { continue };
            let hit: Vec<u64> =
                blocks.iter().copied().filter(|pc| self.meets(*pc, range)).collect();
            for mut pc in hit {
                // What runs on into the block has no branch that could lead
                // to a later translation of it: it goes, too.
                while let Some(&BranchTarget { host: 1.., end, before, .. }) = self.targets.get(&pc)
                {
                    self.forget(zones, pc);
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

    /// Whether the block at `pc` was made from a range.
    fn meets(&self, pc: u64, range: &Range<u64>) -> bool {
        let block = self.targets.get(&pc).filter(|target| target.host != 0);
        block.is_some_and(|block| pc < range.end && range.start < block.end)
    }

    pub(super) fn has_code(&self, range: &Range<u64>) -> bool {
        (range.start >> 12..=range.end.saturating_sub(1) >> 12).any(|page| {
            let blocks = self.pages.get(&page);
            blocks.is_some_and(|blocks| blocks.iter().any(|pc| self.meets(*pc, range)))
        })
    }

    /// Takes a block out: direct branches to it stop, indirect ones are looked
    /// up anew.
    fn forget(&mut self, zones: &mut [Zone], pc: u64) {
        let Some(target) = self.targets.get_mut(&pc) else { return };
        let (host, entry, mut links) = (target.host, target.entry, target.links);
        target.host = 0;
        target.entry = 0;
        self.dead.insert(host, pc);
        if let Some(zone) = zones.iter_mut().find(|zone| zone.contains(host)) {
            zone.write(host, &[0xcc]);
        }
        // BRANCHES of threads keep the entry: it must not stop them each time,
        // but look up where the code is now.
        if let Some(zone) = zones.iter_mut().find(|zone| entry != 0 && zone.contains(entry)) {
            zone.write(entry + ENTRY_MATCHED, &[0]);
        }
        self.new_entries.retain(|&(entry, _)| entry != pc);
        while let Some(link) = self.link(links) {
            self.link_to_stub(zones, link.place, pc);
            links = link.next;
        }
    }

    pub(super) fn flush(&mut self) {
        self.targets.clear();
        self.links.clear();
        self.pages.clear();
        self.dead.clear();
        self.new_entries.clear();
    }
}

pub(super) fn nearest(zones: &[Zone], pc: u64) -> Option<usize> {
    let reaching = zones.iter().enumerate().filter(|(_, zone)| zone.reaches(pc));
    reaching.min_by_key(|(_, zone)| zone.base.abs_diff(pc)).map(|(number, _)| number)
}

/// Bytes that a trace takes at most.
#[derive(Clone, Copy, Debug)]
struct TraceSizeLimit {
    hot: u64,
    cold: u64,
}

impl TraceSizeLimit {
    fn new(countdowns: usize) -> TraceSizeLimit {
        let more = u64::try_from(countdowns.saturating_sub(1)).unwrap_or(0);
        TraceSizeLimit {
            hot: ROOM + more * ROOM_FOR_EVENT,
            cold: COLD_ROOM + more * COLD_ROOM_FOR_EVENT,
        }
    }

    fn is_in(self, zones: &[Zone], number: usize) -> bool {
        zones.get(number).is_some_and(|zone| zone.has_room(self.hot, self.cold))
    }
}

fn trace(
    writer: &mut TraceWriter,
    zone: &mut Zone,
    request: TraceRequest,
    context: &mut TraceContext<'_>,
) {
    let emitter = &mut writer.emitter;
    emitter.stubs = zone.stubs;
    emitter.zone = zone.base;
    emitter.restart(zone.base + zone.hot, zone.base + zone.cold, zone.marks.len());
    writer.trace(request, context);
    let emitter = &mut writer.emitter;
    zone.append(&emitter.hot, &emitter.cold);
    zone.blocks.append(&mut emitter.blocks);
    zone.marks.append(&mut emitter.marks);
    zone.colds.append(&mut emitter.colds);
}

/// Writes the distance of a branch at `place` to `to`, by way of a jump
/// through memory where 32 bits do not reach.
fn patch(zones: &mut [Zone], place: u64, to: u64, pc: u64) {
    let relative = reach(place + 4, to).or_else(|| {
        let stub = out_of_line(zones, place, |code| {
            code.put(&[0xff, 0x25, 16, 0, 0, 0]); // jmp [rip + 16]
            stop::write(code, stop::DIRECT, pc, 0);
            code.u64(to);
        })?;
        reach(place + 4, stub)
    });
    let Some(relative) = relative else { return };
    if let Some(zone) = zones.iter_mut().find(|zone| zone.contains(place)) {
        zone.write(place, &relative.to_le_bytes());
    }
}

/// Code out of line in the zone of `near`, which ends in a stop or has one 6
/// bytes from its start.
fn out_of_line(zones: &mut [Zone], near: u64, write: impl FnOnce(&mut Assembler)) -> Option<u64> {
    let zone = zones.iter_mut().find(|zone| zone.contains(near))?;
    let mut code = Assembler::default();
    code.restart(zone.base + zone.cold);
    write(&mut code);
    let far = code.bytes.len() > 16;
    zone.colds.push(ColdMark {
        start: u32::try_from(zone.cold).ok()?,
        site: if far { 6 } else { 0 },
        saved: 0,
        is_site: false,
        held: 0,
        phase: MarkPhase::Before,
    });
    let start = code.base;
    zone.append_cold(&code);
    Some(start)
}
