use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use recorder::request::CallGraph;
use recorder::{Modes, SiteTables};

use super::*;
use crate::guard::Size;
use crate::standing::TargetDescription;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("ebsd.toml"), &|name| (name == "perf").then_some(77))
}

#[test]
fn groups_get_what_is_allowed_them() {
    let text = r#"
        [limits]
        queue = "2 MiB"
        sessions_per_user = 9

        [[allow]]
        group = "perf"
        permissions = ["kernel", "system_wide"]
    "#;
    let config = parse(text).unwrap();
    assert_eq!(config.limits.queue, Size(2 << 20));
    assert_eq!(config.limits.sessions_per_user, 9);
    assert_eq!(config.limits.connections, 64, "as ever");
    let permissions = vec![Permission::Kernel, Permission::SystemWide];
    assert_eq!(config.policy.groups, [Group { gid: 77, permissions }]);
    assert_eq!(parse("").unwrap(), Config::default());
}

#[test]
fn standing_sessions_are_named_and_bounded() {
    let text = r#"
        [store]
        directory = "/srv/samples"
        user = "nobody"

        [[standing]]
        name = "web"
        type = "page_fault"
        target = { pid_file = "/run/web.pid" }
        interval = 100
        mode = "both"
        retention = { bytes = "64 MiB", age = "12h" }
        readers = ["perf", 4100]

        [[standing]]
        name = "all"
        type = "cpu_clock"
        target = "system"
    "#;
    let config = parse(text).unwrap();
    let [web, all] = &config.standing[..] else { panic!("{config:?}") };
    assert_eq!(web.role.target, TargetDescription::PidFile("/run/web.pid".into()));
    assert_eq!((web.role.modes, web.role.interval), (Modes::BOTH, Some(100)));
    assert_eq!((web.role.kept.bytes, web.role.kept.age.as_secs()), (64 << 20, 43_200));
    assert_eq!(web.role.kept.directory, Path::new("/srv/samples"));
    assert_eq!(web.readers, [77, 4100]);
    assert_eq!((&all.role.target, all.role.modes), (&TargetDescription::System, Modes::USER));
    assert_eq!((all.role.kept.bytes, all.readers.len()), (1 << 30, 0));
    assert_eq!(config.store_user.as_deref(), Some("nobody"));
    let one = |rest: &str| format!("[[standing]]\nname = \"x\"\ntype = \"page_fault\"\n{rest}");
    let system = "target = \"system\"";
    for (text, says) in [
        (one(""), "missing field `target`"),
        (one("target = \"all\""), "unknown variant `all`"),
        (one("target = { comm = \"sixteen-bytes-xx\" }"), "1 to 15 bytes"),
        (one("target = { unit = \"a/b\" }"), "no name of a unit"),
        (one("target = { pid_file = \"x.pid\" }"), "no absolute path"),
        (one(&format!("{system}\ninterval = 0")), "no number from 1"),
        (one(&format!("{system}\nretention = {{ bytes = \"1 KiB\" }}")), "at least 1 MiB"),
        (one(&format!("{system}\nretention = {{ age = \"1 week\" }}")), "no span of time"),
        (one(&format!("{system}\nretention = {{ age = \"5s\" }}")), "at least 1m"),
        (one(&format!("{system}\nreaders = [\"nobodys\"]")), "groupadd --system nobodys"),
        (format!("{0}\n{0}", one(system)), "two of that name"),
        (one(system).replace("\"x\"", "\"../x\""), "letters, digits"),
        (one(system).replace("page_fault", "page_falut"), "none of the table"),
        (one(system).replace("page_fault", "sched:sched_switch"), "none of the table"),
        (format!("[store]\ndirectory = \"here\"\n{}", one(system)), "no absolute path"),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn standing_sessions_may_have_callers() {
    let one = |rest: &str| {
        let head = "[[standing]]\nname = \"x\"\ntype = \"page_fault\"\ntarget = \"system\"\n";
        parse(&format!("{head}{rest}"))
    };
    let role = |rest: &str| one(rest).unwrap().standing.remove(0).role;
    assert_eq!(role("").call_graph, None);
    for how in ["fp", "dwarf,8192", "lbr"] {
        let line = format!("call_graph = {how:?}");
        assert_eq!(role(&line).call_graph, Some(how.parse().unwrap()));
        let text = one(&line).unwrap().to_string();
        assert!(text.contains(&format!("x: page_fault, callers by {how}")), "{text}");
    }
    let counted = role("mode = [\"user\", \"aggregate\"]\ncall_graph = \"fp\"");
    assert!(counted.counted.is_some() && counted.call_graph == Some(CallGraph::FramePointers));
    for (rest, says) in [
        ("call_graph = \"elf\"", "\"elf\" is none of fp, dwarf, dwarf,BYTES and lbr"),
        ("call_graph = \"dwarf,0\"", "dwarf,BYTES with 8 to 57344"),
        (
            "mode = [\"user\", \"aggregate\"]\ncall_graph = \"lbr\"",
            "by frame pointers alone, not by lbr",
        ),
    ] {
        let error = one(rest).unwrap_err().to_string();
        assert!(error.contains(says), "{rest}: {error}");
    }
}

#[test]
fn standing_sessions_may_be_counted_in_the_kernel() {
    let one = |rest: &str| {
        let head = "[[standing]]\nname = \"x\"\ntype = \"page_fault\"\ntarget = \"system\"\n";
        parse(&format!("{head}{rest}"))
    };
    let role = |rest: &str| one(rest).unwrap().standing.remove(0).role;
    assert_eq!(role("").counted, None);
    let counted = role("mode = \"aggregate\"");
    assert_eq!(counted.modes, Modes::USER);
    let defaults = counted.counted.unwrap();
    assert_eq!((defaults.every.as_secs(), defaults.tables), (60, SiteTables::default()));
    let all = "mode = [\"both\", \"aggregate\"]\naggregate_every = \"5m\"\nsites = 256\n\
               by_process = true\nstrides = true";
    let counted = role(all);
    let said = counted.counted.unwrap();
    assert_eq!((counted.modes, said.every.as_secs()), (Modes::BOTH, 300));
    assert_eq!(
        said.tables,
        SiteTables { sites: 256, by_process: true, strides: true, callers: false }
    );
    let text = one(all).unwrap().to_string();
    assert!(text.contains("x: page_fault, counted in the kernel"), "{text}");
    assert!(text.contains("an aggregate every 5m, 256 sites a CPU"), "{text}");
    for (rest, says) in [
        ("mode = \"aggregates\"", "mode \"aggregates\" is none of"),
        ("mode = 3", "no list of words"),
        ("aggregate_every = \"60s\"", "only for mode \"aggregate\""),
        ("strides = false", "only for mode \"aggregate\""),
        ("mode = \"aggregate\"\naggregate_every = \"0s\"", "give 1s to 1d"),
        ("mode = \"aggregate\"\naggregate_every = \"2d\"", "give 1s to 1d"),
        ("mode = \"aggregate\"\nsites = 1000", "give a power of two from 64 to 65536"),
        ("mode = \"aggregate\"\nsites = 131072", "give a power of two from 64 to 65536"),
    ] {
        let error = one(rest).unwrap_err().to_string();
        assert!(error.contains(says), "{rest}: {error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, says) in [
        ("limit = 3", "unknown field `limit`"),
        ("[limits]\nqueue = 3", "line 2"),
        ("[limits]\nqueue = \"lots\"", "no size"),
        ("[limits]\nqueue = \"1 KiB\"", "limits.queue is 1024: give at least 65536"),
        ("[limits]\nconnections = 0", "at least 1"),
        ("[limits]\nconnections = -1", "line 2"),
        ("[[allow]]\ngroup = \"perf\"\npermissions = [\"all\"]", "unknown variant `all`"),
        ("[[allow]]\ngroup = \"nobodys\"\npermissions = []", "groupadd --system nobodys"),
        ("[[allow]]\npermissions = []", "missing field `group`"),
        ("=", "line 1"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
        assert!(error.starts_with("ebsd.toml: "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = parse("[limits]\nqueue = 3 # bytes\n").unwrap_err().to_string();
    assert!(error.starts_with("ebsd.toml: line 2, column 9: "), "{error}");
    assert!(error.ends_with("\"queue = 3 # bytes\""), "{error}");
}

#[test]
fn only_files_that_nobody_else_can_write_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ebsd.toml");
    let uid = rustix::process::getuid().as_raw();
    let read = || Config::read(&path, uid).map_err(|error| error.to_string());
    assert!(read().unwrap_err().contains("No such file"));
    fs::write(&path, "[limits]\n").unwrap();
    for (mode, taken) in [(0o644, true), (0o600, true), (0o664, false), (0o646, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(read().is_ok(), taken, "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let link = directory.path().join("link.toml");
    symlink(&path, &link).unwrap();
    assert!(Config::read(&link, uid).unwrap_err().to_string().contains("no plain file"));
    assert!(Config::read(directory.path(), uid).is_err());
    fs::write(&path, vec![b'#'; 1 << 21]).unwrap();
    assert!(read().unwrap_err().contains("at most"));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(read().unwrap_err().contains("UTF-8"));
    if uid == 0 {
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(4321), None).unwrap();
        assert!(read().unwrap_err().contains("owned by user 4321"));
    }
}
