//! Attaching to a process that makes threads and children all the time: no
//! fault is counted twice, none is missed.

use std::collections::HashMap;

use super::running::Watched;
use super::*;

// As in tests/programs/births.c.
const EARLY: u64 = 100;
const LATE: u64 = 100;
const FORKS: u64 = 25;
const PAGES: u64 = 5;

#[derive(Debug)]
pub(super) struct Births {
    hits: HashMap<u64, u32>,
    early_threads: u64,
    ledger: Ledger,
    notes: Vec<String>,
}

impl Births {
    fn of_task(&self, task: u64) -> Vec<u32> {
        let pages = task * PAGES..(task + 1) * PAGES;
        pages.map(|page| self.hits.get(&page).copied().unwrap_or(0)).collect()
    }
}

/// Time without end: an attach that would need to be cut short hangs instead,
/// and one that a busy machine makes slow is none the worse for it.
fn patient() -> SessionSettings {
    let day = Duration::from_secs(86_400);
    SessionSettings {
        attach_budget: AttachBudget { seize: day, open: day, ..AttachBudget::default() },
        ..SessionSettings::default()
    }
}

fn new_tasks(binary: &Path, mode: &str, delay: Duration) -> Births {
    new_tasks_with(binary, mode, delay, |plan| plan)
}

pub(super) fn new_tasks_with(
    binary: &Path,
    mode: &str,
    delay: Duration,
    change: impl FnOnce(Plan) -> Plan,
) -> Births {
    let mut child = Watched::spawn(binary, mode);
    let line = child.line();
    let (base, size) = line.split_once(' ').unwrap();
    let base = u64::from_str_radix(base.trim_start_matches("0x"), 16).unwrap();
    let size: u64 = size.parse().unwrap();
    std::thread::sleep(delay);
    let mut sink = Vec::new();
    let plan = change(plan_of(PAGE_FAULTS, Target::Process(child.pid()), 1024));
    let mut session = started(plan, SessionSettings::default(), &mut sink);
    child.go();
    run_to_end(&mut session, &mut sink);
    let early_threads = child.line().split(' ').next().unwrap().parse().unwrap();
    let notes = session.notes().to_vec();
    let ledger = session.finish(&mut sink).unwrap();
    let mut hits = HashMap::new();
    let end = base + (EARLY + LATE + 2 * FORKS) * PAGES * size;
    for address in decode(&sink).addresses {
        if (base..end).contains(&address) {
            *hits.entry((address - base) / size).or_insert(0) += 1;
        }
    }
    Births { hits, early_threads, ledger, notes }
}

/// Whether the attach was certain; if so, all counts must be right.
pub(super) fn check(new_tasks: &Births, delay: Duration) -> bool {
    if !new_tasks.notes.is_empty() {
        eprintln!("skipped one attach, this machine is too busy for it: {:?}", new_tasks.notes);
        return false;
    }
    let once = vec![1; usize::try_from(PAGES).unwrap()];
    let never = vec![0; once.len()];
    assert_eq!(new_tasks.ledger.unaccounted(), Some(0), "{:?}", new_tasks.ledger);
    if new_tasks.ledger.lost.total() > 0 {
        eprintln!("skipped one attach, the kernel lost records, and told: {:?}", new_tasks.ledger);
        return false;
    }
    for task in (0..new_tasks.early_threads).chain(EARLY..EARLY + LATE) {
        assert_eq!(new_tasks.of_task(task), once, "thread {task}, attached after {delay:?}");
    }
    // Children made before the attach are not followed; made during it,
    // they are followed whole or not at all.
    for task in EARLY + LATE..EARLY + LATE + FORKS {
        let hits = new_tasks.of_task(task);
        assert!(hits == once || hits == never, "early child {task}: {hits:?}, {delay:?}");
    }
    for task in EARLY + LATE + FORKS..EARLY + LATE + 2 * FORKS {
        assert_eq!(new_tasks.of_task(task), once, "late child {task}, {delay:?}");
    }
    true
}

/// None, and why, where it cannot run.
fn prepare(directory: &tempfile::TempDir) -> Option<std::path::PathBuf> {
    let binary = program("births.c", directory.path())?;
    (!events_refused()).then_some(binary)
}

#[test]
fn no_fault_is_counted_twice_and_none_missed_after_attach() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = prepare(&directory) else { return };
    let certain = (0..16).filter(|&step| {
        let delay = Duration::from_micros(step * 700);
        check(&new_tasks(&binary, "sleepy", delay), delay)
    });
    assert!(certain.count() > 0, "not one certain attach");
}

#[test]
fn threads_that_never_sleep_are_attached_to_as_surely() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = prepare(&directory) else { return };
    let certain = (1..5).filter(|&step| {
        let delay = Duration::from_millis(step * 3);
        check(&new_tasks(&binary, "busy", delay), delay)
    });
    assert!(certain.count() > 0, "not one certain attach");
}

#[test]
fn a_stopped_process_stays_stopped_and_is_sampled_when_it_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = prepare(&directory) else { return };
    let mut child = Watched::spawn(&binary, "sleepy");
    child.line();
    let raw = rustix::process::Pid::from_raw(child.pid().0).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let mut sink = Vec::new();
    let plan = plan_of(PAGE_FAULTS, Target::Process(child.pid()), 1024);
    let mut session = started(plan, patient(), &mut sink);
    assert_eq!(session.notes(), [""; 0]);
    std::thread::sleep(Duration::from_millis(20));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", raw.as_raw_pid())).unwrap();
    let state = stat.rsplit_once(") ").unwrap().1.chars().next().unwrap();
    assert_eq!(state, 'T', "still stopped, and not traced");
    rustix::process::kill_process(raw, rustix::process::Signal::CONT).unwrap();
    child.go();
    run_to_end(&mut session, &mut sink);
    let ledger = session.finish(&mut sink).unwrap();
    assert!(ledger.delivered >= LATE * PAGES, "{ledger:?}");
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
}

fn attached(child: &Watched) -> Session {
    let plan = plan_of(PAGE_FAULTS, Target::Process(child.pid()), 256);
    started(plan, patient(), &mut Vec::new())
}

#[test]
fn threads_that_end_during_the_attach_hold_no_descriptors() {
    const MAKERS: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("makers.c", directory.path()) else { return };
    if events_refused() {
        return;
    }
    let mut most = 0;
    for _ in 0..8 {
        let mut child = Watched::spawn(&binary, &MAKERS.to_string());
        child.line();
        let mut session = attached(&child);
        assert_eq!(session.notes(), [""; 0]);
        // The main thread, the makers, and one brief thread of each.
        assert!(session.sets.len() <= 1 + 2 * MAKERS, "{} sets", session.sets.len());
        most = most.max(session.closed_totals.ids.side.len());
        child.go();
        run_to_end(&mut session, &mut Vec::new());
        let ledger = session.finish(&mut Vec::new()).unwrap();
        assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    }
    assert!(most > MAKERS, "no thread was made during any attach");
}

#[test]
fn a_process_that_is_stopped_during_the_attach_does_not_delay_it() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("makers.c", directory.path()) else { return };
    if events_refused() {
        return;
    }
    for step in 0..24 {
        let mut child = Watched::spawn(&binary, "8");
        child.line();
        let raw = rustix::process::Pid::from_raw(child.pid().0).unwrap();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(step * 500));
            rustix::process::kill_process(raw, rustix::process::Signal::STOP).unwrap();
        });
        let mut session = attached(&child);
        stopper.join().unwrap();
        assert_eq!(session.notes(), [""; 0], "step {step}");
        rustix::process::kill_process(raw, rustix::process::Signal::CONT).unwrap();
        child.go();
        run_to_end(&mut session, &mut Vec::new());
        let ledger = session.finish(&mut Vec::new()).unwrap();
        assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    }
}

#[test]
fn children_killed_at_birth_do_not_delay_the_attach() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("stillborn.c", directory.path()) else { return };
    if events_refused() {
        return;
    }
    for run in 0..8 {
        let mut child = Watched::spawn(&binary, "");
        child.line();
        let mut session = attached(&child);
        assert_eq!(session.notes(), [""; 0], "run {run}");
        child.go();
        run_to_end(&mut session, &mut Vec::new());
        let ledger = session.finish(&mut Vec::new()).unwrap();
        assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    }
}

#[test]
fn a_number_that_has_become_anothers_is_not_sampled() {
    if events_refused() {
        return;
    }
    let sleeper = || StdCommand::new("sleep").arg("60").spawn().unwrap();
    let pid = |child: &Child| Pid(i32::try_from(child.id()).unwrap());
    let (mut named, mut other) = (sleeper(), sleeper());
    let pidfd = Arc::new(open_pidfd(pid(&named)).unwrap());
    // As if the number were the other's by now: what it named has ended.
    let open = |process: &Arc<OwnedFd>, target| {
        let settings =
            SessionSettings { process: Some(Arc::clone(process)), ..SessionSettings::default() };
        Session::open(plan_of(PAGE_FAULTS, target, 1), settings)
    };
    assert!(open(&pidfd, Target::Process(pid(&named))).is_ok());
    named.kill().unwrap();
    named.wait().unwrap();
    let refused = open(&pidfd, Target::Process(pid(&other))).unwrap_err();
    assert!(matches!(refused, SessionError::Attach(AttachError::Gone { .. })), "{refused}");
    let held = Some((pid(&other), pidfd));
    let settings = SessionSettings { held, ..SessionSettings::default() };
    let refused = Session::open(plan_of(PAGE_FAULTS, Target::Command, 1), settings).unwrap_err();
    assert!(matches!(refused, SessionError::Attach(AttachError::Gone { .. })), "{refused}");
    other.kill().unwrap();
    other.wait().unwrap();
}
