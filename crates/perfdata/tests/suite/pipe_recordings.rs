//! Streams that perf wrote, read here: every record of every type, the
//! machine's features, and the same as another reader sees.

use linux_perf_data::{PerfFileReader, PerfFileRecord};
use perfdata::recording;
use perfdata::stream::{StreamDecoder, StreamError, StreamRecord, StreamStep};
use perfdata::{RecordType, SidebandRecord};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("tests/fixtures")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(
    bytes: &[u8],
    mut see: impl FnMut(&StreamDecoder, &StreamRecord<'_>),
) -> Result<StreamDecoder, StreamError> {
    let mut decoder = StreamDecoder::new();
    let mut at = 0;
    loop {
        match decoder.step(&bytes[at..])? {
            StreamStep::NeedMore(_) => return decoder.finish(bytes.len() - at).map(|()| decoder),
            StreamStep::Record { consumed, record } => {
                at += consumed;
                assert_eq!(decoder.offset(), u64::try_from(at).unwrap());
                see(&decoder, &record);
            }
        }
    }
}

type Counts = BTreeMap<String, u64>;

fn counts(of: &[(&str, u64)]) -> Counts {
    of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn tallied(decoder: &StreamDecoder) -> Counts {
    decoder.tally().iter().map(|(kind, count)| (kind.to_string(), count)).collect()
}

#[test]
fn every_record_is_counted_by_type() {
    let cases: [(&str, &[(&str, u64)]); 5] = [
        (
            "ctx_switch_namespaces-4.14",
            &[
                ("HEADER_FEATURE", 12),
                ("HEADER_ATTR", 1),
                ("TIME_CONV", 1),
                ("MMAP", 54),
                ("COMM", 3),
                ("NAMESPACES", 1),
                ("SAMPLE", 7),
                ("MMAP2", 10),
                ("SWITCH", 2),
                ("EXIT", 1),
                ("FINISHED_ROUND", 1),
            ],
        ),
        (
            "header_features-4.16",
            &[
                ("HEADER_FEATURE", 14),
                ("HEADER_ATTR", 1),
                ("TIME_CONV", 1),
                ("MMAP", 28),
                ("EVENT_UPDATE", 1),
                ("THREAD_MAP", 1),
                ("CPU_MAP", 1),
                ("COMM", 2),
                ("MMAP2", 4),
                ("SAMPLE", 2),
                ("EXIT", 1),
                ("FINISHED_ROUND", 1),
            ],
        ),
        (
            "header_features_aligned-6.12",
            &[
                ("HEADER_FEATURE", 20),
                ("HEADER_ATTR", 1),
                ("TIME_CONV", 1),
                ("ID_INDEX", 1),
                ("EVENT_UPDATE", 2),
                ("THREAD_MAP", 1),
                ("CPU_MAP", 1),
                ("COMM", 2),
                ("FINISHED_INIT", 1),
                ("MMAP2", 4),
                ("SAMPLE", 9),
                ("EXIT", 1),
                ("FINISHED_ROUND", 1),
            ],
        ),
        (
            "lost_samples-4.4",
            &[
                ("HEADER_ATTR", 3),
                ("MMAP", 39),
                ("COMM", 3),
                ("SAMPLE", 191),
                ("MMAP2", 6),
                ("LOST_SAMPLES", 2),
                ("EXIT", 1),
                ("FINISHED_ROUND", 1),
            ],
        ),
        (
            "page_faults-6.1",
            &[
                ("HEADER_FEATURE", 19),
                ("HEADER_ATTR", 1),
                ("ID_INDEX", 1),
                ("EVENT_UPDATE", 1),
                ("MMAP", 1),
                ("THREAD_MAP", 1),
                ("CPU_MAP", 1),
                ("COMM", 2),
                ("FINISHED_INIT", 1),
                ("MMAP2", 23),
                ("SAMPLE", 49),
                ("EXIT", 1),
                ("FINISHED_ROUND", 1),
            ],
        ),
    ];
    for (name, expected) in cases {
        let decoder = read(&fixture(&format!("{name}.pipe.data")), |_, _| {}).unwrap();
        assert_eq!(tallied(&decoder), counts(expected), "{name}");
        assert_eq!((decoder.tally().unknown_id, decoder.tally().unplaced), (0, 0), "{name}");
    }
}

#[test]
fn every_sample_decodes_and_belongs_to_its_event() {
    for (name, exact) in
        [("lost_samples-4.4", 191), ("page_faults-6.1", 0), ("header_features_aligned-6.12", 0)]
    {
        let mut exact_seen = 0;
        read(&fixture(&format!("{name}.pipe.data")), |decoder, record| {
            let StreamRecord::Sample(record) = record else { return };
            let event = record.description(decoder).unwrap();
            let sample = record.decode(decoder).unwrap();
            exact_seen += u64::from(record.misc.contains(perfdata::Misc::EXACT_IP));
            if let Some(id) = sample.identifier.or(sample.id) {
                assert!(event.ids.contains(&id), "{name}: id {id}");
            }
        })
        .unwrap();
        assert_eq!(exact_seen, exact, "{name}");
    }
}

/// Record types 69 to 80 of a perf of Google's are features; the third,
/// AUXTRACE elsewhere, starts with a text that would be a size of exabytes.
#[test]
fn records_of_another_maker_are_passed_over_by_their_size() {
    let decoder = read(&fixture("foreign/types-3.3.pipe.data"), |_, _| {}).unwrap();
    let tallied = tallied(&decoder);
    let of = |kind: RecordType| tallied.get(&kind.to_string()).copied();
    assert_eq!((of(RecordType::AUXTRACE), of(RecordType::MMAP)), (Some(1), Some(40)));
    assert_eq!((decoder.undecoded(), decoder.tally().unreadable()), (None, None));
    let unrouted = [decoder.tally().unknown_id, decoder.tally().unplaced];
    assert_eq!(unrouted, [0, 0], "a topology is no update of an event");
    assert_eq!(decoder.events()[0].title(), "cycles");
}

#[test]
fn a_name_before_its_event_is_the_events() {
    let decoder = read(&fixture("early_names-4.13.pipe.data"), |_, _| {}).unwrap();
    assert_eq!(decoder.events()[0].name.as_deref(), Some("idq.ms_uops"));
}

#[test]
fn features_and_names_are_read() {
    let decoder = read(&fixture("header_features-4.16.pipe.data"), |_, _| {}).unwrap();
    let features = decoder.features();
    assert_eq!(features.os_release.as_deref(), Some("4.4.0-116-generic"));
    assert_eq!(features.version.as_deref(), Some("4.16.rc5.g3032f8"));
    assert_eq!(features.arch.as_deref(), Some("x86_64"));
    assert_eq!(features.cpu_description.as_deref(), Some("Intel(R) Xeon(R) CPU @ 2.20GHz"));
    assert_eq!(features.cpu_id.as_deref(), Some("GenuineIntel,6,79,0"));
    let command =
        ["/tmp/perf", "record", "-e", "cycles", "-o", "-", "--", "echo", "Hello,", "World!"];
    assert_eq!(features.command_line, command);
    assert_eq!(decoder.tally().unreadable(), None);
    assert_eq!(decoder.events()[0].name.as_deref(), Some("cpu-clock"));

    let decoder = read(&fixture("header_features_aligned-6.12.pipe.data"), |_, _| {}).unwrap();
    let features = decoder.features();
    assert_eq!(features.cpu_id.as_deref(), Some("GenuineIntel,6,85,4"));
    assert!(features.pmus.contains(&(1, "software".to_owned())), "{:?}", features.pmus);
    assert_eq!(decoder.tally().unreadable(), None);
}

#[test]
fn side_records_say_what_they_say() {
    let mut comms = Vec::new();
    let mut mapped = Vec::new();
    let mut lost = 0;
    for name in ["ctx_switch_namespaces-4.14", "lost_samples-4.4"] {
        read(&fixture(&format!("{name}.pipe.data")), |_, record| {
            let StreamRecord::Sideband { record, .. } = record else { return };
            match record {
                SidebandRecord::Comm { name, .. } => {
                    comms.push(String::from_utf8_lossy(name).into_owned())
                }
                SidebandRecord::Mmap2(map) => {
                    mapped.push(String::from_utf8_lossy(map.path).into_owned())
                }
                SidebandRecord::LostSamples { lost: more } => lost += more,
                SidebandRecord::Namespaces { links, .. } => assert_eq!(links.len(), 7),
                SidebandRecord::Unknown { kind, .. } => panic!("{name}: {kind}"),
                _ => {}
            }
        })
        .unwrap();
    }
    assert!(comms.iter().any(|name| name == "sleep"), "{comms:?}");
    assert!(mapped.iter().any(|path| path.ends_with("libc-2.23.so")), "{mapped:?}");
    assert!(lost > 0);
}

/// What linux-perf-data makes of the same bytes: type and misc of every
/// record of the kernel.
#[test]
fn another_reader_sees_the_same_records() {
    for name in [
        "ctx_switch_namespaces-4.14",
        "header_features-4.16",
        "header_features_aligned-6.12",
        "lost_samples-4.4",
        "page_faults-6.1",
    ] {
        let bytes = fixture(&format!("{name}.pipe.data"));
        let mut ours = Vec::new();
        let decoder = read(&bytes, |_, record| match record {
            StreamRecord::Sample(sample) => {
                ours.push((RecordType::SAMPLE.0, sample.misc.0, sample.event));
            }
            StreamRecord::Sideband { event, misc, record, .. } => {
                ours.push((record.kind().0, misc.0, *event));
            }
            _ => {}
        })
        .unwrap();

        let PerfFileReader { mut perf_file, mut record_iter } =
            PerfFileReader::parse_pipe(std::io::Cursor::new(&bytes)).unwrap();
        let mut theirs = Vec::new();
        while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
            if let PerfFileRecord::EventRecord { attr_index, record } = record {
                theirs.push((record.record_type.0, record.misc, attr_index));
            }
        }
        // It sorts by time within a round; we give the order of the stream.
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{name}");
        let features = decoder.features();
        assert_eq!(features.hostname.as_deref(), perf_file.hostname().unwrap(), "{name}");
        assert_eq!(features.cpu_id.as_deref(), perf_file.cpu_id().unwrap(), "{name}");
        assert_eq!(features.total_memory, perf_file.total_mem().unwrap(), "{name}");
    }
}

#[test]
fn a_record_of_size_zero_is_named_with_its_offset() {
    let bytes = fixture("zero_size_sample-3.2.pipe.data");
    let length = u64::try_from(bytes.len()).unwrap();
    let mut decoder = recording::RecordingDecoder::new(recording::RecordingSource::File { length });
    let (mut at, mut said) = (0, None);
    while let recording::RecordingStep::Record { consumed, record, .. } =
        decoder.step(&bytes[at..]).unwrap()
    {
        at += consumed;
        if let StreamRecord::Unreadable { error, .. } = record {
            said = Some(error.to_string());
        }
    }
    assert_eq!(
        said.as_deref(),
        Some(
            "SAMPLE at offset 1728 says it has 0 bytes; the least possible is 8; 48 bytes were \
             passed over, up to the next record at offset 1776"
        )
    );
}

#[test]
fn compression_is_refused_by_who_does_not_unpack() {
    let error = read(&fixture("sleep.compressed.pipe.data"), |_, _| {}).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("COMPRESSED at offset "), "{message}");
}

#[test]
fn a_cut_anywhere_is_noticed_and_says_where() {
    let bytes = fixture("page_faults-6.1.pipe.data");
    let mut ends = vec![0];
    read(&bytes, |decoder, _| ends.push(usize::try_from(decoder.offset()).unwrap())).unwrap();
    for cut in 0..bytes.len() {
        match read(&bytes[..cut], |_, _| {}) {
            Ok(_) => assert!(ends.contains(&cut) && cut > 0, "{cut}"),
            Err(StreamError::Empty) => assert_eq!(cut, 0),
            Err(StreamError::Truncated { left, offset, wanted }) => {
                let offset = usize::try_from(offset).unwrap();
                assert!(ends.contains(&offset), "{cut}: {offset}");
                assert_eq!(offset + left, cut);
                assert!(wanted > left);
            }
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
}
