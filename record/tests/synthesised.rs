//! Recordings that no public file is like, synthesised from the layouts of
//! the kernel and perf: read here and by the perf of this machine.
#![allow(clippy::unwrap_used, reason = "helpers of tests, outside #[test] functions")]
#![allow(clippy::print_stderr, reason = "says why it skips")]

mod synthesiser;

use record::recording::{Decoder, Source, Step};
use record::stream::StreamRecord;
use record::{RecordType, stream};
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Output};
use synthesiser::elf::Program;
use synthesiser::flood;

/// Reads a file that must be sound; `see` sees every record.
fn read(bytes: &[u8], mut see: impl FnMut(&stream::Decoder, &StreamRecord<'_>)) -> Decoder {
    let mut decoder = Decoder::new(Source::File { length: bytes.len() as u64 });
    let mut start = 0;
    loop {
        match decoder.step(&bytes[start..]).unwrap() {
            Step::Record { consumed, stream, record, .. } => {
                start += consumed;
                see(stream, &record);
            }
            Step::Seek(offset) => start = usize::try_from(offset).unwrap(),
            Step::NeedMore(_) | Step::End => break,
        }
    }
    decoder.finish(0).unwrap();
    assert_eq!(decoder.stream().tally().unreadable(), None);
    decoder
}

/// None, and the reason told, where perf is not installed.
fn perf(words: &[&str], bytes: &[u8], name: &str) -> Option<Output> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new("perf");
    command.arg(words[0]).args(["--force", "-i"]).arg(&path).args(&words[1..]);
    let output = command.env("PAGER", "cat").output();
    std::fs::remove_file(&path).unwrap();
    output.inspect_err(|error| eprintln!("skipped: perf cannot be started: {error}")).ok()
}

#[test]
fn a_flood_has_as_many_samples_as_asked_for() {
    const SAMPLES: u64 = 100_000;
    let program = Program::read(&std::env::current_exe().unwrap()).unwrap();
    let bytes = flood::write(SAMPLES, &program, Cursor::new(Vec::new())).unwrap().into_inner();
    let mut of_event = [0; 3];
    let decoder = read(&bytes, |stream, record| {
        if let StreamRecord::Sample { event, misc, payload } = record {
            stream.events()[*event].layout.decode(*misc, payload).unwrap();
            of_event[*event] += 1;
        }
    });
    let tally = decoder.stream().tally();
    assert_eq!(of_event.iter().sum::<u64>(), SAMPLES);
    assert!(of_event[0] > SAMPLES / 2 && of_event[1] > SAMPLES / 10, "{of_event:?}");
    assert_eq!(tally.of(RecordType::FINISHED_ROUND), 4);

    let words = ["script", "-F", "comm,tid,cpu,time,event,addr,weight,data_src,ip,sym"];
    let Some(output) = perf(&words, &bytes, "flood.data") else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(text.lines().count() as u64, SAMPLES);
    let nameless = text.lines().filter(|line| line.contains("[unknown]")).count();
    assert!(nameless < text.lines().count() / 100, "{nameless} without a name");
}
