//! SIGHUP: a good configuration holds from then on, a bad one changes
//! nothing (R28).

use std::{fs, path::Path, thread};

use rustix::process::{Pid, Signal, kill_process};
use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use super::super::raw::{Raw, sums};
use super::service_manager::ServiceManager;

const POLICY: &str = "[[allow]]\ngroup = 4100\npermissions = [\"kernel\", \"others_tasks\"]\n";

fn managed(scene: &Scene, config: &str) -> (Ebsd, ServiceManager) {
    let manager = ServiceManager::new(scene);
    let ebsd = Ebsd::prepared(scene, config, |command| {
        ServiceManager::manage(scene, command, None);
    });
    manager.wait_for("READY=1");
    (ebsd, manager)
}

fn hang_up(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::HUP).unwrap();
}

#[test]
fn a_reload_gives_and_takes_permissions() {
    let test = "a_reload_gives_and_takes_permissions";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let (mut ebsd, manager) = managed(&scene, POLICY);
    let pid = ebsd.pid();
    let reload = |text: &str| {
        fs::write(scene.path("ebsd.toml"), text).unwrap();
        hang_up(pid);
        manager.wait_for("RELOADING=1");
        manager.wait_for("READY=1");
    };
    let socket = ebsd.socket.clone();
    let member = User { group: Some(4100), ..User::new(4001) };
    let sample = |arguments: &str| {
        let mut command = member.command(&scene, scene.path("bin/ebs"));
        command.args(["--daemon", "-t", "page_fault", "-i", "1", "--socket"]).arg(&socket);
        command.args(arguments.split_whitespace());
        Running::start(&mut command)
    };
    let granted = || sample("-k ls /").finish().sane();
    granted().success();
    for bad in ["allow = 3", "[limits]\nqueue = \"lots\"", "="] {
        reload(bad);
        granted().success();
    }
    // A session of whoever loses a permission ends.
    let mut long = sample("-k sleep 100");
    let is_sleep = |pid: &str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n")
    };
    long.wait_until("the command runs", |pid| {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|children| children.split_whitespace().any(is_sleep))
    });
    let before = ebsd.workers();
    reload("");
    let gone = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
    ebsd.wait_until("the worker ends", || before.iter().any(gone));
    drop(long);
    assert!(!granted().status.success(), "not any more");
    reload(POLICY);
    granted().success();
    // A file that is gone is a mistake, not the end of all policy.
    fs::remove_file(scene.path("ebsd.toml")).unwrap();
    hang_up(pid);
    manager.wait_for("READY=1");
    granted().success();
    let outcome = ebsd.end();
    assert_eq!(outcome.err.matches("the old one holds").count(), 4, "{outcome}");
}

#[test]
fn a_storm_of_reloads_costs_no_record() {
    let test = "a_storm_of_reloads_costs_no_record";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let mut command = scene.command(Workload::Storm.build(&scene));
    let mut storm = Running::start(command.args(["100000", "1", "wait", "50000"]));
    assert_eq!(storm.hear(), "ready");
    let (ebsd, manager) = managed(&scene, POLICY);
    let mut client = Raw::new(&ebsd.socket);
    let started = client.start("page_fault", storm.pid());
    assert_eq!(started["reply"], "started", "{started}");
    storm.tell("go");
    let (path, pid) = (scene.path("ebsd.toml"), ebsd.pid());
    let reloads = thread::spawn(move || {
        for turn in 0..1000 {
            if turn % 50 == 0 {
                let text = ["limit = 1", POLICY][turn / 50 % 2];
                // Whole at every moment, as an editor writes it.
                fs::write(path.with_extension("new"), text).unwrap();
                fs::rename(path.with_extension("new"), &path).unwrap();
            }
            hang_up(pid);
        }
    });
    let (_, end) = client.all();
    reloads.join().unwrap();
    let truth = Truth::new(&storm.finish().out);
    let (delivered, lost) = sums(&end["client"]);
    assert_eq!(end["client"]["kernel"].as_u64().unwrap(), delivered + lost, "{end}");
    assert!(delivered + lost >= truth.number("faults"), "{end}");
    let (_, lost_in_rings) = sums(&end["session"]);
    assert_eq!(lost_in_rings, 0, "{end}");
    manager.wait_for("READY=1");
    // What was on disk last holds.
    ebsd.signal(Signal::HUP);
    manager.wait_for("RELOADING=1");
    manager.wait_for("READY=1");
    let outcome = ebsd.end();
    assert!(!outcome.err.contains("panicked"), "{outcome}");
}
