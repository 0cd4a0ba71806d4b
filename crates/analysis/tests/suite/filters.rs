//! Each filter on a recording whose counts are known.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Filter, Query};
use perfdata::SampleType;

fn recording(fields: SampleType) -> Recording {
    let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
    stream.comm(task(1, 1), 0, "make", true);
    stream.comm(task(2, 3), 0, "cc1", true);
    stream.map(task(2, 3), 0, 0x1000..0x2000, "//anon");
    let (kernel, user) = (0xffff_ffff_8100_1000, 0x1010);
    for (misc, ip, task, count) in [
        (KERNEL, kernel, task(1, 1), 1),
        (KERNEL, kernel + 0x100, task(1, 1), 2),
        (USER, user, task(2, 3), 4),
        (KERNEL, kernel + 0x110, task(2, 3), 8),
    ] {
        for addr in 0..count {
            let hit =
                Hit { addr: 0x5000 + addr, cpu: addr as u32 & 1, ..Hit::new(misc, ip, task, 9) };
            stream.hit(&hit);
        }
    }
    stream
}

#[test]
fn filters_keep_what_they_say() {
    let stream = recording(usual_fields());
    for (filter, counted) in [
        ("pid=1", 3),
        ("pid!=1", 12),
        ("tid=3", 12),
        ("tid=2", 0),
        ("comm=make", 3),
        ("comm=c*", 12),
        ("comm!=c*", 3),
        ("cpu=1", 1 + 2 + 4),
        ("mode=user", 4),
        ("mode!=user", 11),
        ("routine=clear_page_erms", 10),
        ("routine=*page*", 11),
        // The user's samples have no routine: nothing can be said of it.
        ("routine!=copy_page", 10),
        ("object=//anon", 4),
        ("object!=//anon", 11),
        ("ip=1000-2000", 4),
        ("ip=ffffffff81001100", 2),
        ("ip=ffffffff81001100-ffffffff81001111", 10),
        ("addr=5000-5002", 7),
        ("addr!=5000-5002", 8),
        ("addr=5007-", 1),
        ("pid=2 and mode=kernel and cpu=0", 4),
        ("pid=1 and pid=2", 0),
    ] {
        let filters = Filter::parse_all(filter).unwrap();
        let report = report(Query { filters, ..Query::default() }, &stream.bytes).unwrap();
        let event = &report.events[0];
        assert_eq!(event.totals.counted, counted, "{filter}");
        assert_eq!(event.totals.filtered, 15 - counted, "{filter}");
        assert_eq!(event.rows.iter().map(|row| row.count).sum::<u64>(), counted, "{filter}");
        if counted > 0 {
            let share: f64 = event.rows.iter().map(|row| row.share).sum();
            assert!((share - 1.0).abs() < 1e-9, "{filter}: shares are of what passed");
        }
    }
}

#[test]
fn a_field_that_was_not_recorded_is_said() {
    let stream = recording(usual_fields() - SampleType::ADDR);
    for filter in ["addr=5000-5002", "addr!=5000-5002"] {
        let filters = Filter::parse_all(filter).unwrap();
        let report = report(Query { filters, ..Query::default() }, &stream.bytes).unwrap();
        assert_eq!(report.events[0].totals.counted, 0);
        let note = format!("page_fault was recorded without addr: no sample of it passes {filter}");
        assert!(report.notes.contains(&note), "{:?}", report.notes);
    }
}
