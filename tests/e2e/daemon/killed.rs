//! Worker, daemon, client and target, killed at any moment under load: what
//! was recorded opens, the loss is told, and nothing is left behind.

use std::{
    env, fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::{Account, Ebsd, Outcome, Running, Scene, Workload, rights};

use super::raw::Raw;
use super::stream::{Counted, FILE_HEADER};

/// Rounds; HARDMETER_KILLS asks for another number.
const ROUNDS: u32 = 8;
/// Faults a second.
const RATE: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Daemon,
    Client,
    Target,
}

const VICTIMS: [Victim; 4] = [Victim::Worker, Victim::Daemon, Victim::Client, Victim::Target];

/// Numbers that look random, the same on each run of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Perf events that a process holds.
fn events(pid: u32) -> usize {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("perf_event")).count()
}

fn status(pid: u32, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()))
}

fn kill(pid: u32) {
    // It may just have ended by itself.
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
}

#[track_caller]
fn within(what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(seconds), "not within {seconds} s: {what}");
        thread::sleep(Duration::from_millis(3));
    }
}

/// One round's players.
struct Round {
    storm: Running,
    ebs: Running,
    /// Faults before the storm; None: it blew before it was sampled.
    before: Option<u64>,
    /// Connected to the session's worker all the time.
    watcher: Raw,
}

impl Round {
    /// Half of them are killed while they begin.
    fn new(scene: &Scene, ebsd: &Ebsd, early: bool) -> Round {
        let mut command = scene.command(scene.path("storm"));
        command.args(["2000000", "1", "wait", &RATE.to_string()]);
        let mut storm = Running::start(&mut command);
        assert_eq!(storm.hear(), "ready");
        // Whose worker it is that the others are to have.
        let mut watcher = Raw::new(&ebsd.socket);
        if early {
            storm.tell("go");
        }
        let mut command = scene.command("ebs");
        command.args(["-u", "-k", "-t", "page_fault", "-i", "1", "-c", "all", "-o", "x.data"]);
        command.arg("--socket").arg(&ebsd.socket).arg(storm.pid().to_string());
        let ebs = Running::start(&mut command);
        let mut before = None;
        if !early {
            within("a session", 120, || {
                let answer = watcher.ask(&json!({"verb": "sessions"}));
                !answer["sessions"].as_array().unwrap().is_empty()
            });
            before = Some(faults(storm.pid()));
            storm.tell("go");
        }
        Round { storm, ebs, before, watcher }
    }
}

/// Samples of a file that may end anywhere.
fn samples(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap_or_default();
    if bytes.len() < FILE_HEADER { 0 } else { Counted::of_begun(&bytes).samples }
}

/// What was recorded opens, to the last whole sample.
#[track_caller]
fn opens(scene: &Scene, what: &str) -> u64 {
    let path = scene.path("x.data");
    let samples = samples(&path);
    if samples > 0 {
        let script = scene.run("ebs script -F ip x.data");
        let lines = script.out.lines().count() as u64;
        assert_eq!(lines, samples, "{what}: {}", script.err);
    }
    samples
}

/// Faults of a process so far (field 10 of /proc/PID/stat).
fn faults(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit_once(')').unwrap().1;
    after.split_whitespace().nth(7).unwrap().parse().unwrap()
}

#[track_caller]
fn check_end(scene: &Scene, victim: Victim, ebs: &Outcome, early: bool) {
    let what = format!("{victim:?}: {ebs}");
    match victim {
        Victim::Client => assert_eq!(ebs.status.code(), None, "{what}"),
        Victim::Target => {
            // It may have been killed before it could be sampled.
            let sampled = ebs.code() == 0;
            assert!(sampled || early, "{what}");
            if sampled {
                let account = Account::of_stream(&scene.path("x.data"));
                let all = account.count("delivered") + account.lost();
                assert_eq!(account.count("kernel"), all, "{what}: {account:?}");
                assert_eq!(account.count("delivered"), samples(&scene.path("x.data")), "{what}");
            }
        }
        Victim::Worker if early && ebs.code() == 0 => {}
        // By another worker, when the target was ended here.
        Victim::Worker if early && ebs.err.contains("ended while it was being attached to") => {}
        Victim::Worker | Victim::Daemon => {
            assert_eq!(ebs.code(), 1, "{what}");
            assert!(ebs.err.contains("daemon"), "{what}");
        }
    }
}

#[test]
fn whoever_is_killed_leaves_recordings_and_nothing_else() {
    let test = "whoever_is_killed_leaves_recordings_and_nothing_else";
    if !rights::root(test) {
        return;
    }
    let rounds = env::var("HARDMETER_KILLS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let seed = env::var("HARDMETER_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = Random(seed);
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let mut ebsd = Some(Ebsd::start(&scene, ""));
    let (mut most_missing, mut recorded) = (0, 0);
    let (mut memory, mut daemons) = (None, 1);
    for round in 0..rounds {
        let victim = VICTIMS[usize::try_from(round % 4).unwrap()];
        let early = round / 4 % 2 == 1;
        let _ = fs::remove_file(scene.path("x.data"));
        let running = ebsd.take().unwrap_or_else(|| {
            daemons += 1;
            Ebsd::start(&scene, "")
        });
        let daemon = running.pid();
        let Round { storm, mut ebs, before, mut watcher } = Round::new(&scene, &running, early);
        // A child that closes connections which are over is there for a moment,
        // too.
        within("one worker of one user", 120, || running.workers().len() == 1);
        let worker = running.workers();
        let moment = Duration::from_micros(random.below(if early { 150_000 } else { 2_000_000 }));
        let second = moment.min(Duration::from_secs(1));
        thread::sleep(moment - second);
        // Before that nothing had to be written.
        let second_ago = (second == Duration::from_secs(1)).then(|| faults(storm.pid()));
        thread::sleep(second);
        let now = faults(storm.pid());
        let pid = match victim {
            Victim::Worker => worker[0],
            Victim::Daemon => daemon,
            Victim::Client => ebs.pid(),
            Victim::Target => storm.pid(),
        };
        kill(pid);
        if early && victim == Victim::Worker {
            // Who connects after it has another one.
            let since = Instant::now();
            while !ebs.ended() && since.elapsed() < Duration::from_secs(2) {
                thread::sleep(Duration::from_millis(10));
            }
            if !ebs.ended() {
                kill(storm.pid());
            }
        }
        let ebs = ebs.finish();
        check_end(&scene, victim, &ebs, early);
        let samples = opens(&scene, &format!("round {round}, {victim:?}"));
        if let Some(before) = before {
            let must = second_ago.map_or(0, |faults| faults - before);
            assert!(samples >= must, "round {round}, {victim:?}: {samples} of {must}: {ebs}");
            most_missing = most_missing.max((now - before).saturating_sub(samples));
        }
        recorded += samples;
        // Nothing of the session is left.
        match victim {
            Victim::Client | Victim::Target => {
                let what =
                    format!("round {round}: {victim:?}, the events of {} are closed", worker[0]);
                within(&what, 60, || events(worker[0]) == 0);
                within("the session is gone", 60, || {
                    let answer = watcher.ask(&json!({"verb": "sessions"}));
                    answer["sessions"].as_array().unwrap().is_empty()
                });
            }
            Victim::Worker | Victim::Daemon => {
                within("the worker is gone", 60, || {
                    !Path::new(&format!("/proc/{}", worker[0])).exists()
                });
            }
        }
        let ended = victim == Victim::Target || ebs.status.code() == Some(0);
        if !ended {
            assert_eq!(status(storm.pid(), "TracerPid:").as_deref(), Some("0"), "round {round}");
            let state = status(storm.pid(), "State:").unwrap();
            assert!(!state.starts_with(['T', 't', 'Z']), "round {round}: the target is {state}");
        }
        drop(storm);
        drop(watcher);
        if victim == Victim::Daemon {
            drop(running);
        } else {
            assert_eq!(events(daemon), 0, "round {round}: events in the supervisor");
            let resident = status(daemon, "VmRSS:").unwrap();
            let resident: u64 = resident.trim_end_matches(" kB").parse().unwrap();
            let first = *memory.get_or_insert(resident);
            assert!(resident < first + 4096, "round {round}: {resident} KiB, at first {first}");
            ebsd = Some(running);
        }
    }
    eprintln!(
        "{rounds} kills, {daemons} daemons, {recorded} samples in recordings, at most \
         {most_missing} missing in one"
    );
    let last = ebsd.map(|ebsd| (ebsd.pid(), ebsd.end()));
    if let Some((pid, _)) = last {
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
    let left = fs::read_dir(scene.path(".")).unwrap().flatten().map(|entry| entry.file_name());
    let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
    left.sort();
    left.retain(|name| name != "x.data");
    assert_eq!(left, ["ebsd.toml", "storm"], "files");
}
