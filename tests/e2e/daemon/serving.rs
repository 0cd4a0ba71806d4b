//! What `ebs` gets through a daemon is what it would get without.

use tests::{Account, Ebsd, Running, Scene, Truth, User, Workload, rights};

#[test]
fn a_command_is_sampled_through_the_daemon_from_its_first_fault() {
    let test = "a_command_is_sampled_through_the_daemon_from_its_first_fault";
    if !rights::root(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    let storm = Workload::Storm.build(&scene);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    std::fs::create_dir(scene.path("out")).unwrap();
    std::os::unix::fs::chown(scene.path("out"), Some(4002), None).unwrap();
    let mut command = User::new(4002).command(&scene, scene.path("bin/ebs"));
    command.args(["-u", "-t", "page_fault", "-i", "1", "-c", "all", "-o", "out/x.data"]);
    command.arg("--socket").arg(&ebsd.socket).arg(&storm).arg("5000");
    let outcome = Running::start(&mut command).finish().success();
    let truth = Truth::new(&outcome.out);
    let account = Account::of_stream(&scene.path("out/x.data"));
    assert_eq!(account.count("kernel"), account.count("delivered") + account.lost());
    assert_eq!(account.lost(), 0, "{outcome}");
    // perf decodes the stream, and finds the storm where it blew.
    std::os::unix::fs::chown(scene.path("out/x.data"), Some(0), None).unwrap();
    let script = scene.shell("perf script -i out/x.data -F ip 2> perf.err").success();
    let site = format!("{:x}", truth.number("site"));
    let at_site = script.out.lines().filter(|line| line.trim() == site).count();
    assert_eq!(u64::try_from(at_site).unwrap(), truth.number("faults"), "{outcome}");
    assert!(outcome.last_line().contains("by the daemon (with this user's rights)"), "{outcome}");
    ebsd.end();
}

#[test]
fn the_kernel_is_shown_to_whom_policy_grants_it() {
    let test = "the_kernel_is_shown_to_whom_policy_grants_it";
    if !rights::root(test) {
        return;
    }
    if rights::paranoid() < 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "[[allow]]\ngroup = 4100\npermissions = [\"kernel\"]\n");
    let run = |user: User, arguments: &str| {
        let mut command = user.command(&scene, scene.path("bin/ebs"));
        command.args(["-t", "page_fault", "-i", "1", "--socket"]).arg(&ebsd.socket);
        Running::start(command.args(arguments.split_whitespace())).finish().sane()
    };
    let member = User { group: Some(4100), ..User::new(4001) };
    let granted = run(member, "-k ls /").success();
    assert!(granted.err.contains("by the daemon (its policy grants it)"), "{granted}");
    assert!(granted.out.contains("0xffffffff"), "{granted}");
    run(User::new(4002), "-k ls /").refused(1, &["perf_event_paranoid"]);
    run(member, "-u").refused(1, &["perf_event_paranoid", "system_wide"]);
    ebsd.end();
}

/// Lets users sample the kernel, while it lives.
struct Paranoid(i32);

impl Paranoid {
    const FILE: &str = "/proc/sys/kernel/perf_event_paranoid";

    fn set(level: i32) -> Paranoid {
        let before = Paranoid(rights::paranoid());
        std::fs::write(Paranoid::FILE, level.to_string()).unwrap();
        before
    }
}

impl Drop for Paranoid {
    fn drop(&mut self) {
        std::fs::write(Paranoid::FILE, self.0.to_string()).unwrap();
    }
}

#[test]
fn whom_the_kernel_lets_sample_it_needs_no_policy() {
    let test = "whom_the_kernel_lets_sample_it_needs_no_policy";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let bin = scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let level = Paranoid::set(1);
    let mut command = User::new(4002).command(&scene, bin.join("ebs"));
    command.args(["-k", "-t", "page_fault", "-i", "1", "--daemon", "--socket"]);
    let outcome = Running::start(command.arg(&ebsd.socket).args(["ls", "/"])).finish();
    drop(level);
    let outcome = outcome.success();
    assert!(outcome.err.contains("by the daemon (with this user's rights)"), "{outcome}");
    assert!(!outcome.last_line().contains(" 0 records"), "{outcome}");
    ebsd.end();
}

#[test]
fn a_user_serves_itself_and_nobody_else() {
    let test = "a_user_serves_itself_and_nobody_else";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let bin = scene.open_commands();
    let directory = scene.path("own");
    std::fs::create_dir(&directory).unwrap();
    std::os::unix::fs::chown(&directory, Some(4002), Some(4002)).unwrap();
    let socket = directory.join("sock");
    let mut command = User::new(4002).command(&scene, bin.join("ebsd"));
    let mut ebsd = Running::start(command.arg("--socket").arg(&socket));
    ebsd.wait_until_listening(socket.as_ref());
    let run = |id: u32| {
        let mut command = User::new(id).command(&scene, bin.join("ebs"));
        command.args(["-u", "-t", "page_fault", "-i", "1", "--socket"]).arg(&socket);
        Running::start(command.args(["ls", "/"])).finish().sane()
    };
    let own = run(4002).success();
    assert!(own.err.contains("by the daemon"), "{own}");
    run(4003).refused(1, &["Permission denied"]);
    ebsd.signal(rustix::process::Signal::TERM);
    ebsd.finish().success();
    assert!(!socket.exists(), "it takes its socket away");
}
