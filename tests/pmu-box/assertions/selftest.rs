//! `ebs selftest`: it passes where the PMU is sound, and fails where it is
//! not.

use tests::{Outcome, Scene};

use crate::{
    Skip,
    facts::{Facts, Precision},
    log::Switched,
};

/// Its report, as JSON.
fn document(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

/// In a second of the machine's time no type fails whose events the model
/// counts; those that it does not come to say so.
pub(crate) fn passes(facts: &Facts) -> Skip {
    passes_of(match facts.precision {
        Precision::Pebs => 3,
        Precision::Ibs => 0,
    })
}

/// The same where nothing of the CPU's is exact.
pub(crate) fn passes_without_precision(_: &Facts) -> Skip {
    passes_of(0)
}

/// With as many types of the CPU's at least.
fn passes_of(least: u32) -> Skip {
    let scene = Scene::new();
    let outcome = scene.run("ebs selftest --json --seconds 1");
    let document = document(&outcome);
    let mut by_hardware = 0;
    for row in document["rows"].as_array().unwrap() {
        match row["verdict"].as_str() {
            Some("PASS") => by_hardware += u32::from(row["counted_by"] == "hardware"),
            // The model leaves their event out (`model/README.md`).
            Some("FAIL") if row["sampled"]["account"]["events"] == 0 => {}
            Some("why not") => assert_ne!(row["reasons"][0], serde_json::Value::Null, "{row}"),
            _ => panic!("{row}"),
        }
    }
    let is_clean = document["failed"] == 0;
    assert_eq!(outcome.code(), i32::from(!is_clean), "{outcome}");
    assert!(by_hardware >= least, "{by_hardware} types of the CPU's: {outcome}");
    Ok(())
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
        let outcome = scene.run("ebs selftest --json --seconds 0.1 -t memory_loads");
        assert_eq!(outcome.code(), 1, "{what}: {outcome}");
        let document = document(&outcome);
        let rows = document["rows"].as_array().unwrap();
        let is_bad = |row: &&serde_json::Value| row["verdict"] == "FAIL";
        let row = rows.iter().find(is_bad).unwrap_or_else(|| panic!("{what}: {outcome}"));
        assert_eq!(row["counted_by"], "hardware", "{what}: {row}");
    }
    Ok(())
}
