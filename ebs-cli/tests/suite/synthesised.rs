//! Recordings of what no public file holds, printed as perf prints them.

use crate::synthesiser::scenes;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Lines with their words parted by one space: widths are not of interest.
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

fn ebs(words: &[&str], file: &Path) -> Output {
    Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap())
        .args(words)
        .arg(file)
        .output()
        .unwrap()
}

/// What both print of these fields is the same, and `least` lines at least.
fn alike(bytes: &[u8], fields: &str, least: usize) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("scene.data");
    std::fs::write(&path, bytes).unwrap();
    let ours = ebs(&["script", "--all-samples", "-F", fields], &path);
    assert!(ours.status.success(), "{}", String::from_utf8_lossy(&ours.stderr));
    let ours = lines(&ours);
    assert!(ours.len() >= least, "{ours:#?}");
    let theirs = Command::new("perf").args(["script", "-F", fields, "-i"]).arg(&path).output();
    match theirs {
        Ok(theirs) => assert_eq!(ours, lines(&theirs), "{fields}"),
        Err(error) => eprintln!("skipped: perf cannot be started: {error}"),
    }
}

#[test]
fn registers_are_printed_with_vectors() {
    alike(&scenes::registers(), "comm,tid,time,period,ip,iregs,uregs", 3);
}

#[test]
fn places_are_printed_whole() {
    let fields = "time,cpu,event,addr,weight,ins_lat,data_src,phys_addr,data_page_size,\
                  code_page_size,ip";
    alike(&scenes::places(), fields, 4);
}

#[test]
fn chains_and_branches_are_printed() {
    alike(&scenes::chains(), "comm,time,ip,brstack", 3 + 5);
}

#[test]
fn levels_are_printed_with_their_words() {
    alike(&scenes::levels(), "time,addr,weight", 210);
}

#[test]
fn two_threads_on_a_line_are_told_apart() {
    alike(&scenes::sharing(), "tid,cpu,time,addr,weight", 55);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sharing.data");
    std::fs::write(&path, scenes::sharing()).unwrap();
    let output = ebs(&["report", "--csv", "--by", "line,tid,op,snoop"], &path);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stores = format!("{:#x}", scenes::LINE);
    let rows: Vec<&str> = table.lines().filter(|line| line.contains(&stores)).collect();
    assert_eq!(rows.len(), 2, "stores of one thread, loads of the other:\n{table}");
    let counts = [scenes::STORES, scenes::LOCAL_HITM + scenes::REMOTE_HITM];
    for (thread, count) in [scenes::PID + 1, scenes::PID + 2].iter().zip(counts) {
        let row = rows.iter().find(|row| row.split(',').any(|word| word == thread.to_string()));
        let row = row.unwrap_or_else(|| panic!("{thread} in\n{table}"));
        assert!(row.split(',').any(|word| word == count.to_string()), "{count} in {row}");
    }
}

#[test]
fn losses_are_told() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("losses.data");
    std::fs::write(&path, scenes::losses()).unwrap();
    let output = ebs(&["report", "--json"], &path);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [ring, samples, filter, _] = scenes::LOSSES;
    assert_eq!(report["losses"]["lost"], ring, "{}", report["losses"]);
    assert_eq!(report["losses"]["lost_samples"], samples, "{}", report["losses"]);
    assert_eq!(report["losses"]["filtered_out"], filter, "{}", report["losses"]);
}
