//! Callers: the calls that the CPU keeps until they return (LBR).

use std::{collections::BTreeMap, fs};

use tests::Scene;

use crate::{
    Skip, callers,
    facts::{Facts, Precision},
    keep_figure, records,
};

/// Meets each of the seven ways in which `programs/calls.S` comes to its miss.
const INTERVAL: u64 = 29;
/// How often that calls itself, of both ways in which it does.
const FEW: usize = 5;

/// The chains of the miss on a CPU that keeps so many calls, innermost first:
/// where the last call went to, then where calls came from. A jump is no call:
/// what leaves by one stands for what it went to. What was called before more
/// calls than are kept is gone, also when these have returned.
fn truth(kept: usize) -> [String; 7] {
    let deep = |calls: usize| ["deep"].repeat(calls).join(";");
    [
        "leaf;plain;_start".to_owned(),
        "leaf;pointed;_start".to_owned(),
        "left;_start".to_owned(),
        "leaf;waits;_start".to_owned(),
        format!("leaf;{};_start", deep(FEW)),
        format!("leaf;{}", deep(kept)),
        "leaf;spent".to_owned(),
    ]
}

/// The same as stacks of a report, outermost first: from the sampled routine
/// on, and with a word where calls may lack.
fn told(kept: usize) -> [String; 7] {
    let deep = |calls: usize| ["deep"].repeat(calls).join(";");
    [
        "calls;_start;plain;leaf".to_owned(),
        "calls;_start;pointed;leaf".to_owned(),
        "calls;_start;leaf".to_owned(),
        "calls;_start;waits;leaf".to_owned(),
        format!("calls;_start;{};leaf", deep(FEW)),
        format!("calls;[calls-limit];{};leaf", deep(kept)),
        "calls;spent;leaf".to_owned(),
    ]
}

/// The same frames from `ebs` and perf as recorders, and as readers, and those
/// that the program has. Interrupts come after the miss, with no call or
/// return between them.
pub(crate) fn chains(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err("the model has no LBR of AMD's");
    }
    if facts.cpu == "sapphire-rapids" {
        return Err("the model has no architectural LBR");
    }
    let kept = fs::read_to_string("/sys/bus/event_source/devices/cpu/caps/branches").unwrap();
    let kept: usize = kept.trim().parse().unwrap();
    let scene = Scene::new();
    let sampled = "-u -t l1_cache_miss -c all";
    let line = format!("ebs {sampled} --call-graph lbr -i ={INTERVAL} -o ours.data calls");
    let outcome = scene.run(&line).success();
    let config = records::config(&scene, "l1_cache_miss");
    let event = format!("cpu/config={config},period={INTERVAL}/upp");
    scene.run(&format!("perf record -q --call-graph lbr -e {event} -o perf.data calls")).success();
    for file in ["ours.data", "perf.data"] {
        let theirs =
            scene.run(&format!("perf script --no-inline -F tid,ip,sym -i {file}")).success().out;
        let own = scene.run(&format!("ebs script -F tid,ip,sym {file}")).success();
        let (all, theirs) = (callers::chains(&own.out), callers::chains(&theirs));
        assert_eq!(all.len(), theirs.len(), "{file}: {outcome}");
        let differ = all.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert!(differ.is_none(), "{file}: {differ:?}");
        let places = scene.run(&format!("ebs script -G -F ip,sym,symoff {file}")).success().out;
        let places: Vec<&str> = places.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(places.len(), all.len(), "{file}");
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        let of_miss = places.iter().zip(&all).filter(|(place, _)| place.ends_with(" leaf+0x0"));
        for (_, chain) in of_miss {
            let routines: Vec<&str> = chain.iter().map(|(_, routine)| *routine).collect();
            *found.entry(routines.join(";")).or_default() += 1;
        }
        let mut expected = truth(kept);
        expected.sort_unstable();
        assert!(found.keys().eq(&expected), "{file}: {found:?}");
        // What the kernel did to the first cache in between costs others.
        let of_miss: usize = found.values().sum();
        assert!(of_miss * 100 >= all.len() * 95, "{file}: {of_miss} of {}", all.len());
        let full = all.iter().filter(|chain| chain.len() == kept + 1).count();
        let cut_off = format!("{full} call chains are cut off: the CPU keeps no more calls");
        assert!(own.err.contains(&cut_off), "{file}: {cut_off}: {}", own.err);
        let report = scene.run(&format!("ebs report --folded {file}")).success();
        let folded: BTreeMap<&str, usize> = report
            .out
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(stack, count)| (stack, count.parse().unwrap()))
            .collect();
        assert_eq!(folded.values().sum::<usize>(), all.len(), "{file}: {report}");
        let told = told(kept).map(|stack| folded.get(stack.as_str()).copied().unwrap_or(0));
        assert!(told.iter().all(|count| *count > 0), "{file}: {told:?}: {report}");
        assert!(told.iter().sum::<usize>() >= of_miss, "{file}: {told:?} of {of_miss}: {report}");
        keep_figure(format!("{file}: {of_miss} chains of {}, {full} full", all.len()));
    }
    Ok(())
}
