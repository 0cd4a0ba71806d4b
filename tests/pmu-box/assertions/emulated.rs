//! The emulated PMU beside the CPU's own.

use pmu_box::text_records::TextRecord;
use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    walk,
};

/// The emulated PMU counts stores that miss, too: those that write the nodes,
/// one each, before the first load.
const STORES_THAT_MISS: u64 = walk::NODES;
const INTERVAL: u64 = 101;

/// The same program through the same first cache misses at the same
/// instructions, on the same addresses, whoever counts: miss k x interval.
pub(crate) fn beside(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err("IBS counts ops, and no misses: which of them it tells is chance");
    }
    let scene = Scene::new();
    let sample = |source: &str, name: &str| {
        let line = format!("ebs -u -t l1_cache_miss -i ={INTERVAL} -c all {source} -o {name} walk");
        let outcome = scene.run(&line).success();
        (TextRecord::all(&scene.read(name)), outcome)
    };
    for (source, before) in
        [("--source pmu", 0), ("--cache l1d=32k,8 --source emulated", STORES_THAT_MISS)]
    {
        let (records, outcome) = sample(source, "misses.txt");
        let expected = (walk::ROUNDS + before) / INTERVAL;
        assert_eq!(u64::try_from(records.len()).unwrap(), expected, "{outcome}");
        let numbered = (1..).map(|k| k * INTERVAL).zip(&records);
        for (number, record) in numbered.filter(|(number, _)| *number > before) {
            // The load that misses is the first of two of its round.
            let load = walk::load(2 * (number - before) - 1);
            let found = (record.ip(), record.get("addr"));
            assert_eq!(found, (load.ip, load.addr), "{source}: miss {number}: {outcome}");
        }
    }
    Ok(())
}
