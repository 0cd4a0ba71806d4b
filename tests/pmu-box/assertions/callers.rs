//! Callers: chains that the kernel walks at a PEBS record.

use std::collections::BTreeMap;

use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    keep_figure, records,
};

/// Samples of a run are some hundreds.
const INTERVAL: u64 = 9973;
/// Chains from so many samples of a hundred on are no accident.
const OFTEN: usize = 5;

/// Chains as a script prints them, innermost first: a thread's number on a line
/// of its own, then an address and a routine a line. perf leaves a chain without
/// frames empty.
pub(crate) fn chains(script: &str) -> Vec<Vec<(&str, &str)>> {
    let mut chains: Vec<Vec<(&str, &str)>> = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.split_once(' '), chains.last_mut()) {
            (Some(frame), Some(chain)) => chain.push(frame),
            (Some(frame), None) => panic!("{frame:?} is of no sample"),
            (None, _) => chains.push(Vec::new()),
        }
    }
    chains
}

/// How many samples have a chain of the kernel's, by its routines. Chains of
/// one frame tell of no caller: they are of the last instructions before user
/// space, where it depends on the interrupt whose frames there are.
fn counted(chains: &[Vec<(&str, &str)>]) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for chain in chains {
        let kernel = chain.iter().filter(|(address, _)| address.starts_with("ffff"));
        let routines: Vec<&str> = kernel.map(|(_, routine)| *routine).collect();
        if routines.len() > 1 {
            *counts.entry(routines.join(";")).or_default() += 1;
        }
    }
    counts
}

/// Those that come often.
fn often(counts: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let sum: usize = counts.values().sum();
    let is_often = |count: usize| count * 100 >= OFTEN * sum;
    counts.iter().filter(|(_, count)| is_often(**count)).map(|(k, n)| (k.clone(), *n)).collect()
}

/// The kernel's frames of a precise sample in the kernel: the same from `ebs`
/// and from perf as recorders, and as readers.
pub(crate) fn of_the_kernel(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err("perf's event of the same ops has no filter of loads");
    }
    let scene = Scene::new();
    let ours = format!("ebs -k -g -t memory_loads -i ={INTERVAL} -c all -o ours.data walk-calls");
    let outcome = scene.run(&ours).success();
    let config = records::config(&scene, "memory_loads");
    let event = format!("cpu/config={config},period={INTERVAL}/kpp");
    scene.run(&format!("perf record -q -g -e {event} -o perf.data walk-calls")).success();
    let (mut found, mut left) = (Vec::new(), 0);
    for file in ["ours.data", "perf.data"] {
        let theirs =
            scene.run(&format!("perf script --no-inline -F tid,ip,sym -i {file}")).success().out;
        let own = scene.run(&format!("ebs script -F tid,ip,sym {file}")).success().out;
        let all = chains(&own);
        let of_perf = chains(&theirs);
        assert_eq!(all.len(), of_perf.len(), "{file}");
        for (number, (chain, theirs)) in all.iter().zip(&of_perf).enumerate() {
            // The chain is walked from the interrupt, which may find the program
            // already where the kernel went back to it: the sampled instruction is
            // in no frame of perf's then, and the first one of ours.
            let is_left = theirs.len() + 1 == chain.len() && chain.ends_with(theirs);
            assert!(chain == theirs || is_left, "{file}: sample {number}: {chain:?}, {theirs:?}");
            left += usize::from(is_left);
        }
        assert!(all.len() > 50, "{file}: {} samples; {outcome}", all.len());
        assert!(all.iter().all(|chain| !chain.is_empty()), "{file}");
        found.push(counted(&all));
    }
    // What an interval meets in a loop of system calls is a matter of its own: a
    // routine that both met must have the callers that it has in the other.
    let routine = |chain: &str| chain.split(';').next().unwrap_or_default().to_owned();
    let mut common = 0;
    for (one, other) in [(0, 1), (1, 0)] {
        for chain in often(&found[one]).keys() {
            let met = found[other].keys().any(|known| routine(known) == routine(chain));
            assert!(!met || found[other].contains_key(chain), "{chain} in one of two: {found:?}");
            common += usize::from(met && one == 0);
        }
    }
    assert!(common > 1, "{found:?}");
    keep_figure(format!(
        "{} chains often, {left} samples at the kernel's last instructions",
        found[0].len()
    ));
    Ok(())
}
