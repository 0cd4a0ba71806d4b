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
    let makers =
        [MappingMaker::Program(Err(Lack::Ip)), MappingMaker::Allocator, MappingMaker::System];
    let maker = prop::sample::select(makers.to_vec());
    let map =
        (0..PAGES, 1..12u64, maker).prop_map(|(at, length, maker)| Step::Map { at, length, maker });
    let unmap = (0..PAGES, 1..12u64).prop_map(|(at, length)| Step::Unmap { at, length });
    let remap = (0..PAGES, 1..12u64, 0..PAGES, 1..12u64);
    let remap =
        remap.prop_map(|(from, before, to, length)| Step::Remap { from, before, to, length });
    prop_oneof![3 => map, 2 => unmap, 2 => remap]
}

fn told(time: u64, at: u64, change: MappingChange) -> ToldMapping {
    ToldMapping { pid: PID, time: Time(time), address: at * PAGE, change }
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
    let program = MappingMaker::Program(Err(Lack::Ip));
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
    let program = MappingMaker::Program(Err(Lack::Ip));
    mappings.changed(told(1, 1, change(MappingCall::MapFile, PAGE)), program, &mut lives);
    mappings.changed(told(2, 1, change(MappingCall::Unmap, PAGE)), program, &mut lives);
    assert!(mappings.find(PID, PAGE).is_some_and(|it| it.is_file));
    mappings.go_on(&mut lives);
    assert_eq!(mappings.find(PID, PAGE), None);
}

#[test]
fn a_child_has_its_parents_mappings_and_its_own_changes() {
    let (mut mappings, mut lives) = (Mappings::default(), BlockLives::default());
    let program = MappingMaker::Program(Err(Lack::Ip));
    mappings.changed(told(1, 1, change(MappingCall::Map, 4 * PAGE)), program, &mut lives);
    mappings.forked(Pid(8), PID);
    let of_child = ToldMapping { pid: Pid(8), ..told(2, 2, change(MappingCall::Unmap, PAGE)) };
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
    let program = MappingMaker::Program(Err(Lack::Ip));
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
    let program = MappingMaker::Program(Err(Lack::Ip));
    for time in 1..=3 {
        mappings.changed(told(time, 5, change(MappingCall::Map, 0)), program, &mut lives);
    }
    assert_eq!(mappings.find(PID, 5 * PAGE), None);
    assert!(mappings.processes.get(&PID).is_none_or(|space| space.made.is_empty()));
    let pieces = u64::try_from(MOST_PIECES).unwrap();
    take(&mut mappings, &mut lives, 4, Step::Map { at: 0, length: 2 * pieces + 9, maker: program });
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
