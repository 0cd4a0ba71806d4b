//! Requests that took several events make one table.

use crate::recording::{Hit, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Glob, Query, table};
use perfdata::attr::EventType;
use perfdata::{Attr, SampleType};

const OURS: &str = "source=pebs;ip=exact;addr=data";

fn event(kind: u32, config: u64, period: u64) -> Attr {
    Attr {
        kind: EventType(kind),
        config,
        sample_period: period,
        ..page_faults(usual_fields() | SampleType::REGS_INTR)
    }
}

/// Two events of these names and configs, hit twice and three times at one
/// place and once each at another.
fn two(names: [&str; 2], periods: [u64; 2], notes: [&str; 2]) -> Recording {
    let mut recording = Recording::new(&[
        (event(4, 0x81d0, periods[0]), names[0]),
        (event(10, 0x82d0, periods[1]), names[1]),
    ]);
    for (index, note) in (0..).zip(notes) {
        recording.note(index, note);
    }
    for (event, ip) in [(0, 1), (0, 1), (1, 1), (1, 1), (1, 1), (0, 2), (1, 3)] {
        let mut hit = Hit::new(USER, ip, task(7, 7), 1);
        (hit.event, hit.period) = (event, periods[event]);
        recording.hit(&hit);
    }
    recording
}

#[test]
fn events_of_one_request_are_counted_together() {
    let hybrid = ["cpu_core/memory_loads/", "cpu_atom/memory_loads/"];
    for names in [hybrid, ["memory_moves"; 2]] {
        let mut recording = two(names, [100; 2], [OURS, "source=pebs;ip=exact;addr=none"]);
        recording.note(0, "events=300;kernel=3;delivered=3;lost.ring=0;unaccounted=0;seconds=1.5");
        recording.note(1, "events=500;kernel=5;delivered=4;lost.ring=1;unaccounted=0;seconds=1.5");
        let report = report(Query::default(), &recording.bytes).unwrap();
        assert_eq!(report.events.len(), 1);
        let event = &report.events[0];
        let asked = if names == hybrid { "memory_loads" } else { "memory_moves" };
        assert_eq!(event.name, asked);
        assert_eq!((event.totals.samples, event.totals.counted), (7, 7));
        let counts: Vec<_> = event.rows.iter().map(|row| row.count).collect();
        assert_eq!(counts, [5, 1, 1]);
        assert!((event.rows[0].share - 5.0 / 7.0).abs() < 1e-9);
        let members: Vec<_> = event
            .members
            .iter()
            .map(|it| (it.name.as_str(), it.config.as_str(), it.counted))
            .collect();
        assert_eq!(members, [(names[0], "0x81d0", 3), (names[1], "0x82d0", 4)]);
        let ledger = event.ledger.as_ref().unwrap();
        assert_eq!((ledger.events, ledger.kernel, ledger.delivered), (Some(800), Some(8), Some(7)));
        assert_eq!(
            (ledger.lost["ring"], ledger.unaccounted, ledger.seconds),
            (1, Some(0), Some(1.5))
        );
        assert_eq!(event.promises["addr"], "data | none");
        assert_eq!(event.promises["ip"], "exact");
        let text = table::render(&report, table::Style::default());
        let line = format!("#   {} (config 0x82d0): 4 samples, 4 counted\n", names[1]);
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn one_of_them_can_be_looked_at() {
    let names = ["cpu_core/memory_loads/", "cpu_atom/memory_loads/"];
    let recording = two(names, [100; 2], [OURS; 2]);
    let query = Query { event: Some(Glob::new("cpu_atom/*")), ..Query::default() };
    let report = report(query, &recording.bytes).unwrap();
    assert_eq!(report.events.len(), 1);
    assert_eq!((report.events[0].name.as_str(), report.events[0].totals.counted), (names[1], 4));
    assert!(report.events[0].members.is_empty());
}

/// The name that was typed names all of them.
#[test]
fn they_can_be_looked_at_by_what_was_asked_for() {
    let recording = two(["cpu_core/memory_loads/", "cpu_atom/memory_loads/"], [100; 2], [OURS; 2]);
    let query = |glob| Query { event: Some(Glob::new(glob)), ..Query::default() };
    let both = report(query("memory_loads"), &recording.bytes).unwrap();
    let counted: Vec<_> = both.events.iter().map(|event| event.totals.counted).collect();
    assert_eq!(counted, [7]);
    assert!(report(query("memory_stores"), &recording.bytes).is_err());
    // Another recorder's event is called as it says.
    let recording = two(["cpu_core/cycles/", "cpu_atom/cycles/"], [100; 2], [""; 2]);
    assert!(report(query("cycles"), &recording.bytes).is_err());
}

#[test]
fn other_events_stay_apart() {
    for (names, notes) in [
        // Another recorder's may mean anything.
        (["cpu_core/cycles/", "cpu_atom/cycles/"], ["", ""]),
        (["memory_loads", "memory_stores"], [OURS; 2]),
    ] {
        let recording = two(names, [100; 2], notes);
        let report = report(Query::default(), &recording.bytes).unwrap();
        let counted: Vec<_> = report.events.iter().map(|event| event.totals.counted).collect();
        assert_eq!(counted, [3, 4], "{names:?}");
    }
}

/// A sample of either stands for another number of events.
#[test]
fn shares_of_unlike_intervals_are_of_periods() {
    let recording = two(["memory_moves"; 2], [100, 1000], [OURS; 2]);
    let report = report(Query::default(), &recording.bytes).unwrap();
    let event = &report.events[0];
    assert_eq!(event.totals.period, 3 * 100 + 4 * 1000);
    let text = table::render(&report, table::Style::default());
    for line in [
        "# memory_moves: 7 samples",
        "#   memory_moves (config 0x81d0), every 100 events: 3 samples, 3 counted\n",
        "#   memory_moves (config 0x82d0), every 1000 events: 4 samples, 4 counted\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!((event.rows[0].share - 3200.0 / 4300.0).abs() < 1e-9, "{:?}", event.rows[0]);
}

#[test]
fn registers_are_counted_together() {
    let ibs = "source=ibs;regs=interrupt-time";
    let recording = two(["memory_moves"; 2], [100; 2], [ibs; 2]);
    let query = Query { registers: Some(analysis::RegisterQuery::default()), ..Query::default() };
    let report = report(query, &recording.bytes).unwrap();
    let event = &report.events[0];
    assert_eq!(event.totals.at_site, Some(7));
    assert!(event.registers.iter().any(|register| register.name == "rax" || register.name == "ax"));
    assert!(event.registers.iter().all(|register| register.samples == 7), "{:?}", event.registers);
    let caveats = report.notes.iter().filter(|note| note.contains("belong to a later instruction"));
    assert_eq!(caveats.count(), 1, "{:?}", report.notes);
}
