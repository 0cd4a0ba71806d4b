//! What the data source and the weight of samples say.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::report::{Latencies, Row};
use analysis::{Filter, Key, Query, Report, csv, table};
use perfdata::attr::EventType;
use perfdata::stream::Feature;
use perfdata::{Attr, AttrFlags, SampleType};

/// Words as Skylake-SP writes them, from a recording of it; the last two are
/// both forms of PERF_MEM_NA.
const LFB: u64 = 0x118_6810_0242;
const L3: u64 = 0x106_6810_0842;
const L3_TLB_MISS: u64 = 0x106_5010_0842;
const L1_LOCKED: u64 = 0x102_6a10_0142;
const NOTHING: [u64; 3] = [0, 0x508_0021, 0x1e_0508_0021];

/// Load latency of Intel's cores.
fn mem_loads(fields: SampleType) -> Attr {
    Attr {
        kind: EventType(4),
        config: 0x1cd,
        config1: 30,
        sample_period: 100,
        ..page_faults(usual_fields() | fields)
    }
}

fn recording(weights: SampleType) -> Recording {
    let attr = mem_loads(SampleType::DATA_SRC | weights);
    let mut stream = Recording::new(&[(attr, "mem-loads")]);
    for (data_src, weight, count) in [
        (LFB, 200, 4),
        (L3, 60, 2),
        (L3_TLB_MISS, 90, 1),
        (L1_LOCKED, 7, 8),
        (NOTHING[0], 0, 16),
        (NOTHING[1], 0, 32),
        (NOTHING[2], 0, 64),
    ] {
        for _ in 0..count {
            // The upper half is the second and third part of a struct.
            let weight = weight | 5 << 32;
            let hit = Hit { data_src, weight, ..Hit::new(USER, 0x1000, task(1, 1), 1) };
            stream.hit(&hit);
        }
    }
    stream
}

fn rows(report: &Report) -> Vec<(u64, String)> {
    let text = |cells: &[analysis::report::Cell]| {
        cells.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>().join(" ")
    };
    report.events[0].rows.iter().map(|row| (row.count, text(&row.cells))).collect()
}

fn by(keys: &str, filter: &str) -> Query {
    let filters = match filter {
        "" => Vec::new(),
        filter => Filter::parse_all(filter).unwrap(),
    };
    Query { keys: Key::parse_list(keys).unwrap(), filters, ..Query::default() }
}

#[test]
fn every_form_of_not_available_is_one_row() {
    let stream = recording(SampleType::WEIGHT);
    for (keys, expected) in [
        (
            "level",
            vec![
                (112, "Missing(NotAvailable)"),
                (8, "Text(\"L1 hit\")"),
                (4, "Text(\"LFB hit\")"),
                (3, "Text(\"L3 hit\")"),
            ],
        ),
        ("op", vec![(112, "Missing(NotAvailable)"), (15, "Text(\"load\")")]),
        ("snoop", vec![(112, "Missing(NotAvailable)"), (15, "Text(\"none\")")]),
        (
            "lock",
            vec![
                (112, "Missing(NotAvailable)"),
                (8, "Text(\"locked\")"),
                (7, "Text(\"not locked\")"),
            ],
        ),
        (
            "tlb",
            vec![
                (112, "Missing(NotAvailable)"),
                (14, "Text(\"L1/L2 hit\")"),
                (1, "Text(\"L2 miss\")"),
            ],
        ),
        ("blk", vec![(127, "Missing(NotAvailable)")]),
    ] {
        let report = report(by(keys, ""), &stream.bytes).unwrap();
        let rows = rows(&report);
        let rows: Vec<_> = rows.iter().map(|(count, text)| (*count, text.as_str())).collect();
        assert_eq!(rows, expected, "{keys}");
    }
}

#[test]
fn an_event_without_data_source_says_so() {
    let stream = recording(SampleType::WEIGHT);
    let mut bare = Recording::new(&[(mem_loads(SampleType::empty()), "bare")]);
    bare.hit(&Hit::new(USER, 0x1000, task(1, 1), 1));
    let text = |stream: &Recording, filter| {
        let report = report(by("level", filter), &stream.bytes).unwrap();
        (rows(&report), report.notes.join("\n"))
    };
    let (rows, _) = text(&bare, "");
    assert_eq!(rows, [(1, "Missing(Field(\"data_src\"))".to_owned())]);
    for (filter, field) in [("level=L1", "data_src"), ("weight=1-", "weight")] {
        let (rows, notes) = text(&bare, filter);
        assert_eq!(rows, []);
        assert!(notes.contains(&format!("without {field}: no sample of it passes")), "{notes}");
        assert!(!text(&stream, filter).1.contains("no sample of it passes"));
    }
}

#[test]
fn filters_look_at_parts_of_the_answer() {
    for weights in [SampleType::WEIGHT, SampleType::WEIGHT_STRUCT] {
        let stream = recording(weights);
        let high = weights == SampleType::WEIGHT;
        for (filter, counted) in [
            ("level=L3", 3),
            ("level=L?", 11),
            ("level=L3 hit", 3),
            ("level=hit", 0),
            // What says nothing passes neither way.
            ("level!=L3", 12),
            ("tlb=*miss*", 1),
            ("snoop=none", 15),
            ("lock=locked", 8),
            ("op=load and lock=not locked", 7),
            ("op=store", 0),
            ("weight=90", u64::from(!high)),
            ("weight=60-200", if high { 0 } else { 3 }),
            ("weight=60-", if high { 127 } else { 7 }),
            ("weight!=0-100", if high { 127 } else { 4 }),
        ] {
            let report = report(by("level", filter), &stream.bytes).unwrap();
            assert_eq!(report.events[0].totals.counted, counted, "{filter} {weights:?}");
            assert_eq!(report.events[0].totals.filtered, 127 - counted, "{filter}");
        }
    }
}

#[test]
fn what_was_asked_for_and_is_not_there_is_told() {
    let mut attr = mem_loads(SampleType::empty());
    attr.set_precise_ip(2);
    attr.flags |= AttrFlags::EXCLUDE_KERNEL;
    let stream = |misc: perfdata::Misc| {
        let mut stream = Recording::new(&[(attr.clone(), "mem-loads")]);
        for misc in [USER, KERNEL, misc] {
            stream.hit(&Hit::new(misc, 0x1000, task(1, 1), 1));
        }
        stream
    };
    let exact = perfdata::Misc(KERNEL.0 | perfdata::Misc::EXACT_IP.0);
    for (misc, is_exact) in [(KERNEL, false), (exact, true)] {
        let report = report(Query::default(), &stream(misc).bytes).unwrap();
        assert_eq!(report.events[0].totals.outside_mode, 2);
        let notes = report.notes.join("\n");
        assert!(notes.contains("2 of 3 samples of mem-loads lie where it was not to count"));
        assert_eq!(notes.contains("opened with precise_ip=2"), !is_exact, "{notes}");
    }
    let inside = report(by("site", "mode=user"), &stream(KERNEL).bytes).unwrap();
    assert_eq!(inside.events[0].totals.outside_mode, 0);
}

/// Two sites: one with loads of L1 and L3, one that only the L3 served.
fn two_sites(attr: Attr) -> Recording {
    let mut stream = Recording::new(&[(attr, "mem-loads")]);
    for (ip, data_src, weight) in [
        (0x1000, L1_LOCKED, 5),
        (0x1000, L1_LOCKED, 7),
        (0x1000, L1_LOCKED, 6),
        (0x1000, L3, 40),
        (0x2000, L3, 90),
        (0x2000, L3_TLB_MISS, 5000),
        // Not measured: no latency of 0 cycles.
        (0x2000, L3, 0),
    ] {
        stream.hit(&Hit { data_src, weight, period: 3, ..Hit::new(USER, ip, task(1, 1), 1) });
    }
    stream
}

fn latencies(row: &Row) -> (u64, Option<(u64, f64, u64, u64)>) {
    let latency = row.served.as_ref().unwrap().latency;
    let known =
        latency.map(|Latencies { samples, mean, median, p95, .. }| (samples, mean, median, p95));
    (row.count, known)
}

#[test]
fn accesses_are_told_for_the_event_and_for_each_row() {
    let query = Query { accesses: true, ..Query::default() };
    let attr = mem_loads(SampleType::DATA_SRC | SampleType::WEIGHT);
    let report = report(query, &two_sites(attr).bytes).unwrap();
    let event = &report.events[0];
    assert_eq!(event.levels, ["L1 hit", "L3 hit"]);
    let accesses: Vec<_> = event.accesses.iter().map(latencies).collect();
    // 5000 has 13 bits, the last two of which are zero: it is kept whole.
    let expected = [
        (3, Some((3, 6.0, 6, 7))),
        (3, Some((2, 65.0, 40, 90))),
        (1, Some((1, 5000.0, 5000, 5000))),
    ];
    assert_eq!(accesses, expected);
    let rows: Vec<_> = event.rows.iter().map(latencies).collect();
    assert_eq!(rows, [(4, Some((4, 14.5, 6, 40))), (3, Some((2, 2545.0, 90, 5000)))]);
    let shares = |row: usize| {
        let served = event.rows[row].served.as_ref().unwrap();
        served.levels.iter().map(|(level, share)| format!("{level} {share}")).collect::<Vec<_>>()
    };
    assert_eq!(shares(0), ["L1 hit 0.75", "L3 hit 0.25"]);
    assert_eq!(shares(1), ["L3 hit 1"]);
    insta::assert_snapshot!("accesses", table::render(&report, table::Style::default()));
    insta::assert_snapshot!("accesses_csv", csv::render(&report).unwrap());
}

#[test]
fn a_threshold_is_told() {
    let notes = |config, config1| {
        let fields = SampleType::DATA_SRC | SampleType::WEIGHT;
        let attr = Attr { config, config1, ..mem_loads(fields) };
        let query = Query { accesses: true, ..Query::default() };
        report(query, &two_sites(attr).bytes).unwrap().notes.join("\n")
    };
    let told = "mem-loads samples only loads of more than 30 cycles (ldlat)";
    assert!(notes(0x1cd, 30).contains(told));
    assert!(notes(0x1cd, 0xffff_0000_001e).contains(told));
    // Every load takes longer; and of stores it is no threshold.
    assert_eq!(notes(0x1cd, 3), "");
    assert_eq!(notes(0x2cd, 30), "");
}

/// One request may take an event of loads and one of stores.
#[test]
fn latencies_of_several_meanings_are_all_told() {
    let fields = SampleType::DATA_SRC | SampleType::WEIGHT;
    let stores = Attr { config: 0x2cd, config1: 0, ..mem_loads(fields) };
    let mut stream = Recording::new(&[(mem_loads(fields), "slow"), (stores, "slow")]);
    stream.note(0, "source=pebs");
    stream.note(1, "source=pebs");
    for event in [0, 1] {
        let hit = Hit { event, data_src: L3, weight: 90, ..Hit::new(USER, 1, task(1, 1), 1) };
        stream.hit(&hit);
    }
    let report = report(Query { accesses: true, ..Query::default() }, &stream.bytes).unwrap();
    let [event] = &report.events[..] else { panic!("{} tables", report.events.len()) };
    let of = event.latency_of.as_deref().unwrap();
    assert!(of.contains("dispatch of the load"), "{of}");
    assert!(of.contains("retirement of the store"), "{of}");
}

#[test]
fn weights_of_unknown_meaning_are_no_latencies() {
    let query = || Query { accesses: true, ..Query::default() };
    let fields = SampleType::DATA_SRC | SampleType::WEIGHT;
    let said = |attr: Attr| {
        let report = report(query(), &two_sites(attr).bytes).unwrap();
        (report.events[0].latency, report.events[0].accesses.len(), report.notes.join("\n"))
    };
    let (latency, kinds, notes) = said(Attr { config: 0x82d0, ..mem_loads(fields) });
    assert_eq!((latency, kinds), (None, 3));
    assert!(notes.contains("not known here, so they are not taken for latencies"), "{notes}");
    let (latency, kinds, notes) = said(mem_loads(SampleType::DATA_SRC));
    assert_eq!((latency, kinds), (None, 3));
    assert!(notes.contains("mem-loads was recorded without latencies"), "{notes}");
    let (latency, kinds, notes) = said(mem_loads(SampleType::WEIGHT));
    assert_eq!((latency.unwrap().samples, kinds), (6, 0));
    assert!(notes.contains("without data_src: what served its accesses is not known"), "{notes}");
}

/// Kernels before 6.1 give IBS registers and nothing made of them.
#[test]
fn registers_of_ibs_tell_levels_and_latencies() {
    let fields = usual_fields() | SampleType::RAW;
    let attr = Attr { kind: EventType(11), sample_period: 160, ..page_faults(fields) };
    let raw = |data2: u64, data3: u64| {
        let registers = [1 << 18, 0, 0, data2, data3, 0, 0, 0];
        let words = registers.iter().flat_map(|register: &u64| register.to_le_bytes());
        0x3ff_u32.to_le_bytes().into_iter().chain(words).collect::<Vec<u8>>()
    };
    let missed = 1 | 1 << 7 | 1 << 20;
    let ibs = |name| {
        let mut stream = Recording::new(&[(attr.clone(), name)]);
        stream.feature(&Feature::CpuId("AuthenticAMD,23,49,0".into()));
        for raw in [
            raw(2, missed | 90 << 32),
            raw(3, missed | 400 << 32),
            // A hit has no latency, whatever the register holds, as has what
            // was not cached; and an op without an access has nothing.
            raw(0, 1 | 7 << 32),
            raw(3, missed | 1 << 14 | 600 << 32),
            raw(0, 0),
            vec![0; 68],
        ] {
            stream.hit(&Hit { raw, ..Hit::new(USER, 0x1000, task(1, 1), 1) });
        }
        stream
    };
    let query = || Query { accesses: true, ..by("level", "") };
    let answer = report(query(), &ibs("ibs_op//").bytes).unwrap();
    assert_eq!(
        rows(&answer),
        [
            (2, "Missing(NotAvailable)".to_owned()),
            (1, "Text(\"L1 hit\")".to_owned()),
            (1, "Text(\"RAM hit\")".to_owned()),
            (1, "Text(\"cache hit\")".to_owned()),
            (1, "Text(\"uncached hit\")".to_owned()),
        ]
    );
    let latency = answer.events[0].latency.unwrap();
    assert_eq!((latency.samples, latency.cycles), (2, 490));
    assert_eq!(answer.notes, Vec::<String>::new());
    let slow = report(by("level", "weight=100- and level=RAM"), &ibs("ibs_op//").bytes).unwrap();
    assert_eq!(slow.events[0].totals.counted, 1);
    // Raw data of another PMU are something else.
    let other = report(query(), &ibs("other//").bytes).unwrap();
    assert_eq!(rows(&other), [(6, "Missing(Field(\"data_src\"))".to_owned())]);
    assert_eq!(other.events[0].latency, None);
}

/// In frequency mode samples stand for different numbers of events.
#[test]
fn shares_of_levels_go_by_period_where_all_shares_do() {
    let attr = Attr {
        sample_period: 4000,
        flags: mem_loads(SampleType::empty()).flags | AttrFlags::FREQ,
        ..mem_loads(SampleType::DATA_SRC | SampleType::WEIGHT)
    };
    let mut stream = Recording::new(&[(attr, "mem-loads")]);
    for (data_src, period) in [(L1_LOCKED, 1), (L1_LOCKED, 2), (L3, 9)] {
        stream.hit(&Hit { data_src, period, ..Hit::new(USER, 0x1000, task(1, 1), 1) });
    }
    let report = report(Query { accesses: true, ..Query::default() }, &stream.bytes).unwrap();
    let event = &report.events[0];
    let levels = &event.rows[0].served.as_ref().unwrap().levels;
    assert_eq!((levels["L1 hit"], levels["L3 hit"]), (0.25, 0.75));
    let shares: Vec<_> = event.accesses.iter().map(|row| (row.count, row.share)).collect();
    assert_eq!(shares, [(1, 0.75), (2, 0.25)]);
}

/// Sites as (address, count, median latency), by a cut and by the whole list.
#[test]
fn what_costs_most_comes_first() {
    let attr = mem_loads(SampleType::DATA_SRC | SampleType::WEIGHT);
    let frequent = Attr {
        sample_period: 4000,
        flags: mem_loads(SampleType::empty()).flags | AttrFlags::FREQ,
        ..attr.clone()
    };
    let stream = |attr| {
        let mut stream = Recording::new(&[(attr, "mem-loads")]);
        for (ip, weight, period, count) in
            [(0x1000, 5, 9, 8), (0x2000, 30, 2, 3), (0x3000, 70, 1, 1), (0x4000, 0, 500, 2)]
        {
            for _ in 0..count {
                let hit = Hit::new(USER, ip, task(1, 1), 1);
                stream.hit(&Hit { data_src: L3, weight, period, ..hit });
            }
        }
        stream
    };
    let (fixed, frequent) = (stream(attr), stream(frequent));
    let order = |stream: &Recording, sort: &str, top| {
        let sort = sort.parse().unwrap();
        let query = Query { accesses: true, top, sort, ..by("ip", "") };
        let report = report(query, &stream.bytes).unwrap();
        let row = |row: &Row| {
            let latency = row.served.as_ref().unwrap().latency;
            (row.cells[0].clone(), latency.map(|it| (it.cycles, (it.share * 1000.0).round())))
        };
        report.events[0].rows.iter().map(row).collect::<Vec<_>>()
    };
    let ip = analysis::report::Cell::Address;
    let of_samples = [
        (ip(0x2000), Some((90, 450.0))),
        (ip(0x3000), Some((70, 350.0))),
        (ip(0x1000), Some((40, 200.0))),
        (ip(0x4000), None),
    ];
    let of_periods = [
        (ip(0x1000), Some((40, 590.0))),
        (ip(0x2000), Some((90, 295.0))),
        (ip(0x3000), Some((70, 115.0))),
        (ip(0x4000), None),
    ];
    for top in 0..5 {
        assert_eq!(order(&fixed, "cycles", Some(top)), of_samples[..top.min(4)], "{top}");
        assert_eq!(order(&frequent, "cycles", Some(top)), of_periods[..top.min(4)], "{top}");
        let longest: Vec<_> =
            order(&fixed, "latency", Some(top)).into_iter().map(|(ip, _)| ip).collect();
        let expected = [0x3000, 0x2000, 0x1000, 0x4000].map(ip);
        assert_eq!(longest, expected[..top.min(4)], "{top}");
    }
}

/// Data of two processes: one with a heap, both with memory that nobody told
/// of, and a file that is not there.
#[test]
fn data_addresses_are_named_by_what_holds_them() {
    let mut stream = Recording::new(&[(mem_loads(SampleType::empty()), "mem-loads")]);
    for pid in [1, 2] {
        stream.map(task(pid, pid), 0, 0x1000..0x2000, "/usr/bin/gone");
        stream.map(task(pid, pid), 0, 0x10_0000..0x20_0000, "[heap]");
    }
    for (pid, addr, count) in
        [(1, 0x10_0040, 3), (2, 0x10_0040, 2), (2, 0x10_0080, 1), (1, 0x90_0000, 4), (1, 0x1010, 5)]
    {
        for _ in 0..count {
            stream.hit(&Hit { addr, ..Hit::new(USER, 0x1000, task(pid, pid), 1) });
        }
    }
    stream.hit(&Hit::new(USER, 0x1000, task(1, 1), 1));
    stream.hit(&Hit { addr: 7, ..Hit::new(USER, 0x1000, task(9, 9), 1) });
    let all = report(by("data", ""), &stream.bytes).unwrap();
    insta::assert_snapshot!("data", table::render(&all, table::Style::default()));
    let variables = report(by("variable", ""), &stream.bytes).unwrap();
    insta::assert_snapshot!("variables_csv", csv::render(&variables).unwrap());
    let heap = report(by("data", "variable=[heap]"), &stream.bytes).unwrap();
    assert_eq!(heap.events[0].totals.counted, 6);
    let other = report(by("data", "variable!=[heap]"), &stream.bytes).unwrap();
    // What has no name passes neither way.
    assert_eq!(other.events[0].totals.counted, 0);
}
