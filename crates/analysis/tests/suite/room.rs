//! More rows than are kept: every figure stays true, or says how far off it is.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::report;
use analysis::report::{Cell, EventReport, MissingValue, Row};
use analysis::{Key, Query, csv, table};
use perfdata::attr::EventType;
use perfdata::{Attr, SampleType};
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeMap;

const BASE: u64 = 0xffff_ffff_a000_0000;

/// Samples by address: (number of the site, period) each.
fn recorded(samples: &[(u64, u64)]) -> Vec<u8> {
    let fields = usual_fields() | SampleType::DATA_SRC | SampleType::WEIGHT;
    // Load latency of Intel's cores.
    let (kind, config, config1) = (EventType(4), 0x1cd, 30);
    let attr = Attr { kind, config, config1, ..page_faults(fields) };
    let mut stream = Recording::new(&[(attr, "mem-loads")]);
    for (time, (site, period)) in (1..).zip(samples) {
        let mut hit = Hit::new(KERNEL, BASE + site * 16, task(1, 1), time);
        (hit.addr, hit.period, hit.weight) = (site * 64, *period, 7);
        stream.hit(&hit);
        if time % 16 == 0 {
            stream.round();
        }
    }
    stream.bytes
}

fn by(keys: &str, most_rows: usize) -> Query {
    Query { keys: Key::parse_list(keys).unwrap(), most_rows, accesses: true, ..Query::default() }
}

fn is_rest(row: &Row) -> bool {
    row.cells.iter().all(|cell| {
        matches!(
            cell,
            Cell::Missing(MissingValue::NotKept) | Cell::SiteMissing(MissingValue::NotKept)
        )
    })
}

fn counts(event: &EventReport) -> BTreeMap<String, (u64, u64)> {
    let rows = event.rows.iter().filter(|row| !is_rest(row));
    rows.map(|row| (format!("{:?}", row.cells), (row.count, row.period))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn sums_are_those_of_all_rows_and_rows_lack_no_more_than_is_told(
        samples in prop::collection::vec((prop::sample::select(
            vec![0u64, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]
        ), 1u64..4), 0..300),
        most in 1usize..24,
        keys in prop::sample::select(vec!["site", "addr", "comm,addr,ip"]),
    ) {
        let stream = recorded(&samples);
        let all = report(by(keys, usize::MAX), &stream).unwrap();
        let some = report(by(keys, most), &stream).unwrap();
        let (all, some) = (&all.events[0], &some.events[0]);
        prop_assert_eq!(all.not_kept, None);
        prop_assert_eq!(&all.totals.counted, &some.totals.counted);
        let sum = |of: fn(&Row) -> u64| some.rows.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|row| row.count), all.totals.counted);
        prop_assert_eq!(sum(|row| row.period), all.totals.period);
        let served = |row: &Row| row.served.as_ref().unwrap().latency.map_or(0, |it| it.samples);
        prop_assert_eq!(some.rows.iter().map(served).sum::<u64>(), all.totals.counted);
        prop_assert!(some.rows.iter().all(|row| served(row) == row.count));
        prop_assert_eq!(&some.latency, &all.latency);
        let (whole, kept) = (counts(all), counts(some));
        let Some(not_kept) = some.not_kept else {
            prop_assert_eq!(whole, kept);
            return Ok(());
        };
        prop_assert!(all.rows_total > most);
        // One more is made room for when the next one comes.
        prop_assert!(kept.len() <= most);
        let rest = some.rows.iter().find(|row| is_rest(row)).unwrap();
        prop_assert_eq!((rest.count, rest.period), (not_kept.samples, not_kept.period));
        for (cells, (count, period)) in &whole {
            let (own, own_period) = kept.get(cells).copied().unwrap_or_default();
            prop_assert!(own <= *count && count - own <= not_kept.lacking);
            prop_assert!(own_period <= *period && period - own_period <= not_kept.lacking_period);
        }
    }
}

/// One site in every other sample, all others once each.
fn bomb(sites: u64) -> Vec<u8> {
    let samples: Vec<_> = (1..=sites).flat_map(|site| [(site, 1), (0, 1)]).collect();
    recorded(&samples)
}

#[test]
fn what_is_not_kept_is_told_in_every_form() {
    let report = report(by("site", 1000), &bomb(5000)).unwrap();
    let event = &report.events[0];
    let not_kept = event.not_kept.unwrap();
    // The hot site came all the time, and was never dropped.
    let hot = event.rows.iter().find(|row| row.count > 4000 && !is_rest(row)).unwrap();
    assert!(hot.count + not_kept.lacking >= 5000 && not_kept.lacking <= 10, "{not_kept:?}");
    assert_eq!(not_kept.samples, event.rows.iter().find(|row| is_rest(row)).unwrap().count);
    let told = not_kept.told("mem-loads");
    assert!(report.notes.contains(&told), "{:?}", report.notes);
    let text = table::render(&report, table::Style::default());
    assert!(text.contains(&told) && text.contains("[rows not kept]"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    let of_json = &json["events"][0]["not_kept"];
    assert_eq!(of_json["samples"], not_kept.samples);
    assert_eq!(of_json["lacking"], not_kept.lacking);
    assert!(csv::render(&report).unwrap().contains("[rows not kept]"));
}

#[test]
fn an_event_with_few_samples_keeps_its_rows() {
    let attr = || page_faults(usual_fields());
    let mut stream = Recording::new(&[(attr(), "often"), (attr(), "seldom")]);
    for time in 1..=4000 {
        let mut hit = Hit::new(KERNEL, BASE + time * 16, task(1, 1), time);
        stream.hit(&hit);
        if time <= 10 {
            hit.event = 1;
            stream.hit(&hit);
        }
    }
    let query = Query { most_rows: 500, ..Query::default() };
    let report = report(query, &stream.bytes).unwrap();
    assert!(report.events[0].not_kept.is_some());
    let seldom = &report.events[1];
    assert_eq!((seldom.not_kept, seldom.rows_total), (None, 10));
}

#[test]
fn rows_of_lines_may_lack_all_that_was_not_kept() {
    let report = report(by("srcline", 100), &bomb(500)).unwrap();
    let not_kept = report.events[0].not_kept.unwrap();
    assert_eq!(not_kept.lacking, not_kept.samples);
}
