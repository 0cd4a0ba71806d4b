//! Blocks of the heap as they live, in the order of samples.

use crate::name::block_lives::BlockLives;
use crate::name::heap_block::{BlockAsker, HeapBlock};
use crate::name::mappings::{MappingMaker, MappingSample, Mappings};
use perfdata::{HeapChange, Misc, Pid, SampleId, SidebandRecord, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Blocks of all processes that are remembered at once.
const MOST_BLOCKS: usize = 8 << 20;

/// What the heap of each process holds while its samples are counted.
#[derive(Debug, Default)]
pub(crate) struct HeapBlocks {
    /// Whether the stream has events of the heap.
    pub(crate) is_told: bool,
    /// Whether these tell of some blocks alone.
    pub(crate) is_of_some: bool,
    /// Whether they have their place among samples by time alone.
    pub(crate) is_apart: bool,
    processes: FxHashMap<Pid, BTreeMap<u64, HeapBlock>>,
    /// Blocks of all of them.
    live: usize,
    /// Numbers given out.
    made: u64,
    /// Blocks that there was no room for.
    left_out: u64,
    /// What happened to processes and is not taken in yet, in order of time.
    waiting: VecDeque<ProcessChange>,
    /// The block that the sample at hand gives back.
    leaving: Option<LeavingBlock>,
    pub(crate) mappings: Mappings,
    pub(crate) lives: BlockLives,
    /// When the first sample was taken.
    pub(crate) begin: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct LeavingBlock {
    pid: Pid,
    address: u64,
    time: Time,
}

#[derive(Clone, Copy, Debug)]
struct ProcessChange {
    time: Time,
    pid: Pid,
    what: ProcessStep,
}

#[derive(Clone, Copy, Debug)]
enum ProcessStep {
    /// It begins with what its parent has.
    Forked(Pid),
    /// It has nothing any more: it runs another program, or has ended.
    Emptied,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSample {
    pub(crate) pid: Pid,
    pub(crate) time: Time,
    pub(crate) address: u64,
    pub(crate) change: HeapChange,
}

impl HeapBlocks {
    /// Takes in what begins and ends processes; other records tell nothing of the heap.
    pub(crate) fn side(&mut self, misc: Misc, record: &SidebandRecord<'_>, id: &SampleId) {
        let change = match *record {
            SidebandRecord::Fork { task, parent, time } if task.pid != parent.pid => {
                ProcessChange { time, pid: task.pid, what: ProcessStep::Forked(parent.pid) }
            }
            SidebandRecord::Exit { task, time, .. } if task.pid.0 == task.tid.0 => {
                ProcessChange { time, pid: task.pid, what: ProcessStep::Emptied }
            }
            SidebandRecord::Comm { task, .. } if misc.contains(Misc::COMM_EXEC) => {
                let time = id.time.unwrap_or_default();
                ProcessChange { time, pid: task.pid, what: ProcessStep::Emptied }
            }
            _ => return,
        };
        // Threads write at nearly the same time.
        let behind = self.waiting.iter().rev().take_while(|other| other.time > change.time).count();
        self.waiting.insert(self.waiting.len() - behind, change);
    }

    pub(crate) fn go_on(&mut self, time: Time) {
        self.begin.get_or_insert(time);
        if let Some(leaving) = self.leaving.take() {
            self.remove(leaving);
        }
        self.mappings.go_on(&mut self.lives);
        while self.waiting.front().is_some_and(|change| change.time <= time)
            && let Some(change) = self.waiting.pop_front()
        {
            let gone = self.processes.remove(&change.pid).unwrap_or_default();
            self.live -= gone.len();
            gone.values().for_each(|block| self.lives.ended(change.pid, block, change.time));
            self.mappings.emptied(change.pid, change.time, &mut self.lives);
            let ProcessStep::Forked(parent) = change.what else { continue };
            self.mappings.forked(change.pid, parent);
            if let Some(blocks) = self.processes.get(&parent)
                && self.live + blocks.len() <= MOST_BLOCKS
            {
                self.live += blocks.len();
                let blocks = blocks.clone();
                self.processes.insert(change.pid, blocks);
            }
        }
    }

    pub(crate) fn allocated(&mut self, told: BlockSample, asker: BlockAsker) {
        let BlockSample { pid, time, address, change } = told;
        let HeapChange { size, old, began, .. } = change;
        if old != 0 && old != address {
            let is_old = |block: &HeapBlock| block.born <= Time(began);
            if self.processes.get(&pid).and_then(|it| it.get(&old)).is_some_and(is_old) {
                self.remove(LeavingBlock { pid, address: old, time });
            }
        }
        self.made += 1;
        let blocks = self.processes.entry(pid).or_default();
        let (number, is_mapping) = (self.made, false);
        let block = HeapBlock { start: address, size, number, is_mapping, asker, born: time };
        // What the new block lies over was given back unseen.
        let end = address.saturating_add(size.max(1));
        let before = blocks.range(..address).next_back();
        let overlapped = before.filter(|(_, it)| it.end() > address).map(|(start, _)| *start);
        let within: Vec<u64> = blocks.range(address..end).map(|(start, _)| *start).collect();
        for start in overlapped.into_iter().chain(within) {
            if let Some(block) = blocks.remove(&start) {
                self.lives.ended(pid, &block, time);
            }
            self.live -= 1;
        }
        if self.live >= MOST_BLOCKS {
            self.left_out += 1;
            return;
        }
        self.live += 1;
        blocks.insert(address, block);
    }

    /// A block is given back: it is there for the sample that tells of it.
    pub(crate) fn released(&mut self, told: BlockSample) {
        let BlockSample { pid, address, time, .. } = told;
        self.leaving = Some(LeavingBlock { pid, address, time });
    }

    /// A call changed what is mapped; `maker` made it.
    pub(crate) fn remapped(&mut self, told: MappingSample, maker: MappingMaker) {
        self.mappings.changed(told, maker, &mut self.lives);
    }

    fn remove(&mut self, LeavingBlock { pid, address, time }: LeavingBlock) {
        let blocks = self.processes.get_mut(&pid);
        if let Some(block) = blocks.and_then(|blocks| blocks.remove(&address)) {
            self.lives.ended(pid, &block, time);
            self.live -= 1;
        }
    }

    pub(crate) fn find(&self, pid: Pid, address: u64) -> Option<&HeapBlock> {
        let (_, block) = self.processes.get(&pid)?.range(..=address).next_back()?;
        (address < block.end()).then_some(block)
    }

    pub(crate) fn note(&self) -> Option<String> {
        let of_blocks = (self.left_out > 0).then(|| {
            format!(
                "{} blocks of the heap are not known: {MOST_BLOCKS} at once are remembered",
                self.left_out
            )
        });
        match (of_blocks, self.mappings.note()) {
            (Some(blocks), Some(mappings)) => Some(format!("{blocks}; {mappings}")),
            (blocks, mappings) => blocks.or(mappings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::key_value::Missing;
    use perfdata::{AllocatorCall, Task, Tid};

    const PID: Pid = Pid(7);
    const NOBODY: BlockAsker = BlockAsker { site: Err(Missing::Ip), chain: None };

    fn told(time: u64, address: u64, size: u64, old: u64, began: u64) -> BlockSample {
        let change = HeapChange { call: Some(AllocatorCall::Allocate), size, old, began };
        BlockSample { pid: PID, time: Time(time), address, change }
    }

    fn allocate(heap: &mut HeapBlocks, time: u64, address: u64, size: u64) {
        heap.go_on(Time(time));
        heap.allocated(told(time, address, size, 0, 0), NOBODY);
    }

    fn number(heap: &HeapBlocks, pid: Pid, address: u64) -> Option<u64> {
        heap.find(pid, address).map(|block| block.number)
    }

    #[test]
    fn an_address_is_of_the_block_that_lives() {
        let mut heap = HeapBlocks::default();
        allocate(&mut heap, 1, 0x1000, 16);
        assert_eq!(number(&heap, PID, 0xfff), None);
        assert_eq!(number(&heap, PID, 0x100f), Some(1));
        assert_eq!(number(&heap, PID, 0x1010), None);
        assert_eq!(number(&heap, Pid(8), 0x1000), None, "of another process");
        heap.go_on(Time(2));
        heap.released(told(2, 0x1000, 0, 0, 0));
        assert_eq!(number(&heap, PID, 0x1000), Some(1), "of the sample that gives it back");
        allocate(&mut heap, 3, 0x1000, 8);
        assert_eq!(number(&heap, PID, 0x1007), Some(2), "the same address again");
        assert_eq!(number(&heap, PID, 0x1008), None);
    }

    #[test]
    fn a_block_that_grows_leaves_its_place() {
        let mut heap = HeapBlocks::default();
        allocate(&mut heap, 1, 0x1000, 16);
        heap.go_on(Time(5));
        heap.allocated(told(5, 0x2000, 32, 0x1000, 4), NOBODY);
        assert_eq!(number(&heap, PID, 0x1000), None);
        assert_eq!(number(&heap, PID, 0x201f), Some(2));
        heap.go_on(Time(6));
        heap.allocated(told(6, 0x2000, 64, 0x2000, 5), NOBODY);
        assert_eq!(number(&heap, PID, 0x203f), Some(3), "at the same place");
        // Another thread was given the old place while this one was still in realloc.
        allocate(&mut heap, 9, 0x3000, 16);
        heap.go_on(Time(10));
        heap.allocated(told(10, 0x4000, 64, 0x3000, 8), NOBODY);
        assert_eq!(number(&heap, PID, 0x3000), Some(4));
    }

    #[test]
    fn what_lies_below_a_new_block_was_given_back_unseen() {
        let mut heap = HeapBlocks::default();
        for (time, address) in [(1, 0x1000), (2, 0x1100), (3, 0x1200)] {
            allocate(&mut heap, time, address, 0x80);
        }
        allocate(&mut heap, 4, 0x1040, 0x1a0);
        let numbers = [0x1000, 0x1050, 0x11df, 0x1200].map(|address| number(&heap, PID, address));
        assert_eq!(numbers, [None, Some(4), Some(4), Some(3)]);
        assert_eq!(heap.live, 2);
    }

    #[test]
    fn a_child_begins_with_its_parents_blocks_and_exec_with_none() {
        let mut heap = HeapBlocks::default();
        let task = |pid| Task { pid: Pid(pid), tid: Tid(pid) };
        allocate(&mut heap, 1, 0x1000, 16);
        let fork = SidebandRecord::Fork { task: task(8), parent: task(7), time: Time(3) };
        heap.side(Misc::default(), &fork, &SampleId::default());
        allocate(&mut heap, 2, 0x2000, 16);
        assert_eq!(number(&heap, Pid(8), 0x1000), None, "not yet");
        allocate(&mut heap, 4, 0x3000, 16);
        let of_child = [0x1000, 0x2000, 0x3000].map(|address| number(&heap, Pid(8), address));
        assert_eq!(of_child, [Some(1), Some(2), None]);
        let exec = SidebandRecord::Comm { task: task(7), name: b"new" };
        let id = SampleId { time: Some(Time(5)), ..SampleId::default() };
        heap.side(Misc::COMM_EXEC, &exec, &id);
        heap.go_on(Time(6));
        assert_eq!(number(&heap, PID, 0x1000), None);
        assert_eq!(number(&heap, Pid(8), 0x1000), Some(1));
        let exit = SidebandRecord::Exit { task: task(8), parent: task(7), time: Time(7) };
        heap.side(Misc::default(), &exit, &SampleId::default());
        heap.go_on(Time(8));
        assert_eq!(heap.live, 0);
    }

    #[test]
    fn lives_of_blocks_that_were_asked_about_are_told() {
        let mut heap = HeapBlocks::default();
        let asked = |heap: &mut HeapBlocks, address| {
            let block = *heap.find(PID, address).unwrap();
            heap.lives.asked(PID, &block)
        };
        allocate(&mut heap, 1_000_000, 0x1000, 16);
        let first = asked(&mut heap, 0x1000);
        allocate(&mut heap, 3_000_000, 0x2000, 8);
        let grown = asked(&mut heap, 0x2000);
        heap.go_on(Time(5_500_000));
        heap.released(told(5_500_000, 0x1000, 0, 0, 0));
        heap.go_on(Time(7_000_000));
        heap.allocated(told(7_000_000, 0x3000, 32, 0x2000, 6_000_000), NOBODY);
        let last = asked(&mut heap, 0x3000);
        assert_eq!(asked(&mut heap, 0x3001), last, "each once");
        let text = |life| heap.lives.text(life, heap.begin.unwrap()).unwrap();
        assert_eq!(text(first), "16 bytes at 0x1000 (#1, 0.000000 to 0.004500 s)");
        assert_eq!(text(grown), "8 bytes at 0x2000 (#2, 0.002000 to 0.006000 s)");
        assert_eq!(text(last), "32 bytes at 0x3000 (#3, from 0.006000 s on)");
    }
}
