//! Records, one by one: against what the program does, against perf's.

use std::collections::BTreeMap;

use pmu_box::text_records::TextRecord;
use tests::{Outcome, Scene, workload::number};

use crate::{
    Skip,
    facts::{Facts, Precision, ProbeRun},
    ibs, keep_figure, walk,
};

/// The registers that `ebs` samples, as perf calls them, and as text records
/// do.
const REGISTERS: [(&str, &str); 17] = [
    ("AX", "rax"),
    ("BX", "rbx"),
    ("CX", "rcx"),
    ("DX", "rdx"),
    ("SI", "rsi"),
    ("DI", "rdi"),
    ("BP", "rbp"),
    ("SP", "rsp"),
    ("FLAGS", "rflags"),
    ("R8", "r8"),
    ("R9", "r9"),
    ("R10", "r10"),
    ("R11", "r11"),
    ("R12", "r12"),
    ("R13", "r13"),
    ("R14", "r14"),
    ("R15", "r15"),
];

/// The record of number k is that of load k x interval: its instruction, its
/// address, and every register as that load left it.
pub(crate) fn truth(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return ibs::truth(facts);
    }
    let scene = Scene::new();
    for interval in [97, 1009] {
        let line = format!("ebs -u -t memory_loads -i ={interval} -c all -o loads.txt walk");
        let outcome = scene.run(&line).success();
        let records = TextRecord::all(&scene.read("loads.txt"));
        are_the_truths_as(|load| facts.told(load), &records, interval, &outcome);
        assert!(records.iter().all(|record| record.get("period") == interval), "{outcome}");
    }
    Ok(())
}

/// All records of a walk's loads, each of load k x interval.
#[track_caller]
pub(crate) fn are_the_truths(records: &[TextRecord], interval: u64, outcome: &Outcome) {
    are_the_truths_as(|load| load, records, interval, outcome);
}

/// The same, of records that tell a load in their own way.
#[track_caller]
fn are_the_truths_as(
    is_told: impl Fn(walk::Load) -> walk::Load,
    records: &[TextRecord],
    interval: u64,
    outcome: &Outcome,
) {
    let expected = walk::LOADS / interval;
    assert_eq!(u64::try_from(records.len()).unwrap(), expected, "{outcome}");
    for (number, record) in (1..).map(|k| k * interval).zip(records) {
        let load = is_told(walk::load(number));
        let registers = load.registers.iter().map(|(name, _)| (*name, record.get(name)));
        let found = walk::Load {
            ip: record.ip(),
            addr: record.get("addr"),
            registers: registers.collect(),
        };
        assert_eq!(found, load, "load {number}, every {interval}");
        assert!(record.exact(), "{record:x?}");
    }
}

/// What `ebs` programs a counter with for a type.
pub(crate) fn config(scene: &Scene, kind: &str) -> String {
    let plan = scene.run(&format!("ebs plan --json -u -t {kind}")).success().out;
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    plan["events"][0]["config"].as_str().unwrap().to_owned()
}

/// A record as both programs tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    ip: u64,
    addr: u64,
    registers: BTreeMap<&'static str, u64>,
}

fn ours(text: &str) -> Vec<Told> {
    let told = |record: &TextRecord| {
        let registers = REGISTERS.map(|(_, name)| (name, record.get(name)));
        Told { ip: record.ip(), addr: record.get("addr"), registers: registers.into() }
    };
    TextRecord::all(text).iter().map(told).collect()
}

/// Lines of `perf script -F event,addr,ip,iregs`, of the event of that name.
fn perfs(script: &str, event: &str) -> Vec<Told> {
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let told = |line: &str| {
        let mut words = line.split_whitespace();
        if words.next()?.trim_end_matches(':') != event {
            return None;
        }
        let addr = hex(words.next().unwrap());
        let ip = hex(words.next().unwrap());
        let pairs: BTreeMap<_, _> = words.filter_map(|word| word.split_once(':')).collect();
        let registers = REGISTERS.map(|(theirs, name)| (name, number(pairs[theirs])));
        Some(Told { ip, addr, registers: registers.into() })
    };
    script.lines().filter_map(told).collect()
}

/// The same program, the same events, by `ebs` one after the other, by perf
/// at once: the same records.
pub(crate) fn perf(facts: &Facts) -> Skip {
    if facts.precision == Precision::Ibs {
        return Err(
            "IBS is one unit, which two runs have one after the other: which ops it tags differs",
        );
    }
    let scene = Scene::new();
    let kinds = [("memory_loads", 211), ("memory_stores", 7), ("l1_cache_miss", 101)];
    let mut events = String::new();
    for (kind, interval) in kinds {
        let config = config(&scene, kind);
        let terms = format!("config={config},period={interval},name={kind}");
        // From Golden Cove on precise_ip 3 is of one counter, and of no
        // interval below 128 (glc_limit_period()); records are the same.
        events += &format!(" -e cpu/{terms}/ppu");
    }
    let registers = REGISTERS.map(|(name, _)| name).join(",");
    let record = format!("perf record -q -N -B{events} -d --intr-regs={registers} -o p.data walk");
    scene.run(&record).success();
    let script = scene.run("perf script -F event,addr,ip,iregs -i p.data").success().out;
    for (kind, interval) in kinds {
        let sampled = format!("ebs -u -t {kind} -i ={interval} -c all -o ours.txt walk");
        let sampled = scene.run(&sampled).success();
        let (mut ours, mut theirs) = (ours(&scene.read("ours.txt")), perfs(&script, kind));
        // perf starts programs with another argument: the stack lies
        // elsewhere, which is all that the program sees of it.
        for told in ours.iter_mut().chain(&mut theirs) {
            told.registers.remove("rsp");
        }
        assert!(ours.len() > 50, "{sampled}");
        let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        let differ = differ.map(|at| (at, &ours[at], &theirs[at]));
        assert_eq!(ours.len(), theirs.len(), "{kind}, ours and perf's: {differ:x?}");
        assert!(differ.is_none(), "{kind}: ours and perf's differ: {differ:x?}");
    }
    Ok(())
}

/// One recording, by both readers: every field of every record.
pub(crate) fn script(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let ProbeRun { program, interval } = facts.probe_run();
    // Of IBS' samples some types mean a part, which is all that `ebs` prints.
    let (kind, more) = match facts.precision {
        Precision::Pebs => ("load_latency", ",data_src,weight"),
        Precision::Ibs => ("instr_retired", ""),
    };
    let line =
        format!("ebs -u -k -t {kind} -i ={interval} -c all --no-kallsyms -o l.data {program}");
    let outcome = scene.run(&line).success();
    let fields = format!("pid,tid,cpu,time,period,ip,addr,iregs{more}");
    let words = |command: String| -> Vec<Vec<String>> {
        let script = scene.run(&command).success().out;
        let lines = script.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let ours = words(format!("ebs script -F {fields} l.data"));
    let theirs = words(format!("perf script -F {fields} -i l.data"));
    keep_figure(format!("{} records", ours.len()));
    assert!(ours.len() > 50, "{outcome}");
    assert_eq!(ours.len(), theirs.len(), "records of ours and of perf's");
    let differ = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    assert!(differ.is_none(), "{differ:#?}");
    Ok(())
}
