use perfdata::{AttrFlags, ReadFormat};

use super::*;
use crate::sys::event::Counts;

fn total(own: u64, witness: u64) -> EventTotal {
    let counts = |count| Counts { count, enabled: 1000, running: 1000, lost: 0 };
    EventTotal {
        counts: counts(own),
        witness: counts(witness),
        side_enabled: 1000,
        side_running: 1000,
        opened: 2,
        witnesses: 2,
        periods: 0,
    }
}

#[test]
fn a_sound_witness_tells_what_throttling_cost() {
    let whole = whole(&total(6_400, 40_000)).unwrap();
    assert_eq!(missed(whole, 6_400, 16), 2_100);
    assert_eq!(missed(6_407, 6_400, 16), 0, "less than a period");
    assert_eq!(missed(6_000, 6_400, 16), 0, "it was started later");
    assert_eq!(missed(7, 0, 0), 0, "no period");
}

#[test]
fn a_witness_that_missed_something_is_not_heard() {
    let sound = total(6_400, 40_000);
    assert_eq!(whole(&EventTotal { witnesses: 1, ..sound }), None, "not everywhere");
    assert_eq!(whole(&EventTotal { witnesses: 0, opened: 0, ..sound }), None, "nowhere");
    let half = Counts { running: 500, ..sound.witness };
    assert_eq!(whole(&EventTotal { witness: half, ..sound }), None, "it shared its counter");
    let half = Counts { running: 500, ..sound.counts };
    assert_eq!(whole(&EventTotal { counts: half, ..sound }), None, "the other did");
}

/// An event of a CPU's, counted in the kernel.
fn attrs(config: u64, events: usize) -> Attrs {
    let attr = Attr {
        kind: EventType::RAW,
        config,
        sample_period: 16,
        sample_type: SampleType::IP | SampleType::TIME,
        sample_regs_intr: 0xff,
        read_format: ReadFormat::ID | ReadFormat::TOTAL_TIME_ENABLED,
        wakeup: 1024,
        clockid: 1,
        flags: AttrFlags::DISABLED
            | AttrFlags::INHERIT
            | AttrFlags::EXCLUDE_KERNEL
            | AttrFlags::WATERMARK
            | AttrFlags::USE_CLOCKID
            | AttrFlags::SAMPLE_ID_ALL,
        ..Attr::default()
    };
    let mut event = crate::session::opener::hardware("loads", 2);
    event.promises.source = SampleSource::Pebs;
    event.attr = attr.clone();
    event.attr.set_precise_ip(2);
    Attrs { events: vec![event; events], side: attr, counted: true, seen_first: true }
}

fn witness_of(attrs: &Attrs) -> Option<Attr> {
    attr(attrs, &attrs.events[0])
}

#[test]
fn a_witness_counts_the_same_and_samples_nothing() {
    let attrs = attrs(0x81d0, 1);
    let witness = witness_of(&attrs).unwrap();
    assert_eq!((witness.config, witness.kind), (0x81d0, EventType::RAW));
    assert_eq!((witness.sample_period, witness.precise_ip(), witness.sample_regs_intr), (0, 0, 0));
    assert!(witness.sample_type.is_empty());
    let same_modes = AttrFlags::DISABLED | AttrFlags::INHERIT | AttrFlags::EXCLUDE_KERNEL;
    assert_eq!(witness.flags, same_modes, "no precision, no records, the same tasks and modes");
    assert_eq!(witness.read_format, attrs.events[0].attr.read_format);
}

#[test]
fn what_has_a_counter_of_its_own_is_counted_elsewhere_or_not_at_all() {
    assert_eq!(witness_of(&attrs(0x100, 1)).unwrap().config, 0xc0, "INST_RETIRED.PREC_DIST");
    assert_eq!(witness_of(&attrs(0x300, 1)), None, "a fixed counter's");
    let mut threshold = attrs(0x1cd, 1);
    threshold.events[0].attr.config1 = 30;
    assert_eq!(witness_of(&threshold), None, "load latency");
    assert!(witness_of(&attrs(0x81d0, 2)).is_some());
    assert_eq!(witness_of(&attrs(0x81d0, 3)), None, "counters are few");
    let mut sampled = attrs(0x81d0, 1);
    sampled.seen_first = false;
    assert!(witness_of(&sampled).is_some(), "dense records through rings");
    sampled.events[0].attr.sample_period = 1000;
    assert_eq!(witness_of(&sampled), None, "records through rings, far from each other");
    sampled.events[0].attr.sample_period = 16;
    sampled.events[0].promises.source = SampleSource::Counter;
    assert_eq!(witness_of(&sampled), None, "a counter's own count is whole");
    let mut ibs = attrs(0x81d0, 1);
    ibs.events[0].promises.source = SampleSource::Ibs;
    assert_eq!(witness_of(&ibs), None, "IBS");
}
