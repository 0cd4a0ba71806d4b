use super::*;
use perfdata::{AllocatorCall, Task, Tid};

const PID: Pid = Pid(7);
const NOBODY: BlockAsker = BlockAsker { site: Err(Lack::Ip), chain: None };

fn told(time: u64, address: u64, size: u64, old: u64, began: u64) -> ToldChange {
    let change = HeapChange { call: Some(AllocatorCall::Allocate), size, old, began };
    ToldChange { pid: PID, time: Time(time), address, change }
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
    let fork = SideRecord::Fork { task: task(8), parent: task(7), time: Time(3) };
    heap.side(Misc::default(), &fork, &SampleId::default());
    allocate(&mut heap, 2, 0x2000, 16);
    assert_eq!(number(&heap, Pid(8), 0x1000), None, "not yet");
    allocate(&mut heap, 4, 0x3000, 16);
    let of_child = [0x1000, 0x2000, 0x3000].map(|address| number(&heap, Pid(8), address));
    assert_eq!(of_child, [Some(1), Some(2), None]);
    let exec = SideRecord::Comm { task: task(7), name: b"new" };
    let id = SampleId { time: Some(Time(5)), ..SampleId::default() };
    heap.side(Misc::COMM_EXEC, &exec, &id);
    heap.go_on(Time(6));
    assert_eq!(number(&heap, PID, 0x1000), None);
    assert_eq!(number(&heap, Pid(8), 0x1000), Some(1));
    let exit = SideRecord::Exit { task: task(8), parent: task(7), time: Time(7) };
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
