//! Which samples are meant: classes of instructions, IBS registers, data
//! sources.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report_with;
use analysis::{Query, Report, table};
use perfdata::attr::EventType;
use perfdata::stream::Feature;
use perfdata::{Attr, AttrFlags, InstructionClass, Misc, SampleType};
use symbolizer::{KernelSource, Symbolizer, SymbolizerOptions};

const TEXT: u64 = 0x40_0000;
/// Bytes between two instructions.
const STEP: usize = 16;
const EXACT: Misc = Misc(2 | 1 << 14);

/// Instructions, [`STEP`] bytes apart.
const CODE: [(&str, &[u8]); 10] = [
    ("addps (%rax),%xmm0", &[0x0f, 0x58, 0x00]),
    ("mulpd (%rax),%xmm0", &[0x66, 0x0f, 0x59, 0x00]),
    ("movaps %xmm0,(%rax)", &[0x0f, 0x29, 0x00]),
    ("fldl (%rax)", &[0xdd, 0x00]),
    ("fadds (%rax)", &[0xd8, 0x00]),
    ("mov %ecx,(%rax)", &[0x89, 0x08]),
    ("paddd (%rax),%mm0", &[0x0f, 0xfe, 0x00]),
    ("mov 8(%rbx,%rcx,4),%rax", &[0x48, 0x8b, 0x44, 0x8b, 0x08]),
    ("mov (%rax),%rax", &[0x48, 0x8b, 0x00]),
    ("add %r16,%rax (APX)", &[0xd5, 0x48, 0x01, 0xc0]),
];

fn at(name: &str) -> u64 {
    let index = CODE.iter().position(|(known, _)| known.starts_with(name)).unwrap();
    TEXT + (index * STEP) as u64
}

/// An x86-64 program of the code, as small as one can be.
fn program() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // ET_EXEC, EM_X86_64; entry, program headers at 64, no sections.
    let words: [u64; 13] = [
        1 << 32 | 62 << 16 | 2,
        TEXT,
        64,
        0,
        56 << 48 | 64 << 32,
        1,
        5 << 32 | 1,
        0x1000,
        TEXT,
        TEXT,
        (CODE.len() * STEP) as u64,
        (CODE.len() * STEP) as u64,
        0x1000,
    ];
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    file.resize(0x1000, 0);
    for (_, bytes) in CODE {
        file.extend_from_slice(bytes);
        file.resize(file.len().next_multiple_of(STEP), 0x90);
    }
    file
}

/// Counts a stream of a process that runs the program, which maps it from
/// offset 0 on.
fn count(query: Query, recording: &Recording) -> Result<Report, analysis::Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program"), program()).unwrap();
    let (root, kernel) = (folder.path().to_owned(), KernelSource::None);
    let options = SymbolizerOptions { root, kernel, ..SymbolizerOptions::default() };
    report_with(Symbolizer::new(options), query, &recording.bytes)
}

fn recording(events: &[(Attr, &str)], notes: &[&str]) -> Recording {
    let mut recording = Recording::new(events);
    for (event, text) in (0..).zip(notes) {
        recording.note(event, text);
    }
    recording.map(task(7, 7), 0, TEXT - 0x1000..TEXT + 0x1000, "/program");
    recording.map(task(7, 7), 0, 0x7000_0000..0x7000_1000, "//anon");
    recording
}

fn of(class: InstructionClass) -> Query {
    Query { class: Some(class), ..Query::default() }
}

/// Instruction number n is hit n + 1 times.
fn each_often(recording: &mut Recording, misc: Misc) {
    let mut time = 0;
    for (index, (name, _)) in CODE.iter().enumerate() {
        for _ in 0..=index {
            time += 1;
            recording.hit(&Hit::new(misc, at(name), task(7, 7), time));
        }
    }
}

#[test]
fn a_class_counts_its_instructions_and_no_others() {
    let mut recording = recording(&[(page_faults(usual_fields()), "page_fault")], &[]);
    each_often(&mut recording, USER);
    recording.round();
    for (class, instructions) in [
        (InstructionClass::PackedSp, vec!["addps"]),
        (InstructionClass::PackedDp, vec!["mulpd"]),
        (InstructionClass::ScalarSp, vec![]),
        (InstructionClass::Mmx64, vec!["paddd"]),
        (InstructionClass::Mmx128, vec![]),
        (InstructionClass::X87, vec!["fadds"]),
        (InstructionClass::X87SimdMoves, vec!["movaps", "fldl"]),
        (InstructionClass::WritesMemory, vec!["movaps", "mov %ecx"]),
        (
            InstructionClass::ReadsMemory,
            vec!["addps", "mulpd", "fldl", "fadds", "paddd", "mov 8", "mov (%rax)"],
        ),
    ] {
        let report = count(of(class), &recording).unwrap();
        let event = &report.events[0];
        let times = |name: &&str| (at(name) - TEXT) / STEP as u64 + 1;
        let kept: u64 = instructions.iter().map(times).sum();
        assert_eq!((event.totals.samples, event.totals.counted), (55, kept), "{class}");
        assert_eq!(event.totals.others, 45 - kept, "{class}");
        // The last one is no instruction that is known here.
        let sieved = event.filter.as_ref().unwrap();
        assert_eq!((sieved.sampled, sieved.kept, sieved.undecided.len()), (55, kept, 1));
        assert!((sieved.share - kept as f64 / 45.0).abs() < 1e-9);
        assert_eq!(event.totals.undecided, 10);
        let mut rows: Vec<_> = event.rows.iter().map(|row| row.count).collect();
        rows.sort_unstable();
        let mut expected: Vec<_> = instructions.iter().map(times).collect();
        expected.sort_unstable();
        assert_eq!(rows, expected, "{class}");
    }
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let mut recording = recording(&[(page_faults(usual_fields()), "page_fault")], &[]);
    for (misc, ip, pid) in [
        (USER, at("addps"), 7),
        (USER, at("mulpd"), 7),
        (USER, 0x7000_0010, 7),
        (USER, 0x9000_0000, 7),
        (USER, at("addps"), 8),
        (KERNEL, 0xffff_ffff_8100_0000, 7),
    ] {
        recording.hit(&Hit::new(misc, ip, task(pid, pid), 5));
    }
    let report = count(of(InstructionClass::PackedSp), &recording).unwrap();
    assert_eq!(report.query.class.as_deref(), Some("packed_sp"));
    let totals = &report.events[0].totals;
    assert_eq!((totals.samples, totals.counted, totals.others, totals.undecided), (6, 1, 1, 4));
    let sieved = report.events[0].filter.as_ref().unwrap();
    assert!((sieved.share - 0.5).abs() < 1e-9, "{sieved:?}");
    assert_eq!(sieved.undecided.values().sum::<u64>(), 4);
    let reasons: Vec<_> = sieved.undecided.keys().map(String::as_str).collect();
    for reason in
        ["processes that have ended", "not mapped", "no mappings of this process", "not asked for"]
    {
        assert!(reasons.iter().any(|it| it.contains(reason)), "{reason}: {reasons:#?}");
    }
    let text = table::render(&report, table::Style::default());
    assert!(
        text.contains("# only class:packed_sp: 1 of 6 samples (50.00%), 4 undecided\n"),
        "{text}"
    );
    assert!(text.contains("#   1 undecided: no mappings of this process are known\n"), "{text}");
}

fn ibs_event() -> Attr {
    Attr {
        kind: EventType(11),
        config: 1 << 19,
        sample_period: 160,
        ..page_faults(usual_fields() | SampleType::RAW)
    }
}

/// Registers of an op with this IBS_OP_DATA3.
fn raw(data3: u64) -> Vec<u8> {
    let registers: [u64; 8] = [1 << 18, 0, 0, 3, data3, 0, 0, 0];
    let words = registers.iter().flat_map(|register| register.to_le_bytes());
    0x3ff_u32.to_le_bytes().into_iter().chain(words).collect()
}

const KEPT: (u64, u64, u64) = (1, 0, 0);
const OTHER: (u64, u64, u64) = (0, 1, 0);
const OPEN: (u64, u64, u64) = (0, 0, 1);
const LOAD: u64 = 1;
const DC_MISS: u64 = 1 << 7;
const L2_MISS: u64 = 1 << 20;
const PREFETCH: u64 = 1 << 21;

#[test]
fn the_filter_of_the_stream_is_followed() {
    let note = "source=ibs;ip=exact;addr=data;regs=interrupt-time;weight=none;\
                filter=ibs:ld_op+ibs:dc_miss+ibs:l2_miss";
    let mut recording = recording(&[(ibs_event(), "l2_cache_miss")], &[note]);
    recording.feature(&Feature::CpuId("AuthenticAMD,25,1,1".into()));
    for (data3, times) in [
        (LOAD | DC_MISS | L2_MISS, 3),
        (LOAD | DC_MISS, 5),
        (LOAD, 7),
        (2 | DC_MISS | L2_MISS, 11),
        // Zen 3 does not tell L2 misses of these; that one hit L1 it does.
        (LOAD | DC_MISS | PREFETCH, 13),
        (LOAD | PREFETCH, 17),
    ] {
        for time in 0..times {
            let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), time);
            hit.raw = raw(data3);
            recording.hit(&hit);
        }
    }
    let mut bare = Hit::new(EXACT, at("addps"), task(7, 7), 50);
    bare.raw = vec![0; 4];
    recording.hit(&bare);
    recording.note(0, "events=9120;kernel=57;delivered=57;lost.ring=0;unaccounted=0;seconds=1.0");
    let query = Query { registers: Some(analysis::RegisterQuery::default()), ..Query::default() };
    let report = count(query, &recording).unwrap();
    let totals = &report.events[0].totals;
    assert_eq!((totals.samples, totals.counted), (57, 3));
    assert_eq!((totals.others, totals.undecided), (5 + 7 + 11 + 17, 14));
    let sieved = report.events[0].filter.as_ref().unwrap();
    assert_eq!(sieved.events, Some(9120));
    // 3 of the 43 that could be told, of 9120
    assert_eq!(sieved.estimate, Some(636));
    assert_eq!(
        sieved.undecided.iter().map(|(why, count)| (why.as_str(), *count)).collect::<Vec<_>>(),
        [
            ("ops of which this CPU does not tell it (IBS erratum 1293)", 13),
            ("records whose raw data are no IBS registers", 1),
        ]
    );
    assert!(
        report.notes.iter().any(|note| note.contains("belong to a later instruction")),
        "{:?}",
        report.notes
    );
    let text = table::render(&report, table::Style::default());
    let line = "# only ibs:ld_op+ibs:dc_miss+ibs:l2_miss: 3 of 57 samples (6.98%), 14 undecided; \
                at most 636 of 9120 events counted\n#   IBS counts the kernel's way out";
    assert!(text.contains(line), "{text}");
}

/// Some hundreds of ops of each interval are the kernel's, on its way back
/// from the interrupt.
#[test]
fn an_estimate_from_short_intervals_of_ibs_is_a_bound() {
    let told = |interval: u64, source: &str| {
        let attr = Attr { sample_period: interval, ..ibs_event() };
        let note = format!("source={source};filter=ibs:ld_op");
        let mut recording = recording(&[(attr, "loads")], &[&note]);
        recording.note(0, "events=480000;delivered=1");
        let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), 5);
        hit.raw = raw(LOAD);
        recording.hit(&hit);
        let report = count(Query::default(), &recording).unwrap();
        let is_bound = report.events[0].filter.as_ref().unwrap().is_bound;
        (is_bound, table::render(&report, table::Style::default()))
    };
    let (is_bound, text) = told(1008, "ibs");
    assert!(is_bound && text.contains("; at most 480000 of 480000 events counted"), "{text}");
    assert!(text.contains("-i 100000 or more"), "{text}");
    for (interval, source) in [(100_000, "ibs"), (1008, "emulated")] {
        let (is_bound, text) = told(interval, source);
        assert!(!is_bound && text.contains("; about 480000 of 480000 events counted"), "{text}");
        assert!(!text.contains("way out"), "{text}");
    }
}

/// The kernel counts ops, then leaves out samples of the other mode (swfilt);
/// CPUs leave out ops before they are sampled (l3missonly, ldlat).
#[test]
fn ops_that_ibs_leaves_out_are_not_estimated() {
    let estimate = |attr: Attr| {
        let mut recording = recording(&[(attr, "loads")], &["source=ibs;filter=ibs:ld_op"]);
        let ledger = "events=8000;delivered=4;lost.ring=3;lost.count=2;lost.sink=1;lost.side=9";
        recording.note(0, ledger);
        for data3 in [LOAD, 0, 0, 0] {
            let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), 5);
            hit.raw = raw(data3);
            recording.hit(&hit);
        }
        let sieved = count(Query::default(), &recording).unwrap().events.remove(0).filter.unwrap();
        (sieved.events, sieved.estimate)
    };
    let with = |config, config1, mode| {
        let event = ibs_event();
        let (config, flags) = (event.config | config, event.flags | mode);
        estimate(Attr { config, config1, config2: u64::from(!mode.is_empty()), flags, ..event })
    };
    assert_eq!(with(0, 0, AttrFlags::empty()), (Some(8000), Some(2000)));
    // Ten samples were made, one in 160 ops of that mode.
    for mode in [AttrFlags::EXCLUDE_KERNEL, AttrFlags::EXCLUDE_USER] {
        assert_eq!(with(0, 0, mode), (Some(1600), Some(400)), "{mode:?}");
    }
    assert_eq!(with(1 << 16, 0, AttrFlags::empty()), (None, None));
    assert_eq!(with(0, 128, AttrFlags::EXCLUDE_KERNEL), (None, None));
}

/// What cannot be decoded was not judged: nothing is known to be meant.
#[test]
fn records_that_are_cut_off_are_not_kept() {
    let mut fields = usual_fields() | SampleType::RAW;
    fields.remove(SampleType::REGS_INTR);
    let attr = Attr { sample_regs_intr: 0, sample_type: fields, ..ibs_event() };
    let mut recording = recording(&[(attr, "loads")], &["source=ibs;filter=ibs:ld_op"]);
    recording.note(0, "events=480;kernel=3;delivered=3");
    for data3 in [LOAD, 0] {
        let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), 5);
        hit.raw = raw(data3);
        recording.hit(&hit);
    }
    let whole = recording.bytes.len();
    let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), 6);
    hit.raw = raw(LOAD);
    recording.hit(&hit);
    // The last record loses its last eight bytes.
    let size = u16::try_from(recording.bytes.len() - whole - 8).unwrap();
    recording.bytes[whole + 6..whole + 8].copy_from_slice(&size.to_le_bytes());
    recording.bytes.truncate(whole + usize::from(size));
    let event = count(Query::default(), &recording).unwrap().events.remove(0);
    let totals = &event.totals;
    assert_eq!((totals.samples, totals.counted, totals.others), (3, 1, 1));
    assert_eq!((totals.undecided, totals.malformed), (0, 1));
    let sieved = event.filter.as_ref().unwrap();
    assert!((sieved.share - 0.5).abs() < 1e-9, "{sieved:?}");
    assert_eq!(sieved.estimate, Some(240));
}

/// A hybrid CPU may sample instructions on one kind of core and the meant
/// ones on the other: each share is of its own count.
#[test]
fn each_event_of_a_request_is_estimated_by_itself() {
    let event = |period| Attr {
        kind: EventType::RAW,
        config: 0xc0,
        sample_period: period,
        ..page_faults(usual_fields())
    };
    let core = "source=pebs;ip=exact;filter=class:packed_sp";
    let estimate = |hits: &[(usize, &str)], ledgers: [&str; 2]| {
        let names = ["cpu_core/packed_sp_retired/", "cpu_atom/packed_sp_retired/"];
        let events = [(event(1000), names[0]), (event(10), names[1])];
        let mut recording = recording(&events, &[core, "source=pebs;ip=exact"]);
        for (event, name) in hits {
            let mut hit = Hit::new(EXACT, at(name), task(7, 7), 5);
            hit.event = *event;
            recording.hit(&hit);
        }
        for (event, ledger) in (0..).zip(ledgers) {
            recording.note(event, &format!("{ledger};delivered=1"));
        }
        let report = count(Query::default(), &recording).unwrap();
        assert_eq!(report.events.len(), 1);
        let sieved = report.events[0].filter.clone().unwrap();
        (sieved.events, sieved.estimate)
    };
    let hits = [(0, "addps"), (0, "mulpd"), (0, "mulpd"), (0, "mulpd"), (1, "addps"), (1, "addps")];
    // A quarter of 4000, and all of 25
    assert_eq!(estimate(&hits, ["events=4000", "events=25"]), (Some(4025), Some(1025)));
    // One kind of core ran for less than an interval.
    assert_eq!(estimate(&hits[4..], ["events=999", "events=25"]), (Some(1024), Some(25)));
    assert_eq!(estimate(&hits[..4], ["events=4000", "events=9"]), (Some(4009), Some(1009)));
    // Its samples were lost: nothing tells what they were of.
    assert_eq!(estimate(&hits[4..], ["events=9000", "events=25"]), (Some(9025), None));
    // Records are no events.
    assert_eq!(estimate(&hits, ["kernel=4", "kernel=2"]), (None, None));
}

/// The instruction decides when the registers leave it open, if it can.
#[test]
fn doubts_about_fields_and_classes_meet() {
    let note = "source=ibs;ip=exact;filter=ibs:ld_op+class:packed_sp";
    let mut recording = recording(&[(ibs_event(), "packed")], &[note]);
    for (misc, name, raw) in [
        (EXACT, "addps", raw(LOAD)),
        (EXACT, "addps", raw(0)),
        (EXACT, "mulpd", raw(LOAD)),
        (EXACT, "addps", vec![0; 4]),
        (EXACT, "mulpd", vec![0; 4]),
        (USER, "addps", raw(LOAD)),
        (USER, "addps", raw(0)),
    ] {
        let mut hit = Hit::new(misc, at(name), task(7, 7), 5);
        hit.raw = raw;
        recording.hit(&hit);
    }
    let report = count(Query::default(), &recording).unwrap();
    let totals = &report.events[0].totals;
    assert_eq!((totals.counted, totals.others, totals.undecided), (1, 4, 2));
    let sieved = report.events[0].filter.as_ref().unwrap();
    assert!(sieved.undecided.keys().any(|why| why.contains("is not exact")), "{sieved:?}");
}

#[test]
fn a_filter_of_a_newer_recorder_is_refused() {
    let recording = recording(
        &[(page_faults(usual_fields()), "page_fault")],
        &["source=kernel-software;filter=class:packed_hp"],
    );
    let error = count(Query::default(), &recording).unwrap_err().to_string();
    assert!(error.starts_with("page_fault: filter term `class:packed_hp`"), "{error}");
}

#[test]
fn classes_of_other_machines_are_refused() {
    let mut recording = recording(&[(page_faults(usual_fields()), "page_fault")], &[]);
    recording.feature(&Feature::Arch("aarch64".into()));
    let error = count(of(InstructionClass::X87), &recording).unwrap_err().to_string();
    assert_eq!(
        error,
        "page_fault: class:x87 needs the instructions of aarch64 to be decoded; only those of \
         x86 are"
    );
    assert!(count(Query::default(), &recording).is_ok());
}

#[test]
fn data_sources_are_asked_too() {
    let attr = Attr {
        kind: EventType::RAW,
        config: 0x1cd,
        ..page_faults(usual_fields() | SampleType::DATA_SRC)
    };
    let mut recording = recording(&[(attr, "hitm")], &["source=pebs;filter=src:hitm+mode:user"]);
    let l3 = 1 << 1 | 1 << 11 | 3 << 33;
    for (misc, data_src) in
        [(USER, l3 | 1 << 23), (USER, l3 | 1 << 21), (KERNEL, l3 | 1 << 23), (USER, 0)]
    {
        let mut hit = Hit::new(misc, at("addps"), task(7, 7), 5);
        hit.data_src = data_src;
        recording.hit(&hit);
    }
    let totals = count(Query::default(), &recording).unwrap().events.remove(0).totals;
    assert_eq!((totals.counted, totals.others, totals.undecided), (1, 2, 1));
}

/// The kernel's word for another complex of the node is the one for another
/// core under the same L3 cache: the registers tell them apart.
#[test]
fn registers_say_more_than_the_data_source() {
    let fields = usual_fields() | SampleType::RAW | SampleType::DATA_SRC;
    let attr = Attr { sample_type: fields, ..ibs_event() };
    let judged = |caps: u32, source: u64, data_src: u64| {
        let event = [(attr.clone(), "l3_cache_miss")];
        let mut recording = recording(&event, &["source=ibs;filter=ibs:ld_op+src:l3_miss"]);
        let mut hit = Hit::new(EXACT, at("addps"), task(7, 7), 5);
        hit.raw = raw(LOAD | DC_MISS | L2_MISS);
        hit.raw[..4].copy_from_slice(&caps.to_le_bytes());
        hit.raw[28..36].copy_from_slice(&source.to_le_bytes());
        hit.data_src = 1 << 1 | data_src;
        recording.hit(&hit);
        let totals = count(Query::default(), &recording).unwrap().events.remove(0).totals;
        (totals.counted, totals.others, totals.undecided)
    };
    // Zen 4 and Zen 2, as perf_ibs_get_mem_lvl() fills the word.
    assert_eq!(judged(0xbff, 2, 0x836_0000_8040), KEPT);
    assert_eq!(judged(0xbff, 1, 0x6_0000_0840), OTHER);
    assert_eq!(judged(0x3ff, 2, 0x816_0000_8840), OTHER);
    assert_eq!(judged(0x3ff, 3, 0x1a_0000_1040), KEPT);
}

/// Split loads by the sampled address, else by registers that still hold
/// what the instruction used.
#[test]
fn split_loads_need_to_know_where_the_data_lies() {
    let pebs = |fields| Attr { kind: EventType::RAW, config: 0xc0, ..page_faults(fields) };
    let after = "source=pebs;regs=after-retirement;addr=none;ip=exact;filter=class:split_load";
    let before = "source=pebs;regs=before-instruction;addr=none;filter=class:split_load";
    let address = "source=pebs;regs=after-retirement;addr=data;filter=class:split_load";
    let judged = |note: &str, name: &str, addr: u64, registers: &[(usize, u64)]| {
        let mut recording = recording(&[(pebs(usual_fields()), "split")], &[note]);
        let mut hit = Hit::new(EXACT, at(name), task(7, 7), 5);
        hit.addr = addr;
        for (index, value) in registers {
            hit.registers[*index] = *value;
        }
        recording.hit(&hit);
        let totals = count(Query::default(), &recording).unwrap().events.remove(0).totals;
        (totals.counted, totals.others, totals.undecided)
    };
    // rbx is word 1 and rcx word 2: 0x1000 + 4 * 13 + 8 = 0x103c
    assert_eq!(judged(after, "mov 8", 0, &[(1, 0x1000), (2, 13)]), KEPT);
    assert_eq!(judged(after, "mov 8", 0, &[(1, 0x1000), (2, 12)]), OTHER);
    // The load has overwritten its own base.
    assert_eq!(judged(after, "mov (%rax)", 0, &[(0, 0x103c)]), OPEN);
    assert_eq!(judged(before, "mov (%rax)", 0, &[(0, 0x103c)]), KEPT);
    assert_eq!(judged(address, "mov (%rax)", 0x103c, &[]), KEPT);
    assert_eq!(judged(address, "mov (%rax)", 0x1038, &[]), OTHER);
    // 16 bytes
    assert_eq!(judged(address, "addps", 0x1031, &[]), KEPT);
    assert_eq!(judged(address, "addps", 0x1030, &[]), OTHER);
    // Stores are no loads.
    assert_eq!(judged(address, "mov %ecx", 0x103f, &[]), OTHER);
}
