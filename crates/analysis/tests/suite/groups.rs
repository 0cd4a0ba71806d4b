//! Samples that hold the counts of a group.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::report;
use analysis::{Query, Report};
use perfdata::attr::ReadFormat;
use perfdata::{Attr, AttrFlags, SampleType};

const IP: u64 = 0xffff_ffff_8100_1000;

fn group(flags: AttrFlags) -> Attr {
    let attr = page_faults(usual_fields() | SampleType::READ);
    let read_format = ReadFormat::ID | ReadFormat::GROUP;
    Attr { read_format, flags: attr.flags | flags, ..attr }
}

/// Two events whose samples, each of a thread, hold counts by id.
fn of(flags: AttrFlags, samples: &[(i32, &[(u64, u64)])]) -> Report {
    let mut stream = Recording::new(&[(group(flags), "leader"), (group(flags), "member")]);
    for (time, (tid, counts)) in (1..).zip(samples) {
        let hit = Hit {
            period: 77,
            counts: counts.to_vec(),
            ..Hit::new(KERNEL, IP, task(1, *tid), time)
        };
        stream.hit(&hit);
    }
    report(Query::default(), &stream.bytes).unwrap()
}

fn totals(report: &Report) -> Vec<(u64, u64, u64, u64)> {
    let totals = report.events.iter().map(|event| &event.totals);
    totals.map(|of| (of.samples, of.counted, of.malformed, of.period)).collect()
}

#[test]
fn samples_of_ids_that_nothing_explains_are_counted_and_told() {
    let report = of(AttrFlags::empty(), &[(1, &[(99, 5)]), (1, &[(99, 6), (98, 1)]), (1, &[])]);
    assert_eq!(totals(&report), [(3, 0, 3, 0), (0, 0, 0, 0)]);
    let told = |text: &str| report.notes.iter().any(|note| note == text);
    assert!(told("3 counts in samples are of ids that the recording does not explain"));
    assert!(told("1 samples of groups hold no counts: of no event"), "{:?}", report.notes);
}

#[test]
fn counts_that_do_not_grow_make_no_samples_and_are_told() {
    let counts: [(i32, &[(u64, u64)]); 4] =
        [(1, &[(1, 10), (2, 4)]), (1, &[(1, 10), (2, 4)]), (1, &[(1, 3), (2, 5)]), (1, &[(1, 7)])];
    let report = of(AttrFlags::empty(), &counts);
    assert_eq!(totals(&report), [(2, 2, 0, 14), (2, 2, 0, 5)]);
    let told = |text: &str| report.notes.iter().any(|note| note == text);
    assert!(told("1 samples hold no count that has grown: of no event"), "{:?}", report.notes);
    assert!(told("1 counts in samples are less than in the sample before: taken as not grown"));
}

#[test]
fn threads_that_inherit_an_event_count_each_for_itself() {
    let counts: [(i32, &[(u64, u64)]); 4] =
        [(1, &[(1, 1000)]), (2, &[(1, 10)]), (1, &[(1, 1500)]), (2, &[(1, 30)])];
    let report = of(AttrFlags::INHERIT, &counts);
    assert_eq!(totals(&report)[0], (4, 4, 0, 1530));
    assert_eq!(report.notes.iter().filter(|note| note.contains("counts in")).count(), 0);
}
