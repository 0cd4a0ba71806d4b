//! Recordings whole, cut off, empty and foreign.

use super::{End, Input};
use perfdata::ByteOrder;
use perfdata::recording::{RecordingDecoder, RecordingSource};
use perfdata::stream::{StreamRecord, write};
use std::io::Read;
use std::path::Path;

/// Gives one byte at a time, as a slow pipe may.
struct Drop(std::io::Cursor<Vec<u8>>);

impl Read for Drop {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(&mut buffer[..1])
    }
}

fn stream() -> Vec<u8> {
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    for _ in 0..3 {
        write::finished_round(ByteOrder::Little, &mut bytes);
    }
    bytes
}

fn rounds(source: Box<dyn Read>) -> (usize, Result<(), String>) {
    let mut rounds = 0;
    let end = Input::new(source, "it").read(
        &mut RecordingDecoder::new(RecordingSource::Pipe),
        |_, record| {
            rounds += usize::from(*record == StreamRecord::FinishedRound);
            Ok(())
        },
    );
    let end = end.expect("counting cannot fail");
    (rounds, end.into_result().map_err(|error| format!("{error:#}")))
}

#[test]
fn every_record_is_handed_out() {
    assert_eq!(rounds(Box::new(std::io::Cursor::new(stream()))), (3, Ok(())));
    assert_eq!(rounds(Box::new(Drop(std::io::Cursor::new(stream())))), (3, Ok(())));
}

#[test]
fn what_was_read_before_the_cut_is_handed_out() {
    let mut cut = stream();
    cut.truncate(cut.len() - 3);
    let (rounds, end) = rounds(Box::new(std::io::Cursor::new(cut)));
    assert_eq!(rounds, 2);
    let said = end.expect_err("it is cut");
    assert!(said.starts_with("it: truncated: 5 bytes of a record at offset 32"), "{said}");
}

#[test]
fn records_that_cannot_be_read_are_damage_after_all_others() {
    let mut holed = stream();
    // A feature without an id.
    holed.splice(16..16, [80, 0, 0, 0, 0, 0, 8, 0]);
    let unreadable = "1 record could not be read and was left out: HEADER_FEATURE at offset 16: \
                      needs 8 bytes at offset 0, 0 are left";
    let (found, end) = rounds(Box::new(std::io::Cursor::new(holed.clone())));
    assert_eq!((found, end), (3, Err(format!("it: {unreadable}"))));
    holed.pop();
    let (found, end) = rounds(Box::new(std::io::Cursor::new(holed)));
    let said = end.expect_err("it is cut, too");
    assert_eq!(found, 2);
    assert!(said.starts_with("it: truncated: 7 bytes"), "{said}");
    assert!(said.ends_with(&format!("; besides, {unreadable}")), "{said}");
}

#[test]
fn foreign_input_is_named() {
    let said = |bytes: &[u8]| {
        let (_, end) = rounds(Box::new(std::io::Cursor::new(bytes.to_vec())));
        end.expect_err("is foreign")
    };
    assert!(said(b"").starts_with("it: the recording is empty"), "{}", said(b""));
    assert!(said(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").contains("\\x7fELF"));
    let gzip = said(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\0\0\0\0\0\0");
    assert!(gzip.contains(r#"starts with "\x1f\x8b\x08\x00"#), "escaped once: {gzip}");
    assert!(said(b"one,two,three,four\n").contains("not a perf.data stream"));
    let short = said(b"hello");
    assert!(short.contains("starts with \"hello\", not with PERFILE2"), "{short}");
    assert!(said(b"PERF").contains("truncated: 4 bytes"), "{}", said(b"PERF"));
}

/// The end of a file is read first, which a pipe cannot do.
#[test]
fn the_file_form_is_read_through_a_pipe() {
    let path = "../crates/perfdata/tests/fixtures/group_desc-4.14.file.data";
    let samples = |mut input: Input| {
        let (mut decoder, mut samples) = (input.decoder(), 0);
        let end = input.read(&mut decoder, |_, record| {
            samples += usize::from(matches!(record, StreamRecord::Sample { .. }));
            Ok(())
        });
        end.expect("counting cannot fail").into_result().expect("is whole");
        samples
    };
    assert_eq!(samples(Input::open(Path::new(path)).expect("is there")), 13);
    let bytes = std::fs::read(path).expect("is there");
    let slow = Box::new(Drop(std::io::Cursor::new(bytes)));
    assert_eq!(samples(Input::piped(slow, "it").expect("can be kept")), 13);
}

#[test]
fn directories_are_told_from_recordings() {
    let folder = tempfile::tempdir().expect("a place for files");
    let said = |path: &Path| format!("{:#}", Input::open(path).expect_err("no recording"));
    assert!(said(folder.path()).ends_with("is a directory; a recording is a file"));
    std::fs::write(folder.path().join("data"), b"PERFILE2").expect("a file");
    assert!(said(folder.path()).contains("record without --threads"));
    assert!(said(&folder.path().join("none")).starts_with("cannot open"));
}

#[test]
fn errors_of_the_reader_stop_it() {
    let mut input = Input::new(Box::new(std::io::Cursor::new(stream())), "it");
    let mut seen = 0;
    let result = input.read(&mut RecordingDecoder::new(RecordingSource::Pipe), |_, _| {
        seen += 1;
        anyhow::bail!("enough")
    });
    assert_eq!(result.map(|_: End| ()).expect_err("fails").to_string(), "enough");
    assert_eq!(seen, 1);
}
