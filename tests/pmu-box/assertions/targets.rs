//! A process that runs already, a command's children, the whole system.

use std::{thread, time::Duration};

use pmu_box::text_records::TextRecord;
use rustix::process::Signal;
use tests::{Account, Scene, running::has_attached};

use crate::{
    Skip,
    facts::{Facts, Precision},
    ibs, walk,
};

/// Not a divisor of anything that the program does.
const INTERVAL: u64 = 1009;

/// Attached before it walks, all of a process's loads are counted, and the
/// records are those of the truth.
pub(crate) fn attached(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::attached(facts);
    }
    let scene = Scene::new();
    let mut walk = scene.start("walk-waits");
    assert_eq!(walk.hear(), "ready");
    let target = walk.pid();
    let line = format!("ebs -u -t memory_loads -i ={INTERVAL} -c all -o a.txt {target}");
    let mut ebs = scene.start(&line);
    ebs.wait_until("it attached", |pid| has_attached(pid, target));
    // It tries what the kernel takes before: events that it closes again.
    thread::sleep(Duration::from_millis(100));
    walk.tell("go");
    walk.finish().success();
    let outcome = ebs.finish().success();
    let records = TextRecord::all(&scene.read("a.txt"));
    assert_eq!(u64::try_from(records.len()).unwrap(), walk::LOADS / INTERVAL, "{outcome}");
    for (number, record) in (1..).map(|k| k * INTERVAL).zip(&records) {
        let load = facts.told(walk::load(number));
        assert_eq!((record.ip(), record.get("addr")), (load.ip, load.addr), "load {number}");
        assert_eq!(record.get("pid"), u64::from(target));
    }
    Ok(())
}

/// Children count on their own, and all that they do is counted.
pub(crate) fn children(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::children(facts);
    }
    let scene = Scene::new();
    let line = format!("ebs -u -t memory_loads -i ={INTERVAL} -c all -o c.data walk-crowd");
    let outcome = scene.run(&line).success();
    let account = Account::of_stream(&scene.path("c.data"));
    assert_eq!(account.count("events"), 4 * walk::LOADS, "{outcome}");
    assert_eq!(account.lost(), 0, "{outcome}");
    let text = scene.run("ebs script --format text c.data").success().out;
    let records = TextRecord::all(&text);
    let mut pids: Vec<_> = records.iter().map(|record| record.get("pid")).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 4, "{pids:?}: {outcome}");
    // When one is switched to from another the kernel may swap their contexts
    // (context_equiv()), and what is left of an interval goes with these: one
    // may have a record more, and no two lose more than their rests.
    let expected = walk::LOADS / INTERVAL;
    for pid in pids {
        let of_one = records.iter().filter(|record| record.get("pid") == pid);
        let count = u64::try_from(of_one.count()).unwrap();
        assert!(count.abs_diff(expected) <= 1, "process {pid}: {count}: {outcome}");
    }
    let all = u64::try_from(records.len()).unwrap();
    assert!((4 * expected..=4 * walk::LOADS / INTERVAL).contains(&all), "{all}: {outcome}");
    assert!(records.iter().all(|record| record.exact()), "{outcome}");
    Ok(())
}

/// The whole system until SIGINT: a program's records are among them, as many
/// as its loads make, at its instructions.
pub(crate) fn system(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::system(facts);
    }
    let scene = Scene::new();
    let line = format!("ebs -u -t memory_loads -i ={INTERVAL} -c all -o s.txt");
    let mut ebs = scene.start(&line);
    ebs.wait_until("it opened events", |pid| has_attached(pid, pid));
    thread::sleep(Duration::from_millis(100));
    let walk = scene.start("walk");
    let walked = walk.pid();
    walk.finish().success();
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().success();
    let records = TextRecord::all(&scene.read("s.txt"));
    // Before its exec it was a copy of who started it, with loads of that.
    let of_walk: Vec<_> = records
        .iter()
        .filter(|record| record.get("pid") == u64::from(walked))
        .filter(|record| [walk::MISS, walk::HIT].contains(&record.ip()))
        .collect();
    let count = u64::try_from(of_walk.len()).unwrap();
    // The interval that it starts and the one that it ends in are shared with
    // whoever ran before and after.
    let expected = walk::LOADS / INTERVAL;
    assert!(count.abs_diff(expected) <= 1, "{count} records, {expected} expected: {outcome}");
    assert!(of_walk.iter().all(|record| record.exact()), "{outcome}");
    Ok(())
}
