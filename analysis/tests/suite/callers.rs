//! Who called, by chains that the kernel recorded.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::report::Cell;
use analysis::{Filter, FrameCut, Glob, Key, Query, folded, table};
use record::SampleType;

const IN_KERNEL: u64 = 128_u64.wrapping_neg();
const OF_USER: u64 = 512_u64.wrapping_neg();
const COPY: u64 = 0xffff_ffff_8100_1000;
const CLEAR: u64 = 0xffff_ffff_8100_1100;

/// Of `clear_page_erms` one hit that `copy_page` called, one that it called
/// itself, one from user space, one without a caller.
fn recording(fields: SampleType) -> Recording {
    let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
    stream.comm(task(1, 1), 0, "make", true);
    stream.map(task(1, 1), 0, 0x1000..0x2000, "//anon");
    for chain in [
        // Returns to where the next routine begins.
        vec![IN_KERNEL, CLEAR + 4, CLEAR],
        vec![IN_KERNEL, CLEAR + 4, CLEAR + 8, COPY + 5],
        vec![IN_KERNEL, CLEAR + 4, OF_USER, 0x1010],
        vec![IN_KERNEL, CLEAR + 4],
        vec![],
    ] {
        stream.hit(&Hit { chain, ..Hit::new(KERNEL, CLEAR + 4, task(1, 1), 9) });
    }
    stream.hit(&Hit { chain: vec![OF_USER, 0x1010], ..Hit::new(USER, 0x1010, task(1, 1), 9) });
    stream
}

fn by(keys: &str, fields: SampleType) -> analysis::Report {
    let keys = Key::parse_list(keys).unwrap();
    report(Query { keys, ..Query::default() }, &recording(fields).bytes).unwrap()
}

#[test]
fn the_caller_is_the_first_of_another_name() {
    let report = by("routine,caller", usual_fields() | SampleType::CALLCHAIN);
    let rows: Vec<String> = report.events[0]
        .rows
        .iter()
        .map(|row| {
            let words = row.cells.iter().map(|cell| match cell {
                Cell::Text(text) => text.to_string(),
                _ => "-".to_owned(),
            });
            format!("{} {}", row.count, words.collect::<Vec<_>>().join(" < "))
        })
        .collect();
    let expected = [
        "2 clear_page_erms < copy_page",
        "1 clear_page_erms < -",
        "1 clear_page_erms < [anonymous] //anon",
        "1 - < -",
    ];
    for row in expected {
        assert!(rows.iter().any(|it| it == row), "{row}: {rows:#?}");
    }
    assert_eq!(report.events[0].totals.counted, 6);
    let text = table::render(&report, table::Style::default());
    assert!(text.contains("[no-caller]") && text.contains("[no-chain]"), "{text}");
}

/// `count key < key`, as many as there are rows, and all counted samples.
fn told(query: Query) -> (Vec<String>, u64) {
    let fields = usual_fields() | SampleType::CALLCHAIN;
    let report = report(query, &recording(fields).bytes).unwrap();
    let event = &report.events[0];
    assert_eq!(
        event.totals.counted,
        event.rows.iter().map(|row| row.count).sum::<u64>(),
        "rows add up to what was counted"
    );
    assert_eq!(event.totals.samples, event.totals.counted + event.totals.filtered);
    let rows = event.rows.iter().map(|row| {
        let words = row.cells.iter().map(|cell| match cell {
            Cell::Text(text) => text.to_string(),
            Cell::Site(site) => format!("{:x}", site.address),
            Cell::Missing(missing) | Cell::SiteMissing(missing) => format!("[{missing}]"),
            other => format!("{other:?}"),
        });
        format!("{} {}", row.count, words.collect::<Vec<_>>().join(" < "))
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort_unstable();
    (rows, event.totals.counted)
}

fn cut(keys: &str, frames: FrameCut) -> Query {
    Query { keys: Key::parse_list(keys).unwrap(), frames, ..Query::default() }
}

#[test]
fn sites_move_to_the_first_frame_outside() {
    let outside = vec![Glob::new("clear_page*"), Glob::new("nothing")];
    let frames = FrameCut { outside, ..FrameCut::default() };
    let (rows, counted) = told(cut("site", frames.clone()));
    let inside = "[all frames of the chain are what --outside leaves out]";
    let expected = [
        format!("1 {inside}"),
        "1 [no call chain]".to_owned(),
        // The instruction that called.
        "1 ffffffff810010ff".to_owned(),
        "1 ffffffff81001004".to_owned(),
        "2 1010".to_owned(),
    ];
    assert_eq!((rows, counted), (expected.to_vec(), 6));
    let (rows, _) = told(cut("routine,object,caller", frames));
    assert!(rows.iter().any(|row| row.starts_with("1 copy_page < [kernel] < ")), "{rows:#?}");
    let all = FrameCut { outside: vec![Glob::new("[kernel]")], ..FrameCut::default() };
    let (rows, _) = told(cut("routine", all));
    assert!(rows.iter().any(|row| *row == format!("3 {inside}")), "{rows:#?}");
}

#[test]
fn chains_are_looked_at_from_a_routine_outwards_or_inwards() {
    let of = |glob: &str| Some(Glob::new(glob));
    let callers = FrameCut { callers: of("clear_page_erms"), ..FrameCut::default() };
    let (rows, counted) = told(cut("caller", callers));
    let expected =
        ["1 [anonymous] //anon", "1 [the recorded chain has no more frames]", "2 copy_page"];
    assert_eq!((rows, counted), (expected.map(str::to_owned).to_vec(), 4));
    let callees = FrameCut { callees: of("copy_page"), ..FrameCut::default() };
    let (rows, _) = told(cut("callee", callees.clone()));
    assert_eq!(rows, ["2 clear_page_erms"]);
    let (rows, _) = told(cut("stack", callees));
    let expected = ["1 copy_page;clear_page_erms", "1 copy_page;clear_page_erms;clear_page_erms"];
    assert_eq!(rows, expected);
    let own = FrameCut { callees: of("clear_*"), ..FrameCut::default() };
    assert_eq!(told(cut("callee", own.clone())).0, ["4 [in the routine itself]"]);
    let rows = told(cut("stack", own)).0;
    assert_eq!(rows, ["1 clear_page_erms;clear_page_erms", "3 clear_page_erms"]);
    let both =
        FrameCut { callers: of("copy_page"), callees: of("copy_page"), ..FrameCut::default() };
    assert_eq!(told(cut("stack", both)).0, ["2 copy_page"]);
    let none = FrameCut { callers: of("x"), ..FrameCut::default() };
    assert_eq!(told(cut("stack", none)), (Vec::new(), 0));
}

#[test]
fn filters_look_at_any_frame() {
    for (filter, counted) in [
        ("frame=copy_page", 2),
        ("frame!=copy_page", 3),
        ("frame=clear_*", 4),
        ("frame=//anon", 2),
        ("frame=[kernel] and frame!=//anon", 3),
        ("frame=nothing", 0),
    ] {
        let filters = Filter::parse_all(filter).unwrap();
        let (_, found) = told(Query { filters, ..cut("routine", FrameCut::default()) });
        assert_eq!(found, counted, "{filter}");
    }
}

#[test]
fn a_callee_wants_the_routine_that_called_it() {
    let error = cut("callee", FrameCut::default()).check().unwrap_err();
    assert!(error.to_string().contains("add --callees"), "{error}");
}

#[test]
fn chains_fold_from_the_outermost_on() {
    let report = by("comm,stack", usual_fields() | SampleType::CALLCHAIN);
    let mut text = Vec::new();
    folded::write(&report, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "make;[anonymous] //anon 1",
        "make;[anonymous] //anon;clear_page_erms 1",
        "make;[no-chain] 1",
        "make;clear_page_erms 1",
        "make;copy_page;clear_page_erms 1",
        "make;copy_page;clear_page_erms;clear_page_erms 1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_event_without_chains_says_so() {
    let report = by("caller", usual_fields());
    let [row] = report.events[0].rows.as_slice() else { panic!("{:?}", report.events[0].rows) };
    assert_eq!(row.count, 6);
    let text = table::render(&report, table::Style::default());
    assert!(text.contains("[no-chain]"), "{text}");
}
