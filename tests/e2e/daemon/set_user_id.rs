//! Programs that run as somebody else are not their starter's to sample.

use std::{fs, os::unix::fs::PermissionsExt, thread, time::Duration};

use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

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
    begins: Begins,
}

/// When the program begins, and as what.
#[derive(Clone, Copy, Debug)]
enum Begins {
    /// As a child of the shell, when the shell is sampled.
    AsChild,
    /// In the shell's place, when the shell is sampled.
    Instead,
    /// In its place so long after sampling was asked for.
    InsteadAfter(Duration),
}

/// What was recorded of a program.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    /// Samples of the storm's own instruction.
    samples: u64,
    /// Samples told as lost, whatever they were of.
    lost: u64,
    /// As whom the program acted.
    user: u64,
}

impl Recorded {
    /// Fails unless every fault of the storm is there, or told as lost.
    #[track_caller]
    fn is_whole(self, of: u32) {
        let Recorded { samples, lost, user } = self;
        assert_eq!(user, u64::from(of), "{self:?}");
        assert!(samples > 0 && samples <= FAULTS && samples + lost >= FAULTS, "{self:?}");
    }
}

impl Try {
    fn recorded(&self, scene: &Scene, ebsd: &Ebsd, site: u64) -> Recorded {
        let program = scene.path(self.program);
        let words = match self.begins {
            Begins::AsChild => format!("{} {FAULTS}; exit 0", program.display()),
            Begins::Instead | Begins::InsteadAfter(_) => {
                format!("exec {} {FAULTS}", program.display())
            }
        };
        let words = format!("echo ready; read go; {words}");
        let mut shell = Running::start(self.user.command(scene, "sh").args(["-c", &words]));
        assert_eq!(shell.hear(), "ready");
        let file = scene.path("out").join(format!("{}.data", shell.pid()));
        let mut command = self.user.command(scene, scene.path("bin/ebs"));
        command.args(self.modes.split_whitespace()).args(["-t", "page_fault", "-i", "1"]);
        command.args(["-c", "all", "-o"]).arg(&file);
        command.args(["--daemon", "--socket"]).arg(&ebsd.socket);
        let mut ebs = Running::start(command.arg(shell.pid().to_string()));
        let has_begun = || file.metadata().is_ok_and(|data| data.len() > 100);
        match self.begins {
            Begins::InsteadAfter(delay) => thread::sleep(delay),
            Begins::AsChild | Begins::Instead => ebs.wait_until("it samples", |_| has_begun()),
        }
        shell.tell("go");
        let truth = Truth::new(&shell.finish().success().out.replace("ready\n", ""));
        ebs.finish();
        // Refused, and nothing written.
        let counted = fs::read(&file).map_or_else(|_| Counted::default(), |it| Counted::new(&it));
        Recorded {
            samples: counted.at.get(&site).copied().unwrap_or(0),
            lost: counted.gaps.values().sum(),
            user: truth.number("user"),
        }
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
        Try { user, program, modes: "-u", begins: Begins::AsChild }.recorded(&scene, &ebsd, site)
    };
    run("storm").is_whole(4001);
    let Recorded { samples, user, .. } = run("storm-setuid");
    assert_eq!((samples, user), (0, 0));
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
    let run = |program, begins| {
        Try { user, program, modes: "-u -k", begins }.recorded(&scene, &ebsd, site)
    };
    run("storm", Begins::Instead).is_whole(4001);
    // Nobody traces the shell any more: it becomes root.
    let Recorded { samples, user: root, .. } = run("storm-setuid", Begins::Instead);
    assert_eq!((samples, root), (0, 0));
    for step in 0..25 {
        let delay = Duration::from_millis(step * 3);
        // While it is traced, to be attached to, the kernel gives it no
        // other user's rights.
        let recorded = run("storm-setuid", Begins::InsteadAfter(delay));
        assert!(recorded.samples == 0 || recorded.user == 4001, "{recorded:?}, {delay:?}");
    }
    ebsd.end();
}
