//! Nothing is lost without being counted.

use super::*;
use crate::remote::protocol::RateLowered;
use perfdata::SampleFilter;
use perfdata::sample_filter::PrivilegeMode;

/// Pages that the storm touches: many times what one page of ring holds.
const STORM: u64 = 3_000;

struct Storm {
    _directory: tempfile::TempDir,
    words: Vec<OsString>,
}

impl Storm {
    /// None, and why, where it cannot run.
    fn prepare() -> Option<Storm> {
        let directory = tempfile::tempdir().unwrap();
        let binary = program("storm.c", directory.path())?;
        let words = vec![binary.into_os_string(), STORM.to_string().into()];
        (!events_refused()).then_some(Storm { _directory: directory, words })
    }

    fn settings(&self, count: Option<u64>) -> SessionSettings {
        SessionSettings { command: self.words.clone(), count, ..SessionSettings::default() }
    }

    fn run(&self, pages: u32, drains: bool, count: Option<u64>) -> (Ledger, Content) {
        let mut sink = Vec::new();
        let plan = plan_of(PAGE_FAULTS, Target::Command, pages);
        let mut session = started(plan, self.settings(count), &mut sink);
        if drains {
            run_to_end(&mut session, &mut sink);
        } else {
            session.command().unwrap().wait().unwrap();
        }
        let ledger = session.finish(&mut sink).unwrap();
        assert_eq!(session.command().unwrap().wait().unwrap(), CommandStatus::Exited(0));
        (ledger, decode(&sink))
    }
}

#[test]
fn with_a_ring_of_one_page_and_no_reader_the_account_is_exact_20_times() {
    let Some(storm) = Storm::prepare() else { return };
    for run in 0..20 {
        let (ledger, content) = storm.run(1, false, None);
        assert_eq!(ledger.unaccounted(), Some(0), "run {run}: {ledger:?}");
        assert!(ledger.kernel.unwrap() >= STORM, "run {run}: {ledger:?}");
        assert!(ledger.lost.ring > STORM / 2, "run {run}: {ledger:?}");
        assert_eq!(ledger.delivered, content.addresses.len() as u64);
        assert_eq!(content.lost + content.lost_samples, ledger.lost.ring, "told in the stream");
        assert_eq!(ledger.side_lost, 0, "side records have rings of their own");
    }
}

#[test]
fn with_the_default_ring_all_is_delivered_or_told_as_lost() {
    let Some(storm) = Storm::prepare() else { return };
    let (ledger, content) = storm.run(1024, true, None);
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    assert!(ledger.kernel.unwrap() >= STORM, "{ledger:?}");
    // The ring has room for all: the kernel drops one at a time, where
    // another event is opened on the CPU.
    assert!(ledger.delivered > STORM / 2, "{ledger:?}");
    assert_eq!(content.lost + content.lost_samples, ledger.lost.total(), "told in the stream");
    assert_eq!(ledger.delivered, content.addresses.len() as u64);
    assert!(content.notes[0].starts_with("source=kernel-software;"));
    assert!(content.notes[0].ends_with(";served=embedded"));
    assert_eq!(content.notes[1], ledger.note(0));
    assert!(content.sides.iter().any(|s| s.starts_with("Mmap(")), "the kernel's text");
    assert!(content.sides.iter().any(|s| s.starts_with("Mmap2(")));
}

#[test]
fn sampling_stops_at_the_count_and_the_command_runs_on() {
    let Some(storm) = Storm::prepare() else { return };
    let (ledger, content) = storm.run(1024, true, Some(100));
    assert_eq!((ledger.delivered, content.addresses.len()), (100, 100));
    assert!(ledger.lost.beyond_count > 0, "{ledger:?}");
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
}

#[test]
fn a_count_is_of_samples_that_the_type_means() {
    let Some(storm) = Storm::prepare() else { return };
    // The kernel's own faults of the exec come before those of the program.
    let mut plan = plan_of(PAGE_FAULTS, Target::Command, 1024);
    plan.events[0].filter = SampleFilter::mode(PrivilegeMode::User);
    let mut sink = Vec::new();
    let mut session = started(plan, storm.settings(Some(100)), &mut sink);
    run_to_end(&mut session, &mut sink);
    let ledger = session.finish(&mut sink).unwrap();
    let content = decode(&sink);
    assert_eq!(content.of_user, 100, "{ledger:?}");
    assert!(content.addresses.len() > 100, "the others are in the stream");
    assert_eq!(ledger.delivered, content.addresses.len() as u64);
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
}

#[test]
fn what_a_failing_sink_does_not_take_is_counted() {
    let Some(storm) = Storm::prepare() else { return };
    let plan = plan_of(PAGE_FAULTS, Target::Command, 1024);
    let mut session = started(plan, storm.settings(None), &mut Vec::new());
    session.command().unwrap().wait().unwrap();
    let mut full = |_: &[u8]| Err(std::io::Error::from_raw_os_error(libc::ENOSPC));
    assert!(matches!(session.drain(&mut full), Err(SessionError::Sink(_))));
    assert_eq!(session.drain(&mut full).unwrap(), DrainPass::default(), "told once");
    let ledger = session.finish(&mut full).unwrap();
    assert!(ledger.sink_error.as_ref().unwrap().contains("No space left"));
    assert_eq!((ledger.delivered, ledger.unaccounted()), (0, Some(0)), "{ledger:?}");
    assert!(ledger.lost.sink >= STORM);
}

#[test]
fn a_sample_rate_that_the_kernel_lowers_meanwhile_is_told() {
    let Some(storm) = Storm::prepare() else { return };
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("proc/sys/kernel");
    std::fs::create_dir_all(&directory).unwrap();
    let rate = |text: &str| {
        std::fs::write(directory.join("perf_event_max_sample_rate"), text).unwrap();
    };
    let lower = RateLowered { from: 100_000, to: 25_000 };
    for (after, lowered) in [("25000\n", Some(lower)), ("100000\n", None)] {
        rate("100000\n");
        let settings = SessionSettings { root: root.path().to_owned(), ..storm.settings(None) };
        let plan = plan_of(PAGE_FAULTS, Target::Command, 1024);
        let mut sink = Vec::new();
        let mut session = started(plan, settings, &mut sink);
        run_to_end(&mut session, &mut sink);
        rate(after);
        let ledger = session.finish(&mut sink).unwrap();
        assert_eq!(ledger.rate_lowered, lowered);
        let told = decode(&sink).notes[1].contains(";max_sample_rate.after=25000;");
        assert_eq!(told, lowered.is_some());
    }
}

#[test]
fn a_count_is_of_the_first_samples_whichever_cpu_they_are_of() {
    const COUNT: u64 = 1_000;
    let Some(storm) = Storm::prepare() else { return };
    let cpus = facts().cpus.online.unwrap_or_default();
    let [one, other, ..] = cpus[..] else {
        return eprintln!("skipped: needs two CPUs");
    };
    let binary = storm.words[0].to_str().unwrap();
    // The ring that is drained last has the samples that came first.
    let script =
        format!("taskset -c {other} {binary} {STORM} >&2; taskset -c {one} {binary} {STORM} >&2");
    let mut sink = Vec::new();
    let plan = plan_of(PAGE_FAULTS, Target::Command, 1024);
    let mut session = started(plan, command(&["sh", "-c", &script], Some(COUNT)), &mut sink);
    session.command().unwrap().wait().unwrap();
    let ledger = session.finish(&mut sink).unwrap();
    let content = decode(&sink);
    assert_eq!((ledger.delivered, ledger.unaccounted()), (COUNT, Some(0)), "{ledger:?}");
    assert!(ledger.lost.beyond_count > STORM, "{ledger:?}");
    let of_other = content.cpus.iter().filter(|&&cpu| cpu == other).count() as u64;
    assert!(of_other > COUNT / 2, "CPU {other} has {of_other} of {COUNT}, and ran first");
}
