//! Recordings of every form, printed as `perf script` prints them.
//!
//! `HARDMETER_RECORDINGS=DIR` names a folder of more of them.
#![allow(clippy::print_stderr, reason = "a test that skips says why, and counts are told")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, outside #[test] functions")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FOLDER: &str = "HARDMETER_RECORDINGS";
const FIELDS: [&str; 9] = ["comm", "pid", "tid", "cpu", "time", "event", "ip", "addr", "period"];

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record/tests/fixtures")
}

fn ebs(words: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ebs")).args(words).arg(file).output().unwrap()
}

/// None without perf.
fn perf(fields: &str, file: &Path) -> Option<Output> {
    let words = ["script", "-f", "-G", "--no-itrace", "-F", fields, "-i"];
    Command::new("perf").args(words).arg(file).output().ok()
}

/// Lines with their words parted by one space: widths are not of interest.
fn lines(out: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(out);
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

/// Fields that every event of a recording has, as `ebs` says.
fn fields(file: &Path) -> String {
    let said = ebs(&["script", "--all-samples", "-F", &FIELDS.join(",")], file).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    let lacking: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once(" was recorded without "))
        .flat_map(|(_, fields)| fields.split(", "))
        .collect();
    FIELDS.into_iter().filter(|field| !lacking.contains(field)).collect::<Vec<_>>().join(",")
}

#[test]
fn every_recording_that_perf_reads_is_printed_alike() {
    let mut folders = vec![fixtures()];
    match std::env::var_os(FOLDER) {
        Some(folder) => folders.push(folder.into()),
        None => eprintln!("{FOLDER} names no folder of more recordings"),
    }
    let (mut files, mut alike, mut refused) = (0, 0, 0);
    for folder in folders {
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        paths.sort();
        for path in paths {
            if !std::fs::read(&path).unwrap().starts_with(b"PERFILE2") {
                continue;
            }
            let fields = fields(&path);
            let Some(theirs) = perf(&fields, &path) else {
                eprintln!("skipped: perf is not there");
                return;
            };
            if !theirs.status.success() {
                refused += 1;
                continue;
            }
            let ours = ebs(&["script", "--all-samples", "-F", &fields], &path);
            let (ours, theirs) = (lines(&ours.stdout), lines(&theirs.stdout));
            assert_eq!(ours, theirs, "{}", path.display());
            files += 1;
            alike += ours.len();
        }
    }
    assert!(files >= 3, "perf reads {files} files");
    eprintln!("{alike} records of {files} files alike; perf refuses {refused} files");
}

#[test]
fn a_file_on_a_pipe_asks_for_the_file() {
    let file = std::fs::File::open(fixtures().join("group_desc-4.14.file.data")).unwrap();
    let mut cat =
        Command::new("cat").stdin(file).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let piped = cat.stdout.take().unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_ebs"))
        .args(["report", "-"])
        .stdin(piped)
        .output()
        .unwrap();
    cat.wait().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("give the file itself"), "{said}");
}

#[test]
fn several_events_are_reported_by_name() {
    let out = ebs(&["report", "--by", "comm"], &fixtures().join("group_desc-4.14.file.data"));
    let table = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for name in ["cache-references", "branch-misses"] {
        assert!(table.contains(name), "{name} is not in\n{table}");
    }
}

#[test]
fn a_file_that_is_cut_is_reported_and_said_to_be() {
    let whole = std::fs::read(fixtures().join("group_desc-4.14.file.data")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.data");
    std::fs::write(&cut, &whole[..4000]).unwrap();
    let out = ebs(&["script"], &cut);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("truncated: "), "{said}");
}
