use std::{fs, os::unix::fs::MetadataExt, path::Path};

use tests::{Outcome, Running, Scene, Workload, rights};

/// Runs a command of ours as a user without any rights, under limits that
/// `prlimit` sets: as nobody, or as who runs this and is not root anyway.
fn without_rights(scene: &Scene, limits: &[&str], program: &str, arguments: &str) -> Outcome {
    let mut command = scene.command("prlimit");
    command.args(limits);
    if rustix::process::geteuid().is_root() {
        command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg("--inh-caps=-all");
    }
    let program = scene.open_commands().join(program);
    command.arg(program).args(arguments.split_whitespace());
    Running::start(&mut command).finish().sane()
}

fn as_nobody(scene: &Scene, limits: &[&str], arguments: &str) -> Outcome {
    without_rights(scene, limits, "ebs", arguments)
}

#[test]
fn kernel_mode_without_rights_says_which_setting_refuses() {
    let test = "kernel_mode_without_rights_says_which_setting_refuses";
    if rights::paranoid() < 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    for arguments in ["-k -t page_fault true", "-u -k -t page_fault true", "-u -t page_fault"] {
        let outcome = as_nobody(&scene, &[], arguments);
        outcome.refused(1, &["perf_event_paranoid"]);
    }
}

#[test]
fn user_mode_needs_no_rights() {
    let test = "user_mode_needs_no_rights";
    if rights::paranoid() > 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    let storm = Workload::Storm.build(&scene);
    let outcome =
        as_nobody(&scene, &[], &format!("-u -t page_fault -c all {} 3000", storm.display()))
            .success();
    assert!(outcome.out.contains("storm_touch"), "{outcome}");
    let told = outcome.told();
    assert!(told.delivered > 0 && told.delivered + told.lost >= 3000, "{outcome}");
}

#[test]
fn another_users_process_is_refused() {
    let test = "another_users_process_is_refused";
    let scene = Scene::new();
    let target = scene.start("sleep 60");
    let own = rustix::process::geteuid();
    let pid = if own.is_root() { target.pid() } else { 1 };
    if !own.is_root() && fs::metadata("/proc/1").unwrap().uid() == own.as_raw() {
        eprintln!("skipped {test}: the first process, which is not root's here");
        return;
    }
    let pid = pid.to_string();
    let outcome = as_nobody(&scene, &[], &format!("-u -t page_fault {pid}"));
    outcome.refused(1, &[&pid]);
}

#[test]
fn a_small_memory_limit_means_a_smaller_ring_that_is_said() {
    let mlock = Path::new("/proc/sys/kernel/perf_event_mlock_kb");
    let scene = Scene::new();
    let storm = Workload::Storm.build(&scene);
    let free_kb: u64 = fs::read_to_string(mlock).unwrap().trim().parse().unwrap();
    // Beyond what the kernel gives every user for nothing, no page may be
    // locked: a ring twice that size cannot be had.
    let pages = (free_kb / 4 * 4).next_power_of_two();
    let outcome = as_nobody(
        &scene,
        &["--memlock=0:0"],
        &format!("-u -t page_fault -c all --ring {pages} {} 500", storm.display()),
    );
    assert_eq!(outcome.code(), 0, "a smaller ring serves: {outcome}");
    assert!(outcome.out.contains("storm_touch"), "{outcome}");
    let said = ["memlock", "MEMLOCK", "mlock", "locked"];
    assert!(said.iter().any(|word| outcome.err.contains(word)), "nobody says so: {outcome}");
}

#[test]
fn hidden_kernel_addresses_are_said() {
    let test = "hidden_kernel_addresses_are_said";
    let scene = Scene::new();
    scene.write("eips", "ffffffff81000110\n");
    let outcome = without_rights(&scene, &[], "eip2r", "eips");
    let hidden = fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap().trim() != "0"
        || rights::paranoid() > 1;
    if !hidden {
        eprintln!("skipped {test}: this kernel shows its addresses to all");
        return;
    }
    let text = format!("{}{}", outcome.out, outcome.err);
    assert!(text.contains("kptr_restrict") || text.contains("root"), "{outcome}");
}
