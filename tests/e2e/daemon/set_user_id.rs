//! Programs that run as somebody else are not their starter's to sample.

use std::{fs, os::unix::fs::PermissionsExt, thread, time::Duration};

use hardmeter_tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use super::stream::Counted;

const FAULTS: u64 = 3000;
const GROUP: u32 = 4100;

/// A storm of any user's, one that is set-user-ID root, and where they blow.
fn stage(scene: &Scene) -> u64 {
    let storm = Workload::Storm.build(scene);
    scene.open_commands();
    let set = scene.path("storm-setuid");
    fs::copy(&storm, &set).unwrap();
    fs::set_permissions(&set, fs::Permissions::from_mode(0o4755)).unwrap();
    let directory = scene.path("out");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    Truth::new(&scene.run("./storm 1").success().out).number("site")
}

/// A user who samples a shell that runs a program.
struct Try {
    user: User,
    program: &'static str,
    modes: &'static str,
    /// The program takes the shell's place so long after sampling was asked
    /// for; None: it is a child, begun when the shell is sampled.
    replaced_after: Option<Duration>,
}

impl Try {
    /// Samples of the storm's own instruction, and as whom it acted.
    fn samples(&self, scene: &Scene, ebsd: &Ebsd, site: u64) -> (u64, u64) {
        let program = scene.path(self.program);
        let words = match self.replaced_after {
            Some(_) => format!("echo ready; read go; exec {} {FAULTS}", program.display()),
            None => format!("echo ready; read go; {} {FAULTS}; exit 0", program.display()),
        };
        let mut shell = Running::start(self.user.command(scene, "sh").args(["-c", &words]));
        assert_eq!(shell.hear(), "ready");
        let file = scene.path("out").join(format!("{}.data", shell.pid()));
        let mut command = self.user.command(scene, scene.path("bin/ebs"));
        command.args(self.modes.split_whitespace()).args(["-t", "page_fault", "-i", "1"]);
        command.args(["-c", "all", "-o"]).arg(&file);
        command.args(["--daemon", "--socket"]).arg(&ebsd.socket);
        let mut ebs = Running::start(command.arg(shell.pid().to_string()));
        let has_begun = || file.metadata().is_ok_and(|data| data.len() > 100);
        match self.replaced_after {
            Some(delay) => thread::sleep(delay),
            None => ebs.wait_until("it samples", |_| has_begun()),
        }
        shell.tell("go");
        let truth = Truth::new(&shell.finish().success().out.replace("ready\n", ""));
        ebs.finish();
        let samples = match fs::read(&file) {
            Ok(stream) => Counted::new(&stream).at.get(&site).copied().unwrap_or(0),
            // Refused, and nothing written.
            Err(_) => 0,
        };
        (samples, truth.number("user"))
    }
}

#[test]
fn a_set_user_id_program_of_a_sampled_shell_is_not_sampled() {
    let test = "a_set_user_id_program_of_a_sampled_shell_is_not_sampled";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let site = stage(&scene);
    let ebsd = Ebsd::start(&scene, "");
    let run = |program| {
        let user = User::new(4001);
        Try { user, program, modes: "-u", replaced_after: None }.samples(&scene, &ebsd, site)
    };
    assert_eq!(run("storm"), (FAULTS, 4001), "its own program is sampled whole");
    assert_eq!(run("storm-setuid"), (0, 0));
    ebsd.end();
}

/// A grant is not for what its target becomes, at whatever moment.
#[test]
fn no_grant_reaches_a_set_user_id_program() {
    let test = "no_grant_reaches_a_set_user_id_program";
    if !rights::root(test) {
        return;
    }
    if rights::paranoid() < 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    let site = stage(&scene);
    let config = format!("[[allow]]\ngroup = {GROUP}\npermissions = [\"kernel\"]\n");
    let ebsd = Ebsd::start(&scene, &config);
    let user = User { group: Some(GROUP), ..User::new(4001) };
    let run = |program, replaced_after| {
        Try { user, program, modes: "-u -k", replaced_after }.samples(&scene, &ebsd, site)
    };
    let long = Some(Duration::from_millis(1500));
    assert_eq!(run("storm", long), (FAULTS, 4001), "its own program is sampled whole");
    let mut as_root = 0;
    for step in 0..25 {
        let delay = Duration::from_millis(step * 3);
        // While it is traced, to be attached to, the kernel gives it no
        // other user's rights.
        let (samples, user) = run("storm-setuid", Some(delay));
        assert!(samples == 0 || user == 4001, "{samples} samples of user {user}, {delay:?}");
        as_root += u32::from(user == 0);
    }
    assert!(as_root > 0, "it has never been root");
    ebsd.end();
}
