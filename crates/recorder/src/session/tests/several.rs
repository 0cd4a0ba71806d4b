//! Several sampled events in one session: each has its own account, and
//! readers tell them apart.

use std::collections::BTreeMap;

use perfdata::SampleFilter;

use super::attached::{check, new_tasks_with};
use super::*;
use crate::session::ledger::EventAccount;

// Not context switches: this kernel loses records of those, untold, while
// anybody opens events (6.18).
const MINOR_FAULTS: EventCode =
    EventCode { kind: EventType::SOFTWARE, config: SoftwareEvent::MINOR_FAULTS.0 };
const MAJOR_FAULTS: EventCode =
    EventCode { kind: EventType::SOFTWARE, config: SoftwareEvent::MAJOR_FAULTS.0 };
const PAGES: u64 = 2_000;

fn plan_of_all(events: &[(&str, EventCode)], target: Target) -> Plan {
    let mut plan = plan_of(PAGE_FAULTS, target, 1024);
    let like = plan.events.remove(0);
    for &(name, EventCode { kind, config }) in events {
        let attr = Attr { kind, config, ..like.attr.clone() };
        plan.events.push(PlannedEvent { name: name.into(), attr, ..like.clone() });
    }
    plan
}

/// Runs the command to its end; the account, and the stream.
fn run(plan: Plan, words: &[&str], count: Option<u64>) -> (Ledger, Vec<u8>) {
    let mut sink = Vec::new();
    let mut session = started(plan, command(words, count), &mut sink);
    run_to_end(&mut session, &mut sink);
    (session.finish(&mut sink).unwrap(), sink)
}

/// Samples in a stream, by event's name, and each event's notes.
fn by_event(mut bytes: &[u8]) -> BTreeMap<String, (u64, Vec<Cpu>, Vec<String>)> {
    let mut decoder = StreamDecoder::new();
    let mut samples: BTreeMap<usize, (u64, Vec<Cpu>)> = BTreeMap::new();
    while !bytes.is_empty() {
        let StreamStep::Record { consumed, record } = decoder.step(bytes).unwrap() else {
            panic!("the stream ends early");
        };
        bytes = &bytes[consumed..];
        if let StreamRecord::Sample(record) = record {
            let sample = record.decode(&decoder).unwrap();
            let (count, cpus) = samples.entry(record.event).or_default();
            *count += 1;
            cpus.extend(sample.cpu);
        }
    }
    assert_eq!(decoder.tally().unknown_id + decoder.tally().unplaced, 0);
    let events = decoder.events().iter().enumerate();
    let synthesized = events.map(|(index, event)| {
        let (count, cpus) = samples.remove(&index).unwrap_or_default();
        (event.name.clone().unwrap(), (count, cpus, event.notes.clone()))
    });
    synthesized.collect()
}

/// What `perf script` finds: lines by event's name.
fn by_perf(stream: &[u8]) -> Option<BTreeMap<String, u64>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stream).unwrap();
    let mut perf = StdCommand::new("perf");
    perf.args(["script", "-F", "event,ip", "-i"]).arg(file.path());
    let output = match perf.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: no perf to read the stream: {error}");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = BTreeMap::new();
    for name in text.lines().filter_map(|line| line.split_whitespace().next()) {
        *counts.entry(name.trim_end_matches(':').to_owned()).or_insert(0) += 1;
    }
    Some(counts)
}

fn agree(ledger: &Ledger, stream: &[u8]) {
    assert_eq!((ledger.unaccounted(), ledger.lost.total()), (Some(0), 0), "{ledger:?}");
    let decoded = by_event(stream);
    for (place, account) in ledger.by_event.iter().enumerate() {
        assert_eq!(account.kernel, Some(account.delivered), "{account:?}");
        let (count, _, notes) = &decoded[&account.name];
        assert_eq!(*count, account.delivered, "{}", account.name);
        assert!(notes[0].starts_with("source=kernel-software;"), "{notes:?}");
        assert_eq!(notes[1], ledger.note(place));
    }
    assert_eq!(decoded.len(), ledger.by_event.len() + 1, "those, and the side event");
    if let Some(by_perf) = by_perf(stream) {
        for EventAccount { name, delivered, .. } in &ledger.by_event {
            assert_eq!(by_perf.get(name).copied().unwrap_or(0), *delivered, "{name}: {by_perf:?}");
        }
    }
}

fn busy_command(directory: &Path) -> Option<String> {
    let binary = program("storm.c", directory)?;
    let binary = binary.to_str()?;
    let script = format!("{binary} {PAGES}; {binary} 10");
    (!events_refused()).then_some(script)
}

const TWO: [(&str, EventCode); 2] =
    [("page_fault", PAGE_FAULTS), ("page_fault_minor", MINOR_FAULTS)];

#[test]
fn two_events_of_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let Some(script) = busy_command(directory.path()) else { return };
    let (ledger, stream) = run(plan_of_all(&TWO, Target::Command), &["sh", "-c", &script], None);
    agree(&ledger, &stream);
    let [faults, minor] = &ledger.by_event[..] else { panic!("{ledger:?}") };
    assert!(minor.delivered >= PAGES, "{minor:?}");
    assert!(minor.delivered <= faults.delivered, "some faults are retried: {ledger:?}");
    let text = ledger.to_string();
    let each = format!("(page_fault {}, page_fault_minor {})", faults.delivered, minor.delivered);
    assert!(text.contains(&each), "{text}");
    assert_eq!((faults.on_counter, minor.on_counter), (Some(1.0), Some(1.0)));
}

#[test]
fn a_group_of_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let Some(script) = busy_command(directory.path()) else { return };
    let mut plan = plan_of_all(&TWO, Target::Command);
    plan.events[1].leader = Some(0);
    let (ledger, stream) = run(plan, &["sh", "-c", &script], None);
    agree(&ledger, &stream);
    assert!(ledger.by_event.iter().all(|account| account.delivered >= PAGES), "{ledger:?}");
}

#[test]
fn two_events_of_the_system_and_a_group() {
    let directory = tempfile::tempdir().unwrap();
    let Some(script) = busy_command(directory.path()) else { return };
    for leader in [None, Some(0)] {
        let mut plan = plan_of_all(&TWO, Target::System);
        plan.events[1].leader = leader;
        let mut sink = Vec::new();
        let mut session = started(plan, SessionSettings::default(), &mut sink);
        assert!(StdCommand::new("sh").args(["-c", &script]).status().unwrap().success());
        session.drain(&mut sink).unwrap();
        let ledger = session.finish(&mut sink).unwrap();
        assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
        let decoded = by_event(&sink);
        for account in &ledger.by_event {
            assert!(account.delivered + ledger.lost.foreign >= PAGES, "{ledger:?}");
            assert_eq!(decoded[&account.name].0, account.delivered);
        }
    }
}

#[test]
fn a_carrier_leads_and_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let Some(script) = busy_command(directory.path()) else { return };
    let events = [("helper", MAJOR_FAULTS), TWO[0], TWO[1]];
    let mut plan = plan_of_all(&events, Target::Command);
    plan.events[0].carrier = true;
    plan.events[1].leader = Some(0);
    let (ledger, stream) = run(plan, &["sh", "-c", &script], None);
    agree(&ledger, &stream);
    let names: Vec<&str> = ledger.by_event.iter().map(|account| account.name.as_str()).collect();
    assert_eq!(names, ["page_fault", "page_fault_minor"]);
    assert!(ledger.by_event[0].delivered >= PAGES, "the helper enables its group: {ledger:?}");
}

#[test]
fn events_on_cpus_of_their_own_count_what_runs_there() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("storm.c", directory.path()) else { return };
    let cpus = facts().cpus.online.unwrap_or_default();
    let [one, other, ..] = cpus[..] else {
        return eprintln!("skipped: needs two CPUs");
    };
    if events_refused() {
        return;
    }
    let binary = binary.to_str().unwrap();
    let script = format!("taskset -c {one} {binary} {PAGES}; taskset -c {other} {binary} 100");
    // As the two core types of a hybrid CPU.
    let mut plan = plan_of_all(&[("core", PAGE_FAULTS), ("atom", PAGE_FAULTS)], Target::Command);
    plan.events[0].cpus = Some(vec![one]);
    plan.events[1].cpus = Some(vec![other]);
    plan.cpus = vec![one, other];
    let (ledger, stream) = run(plan, &["sh", "-c", &script], None);
    agree(&ledger, &stream);
    let decoded = by_event(&stream);
    for (name, cpu, least) in [("core", one, PAGES), ("atom", other, 100)] {
        let (count, cpus, _) = &decoded[name];
        assert!(*count >= least, "{name}: {count}");
        assert!(cpus.iter().all(|&at| at == cpu), "{name}: {cpus:?}");
    }
    let shares = ledger.by_event.iter().map(|account| account.on_counter);
    assert!(shares.flatten().all(|share| share > 0.99), "being elsewhere is not multiplexing");
}

#[test]
fn an_event_whose_cpus_are_all_offline_is_not_described() {
    if events_refused() {
        return;
    }
    let mut plan = plan_of_all(&[("core", PAGE_FAULTS), ("atom", PAGE_FAULTS)], Target::Command);
    plan.events[1].cpus = Some(vec![Cpu(4000)]);
    let session = Session::open(plan.clone(), command(&["true"], None)).unwrap();
    assert_eq!(session.notes(), ["atom is not sampled: none of its CPUs is online"]);
    drop(session);
    let (ledger, stream) = run(plan.clone(), &["true"], None);
    assert_eq!((ledger.unaccounted(), ledger.by_event[1].events), (Some(0), 0), "{ledger:?}");
    assert_eq!(by_event(&stream).into_keys().collect::<Vec<_>>(), ["core", "dummy:HG"]);
    plan.events[0].cpus = Some(vec![Cpu(4000)]);
    let error = Session::open(plan, command(&["true"], None)).unwrap_err();
    assert!(matches!(error, SessionError::Open(OpenError::NoCpu { .. })), "{error}");
}

#[test]
fn the_count_is_of_all_events_together() {
    const COUNT: u64 = 500;
    let directory = tempfile::tempdir().unwrap();
    let Some(script) = busy_command(directory.path()) else { return };
    let plan = plan_of_all(&TWO, Target::Command);
    let (ledger, stream) = run(plan, &["sh", "-c", &script], Some(COUNT));
    assert_eq!((ledger.delivered, ledger.unaccounted()), (COUNT, Some(0)), "{ledger:?}");
    assert!(ledger.lost.beyond_count > 0, "{ledger:?}");
    let decoded = by_event(&stream);
    assert_eq!(decoded.values().map(|(count, _, _)| count).sum::<u64>(), COUNT);
}

#[test]
fn a_filter_travels_with_its_event() {
    if events_refused() {
        return;
    }
    let mut plan = plan_of_all(&TWO, Target::Command);
    let filter: SampleFilter = "mode:user".parse().unwrap();
    plan.events[1].filter = filter;
    let (_, stream) = run(plan, &["true"], None);
    let decoded = by_event(&stream);
    assert!(decoded["page_fault_minor"].2[0].contains(";filter=mode:user;served="));
    assert!(!decoded["page_fault"].2[0].contains("filter"));
}

#[test]
fn a_group_is_attached_to_each_thread_once() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program("births.c", directory.path()) else { return };
    if events_refused() {
        return;
    }
    // The helper's faults are the same ones: it must add no records.
    let group = |mut plan: Plan| {
        let events = [("helper", MINOR_FAULTS), TWO[0], ("page_fault_major", MAJOR_FAULTS)];
        plan.events = plan_of_all(&events, plan.target).events;
        plan.events[0].carrier = true;
        (plan.events[1].leader, plan.events[2].leader) = (Some(0), Some(0));
        plan
    };
    let certain = (0..16).filter(|&step| {
        let delay = Duration::from_micros(step * 700);
        let mode = if step % 4 == 3 { "busy" } else { "sleepy" };
        check(&new_tasks_with(&binary, mode, delay, group), delay)
    });
    assert!(certain.count() > 0, "not one certain attach");
}
