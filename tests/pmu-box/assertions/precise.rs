//! EXACT_IP, the only proof of precision.

use pmu_box::text_records::TextRecord;
use tests::{Outcome, Scene};

use crate::{
    Skip,
    facts::{Facts, ProbeRun},
    keep_figure, walk,
};

/// What the last line of a run of a CPU's event tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastLine {
    pub(crate) records: u64,
    pub(crate) exact: u64,
}

/// Reads it; fails unless all records are accounted for.
#[track_caller]
pub(crate) fn last_line(outcome: &Outcome) -> LastLine {
    let told = outcome.told();
    let line = outcome.last_line();
    let before = |words: &str| -> Option<u64> {
        let (before, _) = line.split_once(words)?;
        before.rsplit([' ', ',']).find(|word| !word.is_empty())?.parse().ok()
    };
    let exact = before(" with exact IP");
    LastLine {
        records: told.delivered,
        exact: exact.unwrap_or_else(|| panic!("no exact records told: {outcome}")),
    }
}

/// What the last line tells of a recording, whose report must say the same
/// share of it in its first.
#[track_caller]
pub(crate) fn share_is_the_tables(scene: &Scene, recording: &str, outcome: &Outcome) -> LastLine {
    let told = last_line(outcome);
    let report = scene.run(&format!("ebs report --top 1 {recording}")).success();
    let share = 100.0 * told.exact as f64 / told.records as f64;
    let words = format!(": {} samples, EXACT_IP on {share:.2}%", told.records);
    assert!(report.out.lines().any(|line| line.ends_with(&words)), "{words}: {report}{outcome}");
    told
}

/// All records of exact types are exact, and those of the walk's misses are
/// at the load that misses, on a node's number.
pub(crate) fn exact(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let ProbeRun { program, interval } = facts.probe_run();
    let line = format!("ebs -u -t l1_cache_miss -i ={interval} -c all -o m.txt {program}");
    let outcome = scene.run(&line).success();
    let records = TextRecord::all(&scene.read("m.txt"));
    assert!(records.len() > 10, "{outcome}");
    let told = last_line(&outcome);
    assert_eq!(told.exact, told.records, "{outcome}");
    // The kernel's part of a program's start may leave lines out of the
    // cache: a load or two elsewhere.
    let elsewhere = records.iter().filter(|record| record.ip() != walk::MISS).count();
    keep_figure(format!("{} records, {elsewhere} elsewhere", records.len()));
    assert!(elsewhere <= 2, "{elsewhere} of {} records elsewhere: {outcome}", records.len());
    for record in &records {
        assert!(record.exact(), "{record:x?}");
        if record.ip() == walk::MISS && facts.has_addresses("l1_cache_miss") {
            assert!(walk::misses_at(record.get("addr")), "{record:x?}");
        }
    }
    Ok(())
}
