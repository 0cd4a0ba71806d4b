//! Files in both byte orders, whole and broken.

use super::*;
use crate::attr::{Attr, AttrFlags, EventType, SampleType};
use crate::bytes::{ByteOrder, ByteWriter};
use crate::header::Misc;
use crate::sample::{Sample, SampleLayout};
use crate::sideband::SidebandRecord;
use crate::stream::{EventName, Feature, FeatureId, write};
use crate::units::{Pid, Task, Tid, Time};
use proptest::prelude::*;
use zstd_safe::{CCtx, InBuffer, OutBuffer};

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
const TASK: Task = Task { pid: Pid(4), tid: Tid(5) };
/// Bytes of a file's header.
const HEADER: usize = 104;

fn attr(config: u64) -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config,
        sample_type: SampleType::IDENTIFIER | SampleType::IP | SampleType::TIME,
        flags: AttrFlags::SAMPLE_ID_ALL | AttrFlags::EXCLUDE_GUEST,
        ..Attr::default()
    }
}

fn put_sample(id: u64, ip: u64, order: ByteOrder, out: &mut Vec<u8>) {
    let time = Some(Time(ip));
    let sample =
        Sample { misc: Misc(2), identifier: Some(id), ip: Some(ip), time, ..Sample::default() };
    SampleLayout::new(&attr(0), order).unwrap().encode(&sample, out).unwrap();
}

fn put_comm(id: u64, name: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
    let mut trailer = Vec::new();
    let mut w = ByteWriter::new(&mut trailer, order);
    w.u64(7);
    w.u64(id);
    SidebandRecord::Comm { task: TASK, name }.encode(Misc(0), &trailer, order, out).unwrap();
}

fn put(kind: RecordType, body: &[u8], order: ByteOrder, out: &mut Vec<u8>) {
    let size = u16::try_from(8 + body.len()).unwrap();
    crate::header::RecordHeader { kind, misc: Misc(0), size }
        .encode(&mut ByteWriter::new(out, order));
    out.extend_from_slice(body);
}

fn records(order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    put_comm(11, b"name", order, &mut out);
    put_sample(12, 100, order, &mut out);
    put_sample(21, 101, order, &mut out);
    let mut body = Vec::new();
    ByteWriter::new(&mut body, order).u64(3000);
    body.extend([0; 32]);
    put(RecordType::AUXTRACE, &body, order, &mut out);
    out.extend([0xee; 3000]);
    put(RecordType(200), &[0; 8], order, &mut out);
    put_sample(11, 102, order, &mut out);
    write::finished_round(order, &mut out);
    out
}

/// Where a file's parts are.
struct File {
    bytes: Vec<u8>,
    data: usize,
    table: usize,
}

fn word(bytes: &mut [u8], at: usize, word: u64, order: ByteOrder) {
    let mut out = Vec::new();
    ByteWriter::new(&mut out, order).u64(word);
    bytes[at..at + 8].copy_from_slice(&out);
}

/// A file: header, ids, attrs, data, features, as perf lays it out.
fn file(order: ByteOrder, attr_size: u32, data: &[u8], features: &[Feature]) -> File {
    let mut bytes = vec![0; HEADER];
    let ids = [vec![11, 12], vec![21]];
    let mut sections = Vec::new();
    for ids in &ids {
        sections.push((bytes.len() as u64, 8 * ids.len() as u64));
        ids.iter().for_each(|id| ByteWriter::new(&mut bytes, order).u64(*id));
    }
    let attrs = bytes.len();
    for (config, (offset, size)) in (1..).zip(sections) {
        attr(config).encode(attr_size, order, &mut bytes).unwrap();
        let mut w = ByteWriter::new(&mut bytes, order);
        w.u64(offset);
        w.u64(size);
    }
    let start = bytes.len();
    bytes.extend_from_slice(data);
    let table = bytes.len();
    let mut bitmap = [0u64; 4];
    bytes.resize(table + 16 * features.len(), 0);
    for (index, feature) in features.iter().enumerate() {
        let id = feature.id().0;
        bitmap[usize::try_from(id / 64).unwrap()] |= 1 << (id % 64);
        let mut record = Vec::new();
        write::feature(feature, order, &mut record).unwrap();
        word(&mut bytes, table + 16 * index, 0, order);
        let at = bytes.len() as u64;
        word(&mut bytes, table + 16 * index, at, order);
        word(&mut bytes, table + 16 * index + 8, record.len() as u64 - 16, order);
        bytes.extend_from_slice(&record[16..]);
    }
    let header = [
        write::MAGIC,
        104,
        u64::from(attr_size) + 16,
        attrs as u64,
        (start - attrs) as u64,
        start as u64,
        data.len() as u64,
        0,
        0,
    ];
    for (index, value) in header.into_iter().chain(bitmap).enumerate() {
        word(&mut bytes, 8 * index, value, order);
    }
    File { bytes, data: start, table }
}

fn features(order: ByteOrder) -> Vec<Feature> {
    let name = |config, ids: &[u64], name| EventName::new(&attr(config), ids, name, order).unwrap();
    vec![
        Feature::Hostname("here".into()),
        Feature::Arch("aarch64".into()),
        Feature::EventDescriptions(vec![name(1, &[11, 12], "one"), name(2, &[21], "two")]),
        Feature::Other { id: FeatureId::BPF_BTF, data: vec![1; 300] },
        Feature::Other { id: FeatureId(200), data: vec![2; 24] },
    ]
}

/// Reads a file in pieces of `piece` bytes; never more than is asked for.
fn read(bytes: &[u8], piece: usize) -> (Vec<String>, RecordingDecoder, Result<(), StreamError>) {
    let length = bytes.len() as u64;
    let mut decoder = RecordingDecoder::new(RecordingSource::File { length });
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    let done = loop {
        match decoder.step(&bytes[start..end]) {
            Ok(RecordingStep::Record { consumed, stream, record, .. }) => {
                let kind = match record {
                    StreamRecord::Sample(sample) if sample.decode(stream).is_none() => "bad".into(),
                    StreamRecord::Sample(_) => "Sample".into(),
                    record => format!("{record:?}"),
                };
                seen.push(kind.split('{').next().unwrap().trim().to_owned());
                start += consumed;
            }
            Ok(RecordingStep::NeedMore(wanted)) => {
                assert!(wanted > end - start, "asked for {wanted}, has {}", end - start);
                assert!(wanted <= 16 << 20, "{wanted}");
                if end == bytes.len() {
                    break decoder.finish(end - start);
                }
                end = (end + piece).min(bytes.len());
            }
            Ok(RecordingStep::Seek(offset)) => {
                assert!(offset <= length, "{offset} of {length}");
                start = usize::try_from(offset).unwrap();
                end = start;
            }
            Ok(RecordingStep::End) => break decoder.finish(end - start),
            Err(error) => break Err(error),
        }
        // Packed, four bytes may say a block of 128 KiB: 16,384 records.
        assert!(seen.len() <= 1_000_000, "no end");
    };
    (seen, decoder, done)
}

/// Packs as perf does: one frame that never ends, flushed for each record.
fn packed(bytes: &[u8], cuts: usize, kind: RecordType, order: ByteOrder) -> Vec<u8> {
    let mut context = CCtx::create();
    let mut out = Vec::new();
    for piece in bytes.chunks(cuts) {
        let mut room = vec![0; piece.len() + 1000];
        let mut output = OutBuffer::around(room.as_mut_slice());
        context.compress_stream(&mut output, &mut InBuffer::around(piece)).unwrap();
        context.flush_stream(&mut output).unwrap();
        let length = output.pos();
        let mut body = Vec::new();
        if kind == RecordType::COMPRESSED2 {
            ByteWriter::new(&mut body, order).u64(length as u64);
        }
        body.extend_from_slice(&room[..length]);
        if kind == RecordType::COMPRESSED2 {
            body.resize(body.len().next_multiple_of(8), 0);
        }
        put(kind, &body, order, &mut out);
    }
    out
}

fn samples(count: u64, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    (0..count).for_each(|ip| put_sample(11, ip, order, &mut out));
    out
}

#[test]
fn a_file_of_everything_in_both_orders_and_sizes_of_attr() {
    for order in ORDERS {
        for attr_size in [64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 160] {
            let file = file(order, attr_size, &records(order), &features(order));
            let (seen, decoder, done) = read(&file.bytes, 50);
            done.unwrap();
            let expected = [
                "FileHeader",
                "Event(0)",
                "Event(1)",
                "Feature",
                "Feature",
                "Feature",
                "Feature",
                "Feature",
                "Sideband",
                "Sample",
                "Sample",
                "Skipped(AUXTRACE)",
                "Skipped(record type 200)",
                "Sample",
                "FinishedRound",
            ];
            assert_eq!(seen, expected, "{attr_size}");
            let stream = decoder.stream();
            assert_eq!((decoder.form(), stream.order()), (RecordingForm::File, order));
            let told: Vec<_> =
                stream.events().iter().map(|it| (it.title(), it.ids.as_slice())).collect();
            assert_eq!(told, [("one".into(), &[11, 12][..]), ("two".into(), &[21][..])]);
            assert_eq!(stream.features().hostname.as_deref(), Some("here"));
            assert_eq!(stream.features().unread[&FeatureId::BPF_BTF], 304);
            assert_eq!(stream.features().others[&FeatureId(200)].len(), 24);
            assert_eq!(stream.tally().unreadable(), None);
        }
    }
}

#[test]
fn a_pipe_is_read_here_too_and_refuses_a_file() {
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    write::attr(&attr(1), &[11], ByteOrder::Little, &mut bytes).unwrap();
    put_sample(11, 5, ByteOrder::Little, &mut bytes);
    let (seen, decoder, done) = read(&bytes, 1);
    assert_eq!((seen.join(" "), done), ("FileHeader Event(0) Sample".to_owned(), Ok(())));
    assert_eq!(decoder.form(), RecordingForm::Pipe);
    // What perf says at the end is no part of it.
    bytes.extend_from_slice(b"[ perf record: Woken up 1 times to write data ]\n");
    let (seen, decoder, done) = read(&bytes, 64);
    assert_eq!((seen.len(), done, decoder.form()), (3, Ok(()), RecordingForm::Pipe));
    let file = file(ByteOrder::Little, 128, &[], &[]);
    let error = RecordingDecoder::new(RecordingSource::Pipe).step(&file.bytes).unwrap_err();
    assert_eq!(error, StreamError::FileForm { size: 104 });
    assert!(error.to_string().ends_with("give the file itself"));
}

/// What is passed over may look like perf's last words, wherever it is cut.
#[test]
fn last_words_among_what_is_passed_over_end_nothing() {
    let order = ByteOrder::Little;
    let mut bytes = Vec::new();
    write::file_header(order, &mut bytes);
    write::attr(&attr(1), &[11], order, &mut bytes).unwrap();
    put_sample(11, 5, order, &mut bytes);
    bytes.extend([9, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"[ perf record: Woken up ");
    put_sample(11, 6, order, &mut bytes);
    put_sample(11, 7, order, &mut bytes);
    for piece in [1, 7, 8, 9, 40, 1 << 16] {
        let (mut seen, decoder, done) = read(&bytes, piece);
        seen.retain(|kind| kind != "Payload(SAMPLE)");
        assert_eq!(seen.join(" "), "FileHeader Event(0) Sample Unreadable Sample Sample");
        assert_eq!((done, decoder.stream().tally().unreadable().unwrap().count), (Ok(()), 1));
    }
}

#[test]
fn last_words_in_a_trace_end_nothing() {
    let order = ByteOrder::Little;
    let mut bytes = Vec::new();
    write::file_header(order, &mut bytes);
    write::attr(&attr(1), &[11], order, &mut bytes).unwrap();
    let mut body = [0; 40];
    word(&mut body, 0, 24, order);
    put(RecordType::AUXTRACE, &body, order, &mut bytes);
    bytes.extend(b"[ perf record: Woken up ");
    put_sample(11, 6, order, &mut bytes);
    for piece in [1, 7, 8, 9, 40, 1 << 16] {
        let (mut seen, decoder, done) = read(&bytes, piece);
        seen.retain(|kind| kind != "Payload(AUXTRACE)");
        assert_eq!(seen.join(" "), "FileHeader Event(0) Skipped(AUXTRACE) Sample");
        assert_eq!((done, decoder.stream().tally().unreadable()), (Ok(()), None));
    }
}

#[test]
fn an_unfinished_file_is_read_to_its_end() {
    let order = ByteOrder::Little;
    let mut file = file(order, 128, &records(order), &[]);
    word(&mut file.bytes, 48, 0, order);
    let (seen, _, done) = read(&file.bytes, 1 << 16);
    assert_eq!(seen.last().map(String::as_str), Some("FinishedRound"));
    assert_eq!(done, Err(StreamError::Unfinished { left: 0 }));
    file.bytes.truncate(file.bytes.len() - 3);
    let (seen, _, done) = read(&file.bytes, 1 << 16);
    assert_eq!(seen.last().map(String::as_str), Some("Sample"));
    assert_eq!(done, Err(StreamError::Unfinished { left: 5 }));
}

#[test]
fn a_file_cut_anywhere_gives_what_is_there_and_says_so() {
    for order in ORDERS {
        let file = file(order, 72, &records(order), &features(order));
        let all = read(&file.bytes, 1 << 16).0;
        for cut in 0..file.bytes.len() {
            let (seen, decoder, done) = read(&file.bytes[..cut], 1 << 16);
            let said = done.is_err() || decoder.stream().tally().unreadable().is_some();
            assert!(said, "cut at {cut} of {} goes unnoticed", file.bytes.len());
            let records = |seen: &[String]| {
                seen.iter().filter(|it| ["Sample", "Sideband"].contains(&it.as_str())).count()
            };
            if cut >= file.table {
                assert_eq!(records(&seen), records(&all), "{cut}");
            }
        }
    }
}

#[test]
fn sections_that_cannot_be_cost_only_themselves() {
    let order = ByteOrder::Little;
    let whole = file(order, 128, &records(order), &features(order));
    let said = |at: usize, value: u64| {
        let mut bytes = whole.bytes.clone();
        word(&mut bytes, at, value, order);
        let (seen, decoder, done) = read(&bytes, 1 << 16);
        assert_eq!(done, Ok(()));
        assert_eq!(seen.last().map(String::as_str), Some("FinishedRound"));
        decoder.stream().tally().unreadable().map(ToString::to_string).unwrap()
    };
    let hostname = said(whole.table, 1 << 40);
    assert!(
        hostname.contains("feature 3 should have 72 bytes at offset 1099511627776"),
        "{hostname}"
    );
    let huge = said(whole.table + 8, u64::MAX);
    assert!(huge.contains("feature 3 should have 18446744073709551615 bytes"), "{huge}");
    // Ids of the first attr.
    let ids = said(whole.data - 144 - 16, u64::MAX);
    assert!(ids.contains("a section of ids has 16 bytes at offset"), "{ids}");
}

#[test]
fn sections_that_overlap_do_not_multiply() {
    let order = ByteOrder::Little;
    let mut file = file(order, 128, &vec![0; 64 << 10], &[]);
    let length = file.bytes.len() as u64;
    for attr in [1, 2] {
        word(&mut file.bytes, file.data - 144 * attr + 128, 0, order);
        word(&mut file.bytes, file.data - 144 * attr + 136, length - 8, order);
    }
    let (_, decoder, _) = read(&file.bytes, 1 << 16);
    let ids: usize = decoder.stream().events().iter().map(|event| event.ids.len()).sum();
    assert!(ids as u64 <= length / 8, "{ids}");
    let said = decoder.stream().tally().unreadable().map(ToString::to_string).unwrap();
    assert!(said.contains("more bytes than the file"), "{said}");
}

/// Ids are taken off the budget once, however often their bytes are asked
/// for.
#[test]
fn ids_may_take_most_of_the_file() {
    let order = ByteOrder::Little;
    let mut data = Vec::new();
    write::finished_round(order, &mut data);
    let mut file = file(order, 128, &data, &[]);
    let length = file.bytes.len() as u64;
    word(&mut file.bytes, file.data - 144 + 136, 0, order);
    word(&mut file.bytes, file.data - 288 + 128, 0, order);
    word(&mut file.bytes, file.data - 288 + 136, length / 8 * 8, order);
    for piece in [8, 100, 5_000] {
        let (_, decoder, done) = read(&file.bytes, piece);
        assert_eq!((done, decoder.stream().tally().unreadable()), (Ok(()), None), "{piece}");
        assert_eq!(decoder.stream().events()[0].ids.len() as u64, length / 8);
    }
}

/// Its magic is the same text in both byte orders; names of events stand in a
/// section of their own, and attrs are those of their time.
#[test]
fn the_first_version_is_read() {
    for order in ORDERS {
        let records = records(order);
        let second = file(order, 64, &records, &features(order));
        let mut first = second.bytes.clone();
        first[..8].copy_from_slice(b"PERFFILE");
        let (found, decoder, done) = read(&first, 1 << 20);
        let (expected, ..) = read(&second.bytes, 1 << 20);
        assert_eq!(found, expected, "{order:?}");
        assert_eq!((done, decoder.form()), (Ok(()), RecordingForm::File));
        let mut pipe = Vec::new();
        write::file_header(order, &mut pipe);
        pipe[..8].copy_from_slice(b"PERFFILE");
        pipe.extend_from_slice(&records);
        assert_eq!(read(&pipe, 1 << 20).1.form(), RecordingForm::Pipe, "{order:?}");
    }
    let mut swapped = b"ELIFFREP".to_vec();
    swapped.resize(200, 0);
    assert!(matches!(read(&swapped, 200).2, Err(StreamError::Foreign { .. })));
}

proptest! {
    #[test]
    fn pieces_do_not_matter(piece in 1usize..5000, big: bool) {
        let order = ORDERS[usize::from(big)];
        let file = file(order, 136, &records(order), &features(order));
        let (whole, cut) = (read(&file.bytes, 1 << 20), read(&file.bytes, piece));
        prop_assert_eq!(whole.0, cut.0);
        prop_assert_eq!(whole.2, cut.2);
    }

    #[test]
    fn no_change_of_bytes_does_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        is_packed: bool,
    ) {
        let order = ByteOrder::Little;
        let mut data = records(order);
        if is_packed {
            data = packed(&samples(200, order), 700, RecordType::COMPRESSED2, order);
        }
        let mut file = file(order, 64, &data, &features(order));
        for (at, byte) in changes {
            let at = at.index(file.bytes.len());
            file.bytes[at] = byte;
        }
        let (_, decoder, _) = read(&file.bytes, 999);
        let ids: usize = decoder.stream().events().iter().map(|event| event.ids.len()).sum();
        prop_assert!(ids <= file.bytes.len() / 8);
    }
}

#[test]
fn packed_records_come_out_wherever_they_are_cut() {
    for order in ORDERS {
        for kind in [RecordType::COMPRESSED, RecordType::COMPRESSED2] {
            for cut in [13, 32, 5_000, 60_000] {
                let count = if cut < 100 { 50 } else { 10_000 };
                let mut data = packed(&samples(count, order), cut, kind, order);
                put_sample(21, 9, order, &mut data);
                let file = file(order, 128, &data, &features(order));
                let (seen, decoder, done) = read(&file.bytes, 1 << 16);
                done.unwrap();
                let samples = seen.iter().filter(|it| *it == "Sample").count() as u64;
                assert_eq!(samples, count + 1, "{kind} cut at {cut}");
                assert_eq!(decoder.stream().tally().unreadable(), None);
            }
        }
    }
}

#[test]
fn what_cannot_be_unpacked_is_left_out_and_the_rest_is_read() {
    let order = ByteOrder::Little;
    let mut data = packed(&samples(100, order), 1_000, RecordType::COMPRESSED, order);
    let first = usize::from(u16::from_le_bytes([data[6], data[7]]));
    data[first + 8..first + 20].fill(0xff);
    put_sample(21, 9, order, &mut data);
    let file = file(order, 128, &data, &features(order));
    let (seen, decoder, done) = read(&file.bytes, 1 << 16);
    assert_eq!(done, Ok(()));
    let samples = seen.iter().filter(|it| *it == "Sample").count();
    assert_eq!(samples, 1_000 / 32 + 1, "those of the first record, and the one after");
    let unreadable = decoder.stream().tally().unreadable().unwrap();
    let offset = (file.data + first) as u64;
    assert!(matches!(unreadable.first, StreamError::Zstd { offset: at, .. } if at == offset));
    assert!(unreadable.count > 1, "and all that were packed after it");
}

#[test]
fn a_record_of_no_size_is_passed_over_where_it_is_packed() {
    let order = ByteOrder::Little;
    let mut inside = samples(3, order);
    inside.extend([9, 0, 0, 0, 0, 0, 0, 0]);
    inside.extend(samples(3, order));
    let mut data = packed(&inside, 10_000, RecordType::COMPRESSED, order);
    put_sample(21, 9, order, &mut data);
    let (seen, decoder, done) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    assert_eq!(done, Ok(()));
    assert_eq!(seen.iter().filter(|it| *it == "Sample").count(), 7);
    assert_eq!(decoder.stream().tally().unreadable().unwrap().count, 1);
}

#[test]
fn packed_records_may_not_pack_others() {
    let order = ByteOrder::Little;
    let inner = packed(&samples(3, order), 10_000, RecordType::COMPRESSED, order);
    let data = packed(&inner, 10_000, RecordType::COMPRESSED, order);
    let (_, decoder, _) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    let said = decoder.stream().tally().unreadable().unwrap().to_string();
    assert!(said.contains("within the compressed record"), "{said}");
}

#[test]
fn a_packed_stream_that_ends_within_a_record_is_cut() {
    let order = ByteOrder::Little;
    let inside = samples(3, order);
    let data = packed(&inside[..inside.len() - 4], 10_000, RecordType::COMPRESSED2, order);
    let (_, _, done) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    assert_eq!(done, Err(StreamError::ZstdTruncated { left: 28 }));
}
