//! `box-judge LOG RESULTS`: compares the records of every file of RESULTS
//! with what the model wrote down between the marks of the same name. A line
//! each, as `box-assertions` prints them.
#![allow(clippy::print_stdout, reason = "the table of tests/pmu-box/run is made of it")]

use std::{env, fs, path::Path};

use anyhow::{Context, Result, bail};
use pmu_box::{
    judged_account::JudgedAccount,
    text_records::{KERNEL, TextRecord},
    truth_log::{self, Happening},
};

/// Registers as text records call them, and as the model does.
const REGISTERS: [(&str, &str); 17] = [
    ("rflags", "flags"),
    ("rax", "ax"),
    ("rbx", "bx"),
    ("rcx", "cx"),
    ("rdx", "dx"),
    ("rsi", "si"),
    ("rdi", "di"),
    ("rbp", "bp"),
    ("rsp", "sp"),
    ("r8", "r8"),
    ("r9", "r9"),
    ("r10", "r10"),
    ("r11", "r11"),
    ("r12", "r12"),
    ("r13", "r13"),
    ("r14", "r14"),
    ("r15", "r15"),
];

/// The kernel marks flags of an exact record by a bit that the CPU has no use
/// for (arch/x86/include/asm/perf_event.h).
const PERF_EFLAGS_EXACT: u64 = 1 << 3;

/// Levels of `union perf_mem_data_src` (`PERF_MEM_LVL_*`, at bit 5), as the
/// model calls what served a load.
const LEVELS: [(&str, u64); 6] =
    [("l1", 0x08), ("l2", 0x20), ("l3", 0x40), ("snoop", 0x40), ("hitm", 0x40), ("memory", 0x80)];
const LEVEL_SHIFT: u32 = 5;

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [log, results] = arguments.as_slice() else { bail!("usage: box-judge LOG RESULTS") };
    let log = fs::read_to_string(log).with_context(|| format!("reading {log}"))?;
    let mut files = fs::read_dir(results)?.collect::<std::io::Result<Vec<_>>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let path = file.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a name")?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        // For people: what the documents' recipes print.
        if extension == Some("tables") {
            continue;
        }
        let (judged, what) = match extension {
            Some("skids") => (judge_skids(&log, name, &path), ".skids"),
            Some("collisions") => (judge_collisions(&log, name, &path), ""),
            _ => (judge(&log, name, &path), ""),
        };
        match judged {
            Ok(figures) => println!("PASS model:{name}{what} {figures}"),
            Err(why) => println!("FAIL model:{name}{what} {why:#}"),
        }
    }
    Ok(())
}

fn judge(log: &str, name: &str, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)?;
    if path.extension().is_some_and(|extension| extension == "account") {
        return JudgedAccount::new(&text).judge(log, name);
    }
    // Each CPU's are in order; whose come first is the reader's.
    let mut records = TextRecord::all(&text);
    records.sort_by_key(|record| record.find("cpu"));
    if name.ends_with("interrupts") {
        return judge_interrupts(log, name, &records);
    }
    // IBS writes no records: what it tagged is what there is.
    let kind = if name.starts_with("ibs") { "ibs_op" } else { "record" };
    let truth = truth_log::between(log, name, kind);
    let mut truth = truth.with_context(|| format!("the log has not both marks of {name}"))?;
    truth.sort_by_key(|happening| happening.decimal("cpu"));
    if name == "hitm" && truth.iter().any(|happening| happening.word("source") != Some("hitm")) {
        bail!("the model recorded loads of lines that nobody had modified");
    }
    // What the kernel leaves out by mode, and the reader by what the type means.
    if name.contains("user-loads") {
        truth.retain(|op| op.decimal("cpl") == 3 && op.word("op") == Some("load"));
    }
    for (number, (record, happening)) in records.iter().zip(&truth).enumerate() {
        let differ = differences(record, happening, kind == "record", name.contains("latency"));
        if let Some((what, ours, models)) = differ.first() {
            bail!(
                "record {number} of {}: {what} is {ours:#x}, the model's {models:#x}: {record:x?}, \
                 {happening:x?}",
                records.len()
            );
        }
    }
    if records.len() != truth.len() || records.is_empty() {
        bail!("{} records, {} of the model", records.len(), truth.len());
    }
    Ok(format!("{} records", records.len()))
}

/// Records of a counter without PEBS are of the moment of its interrupts.
fn judge_interrupts(log: &str, name: &str, records: &[TextRecord]) -> Result<String> {
    let of = |kind: &str| {
        let found = truth_log::between(log, name, kind);
        found.with_context(|| format!("the log has not both marks of {name}"))
    };
    let (samples, interrupts) = (of("sample")?, of("interrupt")?);
    let differ = records.iter().zip(&interrupts).position(|(r, i)| r.ip() != i.hex("next"));
    if let Some(number) = differ {
        bail!("record {number}: {:x?}, {:x?}", records[number], interrupts[number]);
    }
    if records.len() != interrupts.len() || records.len() != samples.len() || records.is_empty() {
        bail!(
            "{} records, {} interrupts, {} overflows",
            records.len(),
            interrupts.len(),
            samples.len()
        );
    }
    let skids = || interrupts.iter().map(|interrupt| interrupt.decimal("skid"));
    let right = records.iter().zip(&samples).filter(|(r, s)| r.ip() == s.hex("ip")).count();
    Ok(format!(
        "{} records, {right} at the instruction that overflowed the counter, {} to {} \
         instructions later, {:.1} in the mean",
        records.len(),
        skids().min().unwrap_or(0),
        skids().max().unwrap_or(0),
        skids().sum::<u64>() as f64 / records.len() as f64
    ))
}

/// How far records of interrupts are from their events, as an assertion
/// measured it, is what the model says of each interrupt.
fn judge_skids(log: &str, name: &str, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let measured: Vec<u64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    let interrupts = truth_log::between(log, name, "interrupt").context("no marks")?;
    // An interrupt tells of the instruction that comes next.
    let models: Vec<_> = interrupts.iter().map(|interrupt| interrupt.decimal("skid") + 1).collect();
    if measured != models || measured.is_empty() {
        bail!("measured {measured:?}, the model's {models:?}");
    }
    let farthest = measured.iter().max().unwrap_or(&0);
    let mean = measured.iter().sum::<u64>() as f64 / measured.len() as f64;
    Ok(format!("{} measured, up to {farthest} instructions, {mean:.1} in the mean", models.len()))
}

/// Two counters whose records collide: what two sessions told of it.
fn judge_collisions(log: &str, name: &str, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let told = |key: &str| {
        let mut words = text.lines().filter_map(|line| line.split_once(' '));
        let value = words.find_map(|(name, value)| (name == key).then_some(value));
        value.and_then(|value| value.parse::<usize>().ok()).with_context(|| format!("no {key}"))
    };
    let count = |kind| truth_log::between(log, name, kind).map(|found| found.len());
    let (overflows, records) = count("sample").zip(count("record")).context("no marks")?;
    let collided = overflows.checked_sub(records).context("more records than overflows")?;
    let (delivered, lost) = (told("delivered")?, told("lost")?);
    // A record that is of two counters is given to both, or to none.
    let expected = match told("dropped")? {
        0 => (overflows, 0),
        _ => (records - collided, 2 * collided),
    };
    if (delivered, lost) != expected || collided == 0 {
        bail!("{delivered} delivered and {lost} lost, of {overflows} overflows, {records} records");
    }
    Ok(format!(
        "{collided} collisions of {overflows} overflows: {delivered} delivered, {lost} lost"
    ))
}

type Difference = (&'static str, u64, u64);

fn differences(
    record: &TextRecord,
    happening: &Happening<'_>,
    registers: bool,
    timed: bool,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |what, ours, models| {
        if ours != models {
            found.push((what, ours, models));
        }
    };
    compare("ip", record.ip(), happening.hex("ip"));
    let level = u64::from(record.level() == KERNEL);
    compare("in the kernel", level, u64::from(happening.decimal("cpl") == 0));
    if let (Some(ours), Some(_)) = (record.find("addr"), happening.word("address")) {
        compare("addr", ours, happening.hex("address"));
    }
    // IBS' are those of the interrupt, and not of the instruction.
    for (ours, models) in REGISTERS.into_iter().filter(|_| registers) {
        let marked = if ours == "rflags" { PERF_EFLAGS_EXACT } else { 0 };
        compare(ours, record.get(ours) & !marked, happening.hex(models));
    }
    if timed {
        compare("weight", record.get("weight"), happening.decimal("latency"));
        let source = happening.word("source").unwrap_or_default();
        let level = LEVELS.iter().find(|(name, _)| *name == source).map_or(0, |(_, bit)| *bit);
        compare("level", record.get("data_src") >> LEVEL_SHIFT & 0xe8, level);
    }
    found
}
