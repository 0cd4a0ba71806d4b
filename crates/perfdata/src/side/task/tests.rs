use super::*;
use crate::bytes::ByteOrder;
use crate::header::{Misc, RecordHeader};

fn decode(kind: RecordType, body: &[u8]) -> Result<SideRecord<'_>, SideError> {
    let header = RecordHeader { kind, misc: Misc(0), size: 0 };
    SideRecord::decode(header, body, ByteOrder::Little)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

#[test]
fn comm_ends_at_its_nul() {
    let mut body = words(&[42, 43]);
    body.extend(b"a name\0\xff");
    let expected = SideRecord::Comm { task: task(42, 43), name: b"a name" };
    assert_eq!(decode(RecordType::COMM, &body), Ok(expected));
}

#[test]
fn fork_and_exit_interleave_task_and_parent() {
    let body = words(&[10, 1, 11, 2, 99, 0]);
    let (task, parent, time) = (task(10, 11), task(1, 2), Time(99));
    let fork = SideRecord::Fork { task, parent, time };
    assert_eq!(decode(RecordType::FORK, &body), Ok(fork));
    let exit = SideRecord::Exit { task, parent, time };
    assert_eq!(decode(RecordType::EXIT, &body), Ok(exit));
}

#[test]
fn switches() {
    assert_eq!(decode(RecordType::SWITCH, &[]), Ok(SideRecord::Switch));
    let body = words(&[7, 8]);
    let expected = SideRecord::SwitchCpuWide { next_prev_pid: Pid(7), next_prev_tid: Tid(8) };
    assert_eq!(decode(RecordType::SWITCH_CPU_WIDE, &body), Ok(expected));
}

#[test]
fn namespaces_are_as_many_as_they_say() {
    let body = words(&[1, 2, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let links = vec![NamespaceLink { device: 3, inode: 4 }, NamespaceLink { device: 5, inode: 6 }];
    let expected = SideRecord::Namespaces { task: task(1, 2), links };
    assert_eq!(decode(RecordType::NAMESPACES, &body), Ok(expected));
}

#[test]
fn a_count_beyond_the_record_neither_passes_nor_reserves() {
    let body = words(&[1, 2, u32::MAX, u32::MAX, 3, 0, 4, 0]);
    let Err(SideError::Short { field: "dev", .. }) = decode(RecordType::NAMESPACES, &body) else {
        panic!("decoded")
    };
}
