use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

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
    }
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
