//! Recordings of every form that others wrote, read here: records and
//! features as linux-perf-data reads them.
//!
//! `HARDMETER_RECORDINGS=DIR` names a folder of more of them, which is read
//! too; its INDEX.tsv, if there, says how many samples each file has
//! (columns `file`, `samples`, `exact_ip`, `record_types`).

use linux_perf_data::{PerfFileReader, PerfFileRecord};
use perfdata::recording::{RecordingDecoder, RecordingForm, RecordingSource, RecordingStep};
use perfdata::stream::{Feature, FeatureId, StreamError, StreamRecord};
use perfdata::{Misc, RecordType, stream};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

const FOLDER: &str = "HARDMETER_RECORDINGS";

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("tests/fixtures")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads all, in pieces of 64 KiB; `see` sees every record.
fn read(
    bytes: &[u8],
    mut see: impl FnMut(&stream::StreamDecoder, &StreamRecord<'_>),
) -> (RecordingDecoder, Result<(), StreamError>) {
    let mut decoder = RecordingDecoder::new(RecordingSource::File { length: bytes.len() as u64 });
    let (mut start, mut end) = (0, 0);
    loop {
        match decoder.step(&bytes[start..end]) {
            Ok(RecordingStep::Record { consumed, stream, record, .. }) => {
                start += consumed;
                see(stream, &record);
            }
            Ok(RecordingStep::NeedMore(_)) if end < bytes.len() => {
                end = (end + (64 << 10)).min(bytes.len());
            }
            Ok(RecordingStep::Seek(offset)) => {
                start = usize::try_from(offset).unwrap();
                end = end.max(start);
            }
            Ok(RecordingStep::NeedMore(_) | RecordingStep::End) => {
                let done = decoder.finish(end - start);
                return (decoder, done);
            }
            Err(error) => return (decoder, Err(error)),
        }
    }
}

/// Type, misc and event of every record of the kernel.
type Records = Vec<(u32, u16, usize)>;

fn ours(bytes: &[u8]) -> (Records, RecordingDecoder, Result<(), StreamError>) {
    let mut records = Vec::new();
    let (decoder, done) = read(bytes, |stream, record| match record {
        StreamRecord::Sample(sample) => {
            sample.decode(stream).unwrap();
            records.push((RecordType::SAMPLE.0, sample.misc.0, sample.event));
        }
        StreamRecord::Sideband { event, misc, record, .. } => {
            records.push((record.kind().0, misc.0, *event));
        }
        _ => {}
    });
    // It sorts by time within a round; we give the order of the file.
    records.sort_unstable();
    (records, decoder, done)
}

fn theirs(bytes: &[u8], form: RecordingForm) -> Result<Records, linux_perf_data::Error> {
    let cursor = Cursor::new(bytes);
    let mut records = match form {
        RecordingForm::Pipe => all_of(PerfFileReader::parse_pipe(cursor)?)?,
        _ => all_of(PerfFileReader::parse_file(cursor)?)?,
    };
    records.sort_unstable();
    Ok(records)
}

fn all_of<R: Read>(reader: PerfFileReader<R>) -> Result<Records, linux_perf_data::Error> {
    let PerfFileReader { mut perf_file, mut record_iter } = reader;
    let mut records = Vec::new();
    while let Some(record) = record_iter.next_record(&mut perf_file)? {
        if let PerfFileRecord::EventRecord { attr_index, record } = record {
            records.push((record.record_type.0, record.misc, attr_index));
        }
    }
    Ok(records)
}

#[test]
fn another_reader_sees_the_same_records() {
    let names = [
        ("group_desc-4.14.file.data", 2, 13),
        ("hybrid_topology-5.15.file.data", 3, 7),
        ("sleep.compressed2.file.data", 1, 7),
        ("sleep.compressed.pipe.data", 1, 8),
    ];
    for (name, events, samples) in names {
        let bytes = fixture(name);
        let (records, decoder, done) = ours(&bytes);
        assert_eq!(done, Ok(()), "{name}");
        assert_eq!(decoder.stream().tally().unreadable(), None, "{name}");
        assert_eq!(decoder.stream().events().len(), events, "{name}");
        let found = records.iter().filter(|(kind, ..)| *kind == RecordType::SAMPLE.0).count();
        assert_eq!(found, samples, "{name}");
        assert_eq!(records, theirs(&bytes, decoder.form()).unwrap(), "{name}");
    }
}

#[test]
fn names_and_features_are_read() {
    let (_, decoder, _) = ours(&fixture("hybrid_topology-5.15.file.data"));
    let stream = decoder.stream();
    let names: Vec<_> = stream.events().iter().map(|event| event.title()).collect();
    assert_eq!(names, ["cpu_core/cycles:ppp/", "cpu_atom/cycles:ppp/", "dummy:HG"]);
    let features = stream.features();
    assert_eq!(features.cpu_id.as_deref(), Some("GenuineIntel,6,186,3"));
    assert_eq!(features.os_release.as_deref(), Some("5.15.140-21013-ge5249718105d"));
    let Some(Feature::HybridTopology(pmus)) = features.details.get(&FeatureId::HYBRID_TOPOLOGY)
    else {
        panic!("{:?}", features.details)
    };
    let names: Vec<_> = pmus.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cpu_core", "cpu_atom"]);
    assert!(
        features.build_ids.iter().any(|id| id.path == "[kernel.kallsyms]" && id.id.len() == 20)
    );

    let (_, decoder, _) = ours(&fixture("group_desc-4.14.file.data"));
    let features = decoder.stream().features();
    let Some(Feature::Groups(groups)) = features.details.get(&FeatureId::GROUP_DESC) else {
        panic!("{:?}", features.details)
    };
    assert_eq!((groups.len(), groups[0].leader, groups[0].members), (1, 0, 2));

    let (_, decoder, _) = ours(&fixture("sleep.compressed2.file.data"));
    let details = &decoder.stream().features().details;
    let Some(Feature::Compression(packed)) = details.get(&FeatureId::COMPRESSED) else {
        panic!("{details:?}")
    };
    assert_eq!(packed.kind, 1);
}

/// A row of INDEX.tsv, by the name of the column.
type Row = BTreeMap<String, String>;

fn index(folder: &Path) -> BTreeMap<String, Row> {
    let Ok(text) = std::fs::read_to_string(folder.join("INDEX.tsv")) else {
        return BTreeMap::new();
    };
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let names: Vec<String> = lines.next().map(Iterator::collect).unwrap_or_default();
    let rows = lines.map(|values| names.iter().cloned().zip(values).collect::<Row>());
    rows.map(|row| (row["file"].clone(), row)).collect()
}

/// The row of a file, and how many samples of it cannot be read. The corrupt
/// one is another file with the size of one sample wiped out; its own row
/// counts what comes before that.
fn row_of<'a>(index: &'a BTreeMap<String, Row>, name: &str) -> Option<(&'a Row, usize)> {
    match name.strip_suffix("corrupted.zero_size_sample-3.2") {
        Some(start) => Some((index.get(&format!("{start}target.throttled-3.4"))?, 1)),
        None => Some((index.get(name)?, 0)),
    }
}

/// Counts of types, of `{'SAMPLE': 13, ...}`; those of the kernel.
fn expected_types(row: &Row) -> BTreeMap<String, u64> {
    let pairs = row["record_types"].trim_matches(['{', '}']).split(", ");
    let pairs = pairs.filter_map(|pair| pair.split_once(": "));
    let all =
        pairs.map(|(kind, count)| (kind.trim_matches('\'').to_owned(), count.parse().unwrap()));
    all.filter(|(kind, _)| (1..64).any(|number| RecordType(number).name() == Some(kind))).collect()
}

#[test]
fn a_folder_of_recordings_is_read_as_its_index_says() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        eprintln!("skipped: {FOLDER} names no folder of recordings");
        return;
    };
    let index = index(&folder);
    let (mut files, mut records, mut compared) = (0, 0, 0);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(path).unwrap();
        if !bytes.starts_with(b"PERFILE2") && !bytes.starts_with(b"2ELIFREP") {
            continue;
        }
        let (ours, decoder, done) = ours(&bytes);
        files += 1;
        records += ours.len();
        if let Some((row, left_out)) = row_of(&index, &name) {
            let samples = ours.iter().filter(|(kind, ..)| *kind == RecordType::SAMPLE.0);
            let exact = samples.clone().filter(|(_, misc, _)| Misc(*misc).contains(Misc::EXACT_IP));
            let samples = samples.clone().count() + left_out;
            let counts = (samples.to_string(), exact.count().to_string());
            assert_eq!(counts, (row["samples"].clone(), row["exact_ip"].clone()), "{name}");
            let mut types = BTreeMap::from([(RecordType::SAMPLE.to_string(), left_out as u64)]);
            types.retain(|_, count| *count > 0);
            for (kind, ..) in &ours {
                *types.entry(RecordType(*kind).to_string()).or_insert(0) += 1;
            }
            assert_eq!(types, expected_types(row), "{name}");
        }
        match theirs(&bytes, decoder.form()) {
            Ok(theirs) => {
                assert_eq!(ours, theirs, "{name}");
                compared += ours.len();
            }
            Err(error) => eprintln!("{name}: linux-perf-data: {error}; we: {done:?}"),
        }
    }
    assert!(files > 0, "{}: no recordings", folder.display());
    eprintln!(
        "{files} files, {records} records of the kernel, {compared} as linux-perf-data has them"
    );
}

#[test]
fn hostile_files_do_no_harm() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        eprintln!("skipped: {FOLDER} names no folder of recordings");
        return;
    };
    let Ok(entries) = std::fs::read_dir(folder.join("fuzz")) else {
        eprintln!("skipped: {} has no folder fuzz", folder.display());
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let (decoder, done) = read(&std::fs::read(&path).unwrap(), |_, _| {});
        let said = done.is_err() || decoder.stream().tally().unreadable().is_some();
        assert!(said, "{} is taken for sound", path.display());
    }
}
