//! What each verb answers, and what is answered to what is no verb.

use serde_json::json;
use tests::{Account, Ebsd, Running, Scene, Truth, Workload};

use super::raw::{Raw, sums, wait_for};
use super::storm;

#[test]
fn verbs_of_newer_clients_are_refused_and_the_connection_goes_on() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    let answer = raw.ask(&json!({"verb": "rewind", "to": {"the": ["beginning"]}}));
    assert_eq!(answer["code"], "unknown_verb", "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("rewind"), "{answer}");
    let answer = raw.ask(&json!({"verb": "sessions", "sorted_by": "age"}));
    assert_eq!(answer["reply"], "sessions", "fields of newer clients are ignored: {answer}");
    let answer = raw.ask(&json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "x"}));
    assert_eq!(answer["code"], "bad_request", "{answer}");
    // A newer client that still speaks this version.
    let mut raw = Raw::silent(&ebsd.socket);
    let answer = raw.ask(&json!({"verb": "hello", "oldest": 2, "newest": 9, "client": "ebs 9"}));
    assert_eq!((&answer["reply"], &answer["version"]), (&json!("welcome"), &json!(3)));
    ebsd.end();
}

#[test]
fn a_session_is_slowed_and_accounts_for_what_it_leaves_out() {
    let scene = Scene::new();
    let mut storm = storm(&scene, "60000 1 wait");
    let ebsd = Ebsd::start(&scene, "");
    let mut owner = Raw::new(&ebsd.socket);
    let started = owner.start("page_fault", storm.pid());
    assert_eq!(started["reply"], "started", "{started}");
    let session = started["session"].as_u64().unwrap();
    let mut watcher = Raw::new(&ebsd.socket);
    let before = watcher.ask(&json!({"verb": "stats", "session": session}));
    assert_eq!((&before["reply"], &before["interval"]), (&json!("stats"), &json!(1)), "{before}");
    let list = watcher.ask(&json!({"verb": "sessions"}));
    assert_eq!(list["sessions"][0]["pid"], storm.pid(), "{list}");
    // Zero samples nothing, and is said to.
    let answer = watcher.ask(&json!({"verb": "set_interval", "session": session, "interval": 0}));
    assert_eq!(answer["code"], "bad_request", "{answer}");
    let answer = watcher.ask(&json!({"verb": "set_interval", "session": session, "interval": 10}));
    assert_eq!(answer["reply"], "done", "{answer}");
    let after = watcher.ask(&json!({"verb": "stats", "session": session}));
    assert_eq!((&after["interval"], &after["clients"]), (&json!(10), &json!(1)), "{after}");
    assert_eq!(after["session"]["kernel"], 0, "it waits for its line: {after}");
    storm.tell("go");
    let (stream, end) = owner.all();
    assert_eq!(end["reason"], "the target has ended", "{end}");
    let told = end["notes"][0].as_str().unwrap();
    assert!(told.starts_with("interval=10;at=") && told.ends_with("why=its owner asked for it"));
    let truth = Truth::new(&storm.finish().out);
    assert_eq!(truth.number("faults"), 60_000);
    let (delivered, lost) = sums(&end["client"]);
    let thinned = end["client"]["lost"]["thinned"].as_u64().unwrap();
    // Of those that the ring had room for, however many that were.
    let seen = delivered + thinned;
    assert!((delivered * 10).abs_diff(seen) < 100, "{end}");
    assert_eq!(end["client"]["kernel"], delivered + lost, "each is accounted for: {end}");
    // The stream tells it where it happened, and that it was stopped.
    std::fs::write(scene.path("slowed.data"), &stream).unwrap();
    let text = String::from_utf8_lossy(&stream);
    assert!(text.contains("interval=10;at="), "in the stream");
    assert!(text.contains("ended=the target has ended"), "in the stream");
    // Each sample that is left stands for ten.
    let script = "perf script -i slowed.data -F period 2> perf.err | sort -n | uniq -c";
    let periods = scene.shell(script).success().out;
    let last: Vec<&str> = periods.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last, [delivered.to_string().as_str(), "10"], "{periods}");
    let account = Account::of_stream(&scene.path("slowed.data"));
    assert_eq!(account.count("delivered"), delivered);
    for verb in ["stats", "stop"] {
        let answer = watcher.ask(&json!({"verb": verb, "session": session}));
        assert_eq!(answer["code"], "no_session", "{answer}");
    }
    ebsd.end();
}

#[test]
fn who_joins_after_the_interval_changed_is_told() {
    let scene = Scene::new();
    let mut sleeper = Running::start(&mut scene.command(Workload::Sleeper.build(&scene)));
    assert_eq!(sleeper.hear(), "ready");
    let ebsd = Ebsd::start(&scene, "");
    let mut owner = Raw::new(&ebsd.socket);
    let session = owner.start("page_fault", sleeper.pid())["session"].clone();
    let mut watcher = Raw::new(&ebsd.socket);
    let slower = json!({"verb": "set_interval", "session": session, "interval": 77});
    assert_eq!(watcher.ask(&slower)["reply"], "done");
    let mut joiner = Raw::new(&ebsd.socket);
    let joined = joiner.ask(&json!({"verb": "attach", "session": session}));
    assert_eq!(joined["reply"], "joined", "{joined}");
    assert_eq!(watcher.ask(&json!({"verb": "stop", "session": session}))["reply"], "done");
    let (stream, end) = joiner.all();
    assert!(String::from_utf8_lossy(&stream).contains("interval=77;at="), "{end}");
    assert_eq!(end["reason"], "stopped by its owner", "{end}");
    ebsd.end();
}

#[test]
fn half_a_connection_is_none() {
    let scene = Scene::new();
    let mut sleeper = Running::start(&mut scene.command(Workload::Sleeper.build(&scene)));
    assert_eq!(sleeper.hear(), "ready");
    let ebsd = Ebsd::start(&scene, "");
    let mut half = Raw::new(&ebsd.socket);
    assert_eq!(half.start("page_fault", sleeper.pid())["reply"], "started");
    half.tell(&json!({"verb": "sessions"}));
    half.stream.shutdown(std::net::Shutdown::Write).unwrap();
    // What was asked is answered.
    assert!(half.ask_nothing()["sessions"].is_array());
    let mut watcher = Raw::new(&ebsd.socket);
    wait_for("its session has ended", || {
        watcher.ask(&json!({"verb": "sessions"}))["sessions"].as_array().unwrap().is_empty()
    });
    ebsd.end();
}

#[test]
fn a_client_that_reads_too_slowly_is_heard_all_the_same() {
    let scene = Scene::new();
    let mut storm = storm(&scene, "300000 1 wait");
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    let started = raw.start("page_fault", storm.pid());
    let session = started["session"].as_u64().unwrap();
    storm.tell("go");
    let mut watcher = Raw::new(&ebsd.socket);
    wait_for("its queue fills", || {
        let stats = watcher.ask(&json!({"verb": "stats", "session": session}));
        stats["queued"].as_u64().is_none_or(|queued| queued > 1 << 20)
    });
    // It has not read a byte, and says that it has had enough.
    raw.tell(&json!({"verb": "stop", "session": session}));
    wait_for("the session has stopped", || {
        watcher.ask(&json!({"verb": "sessions"}))["sessions"].as_array().unwrap().is_empty()
    });
    let (_, end) = raw.all();
    assert_eq!(end["reason"], "stopped by its owner", "{end}");
    ebsd.end();
}

#[test]
fn a_descriptor_is_of_the_request_that_carries_one() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    for (pid, start_time) in [(-1, 1), (0, 1), (i32::MIN, 1)] {
        let target = json!({"process": {"pid": pid, "start_time": start_time}});
        let job = json!({"event": "page_fault", "user": true});
        let answer = raw.ask(&json!({"verb": "start", "job": job, "target": target}));
        assert_eq!(answer["code"], "no_target", "{pid}: {answer}");
    }
    let job = json!({"event": "x".repeat(60_000), "user": true});
    let answer = raw.ask(&json!({"verb": "start", "job": job, "target": "system"}));
    assert!(answer.to_string().len() < 1000, "{answer}");
    let job = json!({"event": "page_fault", "user": true});
    let answer = raw.ask(&json!({"verb": "start", "job": job, "target": "planet"}));
    assert_eq!(answer["code"], "bad_request", "{answer}");
    assert_eq!(raw.ask(&json!({"verb": "sessions"}))["reply"], "sessions", "it goes on");
    ebsd.end();
}
