//! Machines as files: crates/recorder/fixtures/sysfs (its README says whose).

use ebs_cli::ebs::command::{self, Command};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// From the directory of this package, in which its tests run.
pub(crate) const FIXTURES: &str = "../crates/recorder/fixtures";

/// The trees, unpacked once a process.
static UNPACKED: LazyLock<TempDir> = LazyLock::new(|| {
    let dir = TempDir::new().expect("a directory for fixtures");
    let archive = File::open(format!("{FIXTURES}/sysfs/trees.tar.gz")).expect("the fixture");
    tar::Archive::new(GzDecoder::new(archive)).unpack(dir.path()).expect("it unpacks");
    dir
});

/// Names of all trees, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(UNPACKED.path().join("sysfs")).expect("the trees");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

pub(crate) fn path(name: &str) -> PathBuf {
    UNPACKED.path().join("sysfs").join(name)
}

/// One line of a small file of a tree.
pub(crate) fn word(tree: &str, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(path(tree).join("devices").join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// What `ebs plan --json` prints for a tree, and its exit status.
pub(crate) fn plan(tree: &str, words: &[&str]) -> (Value, u8) {
    plan_at(&path(tree), words)
}

pub(crate) fn plan_at(root: &Path, words: &[&str]) -> (Value, u8) {
    let (text, status) = print_at(root, &[words, &["--json"]].concat());
    let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (value, status)
}

/// What `ebs plan` prints, and its exit status; an error's text is printed.
pub(crate) fn print_at(root: &Path, words: &[&str]) -> (String, u8) {
    let mut line: Vec<OsString> = ["ebs", "plan", "--root"].map(OsString::from).to_vec();
    line.push(root.into());
    line.extend(words.iter().map(OsString::from));
    let Ok(Command::Plan(arguments)) = command::parse(line) else { panic!("{words:?} is no plan") };
    let mut out = Vec::new();
    match ebs_cli::ebs::plan::run(&arguments, &mut out) {
        Ok(status) => (String::from_utf8(out).expect("UTF-8"), status),
        Err(error) => (format!("{error:#}"), 1),
    }
}

pub(crate) fn hardware_types() -> Vec<&'static str> {
    let all = recorder::catalogue::all();
    let hardware =
        all.filter(|entry| matches!(entry.kind, recorder::catalogue::EventKind::Hardware(_)));
    hardware.map(|entry| entry.name).collect()
}
