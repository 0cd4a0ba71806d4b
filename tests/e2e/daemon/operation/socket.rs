//! Where ebsd listens, what it may not, and who cannot hold it up.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    time::Duration,
};

use rustix::process::Signal;
use tests::{Ebsd, Running, Scene, User, rights};

use super::super::lingering::{lingering, send};
use super::super::raw::Raw;

#[test]
fn a_socket_that_is_passed_is_listened_at() {
    let scene = Scene::new();
    let path = scene.path("passed.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // As systemd starts it: descriptor 3, for this very process.
    let script = "exec 3<&0 < /dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec ebsd --socket ./other";
    let mut command = scene.command("bash");
    command.args(["-c", script]).stdin(std::os::fd::OwnedFd::from(listener));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ebsd = Running::start_as_is(&mut command);
    let mut raw = Raw::new(&path);
    let sessions = raw.ask(&serde_json::json!({"verb": "sessions"}));
    assert_eq!(sessions["reply"], "sessions", "{sessions}");
    assert!(!scene.path("other").exists());
    ebsd.signal(Signal::TERM);
    let outcome = ebsd.finish().success();
    assert!(path.exists(), "it is systemd's, and stays: {outcome}");
}

#[test]
fn one_path_has_one_daemon() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let second = || scene.run("ebsd --socket ebsd.sock --config ebsd.toml");
    second().refused(1, &["another daemon listens here"]);
    // Also while the first is stopped, and its queue is full.
    ebsd.signal(Signal::STOP);
    let waiting: Vec<UnixStream> = (0..5000)
        .map_while(|_| {
            use rustix::net::{
                AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
            };
            let flags = SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
            connect(&socket, &SocketAddrUnix::new(&ebsd.socket).ok()?).ok()?;
            Some(socket.into())
        })
        .collect();
    second().refused(1, &["another daemon listens here"]);
    drop(waiting);
    // One that was killed leaves its socket, which is taken over.
    ebsd.signal(Signal::KILL);
    drop(ebsd);
    assert!(scene.path("ebsd.sock").exists());
    Ebsd::start(&scene, "").end();
    assert!(!scene.path("ebsd.sock").exists());
    fs::write(scene.path("ebsd.sock"), "mine").unwrap();
    second().refused(1, &["no socket"]);
    assert_eq!(scene.read("ebsd.sock"), "mine");
    fs::create_dir(scene.path("open")).unwrap();
    fs::set_permissions(scene.path("open"), Permissions::from_mode(0o777)).unwrap();
    scene
        .run("ebsd --socket open/sock --config ebsd.toml")
        .refused(1, &["could put a socket of theirs in its place"]);
}

/// Whatever it is started with.
#[test]
fn the_supervisor_keeps_seven_capabilities() {
    let test = "the_supervisor_keeps_seven_capabilities";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    // Its socket is there before it gives up the rest; who is served is served
    // after.
    let _served = Raw::new(&ebsd.socket);
    let status = fs::read_to_string(format!("/proc/{}/status", ebsd.pid())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().to_owned()
    };
    // KILL 5, SETGID 6, SETUID 7, SYS_PTRACE 19, SYSLOG 34, PERFMON 38, BPF 39.
    let needed = [5, 6, 7, 19, 34, 38, 39].iter().fold(0u64, |all, bit| all | 1 << bit);
    for set in ["CapPrm:", "CapEff:"] {
        let held = u64::from_str_radix(&field(set), 16).unwrap();
        assert_eq!(held & !needed, 0, "{set} {held:x}");
        assert!(held & 1 << 38 != 0 || rights::paranoid() < 0, "{set} {held:x}");
    }
    assert_eq!(u64::from_str_radix(&field("CapInh:"), 16).unwrap(), 0);
    assert_eq!(field("NoNewPrivs:"), "1");
    let limits = fs::read_to_string(format!("/proc/{}/limits", ebsd.pid())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    ebsd.end();
}

/// A connection that nobody takes may bring a descriptor whose closing lasts
/// as long as its sender likes.
#[test]
fn what_lies_in_a_refused_connection_holds_up_nobody() {
    let test = "what_lies_in_a_refused_connection_holds_up_nobody";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let bin = scene.open_commands();
    let directory = scene.path("own");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::chown(&directory, Some(4002), Some(4002)).unwrap();
    let socket = directory.join("sock");
    let mut command = User::new(4002).command(&scene, bin.join("ebsd"));
    let mut ebsd = Running::start(command.arg("--socket").arg(&socket));
    ebsd.wait_until_listening(socket.as_ref());
    ebsd.signal(Signal::STOP);
    // Root's connection is refused by a daemon of user 4002.
    let refused = UnixStream::connect(&socket).unwrap();
    let _taken = send(&refused, b"x", lingering(Duration::from_secs(90)));
    drop(refused);
    ebsd.signal(Signal::CONT);
    let mut own = User::new(4002).command(&scene, bin.join("ebs"));
    own.args(["--daemon", "-u", "-t", "page_fault", "-i", "1", "--socket"]).arg(&socket);
    let begun = std::time::Instant::now();
    Running::start(own.args(["ls", "/"])).finish().sane().success();
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
    ebsd.signal(Signal::TERM);
    ebsd.finish().success();
}

/// The same of who connected to the service manager's socket, before there
/// was a daemon to say that nobody sends descriptors.
#[test]
fn what_was_sent_before_the_start_holds_up_nobody() {
    let test = "what_was_sent_before_the_start_holds_up_nobody";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let bin = scene.open_commands();
    let path = scene.path("passed.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let linger = Duration::from_secs(90);
    // Root's connection is refused by a daemon of user 4002.
    let refused = UnixStream::connect(&path).unwrap();
    send(&refused, b"x", lingering(linger)).unwrap();
    drop(refused);
    let program = bin.join("ebsd");
    let script = format!(
        "exec 3<&0 < /dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec {} --socket ./other",
        program.display()
    );
    let user = User::new(4002);
    let mut command = user.command(&scene, "bash");
    command.args(["-c", &script]).stdin(std::os::fd::OwnedFd::from(listener));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let begun = std::time::Instant::now();
    let ebsd = Running::start_as_is(&mut command);
    let mut own = user.command(&scene, bin.join("ebs"));
    own.args(["--daemon", "-u", "-t", "page_fault", "-i", "1", "--socket"]).arg(&path);
    Running::start(own.args(["ls", "/"])).finish().sane().success();
    assert!(begun.elapsed() < linger / 2, "held up for {:?}", begun.elapsed());
    ebsd.signal(Signal::TERM);
    ebsd.finish().success();
}

#[test]
fn a_configuration_is_checked_and_told() {
    let scene = Scene::new();
    let check = |text: &str| {
        let path = scene.write("ebsd.toml", text);
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        scene.run("ebsd --check-config --config ebsd.toml")
    };
    let good = check("[[allow]]\ngroup = 4100\npermissions = [\"kernel\", \"system_wide\"]\n");
    assert!(good.success().out.contains("group 4100 may: kernel, system_wide"));
    check("[limits]\nqueue = \"1 B\"").refused(1, &["limits.queue is 1: give at least 65536"]);
    scene.run("ebsd --check-config --config nowhere.toml").refused(1, &["No such file"]);
    let bad = check("[limits]\nconnections = 3\nqueue = \"lots\"\n");
    let bad = bad.refused(1, &["ebsd.toml: line 3, column 9: ", "queue = "]);
    assert!(!bad.err.contains("\\n") && bad.err.lines().count() == 1, "{bad}");
    // Where others could put something of theirs in the place of what is written.
    let metrics = |textfile: &str| {
        let path = scene.path(textfile);
        check(&format!("[metrics]\ntextfile = \"{}\"\n", path.display()))
    };
    metrics("ebsd.prom").success();
    fs::create_dir(scene.path("open")).unwrap();
    fs::set_permissions(scene.path("open"), Permissions::from_mode(0o777)).unwrap();
    metrics("open/ebsd.prom").refused(1, &["put a file of theirs in its place"]);
    // The service manager may be yet to make it.
    let later = metrics("nowhere/ebsd.prom").success().out;
    assert!(later.contains("nowhere/ebsd.prom: its directory is not there yet"), "{later}");
}
