//! Records that are broken, and what is read of the others.

use super::*;
use crate::recording::{RecordingDecoder, RecordingSource, RecordingStep};

fn bounds(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut decoder = StreamDecoder::new();
    let (mut at, mut bounds) = (0, Vec::new());
    while let StreamStep::Record { consumed, .. } = decoder.step(&bytes[at..]).unwrap() {
        bounds.push((at, at + consumed));
        at += consumed;
    }
    bounds
}

fn kernel_records(seen: &[String]) -> Vec<&String> {
    seen.iter().filter(|it| it.starts_with("Sample") || it.starts_with("Side")).collect()
}

/// perf 3.x copies one name over another.
#[test]
fn rests_of_names_do_not_hide_a_record() {
    for order in ORDERS {
        let mut bytes = start(order);
        bytes.extend([0; 8]);
        // Behind the header and two numbers.
        let name = bytes.len() + 16;
        put_comm(3, b"name", order, &mut bytes);
        assert_eq!(bytes[name..name + 8], *b"name\0\0\0\0");
        bytes[name + 5..name + 8].copy_from_slice(b".ko");
        put_sample(1, 1, order, &mut bytes);
        write::finished_round(order, &mut bytes);
        let (seen, decoder) = read(&bytes, &[]).unwrap();
        assert_eq!(kernel_records(&seen).len(), 2, "{seen:?}");
        assert!(decoder.tally().unreadable().is_some());
    }
}

/// Recorders make records of what was there before, with room for the longest
/// name and an id of no event.
#[test]
fn a_name_in_more_room_than_it_needs_is_read_whatever_its_id() {
    for order in ORDERS {
        let mut bytes = Vec::new();
        write::file_header(order, &mut bytes);
        write::attr(&side(), &[1], order, &mut bytes).unwrap();
        write::attr(&side(), &[3], order, &mut bytes).unwrap();
        for id in [3, 0, 77] {
            let mut body = Vec::new();
            let w = &mut ByteWriter::new(&mut body, order);
            w.u64(0xffff_ffff_c020_0000);
            w.u32(4096);
            w.u16(1);
            w.u16(0);
            w.raw(b"bpf_prog_6deef7357e7b4530_tracer");
            w.raw(&[0; 64]);
            w.i32(TASK.pid.0);
            w.i32(TASK.tid.0);
            w.u64(id);
            assert_eq!(8 + body.len(), 136);
            put(RecordType::KSYMBOL, &body, order, &mut bytes);
        }
        write::finished_round(order, &mut bytes);
        let (seen, decoder) = read(&bytes, &[]).unwrap();
        let is_named = |text: &&String| text.contains("Ksymbol") && text.contains("length: 4096");
        assert_eq!(seen.iter().filter(is_named).count(), 3, "{seen:#?}");
        assert_eq!((decoder.tally().unreadable(), decoder.tally().unknown_id), (None, 0));
    }
}

/// Bytes of a stack look like a READ that ends where a record does.
#[test]
fn what_is_too_long_for_its_kind_is_no_record() {
    for order in ORDERS {
        let mut bytes = start(order);
        bytes.extend([0; 8]);
        let at = bytes.len();
        bytes.extend([0; 64]);
        let mut samples = 1;
        while bytes.len() < at + 20_000 {
            put_sample(1, samples, order, &mut bytes);
            put_comm(3, b"name", order, &mut bytes);
            samples += 1;
        }
        let size = u16::try_from(bytes.len() - at).unwrap();
        put_sample(1, samples, order, &mut bytes);
        write::finished_round(order, &mut bytes);
        let mut header = Vec::new();
        RecordHeader { kind: RecordType::READ, misc: Misc(0), size }
            .encode(&mut ByteWriter::new(&mut header, order));
        bytes[at..at + 8].copy_from_slice(&header);
        let (seen, _) = read(&bytes, &[]).unwrap();
        let found = seen.iter().filter(|it| it.starts_with("Sample")).count();
        assert_eq!(found as u64, samples, "{order:?}");
    }
}

/// User space parts of call chains have no bound but a record's.
#[test]
fn a_long_chain_that_came_later_is_a_record() {
    for order in ORDERS {
        let mut bytes = start(order);
        bytes.extend([0; 8]);
        put_sample(1, 7, order, &mut bytes);
        put(RecordType::CALLCHAIN_DEFERRED, &[0; 1040], order, &mut bytes);
        put_sample(1, 8, order, &mut bytes);
        let (seen, _) = read(&bytes, &[]).unwrap();
        let found = seen.iter().filter(|it| it.starts_with("Sample")).count();
        assert_eq!(found, 2, "{order:?}");
    }
}

/// Any size that a sample or another record of the kernel says wrongly.
#[test]
fn a_wrong_size_costs_its_record_alone() {
    for order in ORDERS {
        let mut bytes = start(order);
        let first = bounds(&bytes).len();
        for ip in 0..6 {
            put_sample(1 + ip % 2, ip, order, &mut bytes);
            put_comm(3, b"a name", order, &mut bytes);
            put_comm(3, b"a longer one, still a name", order, &mut bytes);
            write::finished_round(order, &mut bytes);
        }
        let bounds = bounds(&bytes);
        let (whole, _) = read(&bytes, &[]).unwrap();
        let whole = kernel_records(&whole);
        for (index, &(at, _)) in bounds.iter().enumerate().skip(first) {
            // The last ones have none after them to be found by.
            let (at_end, kind) = (index + 3 >= bounds.len(), bytes[at..at + 4].to_vec());
            let round = kind.contains(&68);
            for size in (0..200).chain([1000, 65_528, 65_535]) {
                let mut broken = bytes.clone();
                let size: u16 = size;
                let size = if order == ByteOrder::Little {
                    size.to_le_bytes()
                } else {
                    size.to_be_bytes()
                };
                if broken[at + 6..at + 8] == size {
                    continue;
                }
                broken[at + 6..at + 8].copy_from_slice(&size);
                let mut decoder =
                    RecordingDecoder::new(RecordingSource::File { length: broken.len() as u64 });
                let mut seen = Vec::new();
                let (mut from, mut end) = (0, None);
                while end.is_none() {
                    match decoder.step(&broken[from..]).unwrap() {
                        RecordingStep::Record { consumed, stream, record, .. } => {
                            from += consumed;
                            // What is given but does not decode is told, too.
                            let bad = matches!(record, StreamRecord::Sample(sample)
                                if sample.decode(stream).is_none());
                            if !bad {
                                seen.push(format!("{record:?}"));
                            }
                        }
                        _ => end = Some(broken.len() - from),
                    }
                }
                let done = decoder.finish(end.unwrap());
                let told = done.is_err() || decoder.stream().tally().unreadable().is_some();
                assert!(told, "{size:?} at {at}: {seen:?}");
                let seen = kernel_records(&seen);
                assert!(seen.iter().all(|it| whole.contains(it)), "{seen:?}");
                let missing = whole.len() - seen.len();
                assert!(
                    missing <= 1 || at_end,
                    "{size:?} at {at} of {round}: {missing}: {seen:#?}"
                );
            }
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_costs_itself_only() {
    for order in ORDERS {
        let mut bytes = start(order);
        let first = bytes.len();
        let mut comm = Vec::new();
        put_comm(3, b"", order, &mut comm);
        let cut = comm[16..].to_vec();
        let mut id = Vec::new();
        ByteWriter::new(&mut id, order).u64(3);
        let mut hostname = Vec::new();
        ByteWriter::new(&mut hostname, order).u64(FeatureId::HOSTNAME.0);
        hostname.extend([0xff; 4]);
        let mut update = Vec::new();
        ByteWriter::new(&mut update, order).u64(1);
        for (kind, body) in [
            (RecordType::FORK, &cut),
            (RecordType::LOST, &id),
            (RecordType::EVENT_UPDATE, &update),
            (RecordType::HEADER_FEATURE, &hostname),
            (RecordType::HEADER_FEATURE, &Vec::new()),
            (RecordType::HEADER_EVENT_TYPE, &Vec::new()),
        ] {
            put(kind, body, order, &mut bytes);
            put_sample(1, 1, order, &mut bytes);
        }
        let (seen, decoder) = read(&bytes, &[]).unwrap();
        let (bad, good): (Vec<_>, Vec<_>) = (3..seen.len()).partition(|at| at % 2 == 1);
        assert_eq!((bad.len(), good.len()), (6, 6));
        assert!(bad.iter().all(|&at| seen[at].starts_with("Unreadable")), "{seen:?}");
        assert!(good.iter().all(|&at| seen[at].starts_with("Sample")), "{seen:?}");
        let unreadable = decoder.tally().unreadable().unwrap();
        assert_eq!(unreadable.count, 6);
        let field_tid = matches!(
            unreadable.first,
            StreamError::Sideband { offset, reason: SidebandError::Short { field: "tid", .. } }
                if offset == first as u64
        );
        assert!(field_tid, "{unreadable}");
        assert_eq!(
            unreadable.to_string(),
            format!(
                "6 records could not be read and were left out; the first: at offset {first}: \
                 FORK record, field tid: needs 4 bytes at offset 8, 0 are left"
            )
        );
        assert_eq!(decoder.features().hostname, None);
    }
}
