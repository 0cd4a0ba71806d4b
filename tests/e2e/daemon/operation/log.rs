//! The log is for those who run the daemon: nobody who may connect can fill
//! it (R31).

use std::{
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use tests::{Ebsd, Scene};

use super::super::raw::{Raw, wait_for};

/// Lines with these words, and how many events they tell of.
fn told(log: &str, words: &str) -> (u64, u64) {
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(words)).collect();
    let more = |line: &&str| {
        let (_, count) = line.rsplit_once(" (and ")?;
        count.strip_suffix(" lines like it, left out)")?.parse::<u64>().ok()
    };
    let lines_told = lines.len() as u64;
    (lines_told, lines_told + lines.iter().filter_map(more).sum::<u64>())
}

#[test]
fn nobody_fills_the_log() {
    let scene = Scene::new();
    let begun = Instant::now();
    let ebsd = Ebsd::start(&scene, "[limits]\nconnections_per_user = 1\n");
    let mut first = None;
    wait_for("a connection", || {
        first = Raw::welcomed(&ebsd.socket);
        first.is_some()
    });
    // What looked for the socket may have been refused, or have come first.
    let refused = 2_000u64;
    for _ in 0..refused {
        let mut stream = UnixStream::connect(&ebsd.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // Until it is closed: then it has been refused, and so logged.
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    }
    drop(first);
    let welcomed = 30u64;
    for _ in 0..welcomed {
        wait_for("a connection", || Raw::welcomed(&ebsd.socket).is_some());
    }
    let log = ebsd.end().err;
    // Five at once, one a second, and a last one as the process ends.
    let most = begun.elapsed().as_secs() + 7;
    let (lines, events) = told(&log, "a connection is refused");
    assert!(events >= refused, "{events} of {refused}: {log}");
    assert!(lines <= most, "{lines} lines, {most} at most: {log}");
    let (lines, events) = told(&log, "a client client=");
    assert!(events > welcomed, "{events} of {welcomed} and the first: {log}");
    assert!(lines <= most, "{lines} lines, {most} at most: {log}");
    // Two kinds come without end, and a few lines are said once.
    let (most, bytes) = (2 * most + 20, log.len() as u64);
    assert!(bytes <= most * 256, "{bytes} bytes, {most} lines at most: {log}");
}
