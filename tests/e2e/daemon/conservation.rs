//! The kernel's count is what was delivered and what was lost, by stage: of
//! the session and of every client, however slow, at every rate and with
//! rings of every size.

use std::{
    env,
    io::Read,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::{Account, Ebsd, Running, Scene, Truth, Workload, rights};

use super::raw::{Raw, start_time, sums};
use super::stream::Counted;

const CONFIG: &str = "[limits]\nconnections_per_user = 64\nqueue = \"8 MiB\"\nmemory_per_user = \
                      \"600 MiB\"\n";

/// Pages of each ring, and the rates as shares (in tenths) of what the reader
/// takes with such rings. HARDMETER_MATRIX=full asks for all.
const RINGS: [u32; 3] = [1, 16, 2048];
const TENTHS: [u64; 3] = [1, 10, 30];
const ALL_RINGS: [u32; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];
const ALL_TENTHS: [u64; 6] = [1, 3, 5, 10, 20, 30];

/// How a client behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Takes all there is.
    Good,
    /// Takes nothing until the storm is over.
    Silent,
    /// Takes a byte now and then until the storm is over.
    Dribbling,
    /// Takes some, then nothing until the storm is over.
    Halting,
    /// Takes some, and closes the connection.
    Vanishing,
}

const BAD: [Manner; 4] = [Manner::Silent, Manner::Dribbling, Manner::Halting, Manner::Vanishing];

fn storm(scene: &Scene, faults: u64, rate: u64) -> Running {
    let mut command = scene.command(scene.path("storm"));
    command.args([&faults.to_string(), "1", "wait", &rate.to_string()]);
    let mut storm = Running::start(&mut command);
    assert_eq!(storm.hear(), "ready");
    storm
}

/// Begins with page faults of a process one by one, kernel's included.
fn start(pid: u32, pages: u32) -> Value {
    let target = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
    let job = json!({"event": "page_fault", "user": true, "kernel": true, "interval": 1,
        "ring_pages": pages});
    json!({"verb": "start", "job": job, "target": target})
}

/// A client until the stream's end; None: it has gone before. `over` is
/// heard when the storm is over.
fn behave(
    mut raw: Raw,
    manner: Manner,
    over: &std::sync::mpsc::Receiver<()>,
) -> Option<(Vec<u8>, Value)> {
    let mut begun = Vec::new();
    match manner {
        Manner::Good => {}
        Manner::Silent => over.recv().unwrap(),
        Manner::Dribbling => {
            while over.recv_timeout(Duration::from_millis(200)).is_err() {
                let mut byte = [0];
                raw.stream.read_exact(&mut byte).unwrap();
                begun.extend(byte);
            }
        }
        Manner::Halting | Manner::Vanishing => {
            begun.resize(100_000, 0);
            raw.stream.read_exact(&mut begun).unwrap();
            if manner == Manner::Vanishing {
                return None;
            }
            over.recv().unwrap();
        }
    }
    raw.put_back(begun);
    Some(raw.all())
}

struct Outcome {
    /// Faults by the storm's own count.
    kernel: u64,
    took: Duration,
    good: Value,
    /// Of each client that stayed.
    clients: Vec<(Manner, Vec<u8>, Value)>,
}

/// How many faults, and how many a second; 0: as fast as can be.
#[derive(Clone, Copy)]
struct StormPace {
    faults: u64,
    rate: u64,
}

/// A storm of so many faults, one good client, and bad ones.
fn blow(scene: &Scene, ebsd: &Ebsd, pace: StormPace, pages: u32, bad: &[Manner]) -> Outcome {
    let mut storm = storm(scene, pace.faults, pace.rate);
    let mut good = Raw::new(&ebsd.socket);
    let started = good.ask(&start(storm.pid(), pages));
    assert_eq!(started["reply"], "started", "{started}");
    let attach = json!({"verb": "attach", "session": started["session"]});
    let mut tellers = Vec::new();
    let mut serve = |raw: Raw, manner: Manner| -> (Manner, JoinHandle<_>) {
        let (teller, over) = std::sync::mpsc::channel();
        tellers.push(teller);
        (manner, thread::spawn(move || behave(raw, manner, &over)))
    };
    let mut threads = vec![serve(good, Manner::Good)];
    for &manner in bad {
        let mut raw = Raw::new(&ebsd.socket);
        raw.tell(&attach);
        threads.push(serve(raw, manner));
    }
    let mut watcher = Raw::new(&ebsd.socket);
    let stats = json!({"verb": "stats", "session": started["session"]});
    let all = bad.len() as u64 + 1;
    let since = Instant::now();
    while watcher.ask(&stats)["clients"].as_u64() < Some(all - gone(bad)) {
        assert!(since.elapsed() < Duration::from_secs(120), "not all clients have joined");
        thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    storm.tell("go");
    let truth = Truth::new(&storm.finish().success().out);
    let took = began.elapsed();
    // Those that have gone do not listen.
    for teller in &tellers {
        let _gone = teller.send(());
    }
    let ended = threads.into_iter().map(|(manner, thread)| (manner, thread.join().unwrap()));
    let stayed = ended.filter_map(|(manner, end)| end.map(|(stream, end)| (manner, stream, end)));
    let clients: Vec<_> = stayed.collect();
    Outcome { kernel: truth.number("kernel"), took, good: clients[0].2.clone(), clients }
}

/// Clients that may leave before the storm, as the preamble is long enough
/// for them.
fn gone(bad: &[Manner]) -> u64 {
    bad.iter().filter(|manner| **manner == Manner::Vanishing).count() as u64
}

/// Whatever went on, the accounts are exact.
#[track_caller]
fn check(outcome: &Outcome, cell: &str) {
    let session = &outcome.good["session"];
    assert_eq!(session["kernel"], outcome.kernel, "{cell}: the kernel's two counts");
    let (delivered, lost) = sums(session);
    assert_eq!(outcome.kernel, delivered + lost, "{cell}: {session}");
    for (manner, stream, end) in &outcome.clients {
        let cell = format!("{cell}, {manner:?}: {end}");
        assert_eq!(&end["session"], session, "{cell}: all are told the same");
        let client = &end["client"];
        let (delivered, lost) = sums(client);
        assert_eq!(outcome.kernel, delivered + lost, "{cell}");
        let counted = Counted::new(stream);
        assert_eq!(counted.samples, delivered, "{cell}: what is in the stream");
        // What the rings lost is told there too, at the latest at the end.
        let queue = client["lost"]["queue"].as_u64().unwrap_or(0);
        assert!(counted.gaps.values().sum::<u64>() >= queue, "{cell}: {:?}", counted.gaps);
        if *manner == Manner::Good {
            assert_eq!(client, session, "{cell}: the rings' loss is its only one");
        }
    }
}

#[test]
fn every_rate_ring_and_client_is_accounted_for() {
    let test = "every_rate_ring_and_client_is_accounted_for";
    if !rights::root(test) {
        return;
    }
    let full = env::var_os("HARDMETER_MATRIX").is_some_and(|value| value == "full");
    let (rings, tenths) =
        if full { (&ALL_RINGS[..], &ALL_TENTHS[..]) } else { (&RINGS[..], &TENTHS[..]) };
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let ebsd = Ebsd::start(&scene, CONFIG);
    let mut lossy = 0;
    for &pages in rings {
        let outcome = blow(&scene, &ebsd, StormPace { faults: 100_000, rate: 0 }, pages, &[]);
        check(&outcome, &format!("{pages} pages at full speed"));
        let (delivered, lost) = sums(&outcome.good["session"]);
        // Per second.
        let taken = delivered * 1000 / u64::try_from(outcome.took.as_millis()).unwrap().max(1);
        eprintln!("{pages} pages: {taken} samples a second taken, {lost} of 100000 lost");
        for &tenths in tenths {
            let rate = (taken * tenths / 10).max(1000);
            let faults = rate.clamp(20_000, 60_000);
            let cell = format!("{pages} pages at {rate} faults a second");
            let outcome = blow(&scene, &ebsd, StormPace { faults, rate }, pages, &BAD);
            check(&outcome, &cell);
            let (delivered, lost) = sums(&outcome.good["session"]);
            eprintln!("{cell}: {delivered} delivered, {lost} lost in {:.1?}", outcome.took);
            lossy += u32::from(lost > 0);
        }
    }
    assert!(lossy > 0, "a matrix without any loss shows nothing");
    ebsd.end();
}

#[test]
fn fifty_bad_clients_cost_a_good_one_nothing() {
    let test = "fifty_bad_clients_cost_a_good_one_nothing";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let ebsd = Ebsd::start(&scene, CONFIG);
    let bad: Vec<Manner> = BAD.into_iter().cycle().take(50).collect();
    let outcome = blow(&scene, &ebsd, StormPace { faults: 200_000, rate: 50_000 }, 2048, &bad);
    check(&outcome, "fifty");
    let (delivered, lost) = sums(&outcome.good["client"]);
    // It is told what the rings lost, and nothing for being one of many.
    assert!(delivered > 0 && outcome.good["client"]["lost"].get("queue").is_none_or(|it| it == 0));
    eprintln!("{delivered} delivered to the good one, {lost} lost");
    let slow =
        |(_, _, end): &&(Manner, Vec<u8>, Value)| end["client"]["lost"]["queue"].as_u64() > Some(0);
    assert!(outcome.clients.iter().filter(slow).count() >= 30, "the others are slow");
    ebsd.end();
}

#[test]
fn a_stopped_ebs_says_exactly_what_it_missed() {
    let test = "a_stopped_ebs_says_exactly_what_it_missed";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let ebsd = Ebsd::start(&scene, CONFIG);
    let mut storm = storm(&scene, 200_000, 0);
    let mut command = scene.command("ebs");
    command.args([
        "-u",
        "-k",
        "-t",
        "page_fault",
        "-i",
        "1",
        "-c",
        "all",
        "-o",
        "x.data",
        "--socket",
    ]);
    let ebs = Running::start(command.arg(&ebsd.socket).arg(storm.pid().to_string()));
    let mut watcher = Raw::new(&ebsd.socket);
    let since = Instant::now();
    while watcher.ask(&json!({"verb": "sessions"}))["sessions"].as_array().unwrap().is_empty() {
        assert!(since.elapsed() < Duration::from_secs(120), "no session");
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(200));
    ebs.signal(Signal::STOP);
    storm.tell("go");
    let truth = Truth::new(&storm.finish().success().out);
    ebs.signal(Signal::CONT);
    let outcome = ebs.finish().success();
    let kernel = truth.number("kernel");
    let account = Account::of_stream(&scene.path("x.data"));
    assert_eq!(account.count("kernel"), kernel, "{outcome}");
    assert_eq!(account.count("delivered") + account.lost(), kernel, "{outcome}{account:?}");
    assert!(account.count("lost.queue") > 0, "{outcome}{account:?}");
    let counted = Counted::new(&std::fs::read(scene.path("x.data")).unwrap());
    assert_eq!(counted.samples, account.count("delivered"), "{outcome}{account:?}");
    ebsd.end();
}
