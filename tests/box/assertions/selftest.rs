//! `ebs selftest`: it fails where the PMU is not sound.

use hardmeter_tests::{Outcome, Scene};

use crate::{
    Skip,
    facts::{Facts, Precision},
    log::Switched,
};

/// Its report, as JSON.
fn document(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

/// What is wrong on purpose is found: each switch of `BX_PMU_BROKEN` that
/// this PMU has.
pub(crate) fn fails(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let broken = match facts.precision {
        Precision::Pebs => ["ip", "address", "registers"].as_slice(),
        Precision::Ibs => &["address"],
    };
    for what in broken {
        let _wrong = Switched::to("BROKEN", what);
        let outcome = scene.run("ebs selftest --json --seconds 1 -t memory_loads");
        assert_eq!(outcome.code(), 1, "{what}: {outcome}");
        let document = document(&outcome);
        let rows = document["rows"].as_array().unwrap();
        let is_bad = |row: &&serde_json::Value| row["verdict"] == "FAIL";
        let row = rows.iter().find(is_bad).unwrap_or_else(|| panic!("{what}: {outcome}"));
        assert_eq!(row["counted_by"], "hardware", "{what}: {row}");
    }
    Ok(())
}
