//! How many events a type's share of what was sampled comes to.

use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    figures,
    throttling::Unthrottled,
    walk,
};

/// An estimate that cannot be trusted is none: at short intervals IBS counts
/// a great part of each in the kernel, where nothing is sampled.
pub(crate) fn bounded(facts: &Facts) -> Skip {
    if facts.precision == Precision::Pebs {
        return Err("PEBS counts what the type means: nothing is estimated");
    }
    let scene = Scene::new();
    // Whether the kernel throttles what samples so often depends on how far
    // its next tick is.
    let _every_sample = Unthrottled::new();
    let line = "ebs -u -t memory_loads -i =1008 -c all -o e.data walk";
    let outcome = scene.run(line).success();
    let report = scene.run("ebs report --json e.data").success();
    let json: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let filter = &json["events"][0]["filter"];
    let estimate = filter["estimate"].as_u64().unwrap_or_else(|| panic!("{report}{outcome}"));
    figures::keep(format!("{estimate} loads estimated of {}", walk::LOADS));
    assert!(estimate > walk::LOADS * 5 / 4, "no longer far above: {estimate} {outcome}");
    assert_eq!(filter["is_bound"], serde_json::Value::Bool(true), "{report}{outcome}");
    let text = scene.run("ebs report e.data").success();
    assert!(text.out.contains(&format!("; at most {estimate} of ")), "{text}");
    assert!(!text.out.contains("; about "), "{text}");
    Ok(())
}
