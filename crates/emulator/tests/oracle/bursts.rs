use emulator::{Burst, Class, Coverage, EmulatedEvent};

use crate::behaviour::assert_same_behaviour_in;
use crate::recomputed::assert_addresses_in;
use crate::run::{Recorded, Recording};
use crate::workload::Workload;

const L1: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=off stlb=off";
const INTERVAL: u64 = 1000;

fn burst(on: u64, every: u64) -> Burst {
    Burst { on, every, warm: None }
}

/// Of a program at fixed addresses: all of it, and bursts of it.
fn whole_and_part(
    name: &'static str,
    arguments: &[&str],
    event: EmulatedEvent,
    burst: Burst,
) -> (Recorded, Recorded) {
    let program = Workload::fixed(name);
    let whole = Recording { interval: INTERVAL, ..Recording::every(event, L1) };
    let part = Recording { burst: Some(burst), ..whole.clone() };
    (whole.of(&program.path(), arguments), part.of(&program.path(), arguments))
}

fn coverage(recorded: &Recorded) -> Coverage {
    recorded.counts().bursts.unwrap()
}

/// Every instruction is in a burst or between two, and counted once; those
/// in bursts are the events.
#[test]
fn instructions_in_and_between_bursts_are_all_there_are() {
    for (on, every) in [(1, 3), (1000, 10_000)] {
        let event = EmulatedEvent::Class(Class::Retired);
        let (whole, part) = whole_and_part("jumps.c", &[], event, burst(on, every));
        let ran = coverage(&part);
        let all = whole.counts().events;
        assert_eq!(ran.instructions(), all, "{on}/{every}");
        assert_eq!((part.counts().events, ran.warmed), (ran.counted, 0), "{on}/{every}");
        // Whole blocks, so that single instructions are hit or missed many
        // at a time.
        let expected = all * on / every;
        let off = ran.counted.abs_diff(expected);
        assert!(off <= expected / 50 + 2 * on, "{on}/{every}: {ran:?}, {expected}");
        assert_eq!(part.out, whole.out);
    }
}

/// What bursts say of the whole is right within what they say of their error.
#[test]
fn the_estimate_of_the_misses_is_within_its_error() {
    let walks: [(&str, &[&str]); 3] =
        [("matrix.c", &["row", "3"]), ("matrix.c", &["col", "1"]), ("chase.c", &["300000"])];
    for (name, arguments) in walks {
        let walk = format!("{name} {arguments:?}");
        let bursts = Burst { on: 2000, every: 50_000, warm: Some(20_000) };
        let (whole, part) = whole_and_part(name, arguments, EmulatedEvent::L1DataMiss, bursts);
        let ran = coverage(&part);
        let truth = f64::from(u32::try_from(whole.counts().events).unwrap());
        let counted = f64::from(u32::try_from(part.counts().events).unwrap());
        let estimate = counted * ran.factor().unwrap();
        let error = ran.error().unwrap();
        assert!(error < 0.1, "{walk}: {error}");
        let off = (estimate / truth - 1.0).abs();
        assert!(off < 4.0 * error + 0.002, "{walk}: {estimate} of {truth}, error {error}");
        // And no other number of records than of events.
        assert_eq!(part.records.len(), usize::try_from(part.counts().events / INTERVAL).unwrap());
        assert!(ran.bare > 0 && ran.warmed > 0, "{ran:?}");
    }
}

/// With caches that nothing warmed up, bursts find misses that the program
/// does not have.
#[test]
fn caches_are_warm_when_a_burst_begins() {
    let [without, with] = [0, 15_000].map(|warm| {
        let bursts = Burst { on: 200, every: 20_000, warm: Some(warm) };
        let (whole, part) = whole_and_part("jumps.c", &[], EmulatedEvent::L1DataMiss, bursts);
        let events = |of: &Recorded| f64::from(u32::try_from(of.counts().events).unwrap());
        events(&part) * coverage(&part).factor().unwrap() / events(&whole)
    });
    // Few misses in few bursts: far from exact, and farther without.
    assert!(with < 4.0 && without > 8.0 * with, "{with} of the truth, {without} cold");
}

#[test]
fn bursts_of_two_runs_are_at_the_same_places() {
    let program = Workload::fixed("jumps.c");
    let bursts = Some(Burst { on: 100, every: 1000, warm: Some(100) });
    let recording = Recording { burst: bursts, ..Recording::every(EmulatedEvent::L1DataMiss, L1) };
    let [first, second] = [0, 1].map(|_| {
        let mut recorded = recording.of(&program.path(), &[]);
        for record in &mut recorded.records {
            record.thread = 0;
        }
        recorded
    });
    assert!(first.records.len() > 10, "{} records", first.records.len());
    assert!(first.records == second.records);
    assert_eq!(first.counts().bursts, second.counts().bursts);
}

/// Changing translations a thousand times a millisecond changes nothing for
/// the program.
#[track_caller]
fn assert_unnoticed(name: &'static str, arguments: &[&str]) {
    let bursts = Some(Burst { on: 100, every: 1000, warm: Some(100) });
    assert_same_behaviour_in(bursts, &Workload::usual(name), arguments);
}

#[test]
fn handlers_do_not_notice_bursts() {
    assert_unnoticed("frames.c", &[]);
}

#[test]
fn branches_do_not_notice_bursts() {
    assert_unnoticed("jumps.c", &[]);
}

#[test]
fn children_and_programs_do_not_notice_bursts() {
    assert_unnoticed("children.c", &[]);
    assert_unnoticed("surroundings.c", &["one", "two words", ""]);
}

#[test]
fn ends_do_not_notice_bursts() {
    for how in ["segv", "stack", "exec"] {
        assert_unnoticed("die.c", &[how]);
    }
}

#[test]
fn addresses_in_bursts_are_what_the_registers_say() {
    let bursts = Some(Burst { on: 300, every: 1000, warm: Some(300) });
    for name in ["jumps.c", "frames.c"] {
        assert_addresses_in(bursts, name, EmulatedEvent::L1DataMiss, &[]);
    }
}
