use super::*;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn run(list: &[&str]) -> Result<CommandStatus, CommandError> {
    let mut command = Command::hold(&words(list))?;
    command.release()?;
    Ok(command.wait().unwrap())
}

#[test]
fn exit_status_and_signal_are_the_commands() {
    assert_eq!(run(&["true"]).unwrap(), CommandStatus::Exited(0));
    assert_eq!(run(&["sh", "-c", "exit 42"]).unwrap().code(), 42);
    assert_eq!(run(&["sh", "-c", "kill -TERM $$"]).unwrap(), CommandStatus::Killed(15));
    assert_eq!(run(&["sh", "-c", "kill -KILL $$"]).unwrap().code(), 137);
}

#[test]
fn a_missing_program_is_said_to_be_missing() {
    for program in ["no-such-program-here", "/no/such/file", "", "/etc/passwd/x"] {
        let error = run(&[program]).unwrap_err();
        assert!(matches!(error, CommandError::NotFound { .. }), "{program}: {error}");
    }
    assert!(run(&["nope"]).unwrap_err().to_string().contains("nope: command not found in PATH"));
    assert!(matches!(Command::hold(&[]), Err(CommandError::Empty)));
    assert!(matches!(run(&["a\0b"]), Err(CommandError::ZeroByte { .. })));
}

#[test]
fn a_file_without_the_right_is_not_executable() {
    assert!(matches!(run(&["/etc/passwd"]), Err(CommandError::NotExecutable { .. })));
    assert!(matches!(run(&["/"]), Err(CommandError::Directory { .. })));
}

#[test]
fn a_script_without_an_interpreter_line_runs_in_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("script");
    std::fs::write(&path, "exit $(($1 + 1))\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run(&[path.to_str().unwrap(), "6"]).unwrap(), CommandStatus::Exited(7));
}

#[test]
fn dispositions_and_descriptors_are_those_of_a_shell() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let script = format!(
        "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status > {0}; ls /proc/self/fd | wc -l >> {0}",
        out.display()
    );
    assert_eq!(run(&["sh", "-c", &script]).unwrap(), CommandStatus::Exited(0));
    let text = std::fs::read_to_string(&out).unwrap();
    let ignored = text.lines().find(|l| l.starts_with("SigIgn")).unwrap();
    let ignored = u64::from_str_radix(ignored.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(ignored & (1 << (libc::SIGPIPE - 1)), 0, "SIGPIPE is at its default: {text}");
    assert!(text.contains("SigBlk:\t0000000000000000"), "{text}");
}

#[test]
fn a_command_that_is_dropped_never_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let held = Command::hold(&words(&["touch", mark.to_str().unwrap()])).unwrap();
    let pid = held.pid();
    drop(held);
    assert!(!mark.exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "reaped");
}

#[test]
fn commands_that_wait_beside_each_other_do_not_hold_each_other_up() {
    let words = words(&["true"]);
    let (mut first, mut second) = (Command::hold(&words).unwrap(), Command::hold(&words).unwrap());
    let third = Command::hold(&words).unwrap();
    first.release().unwrap();
    assert_eq!(first.wait().unwrap(), CommandStatus::Exited(0));
    drop(third);
    second.release().unwrap();
    assert_eq!(second.wait().unwrap(), CommandStatus::Exited(0));

    let (early, late) = (Command::hold(&words).unwrap(), Command::hold(&words).unwrap());
    drop(early);
    drop(late);
}

#[test]
fn candidates_are_those_of_execvp() {
    let list = |path: &str| {
        candidates(OsStr::new("x"), OsStr::new(path))
            .unwrap()
            .into_iter()
            .map(|c| c.into_string().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(list("/a:/b"), ["/a/x", "/b/x"]);
    assert_eq!(list(":/b:"), ["x", "/b/x", "x"]);
    let direct = candidates(OsStr::new("./x"), OsStr::new("/a")).unwrap();
    assert_eq!(direct, [CString::new("./x").unwrap()]);
}
