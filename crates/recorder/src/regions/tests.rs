use std::path::Path;
use std::process::Command;

use perfdata::{RegionMark, RegionSide};

use super::layout::SLOTS;
use super::*;

/// Marks as text: thread, side, name.
fn drained(log: &mut RegionLog) -> Vec<String> {
    let mut found = Vec::new();
    log.drain(|mark: &RegionMark<'_>| {
        let side = if mark.side == RegionSide::Begin { "begin" } else { "end" };
        found.push(format!("{side} {}", String::from_utf8_lossy(mark.name)));
    });
    found
}

#[test]
fn what_is_marked_is_read_with_who_and_when() {
    let mut log = RegionLog::create().unwrap();
    let marker = RegionMarker::open(Path::new(&log.path())).unwrap();
    marker.mark(RegionSide::Begin, b"solve");
    marker.mark(RegionSide::Begin, b"a name of twenty-five bytes");
    marker.mark(RegionSide::End, b"");
    let mut last = 0;
    log.drain(|mark| {
        assert_eq!(mark.task.pid.0, std::process::id().cast_signed());
        assert_eq!(mark.task.tid.0, rustix::thread::gettid().as_raw_nonzero().get());
        assert!(mark.time.0 >= last);
        last = mark.time.0;
    });
    assert_eq!(log.account(), RegionLogAccount { read: 3, lost: 0 });
    marker.mark(RegionSide::End, b"solve");
    assert_eq!(drained(&mut log), ["end solve"]);
    assert_eq!(drained(&mut log), [""; 0]);
}

#[test]
fn names_are_cut_and_a_begin_needs_one() {
    let mut log = RegionLog::create().unwrap();
    let marker = RegionMarker::open(Path::new(&log.path())).unwrap();
    marker.mark(RegionSide::Begin, &[b'x'; 300]);
    marker.mark(RegionSide::Begin, b"");
    assert_eq!(drained(&mut log), [format!("begin {}", "x".repeat(95))]);
}

#[test]
fn threads_lose_nothing_that_is_not_counted() {
    let mut log = RegionLog::create().unwrap();
    let marker = RegionMarker::open(Path::new(&log.path())).unwrap();
    let (threads, each) = (4, SLOTS as u64);
    let mut read = std::collections::BTreeMap::<i32, u64>::new();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for index in 0..each {
                    marker.mark(RegionSide::Begin, index.to_string().as_bytes());
                }
            });
        }
        for _ in 0..50 {
            log.drain(|mark| *read.entry(mark.task.tid.0).or_default() += 1);
            std::thread::yield_now();
        }
    });
    // Twice more: what was begun is finished, or given up.
    for _ in 0..3 {
        log.drain(|mark| *read.entry(mark.task.tid.0).or_default() += 1);
    }
    let RegionLogAccount { read: all, lost } = log.account();
    assert_eq!(all, read.values().sum::<u64>());
    assert_eq!(all + lost, threads * each);
}

/// A thread that is killed between the two ends of a write.
#[test]
fn a_mark_that_nobody_finishes_holds_up_the_others_once() {
    let mut log = RegionLog::create().unwrap();
    let marker = RegionMarker::open(Path::new(&log.path())).unwrap();
    let words = marker.words.words();
    words[layout::BEGUN].fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    marker.mark(RegionSide::Begin, b"behind it");
    assert_eq!(drained(&mut log), [""; 0]);
    assert_eq!(drained(&mut log), ["begin behind it"]);
    assert_eq!(log.account(), RegionLogAccount { read: 1, lost: 1 });
}

#[test]
fn memory_that_anybody_wrote_over_is_read_without_harm() {
    let mut log = RegionLog::create().unwrap();
    let marker = RegionMarker::open(Path::new(&log.path())).unwrap();
    for word in &marker.words.words()[1..] {
        word.store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
    }
    for _ in 0..3 {
        assert_eq!(drained(&mut log), [""; 0]);
    }
}

#[test]
fn other_files_are_no_logs() {
    let error = RegionMarker::open(Path::new("/dev/null")).unwrap_err().to_string();
    assert!(error.starts_with("/dev/null is no log of regions"), "{error}");
    let error = RegionMarker::open(Path::new("/proc/1/fd/no")).unwrap_err().to_string();
    assert!(error.contains("/proc/1/fd/no cannot be opened"), "{error}");
}

/// The path is of this process; another one opens it by that.
#[test]
fn another_process_finds_it_by_the_variable() {
    let log = RegionLog::create().unwrap();
    let variable = log.variable().into_string().unwrap();
    let (name, path) = variable.split_once('=').unwrap();
    assert_eq!(name, VARIABLE);
    let size = Command::new("stat").args(["-L", "-c", "%s", path]).output().unwrap();
    let size: usize = String::from_utf8_lossy(&size.stdout).trim().parse().unwrap();
    assert_eq!(size, layout::WORDS * 8);
}
