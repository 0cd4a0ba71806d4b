//! Counts: ours, the kernel's, and the program's own.

use tests::{Account, Scene};

use crate::{
    Skip,
    facts::{Facts, Precision},
    precise, records, walk,
};

/// What `perf stat` counts of some configurations in user mode, all at once:
/// each start of it is expensive in a box.
fn perf_stat(scene: &Scene, configs: &[String]) -> Vec<u64> {
    let events = configs.iter().map(|config| format!(" -e cpu/config={config}/u"));
    let events: String = events.collect();
    let told = scene.run(&format!("perf stat -x, -o stat{events} walk")).success();
    let stat = scene.read("stat");
    let rows: Vec<Vec<_>> = stat.lines().map(|line| line.split(',').collect()).collect();
    let counts = rows.iter().filter(|row| row.len() > 4);
    let counts: Vec<_> = counts.map(|row| (row[0].parse().ok(), row[4])).collect();
    assert_eq!(counts.len(), configs.len(), "{stat}{told}");
    let counted = counts.into_iter().map(|(count, running): (Option<u64>, &str)| {
        assert_eq!(running, "100.00", "a counter for each: {stat}");
        count.unwrap_or_else(|| panic!("{stat}{told}"))
    });
    counted.collect()
}

/// What the kernel counted while we sampled is what it counts for `perf
/// stat`, and, where the program's truth is known, that; and the records are
/// as many as the interval makes of it.
///
/// Not at an interval of 1: the kernel takes 2 for it whenever it starts the
/// counter anew (`x86_perf_event_set_period`), so that an event goes without
/// a record then.
pub(crate) fn counts(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err("IBS has no counter that perf stat reads");
    }
    let scene = Scene::new();
    let all = [
        ("memory_loads", Some(walk::LOADS)),
        ("memory_stores", Some(walk::STORES)),
        ("memory_moves", Some(walk::LOADS + walk::STORES)),
        ("l1_cache_miss", None),
    ];
    // What is one event, and of nothing else: moves are two before Skylake,
    // Nehalem's stores a part of its instructions.
    let truth = match facts.cpu.as_str() {
        "nehalem" => &all[..1],
        "haswell" | "sandy-bridge" => &all[..2],
        _ => &all,
    };
    let configs: Vec<_> = truth.iter().map(|(kind, _)| records::config(&scene, kind)).collect();
    let counts = perf_stat(&scene, &configs);
    for (&(kind, truth), counted) in truth.iter().zip(counts) {
        if let Some(truth) = truth {
            assert_eq!(counted, truth, "{kind}: perf stat and the program");
        }
        for interval in [97, 1009] {
            let line = format!("ebs -u -t {kind} -i ={interval} -c all -o c.data walk");
            let outcome = scene.run(&line).success();
            let told = outcome.told();
            let events = Account::of_stream(&scene.path("c.data")).count("events");
            assert_eq!(events, counted, "{kind}: ebs and perf stat: {outcome}");
            assert_eq!(told.lost, 0, "{outcome}");
            assert_eq!(told.delivered, counted / interval, "{kind} every {interval}: {outcome}");
        }
    }
    Ok(())
}

/// Counted in the kernel, the same program has the same hits.
pub(crate) fn in_kernel(facts: &Facts) -> Skip {
    let kind = match facts.precision {
        Precision::Pebs => "memory_loads",
        Precision::Ibs => {
            return Err("which ops IBS tags follows from no program: two runs have two sequences");
        }
    };
    let scene = Scene::new();
    let sampled = scene.run(&format!("ebs -u -t {kind} -i =1009 -c all -o s.data walk")).success();
    let counted = scene
        .run(&format!("ebs -u -t {kind} -i =1009 -c all --in-kernel --no-rings -o k.data walk"))
        .success();
    let records = precise::last_line(&sampled).records;
    let account = Account::of_stream(&scene.path("k.data"));
    assert_eq!(account.count("delivered"), records, "{counted}");
    assert_eq!(account.count("events"), walk::LOADS, "{counted}");
    assert_eq!(account.lost(), 0, "{counted}");
    Ok(())
}
