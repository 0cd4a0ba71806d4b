//! Clients that are slow, silent or hostile, and those beside them.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, Truth, rights};

use super::raw::{Frame, Raw, framed, sums, wait_for};
use super::storm;

#[test]
fn clients_that_do_not_read_cost_nobody_else_anything() {
    let test = "clients_that_do_not_read_cost_nobody_else_anything";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let mut storm = storm(&scene, "200000 1 wait");
    let ebsd = Ebsd::start(&scene, "");
    let mut good = Raw::new(&ebsd.socket);
    let started = good.start("page_fault", storm.pid());
    assert_eq!(started["reply"], "started", "{started}");
    let session = started["session"].as_u64().unwrap();
    // They join, and never take a byte.
    let mut bad: Vec<Raw> = (0..12).map(|_| Raw::new(&ebsd.socket)).collect();
    for raw in &mut bad {
        raw.tell(&json!({"verb": "attach", "session": session}));
    }
    let mut watcher = Raw::new(&ebsd.socket);
    let all_joined = || {
        let stats = watcher.ask(&json!({"verb": "stats", "session": session}));
        stats["clients"] == 13
    };
    wait_for("all clients joined", all_joined);
    storm.tell("go");
    let (stream, end) = good.all();
    let truth = Truth::new(&storm.finish().out);
    let (delivered, lost) = sums(&end["client"]);
    let kernel = end["client"]["kernel"].as_u64().unwrap();
    assert_eq!(kernel, delivered + lost, "{end}");
    assert!(kernel >= truth.number("faults"), "{end}");
    assert_eq!(end["client"], end["session"], "what the rings gave, this client got");
    assert!(stream.starts_with(b"PERFILE2"), "a stream perf reads");
    // Each of the others is told what it missed, to the last sample.
    for mut raw in bad {
        let (_, end) = raw.all();
        let (delivered, lost) = sums(&end["client"]);
        assert_eq!(end["client"]["kernel"].as_u64().unwrap(), delivered + lost, "{end}");
        assert!(end["client"]["lost"]["queue"].as_u64().unwrap() > 0, "{end}");
    }
    ebsd.end();
}

#[test]
fn a_client_that_vanishes_ends_its_session() {
    let test = "a_client_that_vanishes_ends_its_session";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let storm = storm(&scene, "1 1 wait");
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    assert_eq!(raw.start("page_fault", storm.pid())["reply"], "started");
    let mut watcher = Raw::new(&ebsd.socket);
    let count = |watcher: &mut Raw| {
        let answer = watcher.ask(&json!({"verb": "sessions"}));
        answer["sessions"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut watcher), 1);
    drop(raw);
    wait_for("the session ended", || count(&mut watcher) == 0);
    ebsd.end();
}

#[test]
fn nonsense_is_answered_once_and_ends_the_connection() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let hello = framed(&json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw"}));
    let long = [&0xffff_ffff_u32.to_le_bytes()[..], &[1, 0, 2, 0]].concat();
    let cases: [(&[u8], &str); 7] = [
        (&long, "at most 65536"),
        (&[0, 0, 0, 0, 1, 0, 2, 0], "without a payload"),
        (&[1, 0, 0, 0, 7, 0, 1, 0, 0], "kind 7"),
        (&[1, 0, 0, 0, 1, 1, 1, 0, 0], "flags"),
        (&[1, 0, 0, 0, 2, 0, 1, 0, 0], "data frame"),
        (&[1, 0, 0, 0, 1, 0, 1, 0, b'x'], "no request"),
        (&[9, 0, 0, 0, 1, 0], "whole"),
    ];
    for (bytes, says) in cases {
        for greeting in [&hello[..], &[]] {
            let mut raw = Raw::silent(&ebsd.socket);
            raw.stream.write_all(greeting).unwrap();
            raw.stream.write_all(bytes).unwrap();
            let mut last = None;
            while let Ok(Frame::Control(answer)) = raw.hear() {
                last = Some(answer);
            }
            let last = last.unwrap();
            assert_eq!(last["code"], "bad_request", "{bytes:?}: {last}");
            assert!(last["text"].as_str().unwrap().contains(says), "{bytes:?}: {last}");
            assert_eq!(raw.stream.read(&mut [0]).unwrap_or(0), 0, "the connection has ended");
        }
    }
    for (oldest, newest) in [(7, 9), (1, 1)] {
        let hello = json!({"verb": "hello", "oldest": oldest, "newest": newest, "client": "other"});
        let answer = Raw::silent(&ebsd.socket).ask(&hello);
        assert_eq!(answer["code"], "incompatible", "{answer}");
        let says = format!(
            "the client speaks versions {oldest} to {newest} of the protocol, this daemon 3 to 3: \
             install the same version of both"
        );
        assert_eq!(answer["text"], says.as_str());
    }
    let mut raw = Raw::new(&ebsd.socket);
    let answer = raw.ask(&json!({"verb": "stop", "session": 12345}));
    assert_eq!(answer["code"], "no_session", "{answer}");
    for (event, code) in [
        ("page_fault/etc/passwd", "unplannable"),
        ("sched:sched_switch", "unplannable"),
        ("../../etc", "unplannable"),
        ("r1234", "unplannable"),
    ] {
        let answer = raw.start(event, std::process::id());
        assert_eq!(answer["code"], code, "{event}: {answer}");
    }
    ebsd.end();
}

#[test]
fn a_number_that_became_another_process_is_no_target() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    let pid = std::process::id();
    let other_time = super::raw::start_time(pid) + 1;
    let target = json!({"process": {"pid": pid, "start_time": other_time}});
    let job = json!({"event": "page_fault", "user": true});
    let answer = raw.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(answer["code"], "no_target", "{answer}");
    let target = json!({"process": {"pid": pid}});
    let answer = raw.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(answer["code"], "bad_request", "a bare number may be anybody: {answer}");
    ebsd.end();
}

/// As the daemon of version 1 answered: its frames say 1.
#[test]
fn a_daemon_of_another_version_is_told_with_both() {
    let scene = Scene::new();
    let socket = scene.path("old.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let old = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut header = [0; 8];
        client.read_exact(&mut header).unwrap();
        let length = u32::from_le_bytes(header[..4].try_into().unwrap());
        let mut hello = vec![0; length as usize];
        client.read_exact(&mut hello).unwrap();
        let hello: Value = serde_json::from_slice(&hello).unwrap();
        let text = format!(
            "the client speaks versions {} to {} of the protocol, this daemon 1 to 1: install the \
             same version of both",
            hello["oldest"], hello["newest"]
        );
        let mut answer = framed(&json!({"reply": "refused", "code": "incompatible", "text": text}));
        answer[6] = 1;
        client.write_all(&answer).unwrap();
    });
    let mut ebs = scene.command("ebs");
    ebs.args(["--daemon", "-u", "-t", "page_fault", "--socket"]).arg(&socket).args(["ls", "/"]);
    let outcome = Running::start(&mut ebs).finish();
    outcome.refused(1, &["versions 3 to 3", "this daemon 1 to 1", "install the same version"]);
    old.join().unwrap();
}
