//! A small recording as a user sees it.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Error, Glob, Key, Query, RegisterQuery, Sort, Weighting, csv, json, table};
use perfdata::attr::EventType;
use perfdata::stream::{CacheDescription, Feature};
use perfdata::{Attr, AttrFlags, Misc, SampleType, SidebandRecord};
use std::io::ErrorKind;

const COPY: u64 = 0xffff_ffff_8100_1010;

/// Two processes, three rounds, a throttle, a lost record, a ledger.
fn recording() -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.feature(&Feature::Hostname("box".into()));
    stream.feature(&Feature::OsRelease("6.1.0".into()));
    stream.feature(&Feature::CommandLine(vec!["ebs".into(), "-t".into(), "page_fault".into()]));
    stream.feature(&Feature::Caches(vec![CacheDescription {
        level: 1,
        line_size: 128,
        kind: "Data".into(),
        ..CacheDescription::default()
    }]));
    stream.note(0, "source=kernel-software;ip=exact;addr=fault;regs=interrupt");
    let (make, cc) = (task(100, 100), task(200, 201));
    stream.comm(make, 1, "make", true);
    stream.comm(cc, 1, "cc1", true);
    stream.map(cc, 2, 0x7000_0000..0x7000_1000, "//anon");
    let registers: Vec<u64> = (0..18).map(|number| number * 0x1_0000).collect();
    let mut at = |misc: Misc, ip, task, time, addr| {
        let mut registers = registers.clone();
        registers[1] += time / 14;
        stream.hit(&Hit { addr, registers, ..Hit::new(misc, ip, task, time) });
    };
    let exact = Misc(KERNEL.0 | Misc::EXACT_IP.0);
    for fault in 0..5 {
        at(exact, COPY, make, 10 + fault, 0x5000_0000 + fault * 64);
    }
    at(KERNEL, COPY, cc, 15, 0x5000_1000);
    at(KERNEL, 0xffff_ffff_8100_1100, cc, 16, 0);
    at(USER, 0x7000_0123, cc, 17, 0x7000_0123);
    at(USER, 0x10, cc, 18, 0x10);
    at(USER, 0x4000, make, 19, 0x4000);
    stream.round();
    stream.side(KERNEL, &SidebandRecord::Lost { id: 1, lost: 7 }, cc, 20);
    let throttle = SidebandRecord::Throttle { time: perfdata::Time(21), id: 1, stream_id: 1 };
    stream.side(KERNEL, &throttle, cc, 21);
    stream.round();
    stream.note(0, "kernel=17;delivered=10;lost.ring=7;lost.throttle=0;seconds=1.250");
    stream
}

fn by(keys: &str) -> Query {
    Query { keys: Key::parse_list(keys).unwrap(), ..Query::default() }
}

fn rendered(query: Query) -> String {
    table::render(&report(query, &recording().bytes).unwrap(), table::Style::default())
}

#[test]
fn the_site_table() {
    insta::assert_snapshot!(rendered(Query::default()));
}

#[test]
fn several_keys_cut_to_the_top() {
    insta::assert_snapshot!(rendered(Query { top: Some(3), ..by("comm,routine,line") }));
}

#[test]
fn colours_and_a_width_change_only_looks() {
    let style = table::Style { color: true, width: Some(60), ..table::Style::default() };
    let report = report(Query::default(), &recording().bytes).unwrap();
    insta::assert_snapshot!(table::render(&report, style).replace('\x1b', "ESC"));
}

/// Samples in so many programs that are not there, the last with most.
fn of_programs(count: u64) -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.note(0, "source=kernel-software;ip=causing-instruction;addr=faulting");
    for program in 1..=count {
        let start = 0x10_0000 * program;
        stream.map(
            task(7, 7),
            0,
            start..start + 0x1000,
            &format!("/opt/programs/of/mine/program{program}"),
        );
        for _ in 0..program {
            stream.hit(&Hit::new(USER, start + 0x10, task(7, 7), 1));
        }
    }
    stream
}

#[test]
fn reasons_are_marks_in_columns_and_three_above_unless_all_are_asked_for() {
    let stream = of_programs(6);
    let shown = |keys: &str, reasons| {
        let style = table::Style { reasons, ..table::Style::default() };
        table::render(&report(by(keys), &stream.bytes).unwrap(), style)
    };
    let text = shown("routine", false);
    let folded: Vec<&str> = text.lines().filter(|line| line.starts_with("#   ")).collect();
    assert_eq!(folded.len(), 4, "{text}");
    assert!(folded[0].starts_with("#   6 /opt/programs/of/mine/program6 is not there"), "{text}");
    assert_eq!(folded[3], "#   6 for 3 more reasons; --reasons lists all");
    assert!(text.contains("\n    6  28.57%  [file-gone] program6\n"), "{text}");

    let beside = shown("routine,object", false);
    let row = "\n    6  28.57%  [file-gone]  /opt/programs/of/mine/program6\n";
    assert!(beside.contains(row), "{beside}");

    let all = shown("routine", true);
    assert_eq!(all.lines().filter(|line| line.starts_with("#   ")).count(), 6, "{all}");
    assert!(!all.contains("--reasons"), "{all}");
}

#[test]
fn an_exact_ip_that_the_kernel_tells_is_no_exact_ip_of_a_pmu() {
    let text = table::render(
        &report(Query::default(), &of_programs(1).bytes).unwrap(),
        table::Style::default(),
    );
    let head = "# page_fault, every event: 1 sample, IP exact (the kernel tells the causing instruction)\n";
    assert!(text.contains(head), "{text}");
    let of = |attr: Attr| {
        let mut stream = Recording::new(&[(attr, "event")]);
        stream.hit(&Hit::new(USER, 0x10, task(7, 7), 1));
        let text =
            table::render(&report(Query::default(), &stream.bytes).unwrap(), Default::default());
        text.lines().find(|line| line.starts_with("# event")).unwrap_or_default().to_owned()
    };
    for (kind, config, said) in [
        (EventType::SOFTWARE, 2, "IP exact (the kernel"),
        (EventType::SOFTWARE, 0, "IP timer ("),
        (EventType::TRACEPOINT, 40, "IP place ("),
        (EventType::RAW, 0x8d1, "EXACT_IP on 0.00%"),
    ] {
        let head = of(Attr { kind, config, ..page_faults(usual_fields()) });
        assert!(head.contains(said), "{head}");
    }
}

#[test]
fn registers_of_a_site() {
    let registers =
        RegisterQuery { site: Some("copy_page".parse().unwrap()), ..Default::default() };
    let query = Query { keys: vec![], registers: Some(registers), ..Query::default() };
    insta::assert_snapshot!("registers_table", rendered(query.clone()));
    let report = report(query, &recording().bytes).unwrap();
    insta::assert_snapshot!("registers_csv", csv::render(&report).unwrap());
}

#[test]
fn json_names_every_number() {
    let query = Query { top: Some(4), ..by("site,addr,pid,reg:rbx") };
    insta::assert_snapshot!(json::render(&report(query, &recording().bytes).unwrap()).unwrap());
}

#[test]
fn csv_has_a_column_a_key() {
    let query = by("site,comm,tid,cpu,page");
    insta::assert_snapshot!(csv::render(&report(query, &recording().bytes).unwrap()).unwrap());
}

#[test]
fn a_recording_without_an_end_says_so() {
    let says = |notes: &[&str]| {
        let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
        for note in notes {
            stream.note(0, note);
        }
        let report = report(Query::default(), &stream.bytes).unwrap();
        let text = table::render(&report, Default::default());
        let json = json::render(&report).unwrap();
        let note = report.notes.iter().find(|note| note.contains("has no end"));
        for shown in [text, json] {
            assert_eq!(note.is_some_and(|note| shown.contains(note)), note.is_some(), "{shown}");
        }
        note.is_some()
    };
    let promises = "source=kernel-software;ip=causing";
    assert!(says(&[promises]));
    assert!(!says(&[promises, "events=0;delivered=0;seconds=0.1"]));
    assert!(!says(&[]), "perf promises nothing and keeps no ledger");
}

#[test]
fn what_a_filter_left_out_is_not_lost() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for (misc, lost) in [(Misc(0), 3), (Misc::LOST_SAMPLES_BPF, 500), (Misc::LOST_SAMPLES_BPF, 1)] {
        stream.side(misc, &SidebandRecord::LostSamples { lost }, task(1, 1), 1);
    }
    let report = report(Query::default(), &stream.bytes).unwrap();
    assert_eq!((report.losses.lost_samples, report.losses.filtered_out), (3, 501));
    let text = table::render(&report, Default::default());
    assert!(text.contains("# lost by the records in the stream: 3 samples (LOST_SAMPLES)\n"));
    assert!(text.contains("# left out by the recorder's BPF filter: 501 samples\n"), "{text}");
}

#[test]
fn clocks_count_time() {
    let head = |config, sample_period, kind| {
        let attr = Attr { config, sample_period, kind, ..page_faults(usual_fields()) };
        let stream = Recording::new(&[(attr, "it")]);
        let report = report(Query::default(), &stream.bytes).unwrap();
        table::render(&report, Default::default())
    };
    for (config, period, said) in [
        (0, 1_000_000, "every 1 ms"),
        (1, 250_000, "every 250 us"),
        (1, 1_234_567, "every 1234567 ns"),
        (0, 1, "every 1 ns"),
        (2, 1_000_000, "every 1000000 events"),
        (2, 1, "every event"),
    ] {
        assert_eq!(
            head(config, period, EventType::SOFTWARE),
            format!("# it, {said}: 0 samples\n"),
            "{config}"
        );
    }
    assert_eq!(head(0, 10, EventType::HARDWARE), "# it, every 10 events: 0 samples\n");
}

#[test]
fn a_closed_pipe_stays_one() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    // More than the writer holds back, so that a row fails and no flush.
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for time in 0..1000 {
        stream.hit(&Hit { addr: time, ..Hit::new(KERNEL, COPY, task(1, 1), time) });
    }
    let report = report(by("addr,site"), &stream.bytes).unwrap();
    assert_eq!(
        csv::write(&report, csv::CsvNames::Exact, Closed).unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
    assert_eq!(json::write(&report, Closed).unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn frequency_mode_goes_by_period() {
    let attr = Attr {
        sample_period: 4000,
        flags: page_faults(usual_fields()).flags | AttrFlags::FREQ,
        kind: EventType::HARDWARE,
        config: 0,
        ..page_faults(usual_fields())
    };
    let mut stream = Recording::new(&[(attr, "cycles")]);
    for (ip, periods) in [(COPY, &[1, 1, 11][..]), (COPY + 0x100, &[177_987])] {
        for &period in periods {
            stream.hit(&Hit { period, ..Hit::new(KERNEL, ip, task(1, 1), 5) });
        }
    }
    let render = |query| table::render(&report(query, &stream.bytes).unwrap(), Default::default());
    insta::assert_snapshot!("by_period", render(by("routine")));
    let counted = Query { weighting: Some(Weighting::Count), ..by("routine") };
    insta::assert_snapshot!("by_count", render(counted));
}

#[test]
fn events_have_tables_of_their_own() {
    let fields = usual_fields() - SampleType::ADDR - SampleType::REGS_INTR;
    let dummy = Attr { config: 9, ..page_faults(usual_fields() - SampleType::REGS_INTR) };
    let clock = Attr { config: 1, sample_period: 1_000_000, ..page_faults(fields) };
    let names = [
        (page_faults(usual_fields() - SampleType::REGS_INTR), "page_fault"),
        (dummy, "dummy"),
        (clock, "task_clock"),
    ];
    let mut stream = Recording::new(&names);
    for event in [0, 2, 2] {
        let hit = Hit { event, addr: 0x1234, ..Hit::new(KERNEL, COPY, task(1, 1), 5) };
        stream.hit(&Hit { period: [1, 0, 1_000_000][event], ..hit });
    }
    let render = |query| table::render(&report(query, &stream.bytes).unwrap(), Default::default());
    insta::assert_snapshot!("two_events", render(by("addr,reg:ax")));
    let one = Query { event: Some(Glob::new("task*")), ..by("comm,cpu") };
    insta::assert_snapshot!("one_event", render(one));
    let none = Query { event: Some(Glob::new("cycles")), ..Query::default() };
    assert_eq!(
        report(none, &stream.bytes).unwrap_err().to_string(),
        "no event of this stream is called \"cycles\"; it has page_fault, dummy, task_clock"
    );
}

#[test]
fn a_register_the_machine_has_not_is_an_error() {
    let error = report(by("reg:x29"), &recording().bytes).unwrap_err();
    assert!(matches!(&error, Error::Register { name, .. } if name == "x29"), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("x86_64 has no register \"x29\"; it has ax, bx, cx, dx"), "{text}");
}

#[test]
fn an_empty_recording_says_so() {
    let stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let report = report(Query::default(), &stream.bytes).unwrap();
    assert_eq!(
        table::render(&report, Default::default()),
        "# page_fault, every event: 0 samples\n"
    );
}

#[test]
fn names_cannot_command_the_terminal() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page\x1bfault")]);
    let odd = task(1, 1);
    stream.comm(odd, 1, "a\nb\x1b[2J", true);
    stream.map(odd, 1, 0x10_0000..0x10_1000, "/tmp/x\ny\u{9b}");
    let name = b"bpf\x07";
    let record = SidebandRecord::Ksymbol {
        address: 0xffff_ffff_c000_1000,
        length: 8,
        kind: 1,
        flags: 0,
        name,
    };
    stream.side(KERNEL, &record, odd, 1);
    stream.hit(&Hit::new(USER, 0x10_0005, odd, 2));
    stream.hit(&Hit::new(KERNEL, 0xffff_ffff_c000_1001, odd, 2));
    let report = report(by("comm,site,object,routine"), &stream.bytes).unwrap();
    let text = table::render(&report, Default::default());
    let raw: Vec<_> = text.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(raw.is_empty(), "{raw:?} in {text}");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 3, "{text}");
    for said in ["page\\u{1b}fault", "a\\nb\\u{1b}[2J", "/tmp/x\\ny\\u{9b}", "bpf\\u{7}"] {
        assert!(text.contains(said), "{said} is not in {text}");
    }
    // Readers of CSV and JSON get the names as they are.
    assert!(csv::render(&report).unwrap().contains("\"a\nb\x1b[2J\""));
    assert!(json::render(&report).unwrap().contains(r#""a\nb\u001b[2J""#));
    let mut shown = Vec::new();
    csv::write(&report, csv::CsvNames::Printable, &mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    assert!(shown.contains("a\\nb\\u{1b}[2J"), "{shown}");
}

#[test]
fn names_turn_no_text_and_are_no_formulas() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for (number, name) in
        (1..).zip(["=cmd|' /C x'!A1", "+A1", "-A1", "@SUM(A1)", "'a", "a\u{202e}b", "c=d", "-1"])
    {
        stream.comm(task(number, number), 1, name, true);
        stream.hit(&Hit::new(KERNEL, COPY, task(number, number), 2));
    }
    let report = report(by("comm"), &stream.bytes).unwrap();
    let text = table::render(&report, Default::default());
    assert!(text.contains("a\\u{202e}b") && !text.contains('\u{202e}'), "{text}");
    let exact = csv::render(&report).unwrap();
    let mut shown = Vec::new();
    csv::write(&report, csv::CsvNames::Printable, &mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    for name in ["=cmd|' /C x'!A1", "+A1", "-A1", "@SUM(A1)", "'a"] {
        // One apostrophe, which a program takes off.
        assert!(exact.contains(&format!(",'{name}\n")), "{name}: {exact}");
        assert!(shown.contains(&format!(",'{name}\n")), "{name}: {shown}");
    }
    assert!(exact.contains("a\u{202e}b") && shown.contains("a\\u{202e}b"), "{shown}");
    assert!(shown.contains(",c=d\n"), "{shown}");
}

#[test]
fn one_thing_is_no_plural() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for ip in [COPY, COPY, COPY + 0x100] {
        stream.hit(&Hit::new(KERNEL, ip, task(1, 1), 5));
    }
    let query = Query { top: Some(1), ..Query::default() };
    let text = table::render(&report(query, &stream.bytes).unwrap(), Default::default());
    assert!(text.ends_with("\n# 1 more row, 1 sample\n"), "{text}");
}

#[test]
fn routines_of_one_name_stay_apart() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let programs = [0xffff_ffff_c000_1000, 0xffff_ffff_c000_3000];
    for (address, time) in programs.into_iter().zip(1..) {
        let record = SidebandRecord::Ksymbol {
            address,
            length: 0x80,
            kind: 1,
            flags: 0,
            name: b"bpf_prog_x",
        };
        stream.side(KERNEL, &record, task(1, 1), time);
    }
    for ip in [programs[0] + 4, programs[1] + 8, programs[1] + 8] {
        stream.hit(&Hit::new(KERNEL, ip, task(1, 1), 5));
    }
    let text = csv::render(&report(Query::default(), &stream.bytes).unwrap()).unwrap();
    let rows: Vec<_> = text.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "page_fault,2,2,0.666667,0,0xffffffffc0003008,bpf_prog_x,8,[bpf]",
            "page_fault,1,1,0.333333,0,0xffffffffc0001004,bpf_prog_x,4,[bpf]",
        ]
    );
}

#[test]
fn samples_cut_short_are_counted_apart() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.hit(&Hit::new(KERNEL, COPY, task(1, 1), 5));
    let start = stream.bytes.len();
    stream.hit(&Hit::new(KERNEL, COPY, task(1, 1), 6));
    // Header and the first three fields are left of the second one.
    stream.bytes.truncate(start + 8 + 24);
    stream.bytes[start + 6..start + 8].copy_from_slice(&32u16.to_le_bytes());
    let report = report(Query::default(), &stream.bytes).unwrap();
    let totals = &report.events[0].totals;
    assert_eq!((totals.samples, totals.counted, totals.malformed), (2, 1, 1));
    let text = table::render(&report, Default::default());
    assert!(text.contains("\n# page_fault, every event: 2 samples, 1 malformed"), "{text}");
    assert!(text.starts_with("# 1 record could not be read and was left out: SAMPLE at"), "{text}");
}

#[test]
fn rows_are_the_same_in_every_order_of_ties() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for ip in [0x300, 0x100, 0x200] {
        stream.hit(&Hit::new(KERNEL, 0xffff_ffff_8100_1000 + ip, task(1, 1), 5));
    }
    for (sort, first) in [
        (Sort::Count, "0xffffffff81001100"),
        (Sort::Address, "0xffffffff81001100"),
        (Sort::Name, "0xffffffff81001200"),
        (Sort::Key(Key::Site), "0xffffffff81001100"),
    ] {
        for top in [None, Some(1)] {
            let query = Query { sort: sort.clone(), top, ..Query::default() };
            let text = csv::render(&report(query, &stream.bytes).unwrap()).unwrap();
            let row = text.lines().nth(1).unwrap();
            assert!(row.contains(first), "{sort}: {row}");
        }
    }
}

#[test]
fn many_notes_take_no_longer_each() {
    // What took a time that grows with their square would take hours.
    const MANY: u64 = 400_000;
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for number in 0..MANY {
        stream.note(0, &format!("n={number}"));
    }
    let report = report(Query::default(), &stream.bytes).unwrap();
    assert_eq!(report.events[0].promises["n"].split(" | ").count() as u64, MANY);
}
