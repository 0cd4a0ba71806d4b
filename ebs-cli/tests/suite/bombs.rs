//! Recordings of a few packed bytes that unpack to very many different rows
//! and names: `ebs` answers in bounded memory and says what it did not keep.
//!
//! `HARDMETER_BOMBS=DIR`: writes bombs of five million records into DIR
//! besides, to measure by hand.

use perfdata::attr::EventType;
use perfdata::bytes::ByteWriter;
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::write::{attr, event_name, file_header, finished_round};
use perfdata::{
    Attr, AttrFlags, ByteOrder, Misc, Pid, Sample, SampleId, SampleLayout, SampleType,
    SidebandRecord, Task, Tid, Time,
};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

const ORDER: ByteOrder = ByteOrder::Little;
/// PERF_RECORD_COMPRESSED, whose size is 16 bits.
const COMPRESSED: u32 = 81;
const MOST_PACKED: usize = 60_000;
const USER: Misc = Misc(2);
const KERNEL: Misc = Misc(1);
/// Records between two round marks.
const ROUND: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Sites,
    Routines,
    Names,
    Forks,
    Maps,
}

fn page_faults() -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config: 2,
        sample_period: 1,
        sample_type: SampleType::IP | SampleType::TID | SampleType::TIME,
        flags: AttrFlags::SAMPLE_ID_ALL | AttrFlags::MMAP2 | AttrFlags::COMM,
        ..Attr::default()
    }
}

fn task(pid: u64) -> Task {
    let pid = i32::try_from(pid).unwrap();
    Task { pid: Pid(pid), tid: Tid(pid) }
}

/// Records of a stream, as they are before they are packed.
struct Records {
    layout: SampleLayout,
    bytes: Vec<u8>,
}

impl Records {
    fn sample(&mut self, misc: Misc, ip: u64, of: Task, time: u64) {
        let (ip, task, time) = (Some(ip), Some(of), Some(Time(time)));
        let sample = Sample { misc, ip, task, time, ..Sample::default() };
        self.layout.encode(&sample, &mut self.bytes).unwrap();
    }

    fn side(&mut self, misc: Misc, record: &SidebandRecord<'_>, of: Task, time: u64) {
        let id = SampleId { task: Some(of), time: Some(Time(time)), ..SampleId::default() };
        let mut trailer = Vec::new();
        self.layout.encode_trailer(&id, &mut trailer).unwrap();
        record.encode(misc, &trailer, ORDER, &mut self.bytes).unwrap();
    }

    /// The next of its kind, and a sample that it is about; every other one is
    /// of one site in one process.
    fn one_more(&mut self, kind: Kind, number: u64) {
        let time = number + 10;
        let (own, name) = (task(number % (1 << 22) + 2), format!("name {number}"));
        let site = 0x10_0000_0000 + number * 64;
        match kind {
            Kind::Sites => self.sample(USER, site, task(1), time),
            Kind::Routines => {
                let address = 0xffff_ffff_c000_0000 + number * 64;
                let name = name.as_bytes();
                let (length, kind, flags) = (64, 1, 0);
                let told = SidebandRecord::Ksymbol { address, length, kind, flags, name };
                self.side(KERNEL, &told, own, time);
                self.sample(KERNEL, address + 4, own, time);
            }
            Kind::Names => {
                let name = name.as_bytes();
                self.side(Misc(0), &SidebandRecord::Comm { task: own, name }, own, time);
                self.sample(USER, 0x1000, own, time);
            }
            Kind::Forks => {
                let told = SidebandRecord::Fork { task: own, parent: task(1), time: Time(time) };
                self.side(Misc(0), &told, own, time);
                self.sample(USER, 0x1000, own, time);
            }
            Kind::Maps => {
                let mapping = Mapping {
                    task: task(number % 50_000 + 2),
                    start: site,
                    length: 64,
                    page_offset: 0,
                    file: FileIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 },
                    protection: Some(5),
                    flags: Some(2),
                    path: name.as_bytes(),
                };
                let of = mapping.task;
                self.side(USER, &SidebandRecord::Mmap2(mapping), of, time);
                self.sample(USER, site + 4, of, time);
            }
        }
    }
}

fn bomb(kind: Kind, count: u64) -> Vec<u8> {
    let event = page_faults();
    let mut out = Vec::new();
    file_header(ORDER, &mut out);
    attr(&event, &[1], ORDER, &mut out).unwrap();
    event_name(1, "page_fault", ORDER, &mut out).unwrap();
    // HEADER_FEATURE: COMPRESSED (27), of version 1 and type zstd.
    let mut feature = Vec::new();
    let mut writer = ByteWriter::new(&mut feature, ORDER);
    writer.u64(27);
    [1u32, 1, 1, 1, 1 << 20].into_iter().for_each(|word| writer.u32(word));
    put(80, &feature, &mut out);
    let layout = SampleLayout::new(&event, ORDER).unwrap();
    let mut records = Records { layout, bytes: Vec::new() };
    let mut context = CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(3)).unwrap();
    for number in 0..count {
        records.one_more(kind, number);
        records.sample(USER, 0x4000, task(1), number + 10);
        if number % ROUND == ROUND - 1 || number == count - 1 {
            finished_round(ORDER, &mut records.bytes);
            pack(&mut context, &records.bytes, &mut out);
            records.bytes.clear();
        }
    }
    out
}

fn put(kind: u32, body: &[u8], out: &mut Vec<u8>) {
    let body = [body, &[0; 8][..body.len().next_multiple_of(8) - body.len()]].concat();
    let mut writer = ByteWriter::new(out, ORDER);
    writer.u32(kind);
    writer.u16(0);
    writer.u16(u16::try_from(8 + body.len()).unwrap());
    out.extend_from_slice(&body);
}

/// As perf does: one frame that never ends, flushed for each record.
fn pack(context: &mut CCtx<'_>, bytes: &[u8], out: &mut Vec<u8>) {
    let mut room = vec![0; bytes.len() + 1000];
    let mut output = OutBuffer::around(room.as_mut_slice());
    context.compress_stream(&mut output, &mut InBuffer::around(bytes)).unwrap();
    context.flush_stream(&mut output).unwrap();
    let length = output.pos();
    for piece in room[..length].chunks(MOST_PACKED) {
        let mut writer = ByteWriter::new(out, ORDER);
        writer.u32(COMPRESSED);
        writer.u16(0);
        writer.u16(u16::try_from(8 + piece.len()).unwrap());
        out.extend_from_slice(piece);
    }
}

/// Runs `ebs` with so many MiB of address space at most.
fn ebs(words: &[&str], file: &Path, room: u64) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {}; exec \"$@\"", room << 10)).arg("sh");
    command.arg(std::env::var("CARGO_BIN_EXE_ebs").unwrap()).args(words).arg(file);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The answer in JSON; `ebs` must not fail.
fn answer(words: &[&str], file: &Path, room: u64) -> Value {
    let output = ebs(&[words, &["--json"]].concat(), file, room);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sum(event: &Value, what: &str) -> u64 {
    event["rows"].as_array().unwrap().iter().map(|row| row[what].as_u64().unwrap()).sum()
}

/// Samples that bombs of five million records have a site apiece.
const MANY: u64 = 5_000_000;

#[test]
fn bombs_are_written_to_be_measured() {
    let Some(folder) = std::env::var_os("HARDMETER_BOMBS") else {
        return eprintln!("skipped: HARDMETER_BOMBS names no folder for them");
    };
    for kind in [Kind::Sites, Kind::Routines, Kind::Names, Kind::Forks, Kind::Maps] {
        let bytes = bomb(kind, MANY);
        eprintln!("{kind:?}: {} bytes", bytes.len());
        std::fs::write(Path::new(&folder).join(format!("{kind:?}.data")), bytes).unwrap();
    }
}

#[test]
fn sites_beyond_the_room_are_counted_together_and_that_is_told() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sites.data");
    std::fs::write(&file, bomb(Kind::Sites, 100_000)).unwrap();
    assert!(std::fs::metadata(&file).unwrap().len() < 2 << 20, "packed");
    let report = answer(&["report", "--by", "ip", "--most-rows", "8000"], &file, 512);
    let event = &report["events"][0];
    assert_eq!(event["totals"]["counted"], 200_000);
    assert_eq!(sum(event, "count"), 200_000);
    let not_kept = &event["not_kept"];
    let [samples, lacking] = ["samples", "lacking"].map(|it| not_kept[it].as_u64().unwrap());
    assert!(samples > 80_000 && lacking < 60, "{not_kept}");
    let rows = event["rows"].as_array().unwrap();
    let hot = rows.iter().find(|row| row["ip"] == "0x4000").unwrap();
    assert!(hot["count"].as_u64().unwrap() + lacking >= 100_000, "{hot}");
    assert!(rows.len() <= 8_001, "{}", rows.len());
    let table = ebs(&["report", "--by", "ip", "--most-rows", "8000"], &file, 512);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("samples are in the row [rows not kept]"), "{table}");
    let csv = ebs(&["report", "--by", "ip", "--csv", "--most-rows", "8000"], &file, 512);
    assert!(said(&csv).contains("samples are in the row [rows not kept]"), "{}", said(&csv));
    // With room for all of them nothing is joined.
    let whole = answer(&["report", "--by", "ip"], &file, 1024);
    let event = &whole["events"][0];
    assert_eq!(event.get("not_kept"), None);
    assert_eq!(event["rows_total"], 100_001);
}
