//! Descriptors that a client made: nobody of the daemon who serves others
//! ever has one, and so nobody is held up by closing it (R18).

use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use super::lingering::{lingering, send};
use super::operation::service_manager::ServiceManager;
use super::raw::{Frame, Raw, framed, start_time, wait_for};
use super::standing::{READERS, config, is_running, recorded, storm, wait_until, worker};

/// So long a descriptor's closing would last.
const LINGER: Duration = Duration::from_secs(90);

/// Less than that, and more than a loaded machine keeps a recorder waiting.
const WATCHDOG: Duration = Duration::from_secs(25);

fn send_signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// A request whose frame is as long as one may be: it fills what the worker
/// reads into, and what comes behind it stays where it is.
fn longest(request: &Value) -> Vec<u8> {
    let mut body = serde_json::to_vec(request).unwrap();
    body.resize(65536, b' ');
    [&65536_u32.to_le_bytes()[..], &[1, 0, 2, 0], &body].concat()
}

/// At each moment of a connection its client sends a descriptor that
/// lingers; then their worker is killed, as its user can, while the
/// supervisor is about to do what the worker has asked.
#[test]
fn the_supervisor_closes_nothing_that_a_client_made() {
    let test = "the_supervisor_closes_nothing_that_a_client_made";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let sleeper = Running::start(&mut scene.command(Workload::Sleeper.build(&scene)));
    let hello = framed(&json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw"}));
    let follow = json!({"verb": "follow", "name": "x"});
    let (pid, start_time) = (sleeper.pid(), start_time(sleeper.pid()));
    let target = json!({"process": {"pid": pid, "start_time": start_time}});
    let job = json!({"event": "page_fault", "kernel": true});
    let start = json!({"verb": "start", "job": job, "target": target});
    let moments: [(&str, Vec<u8>); 5] = [
        ("connected", Vec::new()),
        ("greeted", hello.clone()),
        ("behind a long follow", [&hello[..], &longest(&follow)].concat()),
        ("behind a short follow", [&hello[..], &framed(&follow)].concat()),
        ("behind a start", [&hello[..], &longest(&start)].concat()),
    ];
    let config = "[[allow]]\ngroup = 4100\npermissions = [\"kernel\", \"others_tasks\"]\n";
    let attacker = User { group: Some(4100), ..User::new(4001) };
    for (moment, bytes) in moments {
        let ebsd = Ebsd::start(&scene, config);
        let mut raw = Raw::silent_as(&ebsd.socket, attacker);
        let has_worker = || {
            let pids = ebsd.workers();
            pids.into_iter().find(|pid| super::confinement::id_of(*pid, "Uid:") == attacker.id)
        };
        wait_for("a worker", || has_worker().is_some());
        let worker = has_worker().unwrap();
        // What it asks is left lying there until it has been killed.
        ebsd.signal(Signal::STOP);
        raw.stream.write_all(&bytes).unwrap();
        // Where one is not taken now, it may be once the worker has begun.
        for _ in 0..10 {
            if send(&raw.stream, b"x", lingering(LINGER)).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        thread::sleep(Duration::from_millis(500));
        send_signal(worker, Signal::KILL);
        drop(raw);
        let begun = Instant::now();
        ebsd.signal(Signal::CONT);
        let mut other = Raw::new(&ebsd.socket);
        let answer = other.ask(&json!({"verb": "sessions"}));
        assert_eq!(answer["reply"], "sessions", "{moment}: {answer}");
        assert!(begun.elapsed() < LINGER / 2, "{moment}: held up for {:?}", begun.elapsed());
        ebsd.end();
    }
    sleeper.finish();
}

/// A recorder that stands still as long as a descriptor's closing lasts is
/// killed, and with it what it was recording.
#[test]
fn a_reader_costs_a_recording_nothing_whatever_they_send() {
    let test = "a_reader_costs_a_recording_nothing_whatever_they_send";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    let mut target = storm(&scene, &program, "40000 1 wait 5000");
    let manager = ServiceManager::new(&scene);
    let ebsd = Ebsd::prepared(&scene, &config(&scene), |command| {
        ServiceManager::manage(&scene, command, Some(WATCHDOG));
    });
    manager.wait_for("READY=1");
    wait_until(&ebsd, "it samples", is_running);
    let recorder = worker(&ebsd).unwrap();
    let reader = User { group: Some(READERS), ..User::new(4001) };
    let follow = json!({"verb": "follow", "name": "web", "live": true});
    let mut readers = Vec::new();
    for _ in 0..2 {
        let mut raw = Raw::new_as(&ebsd.socket, reader);
        let joined = raw.ask(&follow);
        assert_eq!(joined["reply"], "joined", "{joined}");
        let _taken = send(&raw.stream, b"x", lingering(LINGER));
        readers.push(raw);
    }
    target.tell("go");
    let kernel = Truth::new(&target.finish().out).number("kernel");
    wait_until(&ebsd, "the storm is over", |line| line["state"] == "waiting for its target");
    assert_eq!(worker(&ebsd), Some(recorder), "the recorder was killed");
    let (samples, lost, end) = recorded(&ebsd);
    assert_eq!(samples + lost, kernel, "{end}");
    assert_eq!(end["reason"], "that is all", "{end}");
    drop(readers);
    assert!(!ebsd.end().err.contains("is killed"));
}

/// A reader who says anything has gone.
#[test]
fn a_reader_is_heard_to_speak_and_to_go() {
    let test = "a_reader_is_heard_to_speak_and_to_go";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it waits", |line| line["state"] == "waiting for its target");
    let mut raw = Raw::new(&ebsd.socket);
    let joined = raw.ask(&json!({"verb": "follow", "name": "web", "live": true}));
    assert_eq!(joined["reply"], "joined", "{joined}");
    raw.tell(&json!({"verb": "sessions"}));
    loop {
        match raw.hear() {
            Ok(Frame::Data(_)) => {}
            Ok(Frame::Control(answer)) => panic!("it is answered: {answer}"),
            Err(_) => break,
        }
    }
    ebsd.end();
}
