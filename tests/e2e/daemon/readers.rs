//! Readers of a standing session: how many, of whom, and how long one who
//! takes nothing is waited for.

use serde_json::{Value, json};
use tests::{Ebsd, Scene, User, Workload, rights};

use super::raw::{Raw, wait_for};
use super::standing::{READERS, config, is_running, storm, wait_until};

fn reader(id: u32) -> User {
    User { group: Some(READERS), ..User::new(id) }
}

fn follow(raw: &mut Raw, live: bool) -> Value {
    raw.ask(&json!({"verb": "follow", "name": "web", "live": live}))
}

/// Readers who take nothing, as many as one user may have connections.
#[test]
fn one_users_readers_lock_out_nobody_else() {
    let test = "one_users_readers_lock_out_nobody_else";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    let mut target = storm(&scene, &program, "100000 1 wait 20000");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it samples", is_running);
    target.tell("go");
    let mut slow: Vec<(Raw, Value)> = (0..16)
        .map(|_| {
            let mut raw = Raw::new_as(&ebsd.socket, reader(4001));
            let answer = follow(&mut raw, true);
            (raw, answer)
        })
        .collect();
    let joined = |readers: &[(Raw, Value)]| {
        readers.iter().filter(|(_, answer)| answer["reply"] == "joined").count()
    };
    assert!((1..16).contains(&joined(&slow)), "{}", joined(&slow));
    let refused = slow.iter().find(|(_, answer)| answer["reply"] == "refused").unwrap();
    assert_eq!(refused.1["code"], "exhausted", "{}", refused.1);
    assert!(refused.1["text"].as_str().unwrap().contains("of yours"), "{}", refused.1);
    // Others, and the superuser, are read to.
    for user in [reader(4002), User::new(0)] {
        let mut raw = Raw::new_as(&ebsd.socket, user);
        let answer = follow(&mut raw, false);
        assert_eq!(answer["reply"], "joined", "{user:?}: {answer}");
        let (_, end) = raw.all();
        assert_eq!(end["reason"], "that is all", "{user:?}: {end}");
    }
    // One slot that is left is that user's again.
    slow.retain(|(_, answer)| answer["reply"] == "joined");
    slow.pop();
    wait_for("a slot is free again", || {
        follow(&mut Raw::new_as(&ebsd.socket, reader(4001)), false)["reply"] == "joined"
    });
    drop(slow);
    let _ended = target.finish();
    ebsd.end();
}

/// Four users fill the session; the superuser is read to all the same.
#[test]
fn a_session_that_others_fill_is_read_by_root() {
    let test = "a_session_that_others_fill_is_read_by_root";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it waits", |line| line["state"] == "waiting for its target");
    let mut full = Vec::new();
    'users: for id in 4001..4064 {
        for at in 0..16 {
            let mut raw = Raw::new_as(&ebsd.socket, reader(id));
            let answer = follow(&mut raw, true);
            match answer["reply"].as_str() {
                Some("joined") => full.push(raw),
                _ if at == 0 => break 'users,
                _ => break,
            }
        }
    }
    let refused = follow(&mut Raw::new_as(&ebsd.socket, reader(4100)), true);
    assert_eq!(refused["code"], "exhausted", "{} readers: {refused}", full.len());
    for live in [false, true] {
        let answer = follow(&mut Raw::new(&ebsd.socket), live);
        assert_eq!(answer["reply"], "joined", "beside {} readers: {answer}", full.len());
    }
    ebsd.end();
}

#[test]
fn a_connection_that_reads_counts_as_its_users() {
    let test = "a_connection_that_reads_counts_as_its_users";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let text = format!("[limits]\nconnections_per_user = 2\n{}", config(&scene));
    let ebsd = Ebsd::start(&scene, &text);
    wait_until(&ebsd, "it waits", |line| line["state"] == "waiting for its target");
    let mut readers: Vec<Raw> = (0..2)
        .map(|_| {
            let mut raw = Raw::new_as(&ebsd.socket, reader(4001));
            let answer = follow(&mut raw, true);
            assert_eq!(answer["reply"], "joined", "{answer}");
            raw
        })
        .collect();
    let hello = json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "raw 1"});
    let third = Raw::silent_as(&ebsd.socket, reader(4001)).try_ask(&hello).unwrap();
    assert_eq!(third["code"], "exhausted", "{third}");
    readers.pop();
    wait_for("its place is free again", || {
        let answer = Raw::silent_as(&ebsd.socket, reader(4001)).try_ask(&hello);
        answer.is_some_and(|answer| answer["reply"] == "welcome")
    });
    ebsd.end();
}

/// With more to read than lies between it and the recorder.
#[test]
fn a_reader_who_takes_nothing_is_given_up() {
    let test = "a_reader_who_takes_nothing_is_given_up";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    let mut target = storm(&scene, &program, "60000 1 wait");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it samples", is_running);
    target.tell("go");
    let _truth = target.finish();
    wait_until(&ebsd, "the storm is over", |line| line["state"] == "waiting for its target");
    let mut slow: Vec<Raw> = Vec::new();
    let refused = loop {
        let mut raw = Raw::new_as(&ebsd.socket, reader(4001));
        let answer = follow(&mut raw, false);
        match answer["reply"].as_str() {
            Some("joined") => slow.push(raw),
            _ => break answer,
        }
    };
    assert_eq!(refused["code"], "exhausted", "{refused}");
    for _ in 0..240 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        if follow(&mut Raw::new_as(&ebsd.socket, reader(4001)), false)["reply"] == "joined" {
            // They are told by the connection's end.
            for mut raw in slow {
                while raw.hear().is_ok() {}
            }
            ebsd.end();
            return;
        }
    }
    panic!("{} readers who take nothing keep their slots", slow.len());
}
