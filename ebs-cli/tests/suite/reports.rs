//! What `ebs report` says of recordings, held against what `perf script`
//! prints of each sample and against counts that another reader made.
//!
//! `HARDMETER_RECORDINGS=DIR` names a folder of recordings with an INDEX.tsv.
#![allow(clippy::cast_precision_loss, reason = "small numbers")]

use crate::synthesiser::{elf::Program, flood, scenes};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{NamedTempFile, TempPath};

fn report(words: &[&str], file: &Path) -> Value {
    let ebs = Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap())
        .args(["report", "--json"])
        .args(words)
        .arg(file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ebs.stderr);
    serde_json::from_slice(&ebs.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A recording of so many samples that this program seems to have made.
fn synthesised(samples: u64) -> TempPath {
    let (file, path) = NamedTempFile::new().unwrap().into_parts();
    let program = Program::read(&std::env::current_exe().unwrap()).unwrap();
    flood::write(samples, &program, file).unwrap();
    path
}

/// One sample as `perf script` prints it.
struct Printed {
    event: String,
    /// The data source in perf's words, after the raw number.
    source: Vec<String>,
    weight: u64,
    ip: String,
}

/// None without perf.
fn printed(file: &Path) -> Option<Vec<Printed>> {
    let words = ["script", "-f", "-F", "event,ip,weight,data_src", "-i"];
    let output = Command::new("perf").args(words).arg(file).output();
    let output = output.inspect_err(|error| eprintln!("skipped: no perf: {error}")).ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let mut parts: Vec<&str> = line.split('|').collect();
        // "BLK  N/A     WEIGHT     IP"
        let (last, tail) = parts.pop().unwrap().trim().rsplit_once("  ").map_or_else(
            || panic!("{line}"),
            |(rest, ip)| (rest.trim().rsplit_once(' ').unwrap(), ip.trim()),
        );
        let head = parts.remove(0).trim();
        let (event, _) = head.rsplit_once(": ").unwrap();
        let parts = parts.into_iter().chain([last.0]);
        Printed {
            event: event.trim().to_owned(),
            source: parts.map(|part| part.trim().to_owned()).collect(),
            weight: last.1.trim().parse().unwrap(),
            ip: format!("0x{tail}"),
        }
    };
    Some(text.lines().map(line).collect())
}

/// Count, mean, median, 95 per cent: by sorting all of them. The mean as a
/// text, as JSON numbers lose their last bit.
fn naive(mut latencies: Vec<u64>) -> (u64, String, u64, u64) {
    latencies.sort_unstable();
    let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
    let mean = format!("{mean:.9}");
    let rank = |percent: usize| latencies[(latencies.len() * percent).div_ceil(100) - 1];
    (latencies.len() as u64, mean, rank(50), rank(95))
}

fn told(row: &Value) -> (u64, String, u64, u64) {
    let latency = &row["latency"];
    let number = |key: &str| latency[key].as_u64().unwrap();
    (
        number("samples"),
        format!("{:.9}", latency["mean"].as_f64().unwrap()),
        number("median"),
        number("p95"),
    )
}

#[test]
fn latencies_are_those_of_the_samples_that_perf_prints() {
    let file = synthesised(60_000);
    let Some(samples) = printed(&file) else { return };
    let report = report(&["--mem", "--by", "ip"], &file);
    let event = &report["events"][0];
    let loads: Vec<_> =
        samples.iter().filter(|sample| sample.event == event["name"].as_str().unwrap()).collect();
    assert!(loads.len() > 30_000);
    let mut by_ip: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut by_source: BTreeMap<&[String], Vec<u64>> = BTreeMap::new();
    for sample in loads {
        by_ip.entry(&sample.ip).or_default().push(sample.weight);
        by_source.entry(&sample.source[..4]).or_default().push(sample.weight);
    }
    let rows = event["rows"].as_array().unwrap();
    assert_eq!(rows.len(), by_ip.len());
    for row in rows {
        let ip = row["ip"].as_str().unwrap();
        assert_eq!(told(row), naive(by_ip.remove(ip).unwrap()), "{ip}");
    }
    // The words differ from perf's; what they tell apart must not.
    let mut kinds: Vec<_> = event["accesses"].as_array().unwrap().iter().map(told).collect();
    let mut expected: Vec<_> = by_source.into_values().map(naive).collect();
    kinds.sort();
    expected.sort();
    assert_eq!(kinds, expected);
    // Stores of this CPU have no latency, and perf's weights of them are 0.
    let stores = &report["events"][1];
    assert_eq!(stores["latency"], Value::Null);
    let is_store = |sample: &&Printed| sample.event == stores["name"].as_str().unwrap();
    assert!(samples.iter().filter(is_store).count() > 5_000);
    eprintln!("{} kinds of access of {} sites alike", kinds.len(), rows.len());
}

/// Samples by variable and offset, or by object where there is no variable,
/// as perf's report of memory counts them. None without perf.
fn variables(file: &Path) -> Option<BTreeMap<String, u64>> {
    let words = ["report", "--stdio", "-f", "-n", "-t", "|", "--mem-mode", "--sort"];
    let output = Command::new("perf")
        .args(words)
        .args(["symbol_daddr,dso_daddr", "-i"])
        .arg(file)
        .env("PAGER", "cat")
        .output();
    let output = output.inspect_err(|error| eprintln!("skipped: no perf: {error}")).ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && line.contains('|')) {
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        let symbol = words[2].strip_prefix("[.] ").and_then(|name| name.rsplit_once("+0x"));
        let name = match symbol {
            Some((name, offset)) => format!("{}+{offset}", plain(name)),
            None => words[3].to_owned(),
        };
        *counts.entry(name).or_default() += words[1].parse::<u64>().unwrap();
    }
    Some(counts)
}

/// A name without the number that compilers add to those that would be alike:
/// perf leaves it out of Rust's names.
fn plain(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((plain, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    }
}

#[test]
fn data_addresses_have_the_variables_that_perf_names() {
    let file = synthesised(30_000);
    let Some(expected) = variables(&file) else { return };
    let report = report(&["--by", "data"], &file);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for event in report["events"].as_array().unwrap() {
        for row in event["rows"].as_array().unwrap() {
            let data = &row["data"];
            let name = match data["variable"].as_str() {
                Some(name) => format!("{}+{:x}", plain(name), data["offset"].as_u64().unwrap()),
                None => data["object"].as_str().unwrap().replace("//anon", "anon"),
            };
            *counts.entry(name).or_default() += row["count"].as_u64().unwrap();
        }
    }
    assert_eq!(counts, expected);
    assert!(counts.contains_key("[heap]") && counts.contains_key("[stack]"));
    assert!(counts.len() > 100, "{} variables", counts.len());
    eprintln!("{} variables and offsets alike", counts.len());
}

/// What tables call [`scenes::LEVELS`]: level, TLB, snoop; `-` where the word
/// does not say.
const LEVELS: [(&str, &str, &str); 20] = [
    ("L1 hit", "L1 hit", "none"),
    ("LFB hit", "L1 hit", "none"),
    ("L2 hit", "L2 hit", "none"),
    ("L3 hit", "L2 miss", "miss"),
    ("L3 hit", "hit+page walk", "hit"),
    ("L3 hit", "-", "hitm"),
    ("L4", "-", "none"),
    ("RAM hit", "-", "miss"),
    ("RAM hit, 1 hop away", "-", "-"),
    ("RAM hit, 2 hops away", "-", "-"),
    ("cache hit, 1 hop away", "-", "hitm"),
    ("cache hit, 2 hops away", "-", "hit"),
    ("L3 hit", "-", "forward"),
    ("L2 hit, another core", "-", "peer"),
    ("cache, another socket", "-", "hitm"),
    ("PMEM", "-", "-"),
    ("PMEM, remote", "-", "-"),
    ("CXL", "-", "-"),
    ("I/O hit", "-", "-"),
    ("uncached hit", "-", "-"),
];

fn written(bytes: &[u8]) -> TempPath {
    let path = NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_level_is_told_from_every_other() {
    let file = written(&scenes::levels());
    let report = report(&["--mem", "--by", "level"], &file);
    let event = &report["events"][0];
    let word = |cell: &Value| cell.as_str().unwrap_or("-").to_owned();
    let mut rows: Vec<_> = event["accesses"].as_array().unwrap().iter().collect();
    rows.sort_by_key(|row| row["count"].as_u64());
    assert_eq!(rows.len(), LEVELS.len());
    let mut first = 10;
    for ((row, (level, tlb, snoop)), count) in rows.into_iter().zip(LEVELS).zip(1..) {
        let words = ["level", "op", "tlb", "snoop"].map(|key| word(&row[key]));
        assert_eq!(words, [level, "load", tlb, snoop]);
        assert_eq!(told(row), naive((first..first + count).collect()), "{level}");
        first += count;
    }
    let near_to_far: Vec<String> = event["levels"].as_array().unwrap().iter().map(word).collect();
    assert_eq!(near_to_far.len(), 17);
    assert_eq!(near_to_far[..3], ["L1 hit", "LFB hit", "L2 hit"]);
    assert_eq!(near_to_far[14..], ["CXL", "I/O hit", "uncached hit"]);
}

/// `perf c2c` by hand: who finds the line of another modified.
#[test]
fn a_shared_line_shows_who_waits_for_whom() {
    let file = written(&scenes::sharing());
    let counts = |words: &[&str]| -> Vec<(String, u64)> {
        let report = report(words, &file);
        let key = words[1].split(',').next_back().unwrap().to_owned();
        let rows = report["events"][0]["rows"].as_array().unwrap().clone();
        let text = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        rows.iter().map(|row| (text(&row[&key]), row["count"].as_u64().unwrap())).collect()
    };
    let (stores, near, far) = (scenes::STORES, scenes::LOCAL_HITM, scenes::REMOTE_HITM);
    let line = format!("{:#x}", scenes::LINE & !63);
    assert_eq!(counts(&["--by", "line"]), [(line.clone(), stores + near + far)]);
    let hitm = ["--by", "line", "--filter", "op=load and snoop=hitm"];
    assert_eq!(counts(&hitm), [(line, near + far)]);
    let (writer, reader) = (scenes::PID + 1, scenes::PID + 2);
    let by_thread = [(writer.to_string(), stores), (reader.to_string(), near + far)];
    assert_eq!(counts(&["--by", "tid"]), by_thread);
    let by_level = [("L3 hit".to_owned(), near), ("cache hit, 1 hop away".to_owned(), far)];
    assert_eq!(counts(&["--by", "level", "--filter", "op=load"]), by_level);
}

/// Samples by event and by what perf says of their data source; empty when
/// perf cannot read the recording or its events have none.
fn sources(file: &Path) -> BTreeMap<String, BTreeMap<String, u64>> {
    let words = ["script", "-f", "-G", "-F", "event,data_src", "-i"];
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let Ok(output) = Command::new("perf").args(words).arg(file).output() else { return counts };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut parts = line.split('|').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let Some((event, _)) = head.rsplit_once(": ") else { continue };
        // Operation, level, snoop, TLB.
        let told = parts.take(4).collect::<Vec<_>>().join("|");
        *counts.entry(event.trim().to_owned()).or_default().entry(told).or_default() += 1;
    }
    counts
}

#[test]
fn kinds_of_access_are_those_that_perf_tells_apart() {
    let Some(folder) = std::env::var_os("HARDMETER_RECORDINGS").map(PathBuf::from) else {
        eprintln!("skipped: HARDMETER_RECORDINGS names no folder of recordings");
        return;
    };
    let mut alike = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if !std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"PERFILE2")) {
            continue;
        }
        let told = sources(&path);
        if told.is_empty() {
            continue;
        }
        let report = report(&["--mem", "--by", "comm"], &path);
        for event in report["events"].as_array().unwrap() {
            let rows = event["accesses"].as_array().unwrap();
            // Of an event without data source perf prints one that says nothing.
            if rows.is_empty() {
                continue;
            }
            let Some(expected) = told.get(event["name"].as_str().unwrap()) else { continue };
            let mut expected: Vec<u64> = expected.values().copied().collect();
            let mut counts: Vec<u64> =
                rows.iter().map(|row| row["count"].as_u64().unwrap()).collect();
            expected.sort_unstable();
            counts.sort_unstable();
            assert_eq!(counts, expected, "{} of {}", event["name"], path.display());
            alike += 1;
        }
    }
    eprintln!("{alike} events alike");
    assert!(alike > 0);
}

/// Rows of the index, each a map from column to value.
fn index(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let head: Vec<String> = lines.next().unwrap().collect();
    lines.map(|line| head.iter().cloned().zip(line).collect()).collect()
}

#[test]
fn counts_are_those_of_the_index() {
    let Some(folder) = std::env::var_os("HARDMETER_RECORDINGS").map(PathBuf::from) else {
        eprintln!("skipped: HARDMETER_RECORDINGS names no folder of recordings with an INDEX.tsv");
        return;
    };
    let (mut files, mut outside) = (0, 0);
    for row in index(&folder) {
        let report = report(&["--by", "comm"], &folder.join(&row["file"]));
        let events = report["events"].as_array().unwrap();
        let sum = |key: &str| -> u64 {
            events.iter().map(|event| event["totals"][key].as_u64().unwrap()).sum()
        };
        for (column, key) in [
            ("samples", "samples"),
            ("exact_ip", "exact_ip"),
            ("kernel_ip_in_exclude_kernel", "outside_mode"),
        ] {
            // The other reader stopped where a recording is damaged.
            let fits = match row["file"].contains(".corrupted.") {
                true => row[column].parse::<u64>().unwrap() <= sum(key),
                false => row[column] == sum(key).to_string(),
            };
            assert!(fits, "{column} of {}: {} and {}", row["file"], row[column], sum(key));
        }
        outside += u64::from(sum("outside_mode") > 0);
        files += 1;
    }
    assert!(files > 20 && outside > 3);
    eprintln!("{files} recordings, {outside} with samples outside of the event's mode");
}
