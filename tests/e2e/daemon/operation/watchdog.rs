//! What the service manager is told, and when it is told nothing.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tests::{Ebsd, Running, Scene, Workload, rights};

use super::super::raw::Raw;
use super::service_manager::ServiceManager;

#[test]
fn the_service_manager_hears_of_every_turn() {
    let test = "the_service_manager_hears_of_every_turn";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let manager = ServiceManager::new(&scene);
    let ebsd = Ebsd::prepared(&scene, "", |command| {
        ServiceManager::manage(&scene, command, None);
    });
    manager.wait_for("READY=1");
    ebsd.signal(Signal::HUP);
    let reloading = manager.wait_for("RELOADING=1");
    assert!(reloading.lines().any(|line| line.starts_with("MONOTONIC_USEC=")), "{reloading}");
    manager.wait_for("READY=1");
    assert_eq!(manager.hear(Duration::from_secs(2)), None, "nobody asked for a watchdog");
    ebsd.end();
    manager.wait_for("STOPPING=1");
}

/// R27's watchdog: it is fed while everything moves, and only then. Who stops
/// his own worker ends that one, and not the daemon.
#[test]
fn the_watchdog_is_not_fed_while_a_worker_stands_still() {
    let test = "the_watchdog_is_not_fed_while_a_worker_stands_still";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let manager = ServiceManager::new(&scene);
    let watchdog = Duration::from_secs(6);
    let mut ebsd = Ebsd::prepared(&scene, "", |command| {
        ServiceManager::manage(&scene, command, Some(watchdog));
    });
    let sleeper = Running::start(scene.command(Workload::Sleeper.build(&scene)).args(["2"]));
    let mut client = Raw::new(&ebsd.socket);
    let started = client.start("page_fault", sleeper.pid());
    assert_eq!(started["reply"], "started", "{started}");
    for _ in 0..3 {
        let fed = manager.hear(watchdog).expect("fed well within the interval");
        assert!(fed == "WATCHDOG=1\n" || fed == "READY=1\n", "{fed}");
    }
    let [worker] = ebsd.workers()[..] else { panic!("one worker: {:?}", ebsd.workers()) };
    let pid = Pid::from_raw(i32::try_from(worker).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = Instant::now();
    let alive = || std::path::Path::new(&format!("/proc/{worker}")).exists();
    // One may be on its way, of the second in which it was stopped.
    let mut late = 0;
    while alive() {
        assert!(stopped.elapsed() < Duration::from_secs(60), "it is killed in the end");
        if stopped.elapsed() > Duration::from_millis(1500) {
            let heard = manager.hear(Duration::from_millis(10));
            late += u32::from(heard.is_some() && alive());
        } else {
            manager.hear(Duration::from_millis(10));
        }
    }
    assert!(stopped.elapsed() > Duration::from_secs(3), "not before two thirds of the interval");
    assert_eq!(late, 0, "the watchdog was fed although a worker stood still");
    manager.wait_for("WATCHDOG=1");
    // Whoever comes next is served.
    let mut next = Raw::new(&ebsd.socket);
    assert_eq!(next.start("page_fault", sleeper.pid())["reply"], "started");
    ebsd.wait_until("it has one worker", || true);
    assert!(ebsd.end().err.contains("a worker is killed"));
}
