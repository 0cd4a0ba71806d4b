//! Commands, the system, and processes that behave.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;

use super::*;

#[test]
fn a_command_that_cannot_be_run_is_said_at_the_latest_at_start() {
    if events_refused() {
        return;
    }
    let plan = plan_of(PAGE_FAULTS, Target::Command, 8);
    let error = Session::open(plan.clone(), command(&["/no/such"], None)).unwrap_err();
    assert!(matches!(error, SessionError::Command(CommandError::NotFound { .. })), "{error}");

    // Only execve(2) finds that the interpreter is not there.
    let script = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempfile()
        .unwrap();
    script.as_file().write_all(b"#!/no/such\n").unwrap();
    let path = script.into_temp_path();
    let words = [path.to_str().unwrap()];
    let mut session = Session::open(plan, command(&words, None)).unwrap();
    let error = session.start(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("its interpreter is missing"), "{error}");
}

#[test]
fn a_breakpoint_gives_one_record_a_write() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("watched.c", directory.path()) else { return };
    if events_refused() {
        return;
    }
    let mut child = Watched::spawn(&binary, "1000");
    let address = u64::from_str_radix(child.line().trim_start_matches("0x"), 16).unwrap();
    let mut plan = plan_of(
        EventCode { kind: EventType::BREAKPOINT, config: 0 },
        Target::Process(child.pid()),
        256,
    );
    let attr = &mut plan.events[0].attr;
    (attr.bp_type, attr.config1, attr.config2) = (2, address, 8);
    attr.flags.insert(AttrFlags::EXCLUDE_KERNEL);
    let mut sink = Vec::new();
    let mut session = started(plan, SessionSettings::default(), &mut sink);
    child.go();
    run_to_end(&mut session, &mut sink);
    let ledger = session.finish(&mut sink).unwrap();
    assert_eq!(decode(&sink).addresses, vec![address; 1000]);
    assert_eq!((ledger.kernel, ledger.delivered), (Some(1000), 1000), "{ledger:?}");
}

#[test]
fn a_running_process_is_described() {
    if events_refused() {
        return;
    }
    let mut child = StdCommand::new("sleep").arg("60").spawn().unwrap();
    let pid = Pid(i32::try_from(child.id()).unwrap());
    let mut sink = Vec::new();
    let plan = plan_of(PAGE_FAULTS, Target::Process(pid), 8);
    let mut session = started(plan, SessionSettings::default(), &mut sink);
    assert_eq!(session.wait(Duration::ZERO, &[]).unwrap().target, TargetState::Running);
    child.kill().unwrap();
    child.wait().unwrap();
    while session.wait(Duration::from_secs(1), &[]).unwrap().target != TargetState::Gone {}
    session.finish(&mut sink).unwrap();
    let sides = decode(&sink).sides;
    assert!(sides.iter().any(|s| s.starts_with("Comm") && s.contains(&format!("Pid({pid})"))));
    let with_id = |s: &String| s.starts_with("Mmap2(") && s.contains("BuildId");
    assert!(sides.iter().any(with_id), "{sides:?}");
    assert!(sides.iter().any(|s| s.starts_with("Exit")));
}

#[test]
fn targets_that_are_not_there_have_their_own_errors() {
    if events_refused() {
        return;
    }
    let open = |pid: i32| {
        let plan = plan_of(PAGE_FAULTS, Target::Process(Pid(pid)), 1);
        match Session::open(plan, SessionSettings::default()) {
            Err(SessionError::Attach(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(open(i32::MAX), AttachError::Absent { .. }));
    // The test harness gives each test a thread of its own.
    let tid = rustix::thread::gettid().as_raw_pid();
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(matches!(open(tid), AttachError::Thread { leader, .. } if leader.0 == own));
    let mut child = StdCommand::new("true").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    // Ended, and not yet waited for.
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&child)), ended).unwrap();
    assert!(matches!(open(pid), AttachError::Zombie { .. }));
    child.wait().unwrap();
}

#[test]
fn the_system_is_sampled_on_every_cpu() {
    if events_refused() {
        return;
    }
    let mut sink = Vec::new();
    let plan = plan_of(PAGE_FAULTS, Target::System, 512);
    let mut session = started(plan, SessionSettings::default(), &mut sink);
    assert!(StdCommand::new("true").status().unwrap().success());
    session.drain(&mut sink).unwrap();
    let ledger = session.finish(&mut sink).unwrap();
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    assert!(ledger.delivered > 20, "a program's start faults more often: {ledger:?}");
    let sides = decode(&sink).sides;
    assert!(sides.iter().any(|s| s.starts_with("Fork")));
    assert!(sides.iter().filter(|s| s.starts_with("Comm")).count() > 3);
}

#[test]
fn a_session_whose_opener_has_ended_neither_spins_nor_loses() {
    if events_refused() {
        return;
    }
    let plan = plan_of(PAGE_FAULTS, Target::Command, 64);
    let opened = std::thread::spawn(move || {
        let mut sink = Vec::new();
        (started(plan, command(&["sleep", "0.3"], None), &mut sink), sink)
    });
    let (mut session, mut sink) = opened.join().unwrap();
    let mut turns = 0;
    while session.wait(Duration::from_secs(1), &[]).unwrap().target == TargetState::Running {
        session.drain(&mut sink).unwrap();
        turns += 1;
    }
    assert!(turns < 200, "poll(2) returns at once: {turns} turns");
    assert_eq!(session.finish(&mut sink).unwrap().unaccounted(), Some(0));
}

#[test]
fn an_extra_descriptor_wakes() {
    if events_refused() {
        return;
    }
    let plan = plan_of(PAGE_FAULTS, Target::Command, 8);
    let mut session = started(plan, command(&["sleep", "5"], None), &mut Vec::new());
    let (reader, mut writer) = std::io::pipe().unwrap();
    let extra = [reader.as_fd()];
    assert_eq!(session.wait(Duration::from_millis(1), &extra).unwrap().extra, [false]);
    writer.write_all(b"x").unwrap();
    assert_eq!(session.wait(Duration::from_secs(9), &extra).unwrap().extra, [true]);
    let pid = rustix::process::Pid::from_raw(session.command().unwrap().pid().0).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(session.command().unwrap().wait().unwrap(), CommandStatus::Killed(9));
}

pub(super) struct Watched {
    pub(super) child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Watched {
    pub(super) fn spawn(binary: &Path, argument: &str) -> Watched {
        let mut child = StdCommand::new(binary)
            .arg(argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Watched { child, output }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid(i32::try_from(self.child.id()).unwrap())
    }

    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub(super) fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
