//! What the kernel counted, from streams to tables.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Error, Filter, Key, Query, RegisterQuery, Report, csv, json, table};
use perfdata::aggregate::{
    Aggregate, AggregatePart, Bits, RESERVOIR, Range, RegisterBits, SampledHit, Site, Strides,
};
use perfdata::stream::write;
use perfdata::{
    ByteOrder, ChainContext, Cpu, CpuMode, Misc, SampleType, SidebandRecord, Task, Time,
};

const COPY: u64 = 0xffff_ffff_8100_1010;
const CX: usize = 2;

fn number(process: Task) -> u64 {
    u64::from(process.pid.0.cast_unsigned())
}

fn hit(process: Task, mode: CpuMode, ip: u64, time: u64, value: u64) -> (Hit, Site) {
    let misc = if mode == CpuMode::User { USER } else { KERNEL };
    let mut sample = Hit::new(misc, ip, process, time);
    sample.registers[CX] = value;
    sample.addr = value + 0x18;
    let taken = SampledHit {
        time: Time(time),
        pid: process.pid,
        tid: process.tid,
        cpu: Cpu(0),
        address: sample.addr,
        period: 1,
        weight: 0,
        data_src: 0,
        registers: vec![0, value],
    };
    let mut strides = Strides::default();
    strides.0[14] = 1;
    let site = Site {
        process: Some(process.pid),
        pids: Bits::of(number(process)),
        ip,
        mode,
        count: 1,
        period: 1,
        first: Time(time),
        last: Time(time),
        address: Some(Range::of(sample.addr)),
        registers: [0, value]
            .into_iter()
            .zip([1, 2])
            .map(|(value, number)| RegisterBits { number, bits: Bits::of(value) })
            .collect(),
        taken: vec![taken],
        strides: Some(Box::new(strides)),
        chain: None,
    };
    (sample, site)
}

fn aggregate(times: std::ops::Range<u64>, sites: impl IntoIterator<Item = Site>) -> Aggregate {
    let mut all =
        Aggregate { from: Time(times.start), to: Time(times.end), ..Aggregate::default() };
    for site in sites {
        let one = Aggregate { sites: vec![site], ..all_but_sites(&all) };
        all.merge(one, &mut |limit| limit / 2);
    }
    all
}

fn all_but_sites(of: &Aggregate) -> Aggregate {
    Aggregate { sites: Vec::new(), lost: Vec::new(), ..*of }
}

/// Two programs mapped at one address, a walk over 8 KiB structures in the
/// kernel, faults in both programs: (samples, sites) in order of time.
fn hits() -> Vec<(Hit, Site)> {
    let (make, cc) = (task(100, 100), task(200, 200));
    let walk = (0..4096u64).map(|item| {
        let node = 0xffff_8880_0000_0000 + (item * 7 % 4096) * 8192;
        hit(make, CpuMode::Kernel, COPY, 10 + item, node)
    });
    let user = (0..300u64).map(|item| {
        let process = if item % 3 == 0 { cc } else { make };
        hit(process, CpuMode::User, 0x7000_0100 + item % 2, 5000 + item, 0x1234)
    });
    walk.chain(user).collect()
}

fn beginning() -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.note(0, "source=kernel-software;served=embedded;counted=kernel");
    for (process, name) in [(task(100, 100), "make"), (task(200, 200), "cc1")] {
        stream.comm(process, 1, name, true);
        stream.map(process, 2, 0x7000_0000..0x7000_1000, &format!("/bin/{name}"));
    }
    stream
}

fn sampled() -> Recording {
    let mut stream = beginning();
    hits().iter().for_each(|(hit, _)| stream.hit(hit));
    stream
}

/// The same in so many intervals, each in a round of its own.
fn counted(intervals: usize) -> Recording {
    let mut stream = beginning();
    let hits = hits();
    for (number, some) in (0u64..).zip(hits.chunks(hits.len().div_ceil(intervals))) {
        let sites = some.iter().map(|(_, site)| site.clone());
        let mut interval = aggregate(number * 1000..(number + 1) * 1000, sites);
        interval.lost.push(("no_room".to_owned(), 2));
        interval.lost.push(("filtered_comm".to_owned(), 100));
        stream.aggregate(0, interval);
        stream.round();
    }
    stream
}

fn by(keys: &str) -> Query {
    Query { keys: Key::parse_list(keys).unwrap(), ..Query::default() }
}

/// Count, period and cells of each row.
fn rows(report: &Report) -> Vec<(u64, u64, String)> {
    let row = |row: &analysis::report::Row| (row.count, row.period, format!("{:?}", row.cells));
    report.events[0].rows.iter().map(row).collect()
}

#[test]
fn rows_are_those_of_samples_whatever_the_intervals() {
    let filters = [
        "mode=kernel",
        "comm=cc1",
        "pid!=100",
        "object=make",
        "routine=copy_page",
        "ip=70000100-70000101",
    ];
    for keys in ["site", "ip", "routine", "object", "pid", "comm,site"] {
        for filter in [None].into_iter().chain(filters.map(Some)) {
            let filters = filter.map(|text| Filter::parse_all(text).unwrap()).unwrap_or_default();
            let query = Query { filters, ..by(keys) };
            let expected = report(query.clone(), &sampled().bytes).unwrap();
            for intervals in [1, 2, 7] {
                let got = report(query.clone(), &counted(intervals).bytes).unwrap();
                assert_eq!(rows(&got), rows(&expected), "{keys}, {filter:?}, {intervals}");
                let (got, expected) = (&got.events[0].totals, &expected.events[0].totals);
                let sums = |of: &analysis::report::Totals| {
                    (of.samples, of.counted, of.filtered, of.period)
                };
                assert_eq!(sums(got), sums(expected), "{keys}, {filter:?}");
            }
        }
    }
}

#[test]
fn a_walk_over_8_kib_structures_shows_in_the_table() {
    let report = report(by("site"), &counted(3).bytes).unwrap();
    let text = table::render(&report, table::Style::default());
    let finding = "cx: same 13 low bits (0x0000): 8 KiB-aligned structures";
    let row = text.lines().find(|line| line.contains("copy_page+0x10")).unwrap();
    assert!(row.contains(finding), "{text}");
    assert!(row.contains("0xffff888000000018-0xffff888001ffe018"), "{text}");
    assert!(row.contains("8192-16383 B 100.00%"), "{text}");
    assert!(
        text.contains("page_fault, every event: 4396 hits counted in the kernel, 0 samples\n"),
        "{text}"
    );
    assert!(text.contains("in no row, lost in the kernel: 6 hits (no_room 6)"), "{text}");
    assert!(text.contains("in no row, not asked for: 300 hits (comm 300)"), "{text}");
    assert!(!text.contains("EXACT_IP"), "{text}");

    let facts = report.events[0].rows[0].facts.as_ref().unwrap();
    assert_eq!((facts.first, facts.last), (10, 10 + 4095));
    assert_eq!(facts.taken.len(), RESERVOIR);
    let json = json::render(&report).unwrap();
    assert!(json.contains("\"low_bits\": 13"), "{json}");
    let csv = csv::render(&report).unwrap();
    let header =
        "site_object,address_min,address_max,stride_from,stride_to,stride_share,low_bits\n";
    assert!(csv.contains(header), "{csv}");
    assert!(csv.contains(&format!("8192,16383,1.000000,\"{finding}; addr")), "{csv}");
}

#[test]
fn registers_at_a_site_are_told_by_their_bits() {
    let registers =
        RegisterQuery { site: Some("copy_page".parse().unwrap()), ..Default::default() };
    let query = Query { keys: vec![], registers: Some(registers), ..Query::default() };
    let report = report(query, &counted(5).bytes).unwrap();
    let text = table::render(&report, table::Style::default());
    for line in [
        "# registers at copy_page: 4096 hits",
        "bx: always 0x0",
        "cx: bits 0x1ffe000 of 0xffff888000000000 change, \
         same 13 low bits (0x0000): 8 KiB-aligned structures",
        "addr: 0xffff888000000018-0xffff888001ffe018, \
         same 13 low bits (0x0018): 8 KiB-aligned structures, offset 0x18",
        "distance: 8192-16383 B 100.00%",
    ] {
        assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
    }
    assert!(csv::render(&report).unwrap().contains("page_fault,cx,,,false,,,13,0x0,,"), "{text}");
}

#[test]
fn samples_and_counts_of_one_event_add_up() {
    let mut stream = counted(2);
    hits().iter().for_each(|(hit, _)| stream.hit(hit));
    let both = report(by("site"), &stream.bytes).unwrap();
    let samples = report(by("site"), &sampled().bytes).unwrap();
    let twice = |report: &Report| -> Vec<_> {
        rows(report)
            .into_iter()
            .map(|(count, period, cells)| (2 * count, 2 * period, cells))
            .collect()
    };
    assert_eq!(rows(&both), twice(&samples));
    let text = table::render(&both, table::Style::default());
    assert!(
        text.contains("4396 hits counted in the kernel, 4396 samples, IP exact (the kernel"),
        "{text}"
    );
}

#[test]
fn what_was_not_kept_is_refused_with_what_to_do() {
    let stream = counted(1).bytes;
    let told = |query: Query| match report(query, &stream).unwrap_err() {
        error @ Error::InKernel { .. } => error.to_string(),
        other => panic!("{other}"),
    };
    for key in
        ["tid", "cpu", "addr", "line", "page", "data", "variable", "addr-before", "level", "reg:cx"]
    {
        let text = told(by(key));
        assert!(
            text.starts_with(&format!(
                "page_fault was counted in the kernel, which cannot tell --by {key}: "
            )),
            "{text}"
        );
        assert!(text.contains("record samples"), "{text}");
    }
    for filter in ["tid=1", "cpu=0", "addr=10", "level=L1", "weight=3", "variable=x"] {
        let filters = Filter::parse_all(filter).unwrap();
        let text = told(Query { filters, ..Query::default() });
        assert!(text.contains(&format!("--filter {filter}")), "{text}");
    }
    assert!(told(Query { accesses: true, ..Query::default() }).contains("--mem"));
    let class = Some("packed_sp".parse().unwrap());
    assert!(told(Query { class, ..Query::default() }).contains("--class packed_sp"));
    assert_eq!(
        told(by("cpu")),
        "page_fault was counted in the kernel, which cannot tell --by cpu: it keeps no CPU of each \
         hit; record samples: ebs without --in-kernel, a standing session without mode = \"aggregate\""
    );
}

/// The same, processes not told apart.
fn together() -> Recording {
    let mut stream = beginning();
    let hits = hits().into_iter().map(|(_, site)| Site { process: None, ..site });
    stream.aggregate(0, aggregate(0..9000, hits));
    stream
}

#[test]
fn processes_that_were_not_told_apart_are_not_told() {
    for (query, asked) in [
        (by("pid"), "--by pid"),
        (by("comm"), "--by comm"),
        (
            Query { filters: Filter::parse_all("pid=100").unwrap(), ..Query::default() },
            "--filter pid=100",
        ),
    ] {
        let error = report(query, &together().bytes).unwrap_err().to_string();
        let wanted = format!("{asked}: it did not tell processes apart; record with --by-process");
        assert!(error.ends_with(&wanted), "{error}");
    }
    let report = report(by("object"), &together().bytes).unwrap();
    let text = table::render(&report, table::Style::default());
    // The kernel is one; of a user's address two programs are known.
    assert!(text.contains(" [kernel]\n") || text.contains("[kernel] "), "{text}");
    let why = "#   300 several programs were at this address: record with --by-process\n";
    assert!(text.contains(why) && text.contains("  [several-programs]  "), "{text}");
    assert!(text.contains("of all processes together"), "{text}");
}

#[test]
fn whole_hits_of_one_program_do_not_speak_for_others() {
    let (alpha, beta) = (task(100, 100), task(200, 200));
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.map(alpha, 10, 0x40_0000..0x40_1000, "/bin/alpha");
    stream.side(Misc(0), &exit(alpha, 50), alpha, 50);
    let site = |first: u64, last: u64| {
        let site = hit(alpha, CpuMode::User, 0x40_0010, first, 7).1;
        let mut pids = Bits::of(number(alpha));
        pids.merge(Bits::of(number(beta)));
        Site { process: None, pids, count: 1000, period: 1000, last: Time(last), ..site }
    };
    let alone = aggregate(0..40, [site(20, 30)]);
    // From here on beta is there, too, of which no hit was kept whole.
    stream.aggregate(0, alone);
    stream.map(beta, 60, 0x40_0000..0x40_1000, "/bin/beta");
    stream.aggregate(0, aggregate(40..90, [site(45, 80)]));
    // And here alpha has ended.
    stream.aggregate(0, aggregate(90..130, [site(100, 120)]));
    let report = report(by("object"), &stream.bytes).unwrap();
    let mut found = rows(&report);
    found.sort_by(|a, b| a.2.cmp(&b.2));
    let names = ["several programs were at this address", "/bin/alpha", "/bin/beta"];
    for name in names {
        let row = found.iter().find(|(_, _, cell)| cell.contains(name));
        assert_eq!(row.map(|row| row.0), Some(1000), "{name} in {found:?}");
    }
}

fn exit(task: Task, time: u64) -> SidebandRecord<'static> {
    SidebandRecord::Exit { task, parent: task, time: Time(time) }
}

#[test]
fn hits_of_one_process_are_named_whoever_else_was_there() {
    let (alpha, beta) = (task(100, 100), task(200, 200));
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.map(alpha, 10, 0x40_0000..0x40_1000, "/bin/alpha");
    stream.map(beta, 10, 0x40_0000..0x40_1000, "/bin/beta");
    let site = hit(beta, CpuMode::User, 0x40_0010, 20, 7).1;
    // None of them was kept whole.
    let site = Site { process: None, count: 500, period: 500, taken: Vec::new(), ..site };
    stream.aggregate(0, aggregate(0..40, [site]));
    let report = report(by("object"), &stream.bytes).unwrap();
    let found = rows(&report);
    assert!(found.iter().any(|row| row.0 == 500 && row.2.contains("/bin/beta")), "{found:?}");
}

#[test]
fn one_program_gives_sites_of_no_process_their_names() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    stream.map(task(200, 200), 2, 0x7000_0000..0x7000_1000, "/bin/cc1");
    let (_, site) = hit(task(200, 201), CpuMode::User, 0x7000_0100, 50, 7);
    // Of two processes whose numbers nobody told.
    let pids = Bits { all: 0, any: 1 };
    let nameless = Site { ip: 0x8000_0200, pids, taken: Vec::new(), ..site.clone() };
    let sites = [site, nameless].map(|site| Site { process: None, ..site });
    stream.aggregate(0, aggregate(0..100, sites));
    let report = report(by("object"), &stream.bytes).unwrap();
    let rows = rows(&report);
    assert!(
        rows.iter().any(|(count, _, cell)| *count == 1 && cell.contains("/bin/cc1")),
        "{rows:?}"
    );
    let missing = "no process is known of these hits";
    assert!(rows.iter().any(|(count, _, cell)| *count == 1 && cell.contains(missing)), "{rows:?}");
}

#[test]
fn a_mapping_that_comes_a_round_later_explains_a_site() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let (_, site) = hit(task(1, 1), CpuMode::User, 0x5000_0010, 50, 7);
    stream.aggregate(0, aggregate(0..100, [site]));
    stream.round();
    stream.map(task(1, 1), 40, 0x5000_0000..0x5000_1000, "/bin/late");
    stream.round();
    let report = report(by("object"), &stream.bytes).unwrap();
    assert!(rows(&report)[0].2.contains("/bin/late"), "{report:?}");
}

#[test]
fn an_interval_that_is_not_whole_counts_nothing_and_is_told() {
    let whole = counted(1);
    let sites: Vec<Site> =
        (0..200).map(|ip| hit(task(1, 1), CpuMode::User, 0x9000 + ip, 50, 7).1).collect();
    let long =
        Aggregate { from: Time(2_000_000_000), to: Time(3_000_000_000), sites, lost: Vec::new() };
    let parts: Vec<AggregatePart> = long.into_parts().collect();
    assert!(parts.len() > 1);
    let mut stream = counted(1);
    write::aggregate_part(1, &parts[0], ByteOrder::Little, &mut stream.bytes).unwrap();
    let torn = report(by("site"), &stream.bytes).unwrap();
    assert_eq!(rows(&torn), rows(&report(by("site"), &whole.bytes).unwrap()));
    assert_eq!(torn.losses.torn, 1);
    let told =
        "what the kernel counted from 2.000 s to 3.000 s was left out: part 1 of it is missing";
    assert!(torn.notes.iter().any(|note| note == told), "{:?}", torn.notes);
}

#[test]
fn events_that_are_not_asked_for_refuse_nothing() {
    let events =
        [(page_faults(usual_fields()), "page_fault"), (page_faults(usual_fields()), "other")];
    let mut stream = Recording::new(&events);
    let (sample, site) = hit(task(1, 1), CpuMode::Kernel, COPY, 50, 7);
    stream.aggregate(0, aggregate(0..100, [site]));
    stream.hit(&Hit { event: 1, ..sample });
    let query = Query { event: Some(analysis::Glob::new("other")), ..by("cpu") };
    assert_eq!(rows(&report(query, &stream.bytes).unwrap()).len(), 1);
}

#[test]
fn processes_are_numbers() {
    let report = report(by("pid"), &counted(2).bytes).unwrap();
    let pids: Vec<_> = report.events[0].rows.iter().map(|row| row.cells[0].clone()).collect();
    assert_eq!(pids, [100, 200].map(analysis::report::Cell::Number));
}

#[test]
fn counts_beyond_all_numbers_stop_there() {
    let mut stream = beginning();
    let site = hit(task(1, 1), CpuMode::User, 0x9000, 50, 7).1;
    let sites = [0x9000, 0x9001, 0x9002].map(|ip| Site {
        ip,
        count: u64::MAX,
        period: u64::MAX,
        ..site.clone()
    });
    let mut all = Aggregate { from: Time(1), to: Time(2), sites: sites.to_vec(), lost: Vec::new() };
    for number in 0..20 {
        all.lost.push((format!("cause_{number}"), u64::MAX));
        all.lost.push((format!("filtered_{number}"), u64::MAX));
    }
    stream.aggregate(0, all);
    stream.hit(&Hit::new(USER, 0x9000, task(1, 1), 60));
    let registers = Some(RegisterQuery::default());
    for query in [by("site"), by("routine"), Query { registers, top: Some(1), ..by("ip") }] {
        let report = report(query, &stream.bytes).unwrap();
        let text = table::render(&report, table::Style::default());
        assert!(text.contains("18446744073709551615 hits counted in the kernel"), "{text}");
        assert!(text.contains("8 more causes"), "{text}");
        assert!(!csv::render(&report).unwrap().is_empty() && json::render(&report).is_ok());
    }
}

#[test]
fn an_interval_without_hits_says_nothing_of_processes() {
    let mut stream = beginning();
    let lost = vec![("filtered_address".to_owned(), 354)];
    let empty = Aggregate { from: Time(1), to: Time(2), sites: Vec::new(), lost };
    stream.aggregate(0, empty);
    let text = table::render(&report(by("pid"), &stream.bytes).unwrap(), table::Style::default());
    assert!(text.contains("counted by a program in the kernel: 1 interval"), "{text}");
    assert!(text.contains("in no row, not asked for: 354 hits (address 354)"), "{text}");
    assert!(!text.contains("lost in the kernel"), "{text}");
}

/// A recorder whose reader has little room cuts what an interval counted.
#[test]
fn an_interval_in_several_aggregates_adds_up() {
    let mut stream = counted(2);
    let piece = |ip| aggregate(2000..3000, [hit(task(1, 1), CpuMode::Kernel, ip, 2500, 7).1]);
    stream.aggregate(0, piece(COPY));
    stream.aggregate(0, piece(COPY + 64));
    let sound = report(by("site"), &stream.bytes).unwrap();
    assert!(!sound.notes.iter().any(|note| note.contains("twice")), "{:?}", sound.notes);
    // The same piece again is another matter.
    stream.aggregate(0, piece(COPY));
    let twice = report(by("site"), &stream.bytes).unwrap();
    assert!(twice.notes.iter().any(|note| note.contains("ends (1)")), "{:?}", twice.notes);
}

#[test]
fn intervals_that_overlap_are_told() {
    let mut stream = counted(2);
    let sound = report(by("site"), &stream.bytes).unwrap();
    assert!(!sound.notes.iter().any(|note| note.contains("twice")), "{:?}", sound.notes);
    let again = aggregate(500..900, [hit(task(1, 1), CpuMode::Kernel, COPY, 600, 7).1]);
    stream.aggregate(0, again);
    let report = report(by("site"), &stream.bytes).unwrap();
    let told = "intervals that the kernel counted begin before the one before them ends (1): \
                hits may be here twice";
    assert!(report.notes.iter().any(|note| note == told), "{:?}", report.notes);
}

#[test]
fn a_chain_means_what_was_mapped_all_the_while() {
    let process = task(100, 100);
    let fields = usual_fields() | SampleType::CALLCHAIN;
    let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
    let runs = |stream: &mut Recording, time: u64, program: &str| {
        stream.comm(process, time, program, true);
        stream.map(process, time, 0x40_0000..0x41_0000, &format!("/bin/{program}"));
        stream.map(process, time, 0x70_0000..0x71_0000, "/lib/library");
    };
    let site = |first: u64, last: u64| Site {
        count: 1000,
        period: 1000,
        last: Time(last),
        chain: Some([ChainContext::USER.0, 0x70_0010, 0x40_0010].into()),
        ..hit(process, CpuMode::User, 0x70_0010, first, 0).1
    };
    runs(&mut stream, 1, "alpha");
    stream.aggregate(0, aggregate(0..10, [site(5, 9)]));
    runs(&mut stream, 20, "beta");
    // Of hits before and after that exec.
    stream.aggregate(0, aggregate(10..50, [site(15, 30)]));
    stream.aggregate(0, aggregate(50..90, [site(60, 80)]));
    let report = report(by("caller"), &stream.bytes).unwrap();
    for name in ["alpha", "beta", "no call chain"] {
        let found = rows(&report);
        let row = found.iter().find(|(_, _, cell)| cell.contains(name));
        assert_eq!(row.map(|row| row.0), Some(1000), "{name} in {found:?}");
    }
}
