//! Which branch of the code cache leads where.

use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use rustc_hash::FxHashSet;

use super::variant_code::VariantCode;
use crate::translate::{
    Assembler, BlockHead, ColdMark, DirectBranch, ENTRY_MATCHED, MarkPhase, reach, stop,
};
use crate::zone::Zone;

/// An address in the program that code or branches in the cache stand for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BranchTarget {
    /// Its code; 0 = not translated.
    pub(super) host: u64,
    /// Its entry for indirect branches; 0 = none.
    pub(super) entry: u64,
    /// Behind the block's last byte in the program.
    pub(super) end: u64,
    /// The block of its trace that runs on into it without a branch; 0 = none.
    pub(super) before: u64,
    /// The stop for branches to it while it is not translated; 0 = none.
    pub(super) stub: u64,
    /// The first of its links, plus 1.
    pub(super) links: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Address of its 32 bits.
    place: u64,
    /// The next one of the target, plus 1.
    next: u32,
}

impl VariantCode {
    /// Enters a block, and which one runs on into it. Branches to it are
    /// linked by [`VariantCode::publish`], when its own are.
    pub(super) fn add_head(&mut self, head: &BlockHead, before: u64) {
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
    pub(super) fn publish(&mut self, zones: &mut [Zone]) {
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

    pub(super) fn add_branch(&mut self, zones: &mut [Zone], branch: &DirectBranch) {
        let number = u32::try_from(self.links.len() + 1).unwrap_or(0);
        let target = self.targets.entry(branch.target).or_default();
        self.links.push(Link { place: branch.place, next: target.links });
        target.links = number;
        match target.host {
            0 => self.fresh.push((branch.place, branch.target)),
            host => patch(zones, branch.place, host, branch.target),
        }
    }

    fn link(&self, number: u32) -> Option<Link> {
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
