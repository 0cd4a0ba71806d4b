//! Bytes of each kind, as the kernel writes them.

use super::*;

/// A record of these bytes, little-endian.
fn decode(kind: RecordType, body: &[u8]) -> Result<SidebandRecord<'_>, SidebandError> {
    decode_in(ByteOrder::Little, kind, body)
}

fn decode_in(
    order: ByteOrder,
    kind: RecordType,
    body: &[u8],
) -> Result<SidebandRecord<'_>, SidebandError> {
    SidebandRecord::decode(RecordHeader { kind, misc: Misc(2), size: 0 }, body, order)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn big_words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

#[test]
fn comm_ends_at_its_nul() {
    let mut body = words(&[42, 43]);
    body.extend(b"a name\0\xff");
    let expected = SidebandRecord::Comm { task: task(42, 43), name: b"a name" };
    assert_eq!(decode(RecordType::COMM, &body), Ok(expected));
}

#[test]
fn fork_and_exit_interleave_task_and_parent() {
    let body = words(&[10, 1, 11, 2, 99, 0]);
    let (task, parent, time) = (task(10, 11), task(1, 2), Time(99));
    let fork = SidebandRecord::Fork { task, parent, time };
    assert_eq!(decode(RecordType::FORK, &body), Ok(fork));
    let exit = SidebandRecord::Exit { task, parent, time };
    assert_eq!(decode(RecordType::EXIT, &body), Ok(exit));
}

#[test]
fn switches() {
    assert_eq!(decode(RecordType::SWITCH, &[]), Ok(SidebandRecord::Switch));
    let body = words(&[7, 8]);
    let expected = SidebandRecord::SwitchCpuWide { next_prev_pid: Pid(7), next_prev_tid: Tid(8) };
    assert_eq!(decode(RecordType::SWITCH_CPU_WIDE, &body), Ok(expected));
}

#[test]
fn namespaces_are_as_many_as_they_say() {
    let body = words(&[1, 2, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    let links = vec![NamespaceLink { device: 3, inode: 4 }, NamespaceLink { device: 5, inode: 6 }];
    let expected = SidebandRecord::Namespaces { task: task(1, 2), links };
    assert_eq!(decode(RecordType::NAMESPACES, &body), Ok(expected));
}

#[test]
fn a_count_beyond_the_record_neither_passes_nor_reserves() {
    let body = words(&[1, 2, u32::MAX, u32::MAX, 3, 0, 4, 0]);
    let Err(SidebandError::Short { field: "dev", .. }) = decode(RecordType::NAMESPACES, &body)
    else {
        panic!("decoded")
    };
}

#[test]
fn ksymbol_of_a_bpf_program() {
    let mut body = 0xffff_ffff_c000_1000u64.to_le_bytes().to_vec();
    body.extend([0x80, 0, 0, 0, 1, 0, 1, 0]);
    body.extend(b"bpf_prog_1\0\0\0\0\0\0");
    let (address, name) = (0xffff_ffff_c000_1000, b"bpf_prog_1".as_slice());
    let expected = SidebandRecord::Ksymbol { address, length: 0x80, kind: 1, flags: 1, name };
    assert_eq!(decode(RecordType::KSYMBOL, &body), Ok(expected));
}

#[test]
fn bpf_event() {
    let body = [1, 0, 0, 0, 33, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let expected =
        SidebandRecord::BpfEvent { kind: 1, flags: 0, id: 33, tag: [1, 2, 3, 4, 5, 6, 7, 8] };
    assert_eq!(decode(RecordType::BPF_EVENT, &body), Ok(expected));
}

#[test]
fn cgroup() {
    let mut body = 1234u64.to_le_bytes().to_vec();
    body.extend(b"/a/b\0\0\0\0");
    let expected = SidebandRecord::Cgroup { id: 1234, path: b"/a/b" };
    assert_eq!(decode(RecordType::CGROUP, &body), Ok(expected));
}

#[test]
fn text_poke_is_padded() {
    let mut body = 0x1000u64.to_le_bytes().to_vec();
    body.extend([5, 0, 5, 0]);
    body.extend([0x0f, 0x1f, 0x44, 0, 0, 0xe9, 1, 2, 3, 4]);
    body.extend([0; 2]);
    let (old, new) = (&[0x0f, 0x1f, 0x44, 0, 0][..], &[0xe9, 1, 2, 3, 4][..]);
    let expected = SidebandRecord::TextPoke { address: 0x1000, old, new };
    assert_eq!(decode(RecordType::TEXT_POKE, &body), Ok(expected.clone()));
    let mut out = Vec::new();
    expected.encode(Misc(0), &[], ByteOrder::Little, &mut out).unwrap();
    assert_eq!(out[8..], body);
    let Err(SidebandError::Short { field: "new bytes", .. }) =
        decode(RecordType::TEXT_POKE, &body[..20])
    else {
        panic!("decoded")
    };
}

#[test]
fn losses() {
    let expected = SidebandRecord::Lost { id: 5, lost: 1000 };
    assert_eq!(decode_in(ByteOrder::Big, RecordType::LOST, &big_words(&[5, 1000])), Ok(expected));
    let expected = SidebandRecord::LostSamples { lost: 3 };
    assert_eq!(decode_in(ByteOrder::Big, RecordType::LOST_SAMPLES, &big_words(&[3])), Ok(expected));
}

#[test]
fn throttling() {
    let body = big_words(&[77, 5, 6]);
    let (time, id, stream_id) = (Time(77), 5, 6);
    let expected = SidebandRecord::Throttle { time, id, stream_id };
    assert_eq!(decode_in(ByteOrder::Big, RecordType::THROTTLE, &body), Ok(expected));
    let expected = SidebandRecord::Unthrottle { time, id, stream_id };
    assert_eq!(decode_in(ByteOrder::Big, RecordType::UNTHROTTLE, &body), Ok(expected));
    let Err(SidebandError::Short { field: "stream_id", .. }) =
        decode_in(ByteOrder::Big, RecordType::THROTTLE, &body[..16])
    else {
        panic!("decoded")
    };
}

#[test]
fn counts_stay_bytes() {
    let body = big_words(&[1 << 32 | 2, 99]);
    let expected = SidebandRecord::Read { task: task(1, 2), values: &body[8..] };
    assert_eq!(decode_in(ByteOrder::Big, RecordType::READ, &body), Ok(expected));
}

#[test]
fn marks_of_tracing() {
    let body = words(&[4096, 0, 64, 0, 9, 0]);
    let expected = SidebandRecord::Aux { offset: 4096, size: 64, flags: 9 };
    assert_eq!(decode(RecordType::AUX, &body), Ok(expected));
    let expected = SidebandRecord::ItraceStart { task: task(1, 2) };
    assert_eq!(decode(RecordType::ITRACE_START, &words(&[1, 2])), Ok(expected));
    let expected = SidebandRecord::AuxOutputHwId { hw_id: 7 };
    assert_eq!(decode(RecordType::AUX_OUTPUT_HW_ID, &words(&[7, 0])), Ok(expected));
}

#[test]
fn deferred_chains_are_as_long_as_they_say() {
    let body = big_words(&[77, 2, 512_u64.wrapping_neg(), 0x40_1000, 99]);
    let decode = |body| decode_in(ByteOrder::Big, RecordType::CALLCHAIN_DEFERRED, body);
    let Ok(SidebandRecord::CallchainDeferred { cookie: 77, chain }) = decode(&body) else {
        panic!("not decoded")
    };
    assert!(chain.iter().eq([512_u64.wrapping_neg(), 0x40_1000]));
    let short = decode(&body[..24]);
    assert!(matches!(short, Err(SidebandError::Short { field: "ips", .. })), "{short:?}");
}
