use super::{EncodeError, LayoutError, SampleError, SampleLayout};
use crate::attr::{Attr, AttrFlags, BranchSampleType, ReadFormat, SampleType};
use crate::bytes::{ByteOrder, RecordWords};
use crate::header::Misc;
use crate::registers::{Registers, RegsAbi};
use crate::sample::{BranchStack, ReadValue, ReadValues, Sample, StackUser, Weight};
use crate::sideband::SampleId;
use crate::units::{Cpu, Pid, Task, Tid, Time};

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The sample in `payload` (words, little-endian) under an attr that asks
/// for `fields`; checks that it is written back to the same bytes.
fn read<'a>(attr: &Attr, payload: &'a [u8]) -> Sample<'a> {
    let layout = SampleLayout::new(attr, ByteOrder::Little).unwrap();
    let sample = layout.decode(Misc(2), payload).unwrap();
    let mut record = Vec::new();
    layout.encode(&sample, &mut record).unwrap();
    let size = u16::try_from(payload.len() + 8).unwrap();
    let mut wanted = vec![9, 0, 0, 0, 2, 0];
    wanted.extend(size.to_le_bytes());
    assert_eq!(record[..8], wanted);
    assert_eq!(record[8..], *payload);
    sample
}

fn attr(fields: SampleType) -> Attr {
    Attr { sample_type: fields, ..Attr::default() }
}

/// The order of perf_event_open(2), "PERF_RECORD_SAMPLE", each word its own
/// number.
#[test]
fn words_come_in_the_order_of_the_manual() {
    let fields = SampleType::from_bits_retain(
        (SampleType::IP | SampleType::TID | SampleType::TIME | SampleType::ADDR).bits()
            | (SampleType::ID | SampleType::STREAM_ID | SampleType::CPU).bits()
            | (SampleType::PERIOD | SampleType::IDENTIFIER | SampleType::WEIGHT).bits()
            | (SampleType::DATA_SRC | SampleType::TRANSACTION | SampleType::PHYS_ADDR).bits()
            | (SampleType::CGROUP | SampleType::DATA_PAGE_SIZE).bits()
            | SampleType::CODE_PAGE_SIZE.bits(),
    );
    let payload = words(&[1, 2, 0x4_0000_0003, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    let sample = read(&attr(fields), &payload);
    assert_eq!(sample.misc, Misc(2));
    assert_eq!(sample.identifier, Some(1));
    assert_eq!(sample.ip, Some(2));
    assert_eq!(sample.task, Some(Task { pid: Pid(3), tid: Tid(4) }));
    assert_eq!(sample.time, Some(Time(5)));
    assert_eq!(sample.addr, Some(6));
    assert_eq!(sample.id, Some(7));
    assert_eq!(sample.stream_id, Some(8));
    assert_eq!(sample.cpu, Some(Cpu(9)));
    assert_eq!(sample.period, Some(10));
    assert_eq!(sample.weight, Some(Weight::Full(11)));
    assert_eq!(sample.data_src.map(|source| source.0), Some(12));
    assert_eq!(sample.transaction, Some(13));
    assert_eq!(sample.phys_addr, Some(14));
    assert_eq!(sample.cgroup, Some(15));
    assert_eq!(sample.data_page_size, Some(16));
    assert_eq!(sample.code_page_size, Some(17));
}

/// perf_output_read_one(): value, times, id, lost.
#[test]
fn read_of_one_event() {
    let mut attr = attr(SampleType::READ | SampleType::PHYS_ADDR);
    for (format, payload, wanted) in [
        (0, &[10, 99][..], (None, None, None, None)),
        (1, &[10, 11, 99], (Some(11), None, None, None)),
        (2, &[10, 12, 99], (None, Some(12), None, None)),
        (4, &[10, 13, 99], (None, None, Some(13), None)),
        (16, &[10, 14, 99], (None, None, None, Some(14))),
        (23, &[10, 11, 12, 13, 14, 99], (Some(11), Some(12), Some(13), Some(14))),
    ] {
        attr.read_format = ReadFormat::from_bits_retain(format);
        let payload = words(payload);
        let sample = read(&attr, &payload);
        let (time_enabled, time_running, id, lost) = wanted;
        let values = vec![ReadValue { value: 10, id, lost }];
        assert_eq!(sample.read, Some(ReadValues { time_enabled, time_running, values }));
        assert_eq!(sample.phys_addr, Some(99), "read_format {format}");
    }
}

/// perf_output_read_group(): count, times, then value, id, lost of each.
#[test]
fn read_of_a_group() {
    let mut attr = attr(SampleType::READ | SampleType::PHYS_ADDR);
    attr.read_format = ReadFormat::from_bits_retain(31);
    let payload = words(&[2, 11, 12, 20, 21, 22, 30, 31, 32, 99]);
    let sample = read(&attr, &payload);
    let member = |value, id, lost| ReadValue { value, id: Some(id), lost: Some(lost) };
    let values = vec![member(20, 21, 22), member(30, 31, 32)];
    let wanted = ReadValues { time_enabled: Some(11), time_running: Some(12), values };
    assert_eq!(sample.read, Some(wanted));
    assert_eq!(sample.phys_addr, Some(99));

    attr.read_format = ReadFormat::GROUP;
    let payload = words(&[3, 20, 30, 40, 99]);
    let values = read(&attr, &payload).read.unwrap().values;
    assert_eq!(values.iter().map(|value| value.value).collect::<Vec<_>>(), [20, 30, 40]);
    let payload = words(&[0, 99]);
    assert_eq!(read(&attr, &payload).read.unwrap().values, []);
}

#[test]
fn callchain_raw_and_aux() {
    let attr = attr(SampleType::CALLCHAIN | SampleType::RAW | SampleType::AUX);
    let mut payload = words(&[2, 0xffff_ffff_ffff_fe00, 0x40_1000]);
    payload.extend([12, 0, 0, 0]);
    payload.extend(b"raw payload!");
    payload.extend(words(&[8]));
    payload.extend(b"aux area");
    let sample = read(&attr, &payload);
    let chain: Vec<u64> = sample.callchain.unwrap().iter().collect();
    assert_eq!(chain, [0xffff_ffff_ffff_fe00, 0x40_1000]);
    assert_eq!(sample.raw, Some(&b"raw payload!"[..]));
    assert_eq!(sample.aux, Some(&b"aux area"[..]));
}

/// Trap 14: no words follow an ABI of 0.
#[test]
fn registers_follow_unless_the_abi_is_zero() {
    let mut attr = attr(SampleType::REGS_USER | SampleType::REGS_INTR | SampleType::CGROUP);
    attr.sample_regs_user = 0b101;
    attr.sample_regs_intr = 1 << 8;
    let payload = words(&[2, 70, 72, 1, 80, 99]);
    let sample = read(&attr, &payload);
    let (user, intr) = (sample.regs_user.unwrap(), sample.regs_intr.unwrap());
    assert_eq!((user.abi, user.mask), (RegsAbi::Bits64, 0b101));
    assert_eq!([user.get(0), user.get(1), user.get(2)], [Some(70), None, Some(72)]);
    assert_eq!((intr.abi, intr.get(8), intr.get(63)), (RegsAbi::Bits32, Some(80), None));
    assert_eq!(sample.cgroup, Some(99));

    let payload = words(&[0, 0, 99]);
    let sample = read(&attr, &payload);
    assert_eq!(sample.regs_user, Some(Registers::default()));
    assert_eq!(sample.regs_intr.map(|regs| regs.get(8)), Some(None));
    assert_eq!(sample.cgroup, Some(99));
}

/// Trap 32: the count of real bytes is missing when there is no stack.
#[test]
fn a_stack_has_its_real_size_unless_empty() {
    let attr = attr(SampleType::STACK_USER | SampleType::CGROUP);
    let mut payload = words(&[16]);
    payload.extend(b"0123456789abcdef");
    payload.extend(words(&[7, 99]));
    let sample = read(&attr, &payload);
    let wanted = StackUser { data: b"0123456789abcdef", dyn_size: Some(7) };
    assert_eq!((sample.stack_user, sample.cgroup), (Some(wanted), Some(99)));

    let payload = words(&[0, 99]);
    let sample = read(&attr, &payload);
    let wanted = StackUser { data: &[], dyn_size: None };
    assert_eq!((sample.stack_user, sample.cgroup), (Some(wanted), Some(99)));
}

#[test]
fn branch_stacks_have_an_index_and_counters_when_asked_for() {
    let mut attr = attr(SampleType::BRANCH_STACK | SampleType::CGROUP);
    let payload = words(&[1, 2, 3, 4, 99]);
    let stack = read(&attr, &payload).branch_stack.unwrap();
    assert_eq!((stack.hw_index, stack.counters), (None, None));
    assert_eq!(stack.entries.iter().collect::<Vec<_>>(), [2, 3, 4]);

    attr.branch_sample_type = BranchSampleType::HW_INDEX | BranchSampleType::COUNTERS;
    let payload = words(&[2, 50, 2, 3, 4, 5, 6, 7, 60, 61, 99]);
    let sample = read(&attr, &payload);
    let stack = sample.branch_stack.unwrap();
    assert_eq!(stack.hw_index, Some(50));
    assert_eq!(stack.entries.iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    assert_eq!(stack.counters.unwrap().iter().collect::<Vec<_>>(), [60, 61]);
    assert_eq!(sample.cgroup, Some(99));
}

/// perf_output_sample() writes a count of 0 alone for a sample that has no
/// branch stack at all; a stack that is empty has its index.
#[test]
fn the_index_of_an_empty_branch_stack_may_be_missing() {
    let mut attr = attr(SampleType::BRANCH_STACK | SampleType::CGROUP);
    attr.branch_sample_type = BranchSampleType::HW_INDEX;
    for (payload, hw_index) in [(&[0, 50, 99][..], Some(50)), (&[0, 99], None)] {
        let payload = words(payload);
        let sample = read(&attr, &payload);
        assert_eq!(sample.branch_stack.unwrap().hw_index, hw_index);
        assert_eq!(sample.cgroup, Some(99));
    }
}

/// The header mirrors the struct on big-endian machines: var3 comes first.
#[test]
fn weight_struct_in_both_orders() {
    let attr = attr(SampleType::TID | SampleType::CPU | SampleType::WEIGHT_STRUCT);
    let little = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 6, 0];
    let big = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 6, 0, 5, 0, 0, 0, 4];
    for (order, payload) in [(ByteOrder::Little, &little), (ByteOrder::Big, &big)] {
        let layout = SampleLayout::new(&attr, order).unwrap();
        let sample = layout.decode(Misc(1), payload).unwrap();
        assert_eq!(sample.task, Some(Task { pid: Pid(1), tid: Tid(2) }));
        assert_eq!(sample.cpu, Some(Cpu(3)));
        assert_eq!(sample.weight, Some(Weight::Struct { var1: 4, var2: 5, var3: 6 }));
    }
}

#[test]
fn bits_not_known_here_are_refused() {
    let refused = |attr: &Attr| SampleLayout::new(attr, ByteOrder::Little).unwrap_err();
    for bit in 25..64 {
        let attr = attr(SampleType::from_bits_retain(1 | 1 << bit));
        let (bits, unknown) = (1 | 1 << bit, 1 << bit);
        let wanted = LayoutError::UnknownBits { field: "sample_type", bits, unknown };
        assert_eq!(refused(&attr), wanted);
    }
    let mut attr = attr(SampleType::IP);
    attr.read_format = ReadFormat::from_bits_retain(1 << 5);
    assert!(matches!(refused(&attr), LayoutError::UnknownBits { field: "read_format", .. }));
    attr.read_format = ReadFormat::empty();
    attr.branch_sample_type = BranchSampleType::from_bits_retain(1 << 20);
    SampleLayout::new(&attr, ByteOrder::Little).unwrap();
    attr.sample_type |= SampleType::BRANCH_STACK;
    assert!(matches!(refused(&attr), LayoutError::UnknownBits { field: "branch_sample_type", .. }));
}

/// Counts far beyond the record must fail before anything is reserved.
#[test]
fn counts_beyond_the_record_are_errors() {
    for count in [2, 0xffff, u64::MAX / 24, u64::MAX / 8 + 2, u64::MAX - 7, u64::MAX] {
        for (field, name) in [
            (SampleType::CALLCHAIN, "CALLCHAIN"),
            (SampleType::BRANCH_STACK, "BRANCH_STACK"),
            (SampleType::READ, "READ"),
            (SampleType::STACK_USER, "STACK_USER"),
            (SampleType::AUX, "AUX"),
        ] {
            let mut attr = attr(field);
            attr.read_format = ReadFormat::GROUP | ReadFormat::ID;
            let layout = SampleLayout::new(&attr, ByteOrder::Little).unwrap();
            let payload = words(&[count & !7 | 8, 1]);
            match layout.decode(Misc(2), &payload[..12]) {
                Err(SampleError::Short { field, short }) => {
                    assert_eq!((field, short.offset, short.left), (name, 8, 4));
                }
                other => panic!("{name} {count}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_no_kernel_writes_is_an_error() {
    let decode = |fields, payload: &[u8]| {
        let attr = Attr { sample_regs_user: 1, ..attr(fields) };
        let layout = SampleLayout::new(&attr, ByteOrder::Little).unwrap();
        layout.decode(Misc(2), payload).map(|_| ()).unwrap_err()
    };
    let abi = decode(SampleType::IP | SampleType::REGS_USER, &words(&[1, 3, 0]));
    assert_eq!(abi, SampleError::Value { field: "REGS_USER", value: 3, offset: 8 });
    let raw = decode(SampleType::RAW | SampleType::WEIGHT, &words(&[5, 0, 0]));
    assert_eq!(raw, SampleError::Value { field: "RAW", value: 5, offset: 0 });
    let stack = decode(SampleType::STACK_USER, &words(&[9, 0, 0]));
    assert_eq!(stack, SampleError::Value { field: "STACK_USER", value: 9, offset: 0 });
    let left = decode(SampleType::IP, &words(&[1, 1]));
    assert_eq!(left, SampleError::Left { offset: 8, count: 8 });
    let short = decode(SampleType::IP | SampleType::TIME, &words(&[1])[..7]);
    assert_eq!(short.to_string(), "sample field IP: needs 8 bytes at offset 0, 7 are left");
}

#[test]
fn a_sample_of_another_shape_is_not_written() {
    let layout = SampleLayout::new(&attr(SampleType::IP), ByteOrder::Little).unwrap();
    let mut out = vec![1, 2];
    for (sample, field) in [
        (Sample::default(), "IP"),
        (Sample { ip: Some(1), time: Some(Time(1)), ..Sample::default() }, "TIME"),
        (Sample { ip: Some(1), weight: Some(Weight::Full(1)), ..Sample::default() }, "WEIGHT"),
        (Sample { ip: Some(1), aux: Some(&[]), ..Sample::default() }, "AUX"),
    ] {
        assert_eq!(layout.encode(&sample, &mut out), Err(EncodeError::Field { field }));
    }
    let mut all = attr(SampleType::BRANCH_STACK | SampleType::REGS_INTR);
    all.sample_regs_intr = 3;
    let layout = SampleLayout::new(&all, ByteOrder::Little).unwrap();
    let bytes = words(&[1, 2, 3]);
    let (one, three) = (
        RecordWords::new(&bytes[..8], ByteOrder::Little),
        RecordWords::new(&bytes, ByteOrder::Little),
    );
    let full = Sample {
        branch_stack: Some(BranchStack { hw_index: None, entries: three, counters: None }),
        regs_intr: Some(Registers { abi: RegsAbi::Bits64, mask: 3, words: RecordWords::default() }),
        ..Sample::default()
    };
    let refused = layout.encode(&full, &mut out);
    assert_eq!(refused, Err(EncodeError::Field { field: "REGS_INTR" }));
    let cut = BranchStack { hw_index: None, entries: one, counters: None };
    let refused = layout.encode(&Sample { branch_stack: Some(cut), ..full }, &mut out);
    assert_eq!(refused, Err(EncodeError::Field { field: "BRANCH_STACK" }));
    assert_eq!(out, [1, 2]);
}

#[test]
fn a_record_is_at_most_65535_bytes() {
    let layout = SampleLayout::new(&attr(SampleType::AUX), ByteOrder::Little).unwrap();
    let aux = vec![7; 65_520];
    let mut out = Vec::new();
    let fits = Sample { aux: Some(&aux[..65_512]), ..Sample::default() };
    layout.encode(&fits, &mut out).unwrap();
    assert_eq!(out.len(), 65_528);
    out.clear();
    let long = Sample { aux: Some(&aux), ..Sample::default() };
    let refused = layout.encode(&long, &mut out);
    assert_eq!(refused, Err(EncodeError::TooLong { size: 65_536 }));
    assert!(out.is_empty());
}

/// Trap 31: TID TIME ID STREAM_ID CPU IDENTIFIER, at the end of the payload.
#[test]
fn trailers_are_read_from_the_end() {
    let mut attr = attr(
        SampleType::TID
            | SampleType::TIME
            | SampleType::ID
            | SampleType::STREAM_ID
            | SampleType::CPU
            | SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::ADDR,
    );
    let without = SampleLayout::new(&attr, ByteOrder::Little).unwrap();
    assert_eq!(without.trailer_size(), 0);
    assert_eq!(without.trailer(&[]), Ok(SampleId::default()));

    attr.flags = AttrFlags::SAMPLE_ID_ALL;
    let layout = SampleLayout::new(&attr, ByteOrder::Little).unwrap();
    assert_eq!(layout.trailer_size(), 48);
    let mut payload = b"some name\0\0\0\0\0\0\0".to_vec();
    payload.extend(words(&[0x2_0000_0001, 3, 4, 5, 6, 7]));
    let id = layout.trailer(&payload).unwrap();
    let wanted = SampleId {
        task: Some(Task { pid: Pid(1), tid: Tid(2) }),
        time: Some(Time(3)),
        id: Some(4),
        stream_id: Some(5),
        cpu: Some(Cpu(6)),
        identifier: Some(7),
    };
    assert_eq!(id, wanted);
    let mut out = Vec::new();
    layout.encode_trailer(&id, &mut out).unwrap();
    assert_eq!(out, payload[16..]);
    assert!(layout.trailer(&out[1..]).is_err());
    assert!(without.encode_trailer(&id, &mut out).is_err());
    let lacking = SampleId { cpu: None, ..id };
    let refused = layout.encode_trailer(&lacking, &mut out);
    assert_eq!(refused, Err(EncodeError::Field { field: "CPU" }));
    assert_eq!(out.len(), 48);
}

#[test]
fn trailers_of_every_set_and_order_round_trip() {
    for set in 0u64..64 {
        let fields: SampleType = super::TRAILER
            .into_iter()
            .enumerate()
            .filter(|(at, _)| set >> at & 1 == 1)
            .map(|(_, bit)| bit)
            .collect();
        let mut attr = attr(fields);
        attr.flags = AttrFlags::SAMPLE_ID_ALL;
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let layout = SampleLayout::new(&attr, order).unwrap();
            let has = |at: u32| set >> at & 1 == 1;
            let id = SampleId {
                task: has(0).then_some(Task { pid: Pid(-1), tid: Tid(77) }),
                time: has(1).then_some(Time(0x0102_0304_0506_0708)),
                id: has(2).then_some(3),
                stream_id: has(3).then_some(4),
                cpu: has(4).then_some(Cpu(5)),
                identifier: has(5).then_some(6),
            };
            let mut out = Vec::new();
            layout.encode_trailer(&id, &mut out).unwrap();
            assert_eq!(out.len(), layout.trailer_size());
            assert_eq!(layout.trailer(&out), Ok(id));
        }
    }
}
