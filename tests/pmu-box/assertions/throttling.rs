//! An event that comes too often: the kernel stops it until the next tick.

use std::fs;

use tests::{Account, Scene};

use crate::{
    Skip,
    facts::{Facts, Precision},
    ibs, walk,
};

const NO_PROGRAM: &str = "a program in the kernel sees PEBS records; IBS has no witness";

/// Samples a second that the kernel takes before it throttles, and the share
/// of a CPU's time that it gives them: 0, which is no limit, in boxes.
const MAX_SAMPLE_RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
const CPU_TIME_MAX_PERCENT: &str = "/proc/sys/kernel/perf_cpu_time_max_percent";

/// A rate that no session here comes to, while this lives.
pub(crate) struct Unthrottled {
    usual: String,
}

impl Unthrottled {
    pub(crate) fn new() -> Unthrottled {
        let usual = fs::read_to_string(MAX_SAMPLE_RATE).unwrap();
        set_rate("1000000000");
        Unthrottled { usual }
    }
}

impl Drop for Unthrottled {
    fn drop(&mut self) {
        set_rate(&self.usual);
    }
}

/// The kernel takes no rate while there is no limit of time
/// (`perf_event_max_sample_rate_handler()`).
fn set_rate(rate: &str) {
    for (name, value) in
        [(CPU_TIME_MAX_PERCENT, "25"), (MAX_SAMPLE_RATE, rate), (CPU_TIME_MAX_PERCENT, "0")]
    {
        fs::write(name, value).unwrap_or_else(|error| panic!("{name}: {value}: {error}"));
    }
}

/// What came while the event was stopped is counted, by a counter that is
/// not, and told as lost: by the account, the last line and the heading.
pub(crate) fn told(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err(NO_PROGRAM);
    }
    const INTERVAL: u64 = 16;
    let scene = Scene::new();
    let line = format!(
        "ebs -u -t memory_loads -i ={INTERVAL} -c all --in-kernel --no-rings -o k.data walk"
    );
    let outcome = scene.run(&line).success();
    let account = Account::of_stream(&scene.path("k.data"));
    let (times, missed) = (account.count("throttled"), account.count("lost.throttled"));
    // The box makes its instructions so much slower than its clock says that
    // no walk ends within what one tick may interrupt.
    assert!(times > 0 && missed > 0, "{account:?} {outcome}");
    assert_eq!(account.count("events"), walk::LOADS, "{account:?} {outcome}");
    // Each time it goes on, a part of an interval is begun anew.
    let all = (account.count("delivered") + account.lost()) * INTERVAL;
    let most = (times + 1) * INTERVAL;
    assert!(walk::LOADS.abs_diff(all) <= most, "{all} of {}: {account:?} {outcome}", walk::LOADS);
    let told = outcome.last_line();
    assert!(told.contains(&format!("lost (throttled {missed})")), "{outcome}");
    let report = scene.run("ebs report k.data").success();
    let scaled = format!("; the kernel counted {} events; about ", walk::LOADS);
    assert!(report.out.contains(&scaled), "{report}");
    Ok(())
}

/// Every record comes by a program that picks: none lies in a buffer of the
/// CPU's whose last record alone would.
pub(crate) fn picked(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::picked();
    }
    let scene = Scene::new();
    let (from, to) = (walk::MISS, walk::HIT);
    let line = format!(
        "ebs -u -t memory_loads -i =409 -c all --in-kernel=filter --keep ip={from:x}-{to:x} \
         -o f.data walk"
    );
    let outcome = scene.run(&line).success();
    let script = scene.run("ebs script f.data -F ip").success();
    let ips: Vec<_> = script.out.split_whitespace().collect();
    assert!(ips.len() > 10, "{script}{outcome}");
    let kept = format!("{:x}", walk::MISS);
    assert!(ips.iter().all(|ip| *ip == kept), "{script}{outcome}");
    Ok(())
}
