//! What holds of IBS' samples where those of counters are known by number.
//!
//! IBS counts ops of both modes, the kernel's own work at each sample among
//! them: which op is the next one tagged follows from no program. So what
//! came is compared with what the model tagged meanwhile (`model:ibs-...`,
//! judged when the box has ended): each op of user mode that is a load, no
//! more, no fewer, in its order.

use std::{thread, time::Duration};

use pmu_box::text_records::{TextRecord, USER};
use rustix::process::Signal;
use tests::{Ebsd, Outcome, Running, Scene, running::has_attached};

use crate::facts::Precision;
use crate::throttling::Unthrottled;
use crate::{
    Skip,
    facts::Facts,
    keep_figure,
    log::{self, Switched},
    walk,
};

/// The ops from one sample to the next: far more than the kernel takes for
/// one of them.
const SAMPLED: &str = "-t memory_loads -i =20000 -c all";
/// Of five million instructions of a program two million are loads: a hundred
/// records are expected, which of them is chance.
pub(crate) const FEWEST: u64 = 20;

/// Kernels that have the filter by mode: without it the reader drops what is
/// the kernel's.
fn filtered(facts: &Facts) -> Skip {
    match facts.swfilt {
        true => Ok(()),
        false => Err("this kernel's IBS cannot leave out a mode (swfilt)"),
    }
}

#[track_caller]
fn are_enough(records: usize, outcome: &Outcome) {
    assert!(records as u64 > FEWEST, "{records} records: {outcome}");
}

/// Records of loads of user mode, as the walk makes them; kept to be compared.
#[track_caller]
fn are_loads(name: &str, text: &str, outcome: &Outcome) -> Vec<TextRecord> {
    let records = TextRecord::all(text);
    keep_figure(format!("{} records", records.len()));
    are_enough(records.len(), outcome);
    for record in &records {
        assert!(record.exact() && record.level() == USER, "{record:x?}");
        let addr = record.get("addr");
        match record.ip() {
            walk::MISS => assert!(walk::misses_at(addr), "{record:x?}"),
            walk::HIT => assert!(walk::hits_at(addr), "{record:x?}"),
            _ => {}
        }
    }
    log::leave(&format!("{name}.txt"), text);
    records
}

/// Each record is a load of the walk, at its instruction and its address.
pub(crate) fn truth(facts: &Facts) -> Skip {
    filtered(facts)?;
    let (name, scene) = ("ibs-user-loads", Scene::new());
    let line = format!("ebs -u {SAMPLED} -o r.txt walk-calls");
    let outcome = log::marked(name, || scene.run(&line)).success();
    assert_eq!(outcome.told().lost, 0, "{outcome}");
    are_loads(name, &scene.read("r.txt"), &outcome);
    Ok(())
}

/// A process that waits is attached to, and let go.
fn attach(scene: &Scene, line: &str) -> (Running, Running) {
    let mut walk = scene.start("walk-long-waits");
    assert_eq!(walk.hear(), "ready");
    let target = walk.pid();
    let mut ebs = scene.start(&format!("ebs -u {SAMPLED} {line} {target}"));
    ebs.wait_until("it attached", |pid| has_attached(pid, target));
    // It tries what the kernel takes before: events that it closes again. A
    // second of the box's clock, which no load of the machine's makes shorter.
    thread::sleep(Duration::from_secs(1));
    (walk, ebs)
}

/// All records are of the process.
pub(crate) fn attached(facts: &Facts) -> Skip {
    filtered(facts)?;
    let (name, scene) = ("ibs-user-loads-attached", Scene::new());
    let (outcome, target) = log::marked(name, || {
        let (mut walk, ebs) = attach(&scene, "-o a.txt");
        let target = walk.pid();
        walk.tell("go");
        walk.finish().success();
        (ebs.finish().success(), target)
    });
    let records = are_loads(name, &scene.read("a.txt"), &outcome);
    assert!(records.iter().all(|record| record.get("pid") == u64::from(target)), "{outcome}");
    Ok(())
}

/// Every one of four processes has records.
pub(crate) fn children(facts: &Facts) -> Skip {
    filtered(facts)?;
    let (name, scene) = ("ibs-user-loads-children", Scene::new());
    let line = format!("ebs -u {SAMPLED} -o c.txt walk-long-crowd");
    let outcome = log::marked(name, || scene.run(&line)).success();
    let records = are_loads(name, &scene.read("c.txt"), &outcome);
    let mut pids: Vec<_> = records.iter().map(|record| record.get("pid")).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 4, "{pids:?}: {outcome}");
    Ok(())
}

/// A program's records are among those of the whole system.
pub(crate) fn system(facts: &Facts) -> Skip {
    filtered(facts)?;
    let scene = Scene::new();
    let mut ebs = scene.start(&format!("ebs -u {SAMPLED} -o s.txt"));
    ebs.wait_until("it opened events", |pid| has_attached(pid, pid));
    thread::sleep(Duration::from_secs(1));
    let walk = scene.start("walk-calls");
    let walked = u64::from(walk.pid());
    walk.finish().success();
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().success();
    assert_eq!(outcome.told().lost, 0, "{outcome}");
    let records = TextRecord::all(&scene.read("s.txt"));
    let of_walk: Vec<_> = records
        .iter()
        .filter(|record| record.get("pid") == walked)
        .filter(|record| [walk::MISS, walk::HIT].contains(&record.ip()))
        .collect();
    keep_figure(format!("{} of {} records", of_walk.len(), records.len()));
    are_enough(of_walk.len(), &outcome);
    assert!(records.iter().all(|record| record.exact()), "{outcome}");
    Ok(())
}

/// While its reader is stopped a ring of one page overflows: delivered and
/// lost are all that the kernel counted.
pub(crate) fn full_ring() -> Skip {
    let scene = Scene::new();
    let (mut walk, ebs) = attach(&scene, "--ring 1 -o f.data");
    ebs.signal(Signal::STOP);
    walk.tell("go");
    walk.finish().success();
    ebs.signal(Signal::CONT);
    let outcome = ebs.finish().success();
    // Fails unless both together are what the kernel counted.
    let told = outcome.told();
    keep_figure(format!("{} delivered, {} lost", told.delivered, told.lost));
    assert!(told.lost > 0, "{outcome}");
    Ok(())
}

/// A program in the kernel picks records by their address.
pub(crate) fn picked() -> Skip {
    let scene = Scene::new();
    let (from, to) = (walk::MISS, walk::HIT);
    let line = format!(
        "ebs -u {SAMPLED} --in-kernel=filter --keep ip={from:x}-{to:x} -o f.data walk-calls"
    );
    let outcome = scene.run(&line).success();
    let script = scene.run("ebs script f.data -F ip").success();
    let ips: Vec<_> = script.out.split_whitespace().collect();
    keep_figure(format!("{} records", ips.len()));
    assert!(ips.len() as u64 > FEWEST / 2, "{script}{outcome}");
    let kept = format!("{:x}", walk::MISS);
    assert!(ips.iter().all(|ip| *ip == kept), "{script}{outcome}");
    Ok(())
}

/// By the daemon, for root: both modes, and user mode alone.
pub(crate) fn daemon_for_root() -> Skip {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let socket = ebsd.socket.display();
    let line = format!("ebs -u -k --daemon --socket {socket} {SAMPLED} -o d.txt walk-calls");
    let outcome = scene.run(&line).success();
    let records = TextRecord::all(&scene.read("d.txt"));
    keep_figure(format!("{} records", records.len()));
    are_enough(records.len(), &outcome);
    assert!(records.iter().all(TextRecord::exact), "{outcome}");
    let told = outcome.told();
    let last = outcome.last_line();
    assert!(last.contains("by the daemon"), "{outcome}");
    assert!(last.contains(&format!(" {} with exact IP", told.delivered)), "{outcome}");
    let name = "ibs-user-loads-root";
    let line = format!("ebs -u --daemon --socket {socket} {SAMPLED} -o u.txt walk-calls");
    let outcome = log::marked(name, || scene.run(&line)).success();
    assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
    are_loads(name, &scene.read("u.txt"), &outcome);
    ebsd.end();
    Ok(())
}

/// For a user without rights, whose samples show the program alone: an
/// interrupt that comes late finds the kernel at work, whose registers the
/// kernel puts beside the program's instruction. `ebs` without the daemon
/// hands on what the kernel gives to anybody.
pub(crate) fn daemon_for_a_user(ebsd: &Ebsd, run: impl Fn(String) -> Outcome) -> Skip {
    const KERNEL_HALF: u64 = 1 << 63;
    let daemon = format!("--daemon --socket {}", ebsd.socket.display());
    let name = "ibs-user-loads-user";
    let line = format!("-u {daemon} {SAMPLED} -o - walk-calls");
    let outcome = log::marked(name, || run(line)).success();
    assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
    are_loads(name, &outcome.out, &outcome);
    run(format!("-k {daemon} {SAMPLED} -o - walk-calls")).refused(1, &["kernel"]);
    run(format!("-u {daemon} {SAMPLED} -o -")).refused(1, &["whole system"]);
    let _late = Switched::to("SKID", "400");
    let sampled = |by: &str| {
        let line = format!("-u {by} -t instr_retired -i 2000 -c 4000 -o - walk-calls");
        let outcome = run(line).success();
        let records = TextRecord::all(&outcome.out);
        let in_kernel = |record: &&TextRecord| record.get("rsp") & KERNEL_HALF != 0;
        let shown = records.iter().filter(in_kernel).count();
        keep_figure(format!("{shown} of {} with the kernel's stack", records.len()));
        are_enough(records.len(), &outcome);
        (shown, outcome)
    };
    let (shown, outcome) = sampled("--no-daemon");
    assert!(shown > 0, "{outcome}");
    let (shown, outcome) = sampled(&daemon);
    assert_eq!(shown, 0, "{outcome}");
    assert!(outcome.last_line().contains("scrubbed"), "{outcome}");
    Ok(())
}

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
    keep_figure(format!("{estimate} loads estimated of {}", walk::LOADS));
    assert!(estimate > walk::LOADS * 5 / 4, "no longer far above: {estimate} {outcome}");
    assert_eq!(filter["is_bound"], serde_json::Value::Bool(true), "{report}{outcome}");
    let text = scene.run("ebs report e.data").success();
    assert!(text.out.contains(&format!("; at most {estimate} of ")), "{text}");
    assert!(!text.out.contains("; about "), "{text}");
    Ok(())
}
