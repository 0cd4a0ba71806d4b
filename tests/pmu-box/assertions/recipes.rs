//! The recipes of `docs/stat.md`, as they stand there. What they print is
//! kept: `target/box/BOX/results/recipes.tables`.

use tests::Scene;

use crate::{Skip, facts::Facts, keep_figure, log};

/// Arguments of `ebs stat` on Skylake.
const SKYLAKE: &[&str] = &[
    "-t rc0,r81d0,r82d0,r151",
    "-m l1d_accesses_pki,l1d_fill_ratio",
    "-t r183,r283",
    "-m l1i_miss_ratio",
    "-t rff24,r3f24",
    "-m l2_miss_ratio",
    "-t r4f2e,r412e",
    "-m l3_miss_ratio",
    "-m l2_rqsts",
    "-m tlb",
];

const ZEN: &[&str] = &[
    "-t rc0,r729",
    "-m l1d_accesses_pki,l1d_fill_ratio",
    "-t r80,r81",
    "-m l1i_miss_ratio",
    "-t rff64,r964",
    "-m l2_demand_miss_ratio",
    "-m tlb",
];

/// Each counts something, whole.
pub(crate) fn run(facts: &Facts) -> Skip {
    let recipes = match facts.cpu.as_str() {
        "skylake" => SKYLAKE,
        "zen" => ZEN,
        _ => return Err("the recipes are Skylake's and Zen's"),
    };
    let scene = Scene::new();
    let mut told = String::new();
    for recipe in recipes {
        let command = format!("ebs stat -u {recipe} --passes -o r.txt walk");
        let outcome = scene.run(&command).success();
        let table = scene.read("r.txt");
        assert!(
            table.contains("counted by cpu") && !table.contains("not counted"),
            "{outcome}{table}"
        );
        told.push_str(&format!("$ ebs stat -u {recipe} --passes walk\n{}{table}\n", outcome.err));
    }
    log::leave("recipes.tables", &told);
    keep_figure(format!("{} recipes", recipes.len()));
    Ok(())
}
