//! What programs map themselves, by mmap(2), as it lives in the order of samples.

use crate::name::block_lives::BlockLives;
use crate::name::heap_block::{BlockAsker, HeapBlock};
use crate::name::key_value::Missing;
use crate::name::mapped_spans::MappedSpans;
use crate::name::mapping_sizes::MappingSizes;
use perfdata::{MappingCall, MappingChange, Pid, Time};
use rustc_hash::FxHashMap;
use std::ops::Range;
use symbolizer::Place;

/// Pieces of mappings of all processes that are remembered at once; a test fills them.
const MOST_PIECES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// What the kernel maps is a multiple of that.
const PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Mappings {
    processes: FxHashMap<Pid, MappedSpace>,
    /// Pieces of all of them.
    live: usize,
    /// Numbers given out.
    made: u64,
    /// Mappings that there was no room for.
    left_out: u64,
    /// What the sample at hand takes out.
    leaving: Option<MappingSample>,
    /// Of each origin, all that it ever made.
    sizes: FxHashMap<MappingOrigin, MappingSizes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MappingOrigin {
    pub(crate) asked: Place,
    pub(crate) is_file: bool,
}

#[derive(Clone, Debug, Default)]
struct MappedSpace {
    spans: MappedSpans,
    /// By number.
    made: FxHashMap<u64, LiveMapping>,
}

#[derive(Clone, Copy, Debug)]
struct LiveMapping {
    mapping: OwnMapping,
    /// Bytes of it that are there.
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnMapping {
    /// Its bytes, number and birth, and who asked for it.
    pub(crate) block: HeapBlock,
    pub(crate) maker: MappingMaker,
    pub(crate) is_file: bool,
}

impl OwnMapping {
    /// None: it is not of the program itself, or nothing tells where it was asked for.
    pub(crate) fn origin(&self) -> Option<MappingOrigin> {
        match self.maker {
            MappingMaker::Program(Ok(asked)) => {
                Some(MappingOrigin { asked, is_file: self.is_file })
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MappingMaker {
    /// Of the program itself, at a place where that is known.
    Program(Result<Place, Missing>),
    /// Of an allocator, which makes blocks of it.
    Allocator,
    /// Of the loader, or of a library that makes a stack for a thread: others tell what is there.
    System,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MappingSample {
    pub(crate) pid: Pid,
    pub(crate) time: Time,
    pub(crate) address: u64,
    pub(crate) change: MappingChange,
}

impl MappingSample {
    fn range(&self) -> Range<u64> {
        whole_pages(self.address, self.change.length)
    }
}

/// The pages of some bytes.
fn whole_pages(start: u64, length: u64) -> Range<u64> {
    let end = start.saturating_add(length).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
    start & !(PAGE - 1)..end
}

impl Mappings {
    pub(crate) fn go_on(&mut self, lives: &mut BlockLives) {
        if let Some(told) = self.leaving.take() {
            self.cut(&told, told.range(), lives);
        }
    }

    pub(crate) fn emptied(&mut self, pid: Pid, time: Time, lives: &mut BlockLives) {
        let gone = self.processes.remove(&pid).unwrap_or_default();
        self.live -= gone.spans.len();
        gone.made.values().for_each(|it| lives.ended(pid, &it.mapping.block, time));
    }

    pub(crate) fn forked(&mut self, pid: Pid, parent: Pid) {
        let Some(space) = self.processes.get(&parent) else { return };
        if self.live + space.spans.len() > MOST_PIECES {
            self.left_out += space.made.len() as u64;
            return;
        }
        self.live += space.spans.len();
        let space = space.clone();
        self.live -= self.processes.insert(pid, space).unwrap_or_default().spans.len();
    }

    /// Takes in what a call did; `maker` is who called.
    pub(crate) fn changed(
        &mut self,
        told: MappingSample,
        maker: MappingMaker,
        lives: &mut BlockLives,
    ) {
        let MappingChange { call, length, old, old_length } = told.change;
        match call {
            // It is there for the sample that tells of its end.
            MappingCall::Unmap => self.leaving = Some(told),
            MappingCall::Remap if old_length > 0 => {
                let from = whole_pages(old, old_length);
                let known = self.number(told.pid, from.start);
                let kept = known.and_then(|number| self.mapping(told.pid, number));
                // In the order of the kernel: what it was is gone, then it lies over what was.
                self.cut(&told, from, lives);
                match kept {
                    Some(mapping) => {
                        let (start, size) = (told.address, length);
                        let block = HeapBlock { start, size, ..mapping.block };
                        if let Some(sizes) = mapping.origin().and_then(|it| self.sizes.get_mut(&it))
                        {
                            sizes.resize(size);
                        }
                        self.put(&told, OwnMapping { block, ..mapping }, lives);
                        lives.changed(told.pid, &block);
                    }
                    None => self.cut(&told, told.range(), lives),
                }
            }
            MappingCall::Map | MappingCall::MapFile | MappingCall::Remap => {
                if maker == MappingMaker::System {
                    self.cut(&told, told.range(), lives);
                    return;
                }
                self.made += 1;
                let site = match maker {
                    MappingMaker::Program(site) => site,
                    MappingMaker::Allocator | MappingMaker::System => Err(Missing::NoBlock),
                };
                let block = HeapBlock {
                    start: told.address,
                    size: length,
                    number: self.made,
                    is_mapping: true,
                    asker: BlockAsker { site, chain: None },
                    born: told.time,
                };
                let is_file = call == MappingCall::MapFile;
                let mapping = OwnMapping { block, maker, is_file };
                if let Some(origin) = mapping.origin() {
                    self.sizes.entry(origin).or_default().add(length);
                }
                self.put(&told, mapping, lives);
            }
        }
    }

    pub(crate) fn sizes(&self, origin: MappingOrigin) -> MappingSizes {
        self.sizes.get(&origin).copied().unwrap_or_default()
    }

    pub(crate) fn find(&self, pid: Pid, address: u64) -> Option<OwnMapping> {
        self.mapping(pid, self.number(pid, address)?)
    }

    fn number(&self, pid: Pid, address: u64) -> Option<u64> {
        self.processes.get(&pid)?.spans.find(address)
    }

    fn mapping(&self, pid: Pid, number: u64) -> Option<OwnMapping> {
        Some(self.processes.get(&pid)?.made.get(&number)?.mapping)
    }

    fn put(&mut self, told: &MappingSample, mapping: OwnMapping, lives: &mut BlockLives) {
        self.cut(told, told.range(), lives);
        let (range, number) = (told.range(), mapping.block.number);
        // No call that worked has none; a recording may say so.
        if range.is_empty() {
            return;
        }
        if self.live >= MOST_PIECES {
            self.left_out += 1;
            return;
        }
        let space = self.processes.entry(told.pid).or_default();
        let bytes = range.end - range.start;
        let live = space.made.entry(number).or_insert(LiveMapping { mapping, left: 0 });
        (live.mapping, live.left) = (mapping, live.left.saturating_add(bytes));
        let before = space.spans.len();
        space.spans.put(range, number);
        self.live = self.live - before + space.spans.len();
    }

    fn cut(&mut self, told: &MappingSample, range: Range<u64>, lives: &mut BlockLives) {
        let Some(space) = self.processes.get_mut(&told.pid) else { return };
        let before = space.spans.len();
        let mut gone = space.spans.cut(range.clone());
        // A hole makes two of one: without room the part behind it is not known any more.
        if self.live - before + space.spans.len() > MOST_PIECES {
            self.left_out += 1;
            gone.extend(space.spans.take(range.end));
        }
        self.live = self.live - before + space.spans.len();
        for (range, number) in gone {
            let Some(live) = space.made.get_mut(&number) else { continue };
            live.left = live.left.saturating_sub(range.end - range.start);
            if live.left == 0 {
                let LiveMapping { mapping, .. } = *live;
                space.made.remove(&number);
                lives.ended(told.pid, &mapping.block, told.time);
            }
        }
    }

    pub(crate) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} mappings are not known: {MOST_PIECES} pieces of them at once are remembered",
                self.left_out
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PID: Pid = Pid(7);
    const PAGES: u64 = 40;

    /// A call, in pages.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Map { at: u64, length: u64, maker: MappingMaker },
        Unmap { at: u64, length: u64 },
        Remap { from: u64, before: u64, to: u64, length: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let makers = [
            MappingMaker::Program(Err(Missing::Ip)),
            MappingMaker::Allocator,
            MappingMaker::System,
        ];
        let maker = prop::sample::select(makers.to_vec());
        let map = (0..PAGES, 1..12u64, maker).prop_map(|(at, length, maker)| Step::Map {
            at,
            length,
            maker,
        });
        let unmap = (0..PAGES, 1..12u64).prop_map(|(at, length)| Step::Unmap { at, length });
        let remap = (0..PAGES, 1..12u64, 0..PAGES, 1..12u64);
        let remap =
            remap.prop_map(|(from, before, to, length)| Step::Remap { from, before, to, length });
        prop_oneof![3 => map, 2 => unmap, 2 => remap]
    }

    fn told(time: u64, at: u64, change: MappingChange) -> MappingSample {
        MappingSample { pid: PID, time: Time(time), address: at * PAGE, change }
    }

    fn change(call: MappingCall, length: u64) -> MappingChange {
        MappingChange { call, length, old: 0, old_length: 0 }
    }

    /// Each page by itself, by the number of its mapping.
    #[derive(Debug)]
    struct Pages {
        pages: Vec<Option<u64>>,
        made: u64,
    }

    impl Pages {
        fn set(&mut self, at: u64, length: u64, to: Option<u64>) {
            let (at, end) = (usize::try_from(at).unwrap(), usize::try_from(at + length).unwrap());
            self.pages[at..end].fill(to);
        }

        fn take(&mut self, step: Step) {
            match step {
                Step::Map { at, length, maker } => {
                    let is_kept = maker != MappingMaker::System;
                    self.made += u64::from(is_kept);
                    self.set(at, length, is_kept.then_some(self.made));
                }
                Step::Unmap { at, length } => self.set(at, length, None),
                Step::Remap { from, before, to, length } => {
                    let moved = self.pages[usize::try_from(from).unwrap()];
                    self.set(from, before, None);
                    self.set(to, length, moved);
                }
            }
        }
    }

    fn take(mappings: &mut Mappings, lives: &mut BlockLives, time: u64, step: Step) {
        let program = MappingMaker::Program(Err(Missing::Ip));
        let (told, maker) = match step {
            Step::Map { at, length, maker } => {
                // The last page is not whole.
                (told(time, at, change(MappingCall::Map, length * PAGE - 7)), maker)
            }
            Step::Unmap { at, length } => {
                (told(time, at, change(MappingCall::Unmap, length * PAGE)), program)
            }
            Step::Remap { from, before, to, length } => {
                let change = MappingChange {
                    old: from * PAGE,
                    old_length: before * PAGE,
                    ..change(MappingCall::Remap, length * PAGE)
                };
                (told(time, to, change), program)
            }
        };
        mappings.changed(told, maker, lives);
        mappings.go_on(lives);
    }

    proptest! {
        #[test]
        fn each_page_is_of_the_call_that_mapped_it(steps in prop::collection::vec(step(), 0..24)) {
            let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
            let mut pages = Pages { pages: vec![None; 60], made: 0 };
            let mut asked: Vec<(u64, u32)> = Vec::new();
            for (time, step) in (1..).zip(steps) {
                take(&mut mappings, &mut lives, time, step);
                pages.take(step);
                for (page, number) in (0..).zip(&pages.pages) {
                    let found = mappings.find(PID, page * PAGE + page);
                    prop_assert_eq!(found.map(|it| it.block.number), *number, "page {}", page);
                    if let Some(found) = found {
                        let life = lives.asked(PID, &found.block);
                        asked.push((found.block.number, life));
                    }
                }
                prop_assert_eq!(mappings.find(Pid(8), 0), None);
                asked.sort_unstable();
                asked.dedup();
                for (number, life) in &asked {
                    let text = lives.text(*life, Time(0)).unwrap();
                    let lives = pages.pages.contains(&Some(*number));
                    prop_assert_eq!(text.contains(" on)"), lives, "{}", text);
                    prop_assert!(text.starts_with("mapping of "), "{}", text);
                }
            }
            mappings.emptied(PID, Time(99), &mut lives);
            prop_assert_eq!((mappings.live, mappings.find(PID, 0)), (0, None));
        }
    }

    #[test]
    fn a_mapping_that_is_unmapped_is_there_for_the_sample_that_tells_so() {
        let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
        let program = MappingMaker::Program(Err(Missing::Ip));
        mappings.changed(told(1, 1, change(MappingCall::MapFile, PAGE)), program, &mut lives);
        mappings.changed(told(2, 1, change(MappingCall::Unmap, PAGE)), program, &mut lives);
        assert!(mappings.find(PID, PAGE).is_some_and(|it| it.is_file));
        mappings.go_on(&mut lives);
        assert_eq!(mappings.find(PID, PAGE), None);
    }

    #[test]
    fn a_child_has_its_parents_mappings_and_its_own_changes() {
        let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
        let program = MappingMaker::Program(Err(Missing::Ip));
        mappings.changed(told(1, 1, change(MappingCall::Map, 4 * PAGE)), program, &mut lives);
        mappings.forked(Pid(8), PID);
        let of_child =
            MappingSample { pid: Pid(8), ..told(2, 2, change(MappingCall::Unmap, PAGE)) };
        mappings.changed(of_child, program, &mut lives);
        mappings.go_on(&mut lives);
        assert!(mappings.find(PID, 2 * PAGE).is_some());
        assert!(mappings.find(Pid(8), 2 * PAGE).is_none());
        assert!(mappings.find(Pid(8), 3 * PAGE).is_some());
        assert_eq!(mappings.live, 3);
    }

    #[test]
    fn a_mapping_that_grows_keeps_its_birth_and_tells_its_size() {
        let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
        let program = MappingMaker::Program(Err(Missing::Ip));
        mappings.changed(told(1000, 1, change(MappingCall::Map, PAGE)), program, &mut lives);
        let life = lives.asked(PID, &mappings.find(PID, PAGE).unwrap().block);
        let grown =
            MappingChange { old: PAGE, old_length: PAGE, ..change(MappingCall::Remap, 3 * PAGE) };
        mappings.changed(told(2000, 9, grown), MappingMaker::System, &mut lives);
        assert_eq!(
            lives.text(life, Time(0)).as_deref(),
            Some("mapping of 12288 bytes at 0x9000 (#1, from 0.000001 s on)")
        );
        let copy = MappingChange { old: 9 * PAGE, ..change(MappingCall::Remap, PAGE) };
        mappings.changed(told(3000, 30, copy), program, &mut lives);
        let numbers = [9, 11, 30].map(|page| mappings.find(PID, page * PAGE).unwrap().block.number);
        assert_eq!(numbers, [1, 1, 2], "one that stays where it was is another, too");
    }

    /// What a recording says that no kernel does.
    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
        let program = MappingMaker::Program(Err(Missing::Ip));
        for time in 1..=3 {
            mappings.changed(told(time, 5, change(MappingCall::Map, 0)), program, &mut lives);
        }
        assert_eq!(mappings.find(PID, 5 * PAGE), None);
        assert!(mappings.processes.get(&PID).is_none_or(|space| space.made.is_empty()));
        let pieces = u64::try_from(MOST_PIECES).unwrap();
        take(
            &mut mappings,
            &mut lives,
            4,
            Step::Map { at: 0, length: 2 * pieces + 9, maker: program },
        );
        for hole in 0..pieces + 2 {
            take(&mut mappings, &mut lives, 5 + hole, Step::Unmap { at: 2 * hole + 1, length: 1 });
        }
        assert_eq!(mappings.live, MOST_PIECES);
        assert_eq!(mappings.live, mappings.processes[&PID].spans.len());
        // The last piece that there was room for ends at a hole, and what is behind it is lost.
        assert!(mappings.find(PID, 2 * (pieces - 1) * PAGE).is_some());
        assert_eq!(mappings.find(PID, 2 * pieces * PAGE), None);
        mappings.forked(Pid(8), PID);
        assert_eq!(mappings.find(Pid(8), 0), None);
        assert!(mappings.note().unwrap().starts_with("2 mappings are not known"));
    }
}
