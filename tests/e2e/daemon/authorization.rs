//! The daemon's answer to each user about each target is the kernel's to that
//! user, and beyond it exactly what policy adds.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command, thread};

use tests::{Ebsd, Running, Scene, User, Workload, rights};

/// Whose members may sample others' tasks.
const GROUP: u32 = 4100;
/// Whose members may sample their own, which the kernel lets them anyway.
const OWNERS: u32 = 4101;
/// Whom nobody else of the test is.
const STRANGER: u32 = 4009;

/// What there is to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Own,
    Anothers,
    Roots,
    HiddenOwn,
    SetUserId,
    WithCapability,
    KernelThread,
    Gone,
    /// A process of another's that has the number of one's own that ended.
    Reused,
    /// In a user namespace that root made, as a user of nobody's out here.
    InRootsSpace,
    /// There, with the ids that one has out here.
    OwnInRootsSpace,
    /// In a user namespace of one's own.
    InOwnSpace,
    /// There, and not to be looked at but by who rules it.
    HiddenInOwnSpace,
    /// In a namespace that was made in one's own.
    InOwnSpaceTwice,
    /// In a user namespace of another's.
    InAnothersSpace,
    /// Out of pid and mount namespaces that root made.
    OwnApart,
    AnothersApart,
    /// In all three kinds, of one's own.
    ApartInOwnSpace,
}

const KINDS: [Kind; 18] = [
    Kind::Own,
    Kind::Anothers,
    Kind::Roots,
    Kind::HiddenOwn,
    Kind::SetUserId,
    Kind::WithCapability,
    Kind::KernelThread,
    Kind::Gone,
    Kind::Reused,
    Kind::InRootsSpace,
    Kind::OwnInRootsSpace,
    Kind::InOwnSpace,
    Kind::HiddenInOwnSpace,
    Kind::InOwnSpaceTwice,
    Kind::InAnothersSpace,
    Kind::OwnApart,
    Kind::AnothersApart,
    Kind::ApartInOwnSpace,
];

/// A target, and what keeps it alive.
struct Target {
    pid: u32,
    _running: Option<Running>,
}

impl Target {
    fn new(scene: &Scene, user: User, kind: Kind) -> Target {
        let as_user = User { in_namespace: false, ..user };
        let of = |user: User, program: &str| {
            let mut running = Running::start(&mut user.command(scene, scene.path(program)));
            assert_eq!(running.hear(), "ready");
            running
        };
        // Who makes the namespaces, which, and the id there and out here.
        let apart = |maker: User, spaces: &str, ids: (u32, u32), hidden: &[&str]| {
            let mut command = maker.command(scene, scene.path("apart"));
            command.arg(spaces).args([ids.0, ids.1].map(|id| id.to_string()));
            let mut running = Running::start(command.arg(scene.path("sleeper")).args(hidden));
            let said = running.hear();
            let Ok(pid) = said.parse() else { panic!("{said:?}: {}", running.finish()) };
            assert_eq!(running.hear(), "ready");
            Target { pid, _running: Some(running) }
        };
        let (root, stranger) = (User::new(0), User::new(STRANGER));
        let running = match kind {
            Kind::InRootsSpace => return apart(root, "u", (33, 200_033), &[]),
            Kind::OwnInRootsSpace => return apart(root, "u", (33, user.id), &[]),
            Kind::InOwnSpace => return apart(as_user, "u", (0, user.id), &[]),
            Kind::HiddenInOwnSpace => return apart(as_user, "u", (0, user.id), &["hidden"]),
            Kind::InOwnSpaceTwice => return apart(as_user, "U", (0, user.id), &[]),
            Kind::InAnothersSpace => return apart(stranger, "u", (0, STRANGER), &[]),
            Kind::OwnApart => return apart(root, "pm", (user.id, 0), &[]),
            Kind::AnothersApart => return apart(root, "pm", (STRANGER, 0), &[]),
            Kind::ApartInOwnSpace => return apart(as_user, "upm", (0, user.id), &[]),
            Kind::Own => of(as_user, "sleeper"),
            Kind::Anothers => of(User::new(STRANGER), "sleeper"),
            Kind::Roots => of(User::new(0), "sleeper"),
            Kind::HiddenOwn => {
                let mut command = as_user.command(scene, scene.path("sleeper"));
                let mut running = Running::start(command.arg("hidden"));
                assert_eq!(running.hear(), "ready");
                running
            }
            Kind::SetUserId => of(as_user, "sleeper-setuid"),
            Kind::WithCapability => of(as_user, "sleeper-setcap"),
            Kind::KernelThread => return Target { pid: 2, _running: None },
            Kind::Gone => {
                let ended = of(as_user, "sleeper");
                let pid = ended.pid();
                ended.finish();
                return Target { pid, _running: None };
            }
            Kind::Reused => {
                let ended = of(as_user, "sleeper");
                let pid = ended.pid();
                ended.finish();
                let mut command = scene.command(scene.path("reborn"));
                command.args([pid.to_string(), STRANGER.to_string()]).arg(scene.path("sleeper"));
                let mut running = Running::start(&mut command);
                assert_eq!(running.hear(), "ready");
                return Target { pid, _running: Some(running) };
            }
        };
        Target { pid: running.pid(), _running: Some(running) }
    }
}

/// Programs that any user may run.
fn stage(scene: &Scene) {
    let sleeper = Workload::Sleeper.build(scene);
    Workload::MaySample.build(scene);
    Workload::Reborn.build(scene);
    Workload::Apart.build(scene);
    scene.open_commands();
    let copy = |name: &str, mode: u32| {
        fs::copy(&sleeper, scene.path(name)).unwrap();
        fs::set_permissions(scene.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    copy("sleeper-setuid", 0o4755);
    copy("sleeper-setcap", 0o755);
    let mut set = Command::new("setcap");
    set.arg("cap_net_raw+ep").arg(scene.path("sleeper-setcap"));
    assert!(set.status().unwrap().success());
}

/// Whether the kernel lets this user sample the target.
fn by_kernel(scene: &Scene, user: User, pid: u32) -> bool {
    let mut command = user.command(scene, scene.path("may_sample"));
    let outcome = Running::start(command.arg(pid.to_string())).finish().success();
    outcome.out.starts_with("yes")
}

/// Whether the daemon does.
fn by_daemon(scene: &Scene, user: User, pid: u32, socket: &Path) -> bool {
    let mut command = user.command(scene, "timeout");
    command.arg("60").arg(scene.path("bin/ebs"));
    command.args(["-u", "-t", "page_fault", "-i", "1", "-c", "1", "--socket"]).arg(socket);
    let outcome = Running::start(command.arg(pid.to_string())).finish().sane();
    if user.in_namespace {
        // Refused before a word: its ids do not tell its rights.
        outcome.refused(1, &["another user namespace"]);
        return false;
    }
    let sampled = outcome.err.contains(" by the daemon (");
    assert_eq!(outcome.code(), if sampled { 0 } else { 1 }, "{outcome}");
    sampled
}

/// What policy adds for members of the group.
fn granted(user: User, kind: Kind) -> bool {
    let others = user.id == 0 || user.group == Some(GROUP);
    // A kernel thread has no user code.
    others && !matches!(kind, Kind::Gone | Kind::KernelThread)
}

#[test]
fn the_daemon_answers_each_user_as_the_kernel_does() {
    let test = "the_daemon_answers_each_user_as_the_kernel_does";
    if !rights::root(test) || !rights::program(test, "setcap") {
        return;
    }
    if rights::paranoid() > 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = &Scene::new();
    stage(scene);
    let config = format!(
        "[[allow]]\ngroup = {GROUP}\npermissions = [\"others_tasks\"]\n\
         [[allow]]\ngroup = {OWNERS}\npermissions = [\"own_tasks\"]\n"
    );
    let ebsd = Ebsd::start(scene, &config);
    let socket = &ebsd.socket;
    let users = [
        ("root", User::new(0)),
        ("member", User { group: Some(GROUP), ..User::new(4001) }),
        ("owner", User { group: Some(OWNERS), ..User::new(4005) }),
        ("a", User::new(4002)),
        ("b", User::new(4003)),
        ("nobody", User::new(65534)),
        ("namespace", User { in_namespace: true, ..User::new(4004) }),
    ];
    let cells = thread::scope(|scope| {
        let rows: Vec<_> = users
            .iter()
            .map(|&(name, user)| {
                scope.spawn(move || {
                    KINDS.map(|kind| {
                        let target = Target::new(scene, user, kind);
                        let kernel = by_kernel(scene, user, target.pid);
                        let daemon = by_daemon(scene, user, target.pid, socket);
                        (name, user, kind, kernel, daemon)
                    })
                })
            })
            .collect();
        rows.into_iter().flat_map(|row| row.join().unwrap()).collect::<Vec<_>>()
    });
    for &(name, user, kind, kernel, daemon) in &cells {
        // Nothing is there to be sampled in user mode.
        let expected = kind != Kind::KernelThread && (kernel || granted(user, kind));
        assert_eq!(daemon, expected, "{name}, {kind:?}: the kernel says {kernel}\n{cells:#?}");
    }
    // The matrix is worth something only if the kernel both lets and refuses.
    let of = |kind| cells.iter().filter(move |cell| cell.2 == kind && cell.1.id != 0);
    let mut own = of(Kind::Own).filter(|cell| !cell.1.in_namespace);
    assert!(own.all(|cell| cell.3), "{cells:#?}");
    for kind in [Kind::InOwnSpace, Kind::HiddenInOwnSpace, Kind::InOwnSpaceTwice, Kind::OwnApart] {
        let mut seen = of(kind).filter(|cell| !cell.1.in_namespace);
        assert!(seen.all(|cell| cell.3), "{kind:?}: {cells:#?}");
    }
    let refused = [
        Kind::Anothers,
        Kind::Roots,
        Kind::HiddenOwn,
        Kind::SetUserId,
        Kind::Gone,
        Kind::Reused,
        Kind::InRootsSpace,
        Kind::OwnInRootsSpace,
        Kind::InAnothersSpace,
        Kind::AnothersApart,
    ];
    for refused in refused {
        assert!(of(refused).all(|cell| !cell.3), "{refused:?}: {cells:#?}");
    }
    ebsd.end();
}
