//! `ebsd` in front of a real PMU.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use pmu_box::text_records::TextRecord;
use tests::{Ebsd, Running, Scene, User};

use crate::{
    Skip,
    facts::{Facts, Precision},
    ibs, precise, walk,
};

const INTERVAL: u64 = 1009;
const USER: u32 = 4200;
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Not before Linux 6.5, which does not say whose a connection is
/// (`SO_PEERPIDFD`): `ebsd` refuses everybody there, and says why.
fn applies(facts: &Facts) -> Skip {
    if facts.kernel >= (6, 5) {
        // Debian's own value leaves ebsd without rights: it holds CAP_PERFMON
        // alone. Its package sets 2 (xtask/debian/60-ebsd.conf).
        fs::write(PARANOID, "3").unwrap();
        refused(&["perf_event_paranoid is 3"]);
        fs::write(PARANOID, "2").unwrap();
        return Ok(());
    }
    refused(&["refused", "before Linux 6.5"]);
    Err("ebsd serves nobody before Linux 6.5, and says so")
}

/// A daemon refuses root, with these words.
#[track_caller]
fn refused(words: &[&str]) {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let socket = ebsd.socket.display();
    let line = format!("ebs -u --daemon --socket {socket} -t memory_loads walk");
    scene.run(&line).refused(1, words);
    ebsd.end();
}

/// Records as the truth has them.
#[track_caller]
fn are_the_truths(records: &[TextRecord], whose: &str) {
    let count = u64::try_from(records.len()).unwrap();
    assert_eq!(count, walk::LOADS / INTERVAL, "{whose}");
    for (number, record) in (1..).map(|k| k * INTERVAL).zip(records) {
        let load = walk::load(number);
        assert_eq!((record.ip(), record.get("addr")), (load.ip, load.addr), "{whose}: {number}");
        assert!(record.exact(), "{whose}: {record:x?}");
    }
}

/// Through the daemon the same records come, and the last line says how many
/// are exact.
pub(crate) fn as_root(facts: &Facts) -> Skip {
    applies(facts)?;
    if facts.precision == Precision::Ibs {
        return ibs::daemon_for_root();
    }
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let socket = ebsd.socket.display();
    let sampled = |kind: &str| {
        let line = format!(
            "ebs -u --daemon --socket {socket} -t {kind} -i ={INTERVAL} -c all -o d.data walk"
        );
        let outcome = scene.run(&line).success();
        assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
        precise::share_is_the_tables(&scene, "d.data", &outcome)
    };
    let told = sampled("memory_loads");
    assert_eq!((told.records, told.exact), (walk::LOADS / INTERVAL, told.records));
    let text = scene.run("ebs script --format text d.data").success().out;
    are_the_truths(&TextRecord::all(&text), "root's");
    let told = sampled("uop_retired");
    assert!(told.records > 0 && told.exact == 0, "{told:?}");
    ebsd.end();
    Ok(())
}

/// A user without rights has its own program's records by the daemon, and
/// none of the kernel.
pub(crate) fn as_user(facts: &Facts) -> Skip {
    applies(facts)?;
    let scene = Scene::new();
    let bin = scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let run = |arguments: String| {
        let mut command = User::new(USER).command(&scene, bin.join("ebs"));
        command.args(arguments.split_whitespace());
        Running::start(&mut command).finish()
    };
    if facts.precision == Precision::Ibs {
        return ibs::daemon_for_a_user(&ebsd, run);
    }
    let common = format!("-t memory_loads -i ={INTERVAL} -c all -o - walk");
    let daemon = format!("--daemon --socket {}", ebsd.socket.display());
    let outcome = run(format!("-u {daemon} {common}")).success();
    are_the_truths(&TextRecord::all(&outcome.out), "a user's");
    assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
    run(format!("-k {daemon} {common}")).refused(1, &["kernel"]);
    ebsd.end();
    Ok(())
}

/// A session that stands: the process that its file names, from before it
/// walks to its end.
pub(crate) fn standing(facts: &Facts) -> Skip {
    applies(facts)?;
    // IBS counts ops of all kinds, and many of them go by in between. Loads
    // are told by its registers, which policy does not give to a recorder
    // that may not see the kernel.
    let (program, kind, interval) = match facts.precision {
        Precision::Pebs => ("walk-waits", "memory_loads", INTERVAL),
        Precision::Ibs => ("walk-long-waits", "instr_retired", 20_000),
    };
    let scene = Scene::new();
    let mut walk = scene.start(program);
    assert_eq!(walk.hear(), "ready");
    scene.write("web.pid", walk.pid().to_string());
    let config = format!(
        "[store]\ndirectory = {:?}\nkeep_free = \"1 MiB\"\n[[standing]]\nname = \"web\"\n\
         type = {kind:?}\ninterval = {interval}\ntarget = {{ pid_file = {:?} }}\n",
        scene.path("store"),
        scene.path("web.pid"),
    );
    let ebsd = Ebsd::start(&scene, &config);
    let socket = ebsd.socket.display().to_string();
    let sessions = || scene.run(&format!("ebs sessions --json --socket {socket}")).success().out;
    wait_for("it is recorded", || sessions().contains("\"running\""));
    walk.tell("go");
    walk.finish().success();
    let report = || {
        let line = format!("ebs report --daemon web --socket {socket} --json --by site");
        scene.run(&line).out
    };
    let expected = match facts.precision {
        Precision::Pebs => walk::LOADS / INTERVAL..=walk::LOADS / INTERVAL,
        Precision::Ibs => ibs::FEWEST..=u64::MAX,
    };
    wait_for("all of it was recorded", || {
        let report: serde_json::Value = serde_json::from_str(&report()).unwrap_or_default();
        let totals = &report["events"][0]["totals"];
        let samples = totals["samples"].as_u64().unwrap_or(0);
        expected.contains(&samples) && totals["exact_ip"] == samples
    });
    ebsd.end();
    Ok(())
}

#[track_caller]
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}
