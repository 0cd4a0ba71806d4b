//! How much of everything a user may have, and what is said beyond it.

use std::{fs, process::Command, thread, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, Workload, rights};

use super::raw::{Frame, Raw, start_time, wait_for};

fn sleeper(scene: &Scene) -> Running {
    let mut running = Running::start(&mut scene.command(Workload::Sleeper.build(scene)));
    assert_eq!(running.hear(), "ready");
    running
}

/// The refusal that a new connection meets instead of a welcome.
fn turned_away(ebsd: &Ebsd) -> Option<Value> {
    let mut raw = Raw::silent(&ebsd.socket);
    let answer =
        raw.try_ask(&json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw 1"}));
    answer.filter(|answer| answer["reply"] == "refused")
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "[limits]\nconnections_per_user = 3\n");
    let mut open: Vec<Raw> = Vec::new();
    // What looked for the socket may not be forgotten yet.
    wait_for("three connections", || {
        let raw = Raw::welcomed(&ebsd.socket);
        open.extend(raw);
        open.len() == 3
    });
    let refusal = turned_away(&ebsd).unwrap();
    assert_eq!(refusal["code"], "exhausted", "{refusal}");
    let text = refusal["text"].as_str().unwrap();
    assert!(text.contains("has 3 connections open") && text.contains("connections_per_user"));
    open.pop();
    wait_for("a connection is free again", || turned_away(&ebsd).is_none());
    ebsd.end();
}

/// A connection that a worker has no descriptor for counts as closed.
#[test]
fn a_worker_out_of_descriptors_loses_no_connection() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "[limits]\nconnections_per_user = 3\n");
    let mut first = None;
    wait_for("a connection", || {
        first = Raw::welcomed(&ebsd.socket);
        first.is_some()
    });
    let own = getrlimit(Resource::Nofile);
    let limit_workers = |limit: Rlimit| {
        for pid in ebsd.workers() {
            let pid = Pid::from_raw(pid.cast_signed());
            // What refuses a connection may have just ended.
            let _gone = prlimit(pid, Resource::Nofile, limit);
        }
    };
    limit_workers(Rlimit { current: Some(0), ..own });
    for _ in 0..6 {
        assert!(Raw::welcomed(&ebsd.socket).is_none());
    }
    limit_workers(own);
    wait_for("a connection again", || Raw::welcomed(&ebsd.socket).is_some());
    drop(first);
    let log = ebsd.end().err;
    assert!(log.contains("a connection could not be served"), "{log}");
}

/// Too few descriptors for anybody: it does not listen, and refuse one client after another.
#[test]
fn without_descriptors_for_a_session_it_does_not_start() {
    let scene = Scene::new();
    let refused = scene.shell("ulimit -n 63; exec ebsd --socket few.sock");
    refused.refused(1, &["may open 63 files", "needs 64", "ulimit -n", "LimitNOFILE="]);
    assert!(!scene.path("few.sock").exists());
    let least = |command: &mut Command| {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let mut limited = scene.command("sh");
        limited.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).args(words);
        *command = limited;
    };
    let ebsd = Ebsd::prepared(&scene, "", least);
    assert_eq!(Raw::new(&ebsd.socket).ask(&json!({"verb": "sessions"}))["reply"], "sessions");
    ebsd.end();
}

#[test]
fn a_thousand_connections_in_a_loop_leave_nothing_behind() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let _first = Raw::new(&ebsd.socket);
    for _ in 0..1000 {
        drop(Raw::silent(&ebsd.socket));
    }
    let mut raw = None;
    wait_for("a client is served again", || {
        raw = Raw::welcomed(&ebsd.socket);
        raw.is_some()
    });
    let worker = ebsd.workers();
    assert_eq!(worker.len(), 1, "one user, one worker");
    // A worker shows its descriptors to root alone.
    if rights::root("a_thousand_connections_in_a_loop_leave_nothing_behind") {
        let open = |pid: u32| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        wait_for("their descriptors are closed", || open(worker[0]) < 20);
    }
    ebsd.end();
}

#[test]
fn sessions_and_bytes_are_admitted_before_anything_is_opened() {
    let scene = Scene::new();
    let target = sleeper(&scene);
    let config = "[limits]\nsessions_per_user = 3\nmemory_per_user = \"12 MiB\"\n\
                  queue = \"1 MiB\"\n";
    let ebsd = Ebsd::start(&scene, config);
    let start = |pages: Option<u32>| {
        let mut raw = Raw::new(&ebsd.socket);
        let pid = target.pid();
        let named = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
        let mut job = json!({"event": "page_fault", "user": true});
        if let Some(pages) = pages {
            job["ring_pages"] = json!(pages);
        }
        let planned = raw.ask(&json!({"verb": "plan", "job": job, "target": named}));
        let answer = raw.ask(&json!({"verb": "start", "job": job, "target": named}));
        (raw, planned, answer)
    };
    // What was asked for is refused with the numbers, not made smaller.
    let (raw, planned, refused) = start(Some(4096));
    assert_eq!(planned["reply"], "planned", "{planned}");
    assert!(planned["bytes"].as_u64().unwrap() > 12 << 20, "{planned}");
    assert_eq!(refused["code"], "exhausted", "{refused}");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("12.0 MiB") && text.contains("memory_per_user"), "{text}");
    drop(raw);
    // What was not asked for is.
    let (first, _, started) = start(None);
    assert_eq!(started["reply"], "started", "{started}");
    let notes = started["notes"].to_string();
    assert!(notes.contains("the daemon has no room for more now"), "{notes}");
    drop(first);
    let mut open = Vec::new();
    wait_for("three small sessions", || {
        let (raw, _, answer) = start(Some(8));
        if answer["reply"] == "started" {
            open.push(raw);
        } else {
            assert_eq!(answer["code"], "exhausted", "{answer}");
        }
        open.len() == 3
    });
    let (_raw, _, fourth) = start(Some(8));
    assert_eq!(fourth["code"], "exhausted", "{fourth}");
    assert!(fourth["text"].as_str().unwrap().contains("3 sessions"), "{fourth}");
    open.pop();
    wait_for("its bytes and its place are free", || start(Some(8)).2["reply"] == "started");
    ebsd.end();
}

#[test]
fn each_client_of_a_session_takes_its_queue_from_the_budget() {
    let scene = Scene::new();
    let target = sleeper(&scene);
    let config = "[limits]\nmemory_per_user = \"6 MiB\"\nqueue = \"1 MiB\"\n";
    let ebsd = Ebsd::start(&scene, config);
    let mut first = Raw::new(&ebsd.socket);
    let pid = target.pid();
    let named = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
    let job = json!({"event": "page_fault", "user": true, "ring_pages": 1});
    let started = first.ask(&json!({"verb": "start", "job": job, "target": named}));
    let session = started["session"].as_u64().unwrap();
    let mut joined = Vec::new();
    let refused = loop {
        let mut raw = Raw::new(&ebsd.socket);
        let answer = raw.ask(&json!({"verb": "attach", "session": session}));
        if answer["reply"] != "joined" {
            break answer;
        }
        assert_eq!(answer["stream"], started["stream"]);
        joined.push(raw);
        assert!(joined.len() < 6, "six queues of 1 MiB and the rings are more than 6 MiB");
    };
    assert!(!joined.is_empty(), "{refused}");
    assert_eq!(refused["code"], "exhausted", "{refused}");
    assert!(refused["text"].as_str().unwrap().contains("what may wait for a client"), "{refused}");
    ebsd.end();
}

#[test]
fn a_queue_too_small_for_the_kernels_symbols_is_said() {
    let test = "a_queue_too_small_for_the_kernels_symbols_is_said";
    let modes: &[bool] = if rights::sampling(test) { &[true, false] } else { &[false] };
    for (queue, is_small) in [("1 MiB", true), ("8 MiB", false)] {
        let scene = Scene::new();
        let target = sleeper(&scene);
        let ebsd = Ebsd::start(&scene, &format!("[limits]\nqueue = \"{queue}\"\n"));
        let pid = target.pid();
        let named = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
        for &kernel in modes {
            let job = json!({
                "event": "page_fault", "kernel": kernel, "user": !kernel, "ring_pages": 1,
                "kernel_symbols": true,
            });
            let started =
                Raw::new(&ebsd.socket).ask(&json!({"verb": "start", "job": job, "target": named}));
            assert_eq!(started["reply"], "started", "{started}");
            let notes = started["notes"].to_string();
            let is_said = notes.contains("1048576 bytes, limits.queue");
            assert_eq!(is_said, is_small && kernel, "{notes}");
        }
        ebsd.end();
    }
}

#[test]
fn bytes_that_dribble_are_waited_for_one_second() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let whole = super::raw::framed(&json!({"verb": "types"}));
    let dribblers: Vec<_> = (0..10)
        .map(|_| {
            let mut raw = Raw::new(&ebsd.socket);
            let whole = whole.clone();
            thread::spawn(move || {
                use std::io::Write;
                for byte in whole {
                    // The daemon may have had enough of it.
                    if raw.stream.write_all(&[byte]).is_err() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(300));
                }
                raw
            })
        })
        .collect();
    // Nobody else notices.
    let mut other = Raw::new(&ebsd.socket);
    assert_eq!(other.ask(&json!({"verb": "sessions"}))["reply"], "sessions");
    for dribbler in dribblers {
        let mut raw = dribbler.join().unwrap();
        let Ok(Frame::Control(answer)) = raw.hear() else { panic!("it was told nothing") };
        assert_eq!(answer["code"], "bad_request", "{answer}");
        assert!(answer["text"].as_str().unwrap().contains("within 1 s"), "{answer}");
    }
    ebsd.end();
}
