//! Too little room, too few counters: what is told of it.

use std::{thread, time::Duration};

use rustix::process::Signal;
use tests::{Account, Scene, running::has_attached};

use crate::{
    Skip,
    facts::{Facts, Precision},
    ibs, walk,
};

/// A ring of one page overflows; delivered and lost are all that the kernel
/// counted.
pub(crate) fn full_ring(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::full_ring();
    }
    let scene = Scene::new();
    let line = "ebs -u -t memory_loads -i =37 --ring 1 -c all -o r.data walk";
    let outcome = scene.run(line).success();
    let account = Account::of_stream(&scene.path("r.data"));
    let told = outcome.told();
    assert_eq!(account.count("events"), walk::LOADS, "{outcome}");
    assert!(told.lost > 0, "{outcome}");
    assert_eq!(account.count("lost.ring"), told.lost, "{outcome}");
    assert_eq!(told.delivered + told.lost, walk::LOADS / 37, "{outcome}");
    Ok(())
}

/// More events than counters: whoever had to share one says which part of
/// the time it had it.
pub(crate) fn shared_counters(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err("IBS is one unit, and no counter");
    }
    let scene = Scene::new();
    // No core here has more than eight counters for a precise event.
    let sessions: Vec<_> = (0..10)
        .map(|number| {
            let line = format!("ebs -u -t memory_loads -i =100003 -c all -o m{number}.data");
            let mut ebs = scene.start(&line);
            ebs.wait_until("it opened events", |pid| has_attached(pid, pid));
            ebs
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    // Twelve ticks of the kernel's, at which it takes turns.
    scene.run("walk-long").success();
    let mut shared = 0;
    for session in sessions {
        session.signal(Signal::INT);
        let outcome = session.finish().success();
        shared += u32::from(outcome.err.contains("had a counter"));
    }
    assert!(shared > 0, "ten events, eight counters at most, and none says that it shared one");
    Ok(())
}
