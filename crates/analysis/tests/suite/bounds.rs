//! Memory that does not grow with the number of samples.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::{report, symbolizer};
use analysis::{Key, Pipeline, Query};
use perfdata::stream::{StreamDecoder, StreamStep};

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_stream_without_round_marks_takes_bounded_memory() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let start = stream.bytes.len();
    for time in 0..64 {
        stream.hit(&Hit::new(KERNEL, 0xffff_ffff_8100_1000 + time, task(1, 1), time));
    }
    let (head, samples) = stream.bytes.split_at(start);
    let limit = 4 << 20;
    let query = Query { pending_bytes: limit, ..Query::default() };
    let mut pipeline = Pipeline::new(query, symbolizer()).unwrap();
    let mut decoder = StreamDecoder::new();
    let mut feed = |mut rest: &[u8]| {
        while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
            pipeline.record(&decoder, &record).unwrap();
            rest = &rest[consumed..];
        }
    };
    feed(head);
    // Past the limit once, so that all buffers have their size.
    let once = limit as u64 / 64 / 48 + 1;
    for _ in 0..once {
        feed(samples);
    }
    let before = resident_kib();
    for _ in 0..once * 8 {
        feed(samples);
    }
    let grown = resident_kib().saturating_sub(before);
    // Other tests of this binary run beside this one and allocate too.
    assert!(grown < 32 << 10, "{grown} KiB more for eight times the limit of {limit} bytes");
    let report = pipeline.finish(&decoder).unwrap();
    assert_eq!(report.events[0].totals.counted, once * 9 * 64);
    assert!(report.losses.counted_early > 0);
    assert!(report.notes.iter().any(|note| note.contains("too few round marks")));
}

#[test]
fn rounds_within_the_limit_are_never_early() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for time in 0..1000 {
        stream.hit(&Hit::new(KERNEL, 0xffff_ffff_8100_1000, task(1, 1), time));
        if time % 10 == 9 {
            stream.round();
        }
    }
    // Two rounds of ten samples of 56 bytes or less fit.
    let query = Query { pending_bytes: 20 * 56, ..Query::default() };
    let report = report(query, &stream.bytes).unwrap();
    assert_eq!(report.losses.counted_early, 0);
    assert_eq!(report.events[0].totals.counted, 1000);
}

#[test]
fn late_mappings_of_the_next_round_are_used() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let own = task(5, 5);
    stream.hit(&Hit::new(crate::recording::USER, 0x1234, own, 10));
    stream.round();
    stream.map(own, 9, 0x1000..0x2000, "//anon");
    stream.comm(own, 9, "late", false);
    stream.round();
    let keys = Key::parse_list("object,comm").unwrap();
    let report = report(Query { keys, ..Query::default() }, &stream.bytes).unwrap();
    let cells = format!("{:?}", report.events[0].rows[0].cells);
    assert_eq!(cells, r#"[Text("//anon"), Text("late")]"#);
}
