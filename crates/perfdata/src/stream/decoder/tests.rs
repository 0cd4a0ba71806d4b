use super::*;
use crate::attr::{Attr, AttrFlags, EventType, SampleType};
use crate::bytes::ByteWriter;
use crate::sample::{Sample, SampleLayout};
use crate::sideband::SidebandError;
use crate::stream::feature::{EventName, Feature, FeatureId};
use crate::units::{Pid, Task, Tid, Time};
use proptest::prelude::*;

mod damage;
mod many;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
const TASK: Task = Task { pid: Pid(4), tid: Tid(5) };

fn sampling() -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config: 2,
        sample_type: SampleType::IDENTIFIER | SampleType::IP | SampleType::TIME,
        flags: AttrFlags::SAMPLE_ID_ALL,
        ..Attr::default()
    }
}

fn side() -> Attr {
    Attr { config: 9, sample_type: SampleType::IDENTIFIER | SampleType::TID, ..sampling() }
}

fn start(order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    write::file_header(order, &mut out);
    write::attr(&sampling(), &[1, 2], order, &mut out).unwrap();
    write::attr(&side(), &[3], order, &mut out).unwrap();
    out
}

fn put_sample(id: u64, ip: u64, order: ByteOrder, out: &mut Vec<u8>) {
    let sample = Sample {
        misc: Misc(2),
        identifier: Some(id),
        ip: Some(ip),
        time: Some(Time(ip)),
        ..Sample::default()
    };
    SampleLayout::new(&sampling(), order).unwrap().encode(&sample, out).unwrap();
}

fn put_comm(id: u64, name: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
    let layout = SampleLayout::new(&side(), order).unwrap();
    let mut trailer = Vec::new();
    let id = SampleId { task: Some(TASK), identifier: Some(id), ..SampleId::default() };
    layout.encode_trailer(&id, &mut trailer).unwrap();
    SidebandRecord::Comm { task: TASK, name }.encode(Misc(0), &trailer, order, out).unwrap();
}

fn put(kind: RecordType, body: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
    let size = u16::try_from(8 + body.len()).unwrap();
    RecordHeader { kind, misc: Misc(0), size }.encode(&mut ByteWriter::new(out, order));
    out.extend_from_slice(body);
}

fn mixed(order: ByteOrder) -> Vec<u8> {
    let mut out = start(order);
    write::event_name(2, "page_fault", order, &mut out).unwrap();
    write::event_unit(1, "a=1;b=2", order, &mut out).unwrap();
    write::event_unit(1, "Joules", order, &mut out).unwrap();
    write::event_unit(1, "end=1", order, &mut out).unwrap();
    write::feature(&Feature::Arch("aarch64".into()), order, &mut out).unwrap();
    put_comm(3, b"name", order, &mut out);
    let mut body = Vec::new();
    ByteWriter::new(&mut body, order).u32(24);
    put(RecordType::HEADER_TRACING_DATA, &body, order, &mut out);
    out.extend([0xff; 24]);
    put_sample(1, 100, order, &mut out);
    put_sample(2, 101, order, &mut out);
    write::finished_round(order, &mut out);
    let mut body = Vec::new();
    ByteWriter::new(&mut body, order).u64(100);
    body.extend([0; 32]);
    put(RecordType::AUXTRACE, &body, order, &mut out);
    out.extend([0xee; 100]);
    put(RecordType::ID_INDEX, &[0; 16], order, &mut out);
    put_sample(77, 102, order, &mut out);
    put_comm(0, b"made up", order, &mut out);
    put(RecordType(95), &[], order, &mut out);
    put(RecordType(250), &[], order, &mut out);
    out
}

/// Feeds `bytes` in pieces: what the decoder saw, payload pieces joined.
fn read(bytes: &[u8], pieces: &[usize]) -> Result<(Vec<String>, StreamDecoder), StreamError> {
    let mut decoder = StreamDecoder::new();
    let mut seen: Vec<String> = Vec::new();
    let mut pieces = pieces.iter().copied().chain(std::iter::repeat(bytes.len()));
    let (mut at, mut end) = (0, 0);
    loop {
        match decoder.step(&bytes[at..end])? {
            StreamStep::NeedMore(wanted) => {
                assert!(wanted > end - at, "asked for {wanted}, has {}", end - at);
                if end == bytes.len() {
                    return decoder.finish(end - at).map(|()| (seen, decoder));
                }
                end = (end + pieces.next().unwrap().max(1)).min(bytes.len());
            }
            StreamStep::Record { consumed, record } => {
                at += consumed;
                let text = format!("{record:?}");
                if seen.last() != Some(&text) || !matches!(record, StreamRecord::Payload(_)) {
                    seen.push(text);
                }
                assert_eq!(decoder.offset(), at as u64);
            }
        }
    }
}

#[test]
fn a_stream_of_everything_in_both_orders() {
    for order in ORDERS {
        let (seen, decoder) = read(&mixed(order), &[]).unwrap();
        assert_eq!(decoder.order(), order);
        let kinds: Vec<_> =
            seen.iter().map(|text| text.split([' ', '{']).next().unwrap()).collect();
        let expected = [
            "FileHeader",
            "Event(0)",
            "Event(1)",
            "EventUpdate(0)",
            "EventUpdate(0)",
            "EventUpdate(0)",
            "EventUpdate(0)",
            "Feature",
            "Sideband",
            "Skipped(HEADER_TRACING_DATA)",
            "Payload(HEADER_TRACING_DATA)",
            "Sample(SampleRecord",
            "Sample(SampleRecord",
            "FinishedRound",
            "Skipped(AUXTRACE)",
            "Payload(AUXTRACE)",
            "Skipped(ID_INDEX)",
            "Skipped(SAMPLE)",
            "Sideband",
            "Skipped(record",
            "Skipped(record",
        ];
        assert_eq!(kinds, expected);
        let event = &decoder.events()[0];
        assert_eq!(event.ids, [1, 2]);
        assert_eq!(event.name.as_deref(), Some("page_fault"));
        assert_eq!(event.unit.as_deref(), Some("Joules"));
        assert_eq!(event.notes, ["a=1;b=2", "end=1"]);
        assert_eq!(decoder.features().machine(), crate::Arch::Aarch64);
        let tally = decoder.tally();
        assert_eq!((tally.unknown_id, tally.unplaced), (1, 0));
        let trace = decoder.undecoded().unwrap();
        assert!(trace.contains("1 buffers of trace (a kind not known here, 100 bytes)"), "{trace}");
        assert_eq!(tally.of(RecordType::SAMPLE), 3);
        assert_eq!((tally.of(RecordType(95)), tally.of(RecordType(250))), (1, 1));
    }
}

#[test]
fn samples_and_side_records_are_what_was_written() {
    for order in ORDERS {
        let bytes = mixed(order);
        let mut decoder = StreamDecoder::new();
        let (mut at, mut ips, mut names) = (0, Vec::new(), Vec::new());
        while let StreamStep::Record { consumed, record } = decoder.step(&bytes[at..]).unwrap() {
            at += consumed;
            match record {
                StreamRecord::Sample(record) => {
                    let sample = record.decode(&decoder).unwrap();
                    ips.push((record.event, sample.ip, sample.identifier));
                }
                StreamRecord::Sideband {
                    event,
                    record: SidebandRecord::Comm { name, .. },
                    id,
                    ..
                } => {
                    names.push((event, name.to_vec(), id.identifier));
                }
                _ => {}
            }
        }
        assert_eq!(ips, [(0, Some(100), Some(1)), (0, Some(101), Some(2))]);
        // Id 0 is the first event's, and read as that event's trailers are.
        let expected = [(1, b"name".to_vec(), Some(3)), (0, b"made up".to_vec(), Some(0))];
        assert_eq!(names, expected);
    }
}

/// By id, or by their place and what they count where there are no ids.
#[test]
fn names_that_came_before_their_events_wait_for_them() {
    for order in ORDERS {
        let name =
            |attr: &Attr, ids: &[u64], name: &str| EventName::new(attr, ids, name, order).unwrap();
        let titles = |names: Vec<EventName>, ids: [&[u64]; 2]| {
            let mut out = Vec::new();
            write::file_header(order, &mut out);
            write::feature(&Feature::EventDescriptions(names), order, &mut out).unwrap();
            write::attr(&sampling(), ids[0], order, &mut out).unwrap();
            write::attr(&side(), ids[1], order, &mut out).unwrap();
            let (_, decoder) = read(&out, &[]).unwrap();
            decoder.events().iter().map(|event| event.name.clone()).collect::<Vec<_>>()
        };
        let (first, second) = (Some("first".to_owned()), Some("second".to_owned()));
        let swapped = vec![name(&side(), &[3], "second"), name(&sampling(), &[1, 2], "first")];
        assert_eq!(titles(swapped.clone(), [&[1, 2], &[3]]), [first.clone(), second.clone()]);
        assert_eq!(titles(swapped, [&[], &[]]), [None, None]);
        let placed = vec![name(&sampling(), &[], "first"), name(&side(), &[], "second")];
        assert_eq!(titles(placed, [&[1], &[2]]), [first, second]);
    }
}

#[test]
fn what_is_no_pipe_stream_is_refused_by_name() {
    let refusal = |bytes: &[u8]| read(bytes, &[]).unwrap_err().to_string();
    assert_eq!(
        refusal(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
        r#"not a perf.data stream: it starts with "\x7fELF\x02\x01\x01\x00", not with PERFILE2"#
    );
    assert!(refusal(b"PERFILE2\x68\0\0\0\0\0\0\0").contains("file form"));
    assert!(refusal(b"PERFFILE\x68\0\0\0\0\0\0\0").contains("file form"));
    assert!(refusal(b"ELIFFREP\0\0\0\0\0\0\0\x68").contains("not a perf.data stream"));
    assert!(refusal(b"PERFILE2\x11\0\0\0\0\0\0\0").contains("17 bytes"));
    assert!(refusal(b"").contains("empty"));
    assert_eq!(
        refusal(b"hello"),
        r#"not a perf.data stream: it starts with "hello", not with PERFILE2"#
    );
    assert_eq!(
        refusal(b"PERF"),
        "truncated: 4 bytes of a record at offset 0, which should have 16"
    );
}

#[test]
fn records_without_a_known_end_are_told_with_their_offset() {
    for order in ORDERS {
        let start = start(order);
        let at = start.len() as u64;
        let fail = |kind, body: &[u8]| {
            let mut bytes = start.clone();
            put(kind, body, order, &mut bytes);
            read(&bytes, &[]).unwrap_err()
        };
        let lost = |reason, bytes| StreamError::Lost { reason: Box::new(reason), bytes };
        let compressed = fail(RecordType::COMPRESSED2, &[0; 8]);
        assert_eq!(
            compressed,
            StreamError::Compressed { kind: RecordType::COMPRESSED2, offset: at }
        );
        // How many bytes follow it is not in it.
        let kind = RecordType::HEADER_TRACING_DATA;
        let reason = StreamError::RecordSize { kind, offset: at, size: 8, least: 12 };
        assert_eq!(fail(kind, &[]), lost(reason, 8));
        for kind in [0, 256, 5000] {
            let reason = StreamError::RecordType { kind, offset: at };
            assert_eq!(fail(RecordType(kind), &[]), lost(reason, 8));
        }
        let mut bytes = start.clone();
        RecordHeader { kind: RecordType::COMM, misc: Misc(0), size: 7 }
            .encode(&mut ByteWriter::new(&mut bytes, order));
        let (kind, offset) = (RecordType::COMM, at);
        let reason = StreamError::RecordSize { kind, offset, size: 7, least: 8 };
        assert_eq!(read(&bytes, &[]).unwrap_err(), lost(reason, 8));
    }
}

#[test]
fn an_event_that_is_not_known_costs_its_own_samples() {
    let newer = [
        Attr { sample_type: SampleType::from_bits_retain(1 << 40), ..sampling() },
        Attr {
            read_format: crate::attr::ReadFormat::from_bits_retain(1 << 9),
            sample_type: SampleType::READ,
            ..sampling()
        },
    ];
    for order in ORDERS {
        for odd in &newer {
            let odd = Attr { sample_type: odd.sample_type | sampling().sample_type, ..odd.clone() };
            let mut bytes = start(order);
            write::attr(&odd, &[40], order, &mut bytes).unwrap();
            let at = bytes.len();
            put_sample(40, 1, order, &mut bytes);
            put_comm(40, b"name", order, &mut bytes);
            put_sample(1, 2, order, &mut bytes);
            let (seen, decoder) = read(&bytes, &[]).unwrap();
            let kinds: Vec<_> = seen[3..].iter().map(|it| it.split('{').next().unwrap()).collect();
            assert_eq!(kinds, ["Unreadable ", "Unreadable ", "Sideband ", "Sample(SampleRecord "]);
            assert!(decoder.events()[2].unreadable.is_some());
            let unreadable = decoder.tally().unreadable().unwrap();
            assert_eq!(unreadable.count, 2);
            assert!(unreadable.to_string().contains("that this version does not know"));
            assert!(matches!(unreadable.first, StreamError::Layout { offset, .. }
                if offset < at as u64));
        }
    }
}

/// Whatever is not said to be the first event's might be the lost one's.
#[test]
fn an_event_that_is_broken_leaves_no_sample_to_another() {
    let order = ByteOrder::Little;
    let without = Attr { sample_type: SampleType::IP | SampleType::TIME, ..sampling() };
    for (attr, found) in [(sampling(), 1), (without, 0)] {
        for broken_first in [false, true] {
            let mut bytes = Vec::new();
            write::file_header(order, &mut bytes);
            let broken = |bytes: &mut Vec<u8>| put(RecordType::HEADER_ATTR, &[1; 80], order, bytes);
            if broken_first {
                broken(&mut bytes);
            }
            write::attr(&attr, &[1], order, &mut bytes).unwrap();
            if !broken_first {
                broken(&mut bytes);
            }
            let layout = SampleLayout::new(&attr, order).unwrap();
            for id in [1, 2] {
                let identifier = attr.sample_type.contains(SampleType::IDENTIFIER).then_some(id);
                let time = Some(Time(1));
                let sample = Sample { identifier, ip: Some(3), time, ..Sample::default() };
                layout.encode(&sample, &mut bytes).unwrap();
            }
            let (seen, decoder) = read(&bytes, &[]).unwrap();
            assert_eq!(seen.iter().filter(|it| it.starts_with("Sample")).count(), found);
            let tally = decoder.tally();
            assert_eq!(tally.unknown_id + tally.unplaced, 2 - found as u64);
            assert_eq!(tally.unreadable().unwrap().count, 1);
        }
    }
}

#[test]
fn reasons_are_said_once_in_a_chain() {
    let mut bytes = start(ByteOrder::Little);
    put(RecordType::LOST, &3u64.to_le_bytes(), ByteOrder::Little, &mut bytes);
    let (_, decoder) = read(&bytes, &[]).unwrap();
    let first = &decoder.tally().unreadable().unwrap().first;
    assert!(first.to_string().contains("needs 16 bytes"), "{first}");
    assert!(std::error::Error::source(first).is_none());
}

#[test]
fn records_before_any_event_have_no_place() {
    let order = ByteOrder::Little;
    let mut bytes = Vec::new();
    write::file_header(order, &mut bytes);
    put_sample(1, 1, order, &mut bytes);
    put_comm(1, b"x", order, &mut bytes);
    let (seen, decoder) = read(&bytes, &[]).unwrap();
    assert_eq!(seen[1..], ["Skipped(SAMPLE)", "Skipped(COMM)"]);
    assert_eq!(decoder.tally().unplaced, 2);
}

#[test]
fn a_cut_inside_skipped_bytes_is_noticed() {
    let order = ByteOrder::Little;
    let mut bytes = start(order);
    put(RecordType::HEADER_TRACING_DATA, &24u32.to_le_bytes(), order, &mut bytes);
    bytes.extend([0; 10]);
    let error = read(&bytes, &[]).unwrap_err();
    let (kind, offset) = (RecordType::HEADER_TRACING_DATA, bytes.len() as u64);
    assert_eq!(error, StreamError::PayloadTruncated { kind, offset, missing: 14 });
}

#[test]
fn names_come_from_old_records_and_from_event_desc() {
    let order = ByteOrder::Little;
    let mut bytes = start(order);
    let mut body = 2u64.to_le_bytes().to_vec();
    body.extend(b"faults\0\0");
    put(RecordType::HEADER_EVENT_TYPE, &body, order, &mut bytes);
    let names = [(sampling(), 2, "late"), (side(), 3, "dummy")];
    let names = names.map(|(attr, id, name)| EventName::new(&attr, &[id], name, order).unwrap());
    write::feature(&Feature::EventDescriptions(names.to_vec()), order, &mut bytes).unwrap();
    let (_, decoder) = read(&bytes, &[]).unwrap();
    let names: Vec<_> = decoder.events().iter().map(|event| event.name.as_deref()).collect();
    assert_eq!(names, [Some("faults"), Some("dummy")]);
}

#[test]
fn the_last_feature_of_an_id_counts_and_ids_beyond_say_nothing() {
    let order = ByteOrder::Little;
    let mut bytes = start(order);
    for (id, byte) in [(200u64, 1), (255, 2), (200, 3), (256, 4), (u64::MAX, 5)] {
        let mut body = id.to_le_bytes().to_vec();
        body.push(byte);
        put(RecordType::HEADER_FEATURE, &body, order, &mut bytes);
    }
    let (seen, decoder) = read(&bytes, &[]).unwrap();
    assert_eq!(seen[6..], ["Skipped(HEADER_FEATURE)", "Skipped(HEADER_FEATURE)"]);
    let others: Vec<_> = decoder.features().others.iter().collect();
    assert_eq!(others, [(&FeatureId(200), &vec![3]), (&FeatureId(255), &vec![2])]);
}

#[test]
fn an_event_with_more_ids_than_a_record_holds_is_one() {
    let full = u64::try_from(write::IDS_A_RECORD).unwrap();
    for order in ORDERS {
        let mut bytes = Vec::new();
        write::file_header(order, &mut bytes);
        let ids: Vec<u64> = (1..=2 * full + 1).collect();
        for ids in ids.chunks(write::IDS_A_RECORD) {
            write::attr(&sampling(), ids, order, &mut bytes).unwrap();
        }
        // Recorded twice: another event, and so is one with another attr.
        write::attr(&sampling(), &[100_001], order, &mut bytes).unwrap();
        write::attr(&side(), &ids[..write::IDS_A_RECORD], order, &mut bytes).unwrap();
        write::attr(&Attr { config: 8, ..side() }, &[100_002], order, &mut bytes).unwrap();
        write::event_name(2 * full + 1, "wide", order, &mut bytes).unwrap();
        for id in [1, full, full + 1, 2 * full + 1, 100_001] {
            put_sample(id, 1, order, &mut bytes);
        }
        let (seen, decoder) = read(&bytes, &[]).unwrap();
        let described =
            ["Event(0)", "EventUpdate(0)", "EventUpdate(0)", "Event(1)", "Event(2)", "Event(3)"];
        assert_eq!(seen[1..7], described);
        assert_eq!(decoder.events()[0].ids, ids);
        assert_eq!(decoder.events()[0].name.as_deref(), Some("wide"));
        let of_first =
            seen.iter().filter(|text| text.starts_with("Sample(SampleRecord { event: 0"));
        assert_eq!(of_first.count(), 4);
        assert!(seen[12].starts_with("Sample(SampleRecord { event: 1"), "{seen:?}");
    }
}

/// A walk over all events for each name takes longer than a test may.
#[test]
fn old_names_of_many_events_take_no_square() {
    let order = ByteOrder::Little;
    let mut bytes = Vec::new();
    write::file_header(order, &mut bytes);
    for config in 0..16_000u64 {
        write::attr(&Attr { config, ..sampling() }, &[], order, &mut bytes).unwrap();
    }
    for config in 8_000..4_000_000u64 {
        let body: Vec<u8> = config.to_le_bytes().into_iter().chain(*b"an event").collect();
        put(RecordType::HEADER_EVENT_TYPE, &body, order, &mut bytes);
    }
    let mut decoder = StreamDecoder::new();
    let mut at = 0;
    while let StreamStep::Record { consumed, .. } = decoder.step(&bytes[at..]).unwrap() {
        at += consumed;
    }
    assert_eq!(at, bytes.len());
    let named = |event: &&EventDescription| event.name.as_deref() == Some("an event");
    assert_eq!(decoder.events().iter().filter(named).count(), 8_000);
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_records(
        pieces in prop::collection::vec(1usize..40, 0..200),
        big in any::<bool>(),
    ) {
        let bytes = mixed(ORDERS[usize::from(big)]);
        let (whole, _) = read(&bytes, &[]).unwrap();
        let (cut, _) = read(&bytes, &pieces).unwrap();
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn a_flipped_byte_is_read_or_refused(at in 0usize..1000, value in any::<u8>()) {
        for order in ORDERS {
            let mut bytes = mixed(order);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = read(&bytes, &[]);
        }
    }
}
