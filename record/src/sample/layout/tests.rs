use super::{EncodeError, LayoutError, SampleError, SampleLayout};
use crate::attr::{Attr, AttrFlags, BranchSampleType, ReadFormat, SampleType};
use crate::bytes::{ByteOrder, Words};
use crate::header::Misc;
use crate::registers::{Registers, RegsAbi};
use crate::sample::{BranchStack, ReadValue, ReadValues, Sample, StackUser, Weight};
use crate::side::SampleId;
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
