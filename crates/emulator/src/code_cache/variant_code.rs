//! All code of one translation.

use rustc_hash::{FxHashMap, FxHashSet};

use super::TranslateError;
use super::link::{BranchTarget, Link};
use crate::translate::{
    CodeSource, CodeVariant, Emitter, TraceContext, TraceRequest, TraceWriter, Translation,
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

/// Translated code, where it is for which address, and what links it. No
/// branch leads from here to another part.
#[derive(Debug)]
pub(super) struct VariantCode {
    pub(super) variant: CodeVariant,
    writer: TraceWriter,
    room: TraceSizeLimit,
    pub(super) targets: FxHashMap<u64, BranchTarget>,
    pub(super) links: Vec<Link>,
    /// Blocks by the pages that they are in.
    pub(super) pages: FxHashMap<u64, Vec<u64>>,
    /// Heads of blocks that were invalidated: a breakpoint is there.
    pub(super) dead: FxHashMap<u64, u64>,
    /// Entries of indirect branches that nobody was told of.
    pub(super) new_entries: Vec<(u64, u64)>,
    work: Vec<TraceRequest>,
    /// Branches that were just made, and where to.
    pub(super) fresh: Vec<(u64, u64)>,
    /// Branches that were there before, to what is being translated.
    pub(super) unpublished: Vec<(u64, u64)>,
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
