//! Two CPUs: lines that they take from each other, and one that goes away.

use std::{fs, thread, time::Duration};

use pmu_box::text_records::TextRecord;
use rustix::process::Signal;
use tests::{Scene, running::has_attached};

use crate::{
    Skip,
    facts::{Facts, Precision},
    log, walk,
};

/// The second CPU, and the mask of it that `taskset` takes.
const ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";
const SECOND: &str = "taskset 2";

fn applies(facts: &Facts) -> Skip {
    match (facts.precision, fs::exists("/sys/devices/system/cpu/cpu1").unwrap()) {
        (_, false) => Err("one CPU"),
        (Precision::Ibs, true) => Err("IBS counts both modes here"),
        (Precision::Pebs, true) => Ok(()),
    }
}

/// Records of `hitm` are of loads of a line that the other CPU has modified,
/// by the model's log. Their data source says nothing: Intel's drivers tell
/// one of sampled latencies alone.
pub(crate) fn hitm(facts: &Facts) -> Skip {
    applies(facts)?;
    let scene = Scene::new();
    let outcome = log::recorded_of(&scene, "hitm", "-u -t hitm -i =7", "pass");
    let records = TextRecord::all(&scene.read("hitm.txt"));
    assert!(records.len() > 100, "{outcome}");
    assert!(records.iter().all(TextRecord::exact), "{outcome}");
    let both = records.iter().filter(|record| record.get("cpu") == 1).count();
    assert!(both > 10 && both < records.len() - 10, "{both} of {} on CPU 1", records.len());
    Ok(())
}

/// A CPU that goes away under a session takes its event along, which does not
/// come back with it; all that was counted is accounted for, and the other
/// CPU is sampled on.
pub(crate) fn hotplug(facts: &Facts) -> Skip {
    applies(facts)?;
    const INTERVAL: u64 = 1009;
    let scene = Scene::new();
    let line = format!("ebs -u -t memory_loads -i ={INTERVAL} -c all -o s.txt");
    let mut ebs = scene.start(&line);
    ebs.wait_until("it opened events", |pid| has_attached(pid, pid));
    thread::sleep(Duration::from_millis(100));
    let walked = |line: &str| {
        let walk = scene.start(line);
        let pid = walk.pid();
        walk.finish().success();
        u64::from(pid)
    };
    let before = walked(&format!("{SECOND} walk"));
    fs::write(ONLINE, "0").unwrap();
    let without = walked("walk");
    fs::write(ONLINE, "1").unwrap();
    let after = walked("taskset 1 walk");
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().success();
    assert_eq!(outcome.told().lost, 0, "{outcome}");
    let records = TextRecord::all(&scene.read("s.txt"));
    for (pid, when) in [(before, "before"), (without, "without it"), (after, "after")] {
        let of_walk = records.iter().filter(|record| record.get("pid") == pid);
        let of_walk = of_walk.filter(|record| [walk::MISS, walk::HIT].contains(&record.ip()));
        let count = u64::try_from(of_walk.count()).unwrap();
        assert!(count.abs_diff(walk::LOADS / INTERVAL) <= 1, "{when}: {count}: {outcome}");
    }
    Ok(())
}
