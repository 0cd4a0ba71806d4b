use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::tree::{assert_clean, root};

/// The most an object may have, in bytes: it is part of every binary.
const MOST_BYTES: usize = 64 * 1024;
/// Exit status of `crates/recorder/kernel/build` where its compiler is not installed.
const NO_COMPILER: i32 = 3;

/// Runs the build script of the folder `kernel`; nothing where the compiler
/// is missing, which continuous integration does not take for an answer.
fn build(kernel: &Path, into: &Path) -> Option<Output> {
    let output = Command::new(kernel.join("build")).arg(into).output().unwrap();
    if output.status.code() == Some(NO_COMPILER) && std::env::var_os("CI").is_none() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        return None;
    }
    Some(output)
}

fn names(folder: &Path, suffix: &str) -> Vec<String> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(suffix))
        .collect();
    found.sort();
    found
}

/// Objects in `kept` that are not those in `made`, too large, or without
/// their source.
fn differences(kept: &Path, made: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for name in names(made, ".bpf.o") {
        let new = fs::read(made.join(&name)).unwrap();
        match fs::read(kept.join(&name)) {
            Ok(old) if old != new => all.push(format!(
                "crates/recorder/kernel/{name} is not what its source compiles to: run crates/recorder/kernel/build"
            )),
            Ok(old) if old.len() > MOST_BYTES => {
                all.push(format!(
                    "crates/recorder/kernel/{name}: {} bytes, at most {MOST_BYTES}",
                    old.len()
                ));
            }
            Ok(_) => {}
            Err(error) => {
                all.push(format!("crates/recorder/kernel/{name}: {error}: run crates/recorder/kernel/build"))
            }
        }
    }
    let made = names(made, ".bpf.o");
    for name in names(kept, ".bpf.o").iter().filter(|name| !made.contains(name)) {
        all.push(format!("crates/recorder/kernel/{name} has no source"));
    }
    all
}

/// A copy of the sources and the script, elsewhere on the disk.
fn copy(kernel: &Path, to: &Path) {
    for entry in fs::read_dir(kernel).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn objects_are_what_their_sources_compile_to() {
    let kernel = root().join("crates/recorder/kernel");
    let elsewhere = tempfile::tempdir().unwrap();
    copy(&kernel, elsewhere.path());
    let made = tempfile::tempdir().unwrap();
    let Some(output) = build(elsewhere.path(), made.path()) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!names(made.path(), ".bpf.o").is_empty(), "no sources in {}", kernel.display());
    assert_clean(&differences(&kernel, made.path()));
}

#[test]
fn a_planted_change_of_a_source_is_caught() {
    let kernel = root().join("crates/recorder/kernel");
    let changed = tempfile::tempdir().unwrap();
    copy(&kernel, changed.path());
    for name in names(&kernel, ".bpf.c") {
        let source = changed.path().join(&name);
        let more = "\nlong planted(long a);\nlong planted(long a) { return a + 1; }\n";
        fs::write(&source, fs::read_to_string(&source).unwrap() + more).unwrap();
    }
    fs::write(changed.path().join("orphan.bpf.o"), "").unwrap();
    let made = tempfile::tempdir().unwrap();
    let Some(output) = build(changed.path(), made.path()) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all = differences(changed.path(), made.path());
    assert_eq!(all.len(), names(&kernel, ".bpf.c").len() + 1, "{all:?}");
}
