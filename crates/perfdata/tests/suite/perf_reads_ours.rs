//! Streams written here, read by the perf of this machine: every field of
//! every sample as it was put in, no complaint.
#![allow(clippy::print_stdout, reason = "says why it skips")]

use perfdata::aggregate::{Aggregate, Bits, Range, RegisterBits, SampledHit, Site};
use perfdata::attr::{Attr, AttrFlags, EventType, SampleType, SamplingRate};
use perfdata::bytes::RecordWords;
use perfdata::registers::{Registers, RegsAbi};
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::{CacheDescription, EventName, Feature, write};
use perfdata::{
    ByteOrder, Cpu, CpuMode, Misc, Pid, Sample, SampleId, SampleLayout, SidebandRecord, Task, Tid,
    Time,
};

use std::process::Command;

const ORDER: ByteOrder = ByteOrder::Little;
const GENERAL: u64 = 0x00ff_03ff;
const SAMPLING_ID: u64 = 10_001;
const SIDE_ID: u64 = 20_001;
const TASK: Task = Task { pid: Pid(4242), tid: Tid(4243) };
const NAMES: [&str; 18] = [
    "AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "R8", "R9", "R10", "R11", "R12",
    "R13", "R14", "R15",
];

fn sampling() -> Attr {
    let mut attr = Attr { kind: EventType::SOFTWARE, config: 2, ..Attr::default() };
    attr.sample_period = 1;
    attr.sample_type = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU
        | SampleType::PERIOD
        | SampleType::REGS_INTR;
    attr.sample_regs_intr = GENERAL;
    attr.flags = AttrFlags::SAMPLE_ID_ALL;
    assert_eq!(attr.sampling(), SamplingRate::Period(1));
    attr
}

fn side() -> Attr {
    let mut attr = Attr { kind: EventType::SOFTWARE, config: 9, ..Attr::default() };
    attr.sample_type = SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME;
    attr.flags = AttrFlags::SAMPLE_ID_ALL | AttrFlags::MMAP | AttrFlags::COMM | AttrFlags::TASK;
    attr
}

fn preamble() -> Vec<u8> {
    let mut out = Vec::new();
    write::file_header(ORDER, &mut out);
    write::attr(&sampling(), &[SAMPLING_ID, SAMPLING_ID + 1], ORDER, &mut out).unwrap();
    write::attr(&side(), &[SIDE_ID], ORDER, &mut out).unwrap();
    let names = [(&sampling(), [SAMPLING_ID], "page_fault"), (&side(), [SIDE_ID], "side")];
    let names = names.map(|(attr, ids, name)| EventName::new(attr, &ids, name, ORDER).unwrap());
    let cache = CacheDescription {
        level: 1,
        line_size: 64,
        sets: 64,
        ways: 8,
        kind: "Data".into(),
        size: "32K".into(),
        cpus: "0-1".into(),
    };
    let features = [
        Feature::Hostname("here".into()),
        Feature::OsRelease("6.1.0".into()),
        Feature::Version("hardmeter".into()),
        Feature::Arch("x86_64".into()),
        Feature::NrCpus { available: 4, online: 2 },
        Feature::CpuDescription("a model".into()),
        Feature::CpuId("GenuineIntel,6,158,10".into()),
        Feature::TotalMemory(4096),
        Feature::CommandLine(vec!["ebs".into(), "-t".into(), "page_fault".into()]),
        Feature::EventDescriptions(names.to_vec()),
        Feature::Caches(vec![cache]),
    ];
    for feature in features {
        write::feature(&feature, ORDER, &mut out).unwrap();
    }
    write::event_name(SAMPLING_ID, "page_fault", ORDER, &mut out).unwrap();
    write::event_name(SIDE_ID, "side", ORDER, &mut out).unwrap();
    let long = "x".repeat(500);
    let promises = format!("source=kernel-software;pad={long}");
    write::event_unit(SAMPLING_ID, &promises, ORDER, &mut out).unwrap();
    out
}

fn put_side(record: &SidebandRecord<'_>, time: u64, out: &mut Vec<u8>) {
    let misc = Misc(if matches!(record, SidebandRecord::Mmap(_)) { 1 } else { 2 });
    let layout = SampleLayout::new(&side(), ORDER).unwrap();
    let id = SampleId {
        task: Some(TASK),
        time: Some(Time(time)),
        identifier: Some(SIDE_ID),
        ..SampleId::default()
    };
    let mut trailer = Vec::new();
    layout.encode_trailer(&id, &mut trailer).unwrap();
    record.encode(misc, &trailer, ORDER, out).unwrap();
}

fn put_sample(id: u64, number: u64, out: &mut Vec<u8>) {
    let words: Vec<u8> = (0..18u64).flat_map(|at| (number << 8 | at).to_le_bytes()).collect();
    let sample = Sample {
        misc: Misc(2),
        identifier: Some(id),
        ip: Some(0x40_1000 + number),
        task: Some(TASK),
        time: Some(Time(5_000_000_000 + number * 1_000)),
        addr: Some(0x7f00_0000_0000 + number * 4096),
        cpu: Some(Cpu(1)),
        period: Some(number + 1),
        regs_intr: Some(Registers {
            abi: RegsAbi::Bits64,
            mask: GENERAL,
            words: RecordWords::new(&words, ORDER),
        }),
        ..Sample::default()
    };
    SampleLayout::new(&sampling(), ORDER).unwrap().encode(&sample, out).unwrap();
}

/// Where the kernel's text is: without it perf report warns.
fn put_kernel(out: &mut Vec<u8>) {
    let mapping = Mapping {
        task: Task { pid: Pid(-1), tid: Tid(0) },
        start: 0xffff_ffff_8100_0000,
        length: 0x100_0000,
        page_offset: 0xffff_ffff_8100_0000,
        file: FileIdentity::Unknown,
        protection: None,
        flags: None,
        path: b"[kernel.kallsyms]_text",
    };
    put_side(&SidebandRecord::Mmap(mapping), 0, out);
}

/// A stream with two samples and what a recorder writes around them.
fn stream() -> Vec<u8> {
    let mut out = preamble();
    put_kernel(&mut out);
    put_side(&SidebandRecord::Comm { task: TASK, name: b"faulty" }, 4_000_000_000, &mut out);
    let mapping = Mapping {
        task: TASK,
        start: 0x40_0000,
        length: 0x10_0000,
        page_offset: 0,
        file: FileIdentity::BuildId(&[7; 20]),
        protection: Some(5),
        flags: Some(2),
        path: b"/nowhere/faulty",
    };
    put_side(&SidebandRecord::Mmap2(mapping), 4_000_000_001, &mut out);
    write::finished_init(ORDER, &mut out);
    // The second is older: perf sorts within rounds.
    put_sample(SAMPLING_ID, 1, &mut out);
    put_sample(SAMPLING_ID, 0, &mut out);
    write::finished_round(ORDER, &mut out);
    write::event_unit(SAMPLING_ID, "kernel=2;delivered=2", ORDER, &mut out).unwrap();
    out
}

/// None, and the reason printed, where perf is not installed.
fn perf(arguments: &[&str], stream: &[u8], name: &str) -> Option<(String, String)> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    std::fs::write(&path, stream).unwrap();
    let mut command = Command::new("perf");
    command.arg(arguments[0]).arg("-i").arg(&path).args(&arguments[1..]).env("PAGER", "cat");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: perf cannot be started: {error}");
            return None;
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    assert!(output.status.success(), "{}", text(output.stderr));
    // perf ends a report with one of its tips, whichever.
    let is_tip = |line: &&str| line.starts_with("# (Tip: ");
    let told = text(output.stdout);
    let told = told.split_inclusive('\n').filter(|line| !is_tip(line)).collect();
    Some((told, text(output.stderr)))
}

fn squeezed(text: &str) -> Vec<String> {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(squeeze).filter(|line| !line.is_empty()).collect()
}

#[test]
fn perf_script_prints_every_field() {
    let fields = ["script", "-F", "comm,pid,tid,cpu,time,event,period,ip,addr,iregs"];
    let Some((out, err)) = perf(&fields, &stream(), "fields.data") else { return };
    let expected: Vec<_> = (0..2u64)
        .map(|number| {
            let registers: Vec<_> = NAMES
                .iter()
                .zip(0u64..)
                .map(|(name, at)| format!("{name}:{:#x}", number << 8 | at))
                .collect();
            format!(
                "faulty 4242/4243 [001] 5.00000{number}: {} page_fault: {:x} {:x} ABI:2 {}",
                number + 1,
                0x7f00_0000_0000u64 + number * 4096,
                0x40_1000 + number,
                registers.join(" ")
            )
        })
        .collect();
    assert_eq!(squeezed(&out), expected);
    assert_eq!(err, "");
}

#[test]
fn perf_report_counts_periods_and_ignores_notes() {
    let arguments = ["report", "--stdio", "--sort", "comm,dso", "-F", "+period"];
    let Some((out, err)) = perf(&arguments, &stream(), "report.data") else { return };
    let lines = squeezed(&out);
    assert!(lines.iter().any(|line| line.contains("of event 'page_fault'")), "{out}");
    assert!(lines.iter().any(|line| line == "100.00% 3 faulty faulty"), "{out}");
    assert_eq!(err, "");
}

/// 200 sites, several records of them.
fn aggregate() -> Aggregate {
    let register = |number| RegisterBits { number, bits: Bits { all: 8, any: 0x7f18 } };
    let hit = SampledHit {
        time: Time(5_000_000_000),
        pid: TASK.pid,
        tid: TASK.tid,
        cpu: Cpu(1),
        address: 0x7000,
        period: 1,
        weight: 0,
        data_src: 0,
        registers: vec![0x18; 16],
    };
    let site = |ip| Site {
        process: Some(TASK.pid),
        pids: Bits::of(u64::from(TASK.pid.0.cast_unsigned())),
        ip,
        mode: CpuMode::User,
        count: 7,
        period: 7,
        first: Time(5_000_000_000),
        last: Time(5_000_000_001),
        address: Some(Range::of(0x7000)),
        registers: (0..16).map(register).collect(),
        taken: vec![hit.clone(); 4],
        strides: None,
        chain: None,
    };
    let sites = (0x40_1000..0x40_10c8).map(site).collect();
    let (from, to) = (Time(4_000_000_000), Time(6_000_000_000));
    Aggregate { from, to, sites, lost: vec![("no_room".to_owned(), 3)] }
}

#[test]
fn perf_passes_over_aggregates() {
    let mut bytes = stream();
    let notes_start = bytes.len();
    for _ in 0..3 {
        write::aggregate(SAMPLING_ID, aggregate(), ORDER, &mut bytes).unwrap();
        write::finished_round(ORDER, &mut bytes);
    }
    assert!(bytes.len() - notes_start > 3 * 2 * 65_536, "several records each");
    let report = ["report", "--stdio", "--sort", "comm,dso", "-F", "+period"];
    for words in [report.as_slice(), &["script", "-F", "comm,pid,time,event,period,ip,addr"]] {
        let Some(without) = perf(words, &stream(), "without.data") else { return };
        let with = perf(words, &bytes, "with.data").unwrap();
        assert_eq!(with, without, "{words:?}");
    }

    // Nothing but what the kernel counted: no samples, and no complaint about bytes.
    let mut alone = preamble();
    put_kernel(&mut alone);
    write::aggregate(SAMPLING_ID, aggregate(), ORDER, &mut alone).unwrap();
    write::finished_round(ORDER, &mut alone);
    let (out, err) = perf(&["script"], &alone, "alone.data").unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("", ""));
}

#[test]
fn perf_prints_the_features() {
    let arguments = ["script", "--header", "-I", "-F", "ip"];
    let Some((out, err)) = perf(&arguments, &stream(), "features.data") else { return };
    for line in [
        "# hostname : here",
        "# os release : 6.1.0",
        "# perf version : hardmeter",
        "# arch : x86_64",
        "# nrcpus online : 2",
        "# nrcpus avail : 4",
        "# cpudesc : a model",
        "# cpuid : GenuineIntel,6,158,10",
        "# total memory : 4096 kB",
        "# cmdline : ebs -t page_fault",
        "# L1 Data 32K [0-1]",
    ] {
        assert!(squeezed(&out).iter().any(|found| found == line), "{line} is missing:\n{out}");
    }
    assert_eq!(err, "");
}

#[test]
fn perf_shows_samples_of_an_event_in_two_records() {
    let mut out = Vec::new();
    write::file_header(ORDER, &mut out);
    let ids: Vec<u64> = (SAMPLING_ID - 8_000..=SAMPLING_ID).collect();
    for ids in ids.chunks(write::IDS_A_RECORD) {
        write::attr(&sampling(), ids, ORDER, &mut out).unwrap();
        write::event_name(ids[0], "page_fault", ORDER, &mut out).unwrap();
    }
    for id in [ids[0], SAMPLING_ID] {
        put_sample(id, 0, &mut out);
    }
    write::finished_round(ORDER, &mut out);
    let Some((text, err)) = perf(&["script", "-F", "event,ip"], &out, "ids.data") else { return };
    assert_eq!(squeezed(&text), ["page_fault: 401000", "page_fault: 401000"]);
    assert_eq!(err, "");
}

#[test]
fn records_of_65528_bytes_pass() {
    let mut out = stream();
    let path = vec![b'p'; 65_528 - 8 - 64 - 8 - 24];
    let mapping = Mapping {
        task: TASK,
        start: 0x80_0000,
        length: 0x1000,
        page_offset: 0,
        file: FileIdentity::Unknown,
        protection: Some(5),
        flags: Some(2),
        path: &path,
    };
    let before = out.len();
    put_side(&SidebandRecord::Mmap2(mapping), 6_000_000_000, &mut out);
    assert_eq!(out.len() - before, 65_528);
    put_sample(SAMPLING_ID, 2, &mut out);
    write::finished_round(ORDER, &mut out);
    let Some((text, _)) = perf(&["script", "-F", "ip"], &out, "long.data") else { return };
    assert_eq!(squeezed(&text), ["401000", "401001", "401002"]);
}
