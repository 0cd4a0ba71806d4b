//! Sessions on control groups.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::*;

struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Option<Group> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounts = text.lines().filter(|line| line.contains(" - cgroup2 "));
        let Some(point) = mounts.filter_map(|line| line.split(' ').nth(4)).next() else {
            eprintln!("skipped: no cgroup2 file system is mounted");
            return None;
        };
        let path = Path::new(point).join(format!("hardmeter-{name}-{}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Some(Group(path)),
            Err(error) => {
                eprintln!("skipped: no control group can be made: {}: {error}", path.display());
                None
            }
        }
    }

    fn name(&self) -> PathBuf {
        Path::new("/").join(self.0.file_name().unwrap())
    }

    /// A shell in it, that reads a line before it does what it is told.
    fn shell(&self, words: &str) -> Child {
        // A long string, so that the shell itself has faults.
        let words = format!("read go; x=x; while [ ${{#x}} -lt 300000 ]; do x=$x$x; done; {words}");
        let shell =
            StdCommand::new("sh").args(["-c", &words]).stdin(Stdio::piped()).spawn().unwrap();
        fs::write(self.0.join("cgroup.procs"), shell.id().to_string()).unwrap();
        shell
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _gone = fs::remove_dir(self.0.join("below"));
        let _gone = fs::remove_dir(&self.0);
    }
}

fn go(mut shell: Child) {
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(shell.wait().unwrap().success());
}

#[test]
fn a_group_is_sampled_with_those_below_and_nobody_else() {
    let Some(group) = Group::new("sampled") else { return };
    let below = Group(group.0.join("below"));
    fs::create_dir(&below.0).unwrap();
    let inside = [group.shell("true"), below.shell("/bin/true; true")];
    let pids = inside.each_ref().map(|shell| i32::try_from(shell.id()).unwrap());
    let cgroup = Cgroup::open(Path::new("/"), &group.name()).unwrap();
    let mut listed = cgroup.processes();
    listed.sort_unstable();
    assert_eq!(listed, {
        let mut pids = pids;
        pids.sort_unstable();
        pids
    });
    let settings = SessionSettings { cgroup: Some(Arc::new(cgroup)), ..SessionSettings::default() };
    let mut plan = plan_of(PAGE_FAULTS, Target::Cgroup, 256);
    plan.events[0].attr.flags.insert(AttrFlags::EXCLUDE_KERNEL);
    let mut sink = Vec::new();
    let mut session = started(plan, settings, &mut sink);
    let mut outside = StdCommand::new("true").spawn().unwrap();
    inside.into_iter().for_each(go);
    assert_eq!(session.wait(Duration::ZERO, &[]).unwrap().target, TargetState::Running);
    session.drain(&mut sink).unwrap();
    drop(below);
    drop(group);
    assert_eq!(session.wait(Duration::ZERO, &[]).unwrap().target, TargetState::Gone);
    let ledger = session.finish(&mut sink).unwrap();
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    assert!(ledger.delivered > 20, "two shells and a program: {ledger:?}");
    let tasks = tasks(&sink);
    assert!(pids.iter().all(|pid| tasks.contains(pid)), "{pids:?} {tasks:?}");
    assert!(!tasks.contains(&outside.id().cast_signed()), "{tasks:?}");
    outside.wait().unwrap();
    assert!(tasks.len() <= 4, "those two and what they started: {tasks:?}");
    let sides = decode(&sink).sides;
    let synthesized = |pid: &i32| {
        let named = |s: &&String| s.starts_with("Comm") && s.contains(&format!("Pid({pid})"));
        let mapped = |s: &&String| s.starts_with("Mmap2") && s.contains(&format!("Pid({pid})"));
        sides.iter().any(|s| named(&s)) && sides.iter().any(|s| mapped(&s))
    };
    assert!(pids.iter().all(synthesized), "{sides:?}");
}

fn tasks(mut bytes: &[u8]) -> std::collections::BTreeSet<i32> {
    let mut decoder = StreamDecoder::new();
    let mut tasks = std::collections::BTreeSet::new();
    while let Ok(StreamStep::Record { consumed, record }) = decoder.step(bytes) {
        if let StreamRecord::Sample(record) = record {
            let sample = record.decode(&decoder).unwrap();
            tasks.extend(sample.task.map(|task| task.pid.0));
        }
        bytes = &bytes[consumed..];
        if bytes.is_empty() {
            break;
        }
    }
    tasks
}

#[test]
fn a_group_must_be_given() {
    let error = Session::open(plan_of(PAGE_FAULTS, Target::Cgroup, 8), SessionSettings::default())
        .unwrap_err();
    assert!(matches!(error, SessionError::NoGroup), "{error}");
}
