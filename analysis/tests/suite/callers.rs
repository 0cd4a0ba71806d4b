//! Who called, by chains that the kernel recorded.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::report::Cell;
use analysis::{Key, Query, folded, table};
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
