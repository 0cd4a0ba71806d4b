//! What was lost in a storm is told in the calm after it: no further record
//! has to come for that.

use std::{fs, path::Path};

use rustix::process::{Signal, kill_process};
use serde_json::json;
use tests::{Ebsd, Running, Scene, Truth, Workload, rights, running::has_attached};

use super::{
    raw::{Frame, Raw, sums, wait_for},
    standing::{config, is_running, recorded, storm, wait_until, worker},
    stream::{Counted, PIPE_HEADER},
};

/// More than a ring of 8 MiB holds.
const BURST: &str = "400000";

/// Blows once; the kernel's count since the first burst.
fn burst(target: &mut Running) -> u64 {
    target.tell("go");
    Truth::new(&target.hear()).number("kernel")
}

/// Blows once while somebody is stopped.
fn burst_unseen(target: &mut Running, stop: &dyn Fn(Signal)) -> u64 {
    stop(Signal::STOP);
    let kernel = burst(target);
    stop(Signal::CONT);
    kernel
}

/// Somebody who follows live.
struct Follower {
    raw: Raw,
    counted: Counted,
    /// Of the stream, what is no whole record yet.
    begun: Vec<u8>,
}

impl Follower {
    fn new(ebsd: &Ebsd) -> Follower {
        let mut raw = Raw::new(&ebsd.socket);
        let joined = raw.ask(&json!({"verb": "follow", "name": "web", "live": true}));
        assert_eq!(joined["reply"], "joined", "{joined}");
        let Frame::Data(mut begun) = raw.hear().unwrap() else { panic!("no stream") };
        begun.drain(..PIPE_HEADER);
        Follower { raw, counted: Counted::default(), begun }
    }

    /// Listens until samples and losses are so many. Where no more is told,
    /// the connection's own limit ends it.
    #[track_caller]
    fn hear(&mut self, kernel: u64) {
        loop {
            let left = self.counted.add(&self.begun).len();
            self.begun.drain(..self.begun.len() - left);
            let (samples, all) = (self.counted.samples, self.counted.all());
            if all == kernel {
                return;
            }
            assert!(all < kernel, "{samples} samples and losses are {all}, not {kernel}");
            match self.raw.hear() {
                Ok(Frame::Data(more)) => self.begun.extend(more),
                other => panic!("{samples} samples and losses are {all}, not {kernel}: {other:?}"),
            }
        }
    }
}

#[test]
fn readers_are_told_what_a_quiet_target_lost_before_its_next_record() {
    let test = "readers_are_told_what_a_quiet_target_lost_before_its_next_record";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Bursts.build(&scene);
    let mut target = storm(&scene, &program, BURST);
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it samples", is_running);
    let worker = worker(&ebsd).unwrap();
    let mut follower = Follower::new(&ebsd);
    for round in 1..=3 {
        let kernel = burst_unseen(&mut target, &|signal| kill_process(worker, signal).unwrap());
        // The first to ask is told all: nothing more comes by itself.
        let (samples, lost, end) = recorded(&ebsd);
        assert_eq!(samples + lost, kernel, "round {round}: {samples} + {lost}: {end}");
        assert!(lost > 0, "round {round}: a ring held {kernel} records: {end}");
        assert_eq!(sums(&end["client"]), (samples, lost), "round {round}: {end}");
        // What it was too slow for is among its losses besides.
        follower.hear(kernel);
    }
    // What comes is told as it comes.
    let kernel = burst(&mut target);
    follower.hear(kernel);
    let (samples, lost, end) = recorded(&ebsd);
    assert_eq!(samples + lost, kernel, "{end}");
    target.signal(Signal::KILL);
    let _killed = target.finish();
    wait_until(&ebsd, "the target has gone", |line| !is_running(line));
    let (samples, told, end) = recorded(&ebsd);
    assert_eq!((samples + told, told), (kernel, lost), "{end}");
}

/// Whether its main thread is in poll(2), or ppoll(2) of x86-64 or arm64.
fn is_polling(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    ["7 ", "271 ", "73 "].iter().any(|number| call.starts_with(number))
}

/// Samples and losses in a recording that is being written, or about to be.
fn recorded_so_far(path: &Path) -> (u64, u64) {
    let bytes = fs::read(path).unwrap_or_default();
    let counted = Counted::of_begun(&bytes);
    (counted.samples, counted.gaps.values().sum())
}

#[test]
fn a_recording_in_process_is_told_what_its_quiet_target_lost() {
    let test = "a_recording_in_process_is_told_what_its_quiet_target_lost";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Bursts.build(&scene);
    let mut target = scene.start("./bursts 60000");
    assert_eq!(target.hear(), "ready");
    let pid = target.pid();
    let line = format!("ebs -u -k -t page_fault -c all --ring 1 -o quiet.data {pid}");
    let mut ebs = scene.start(&line);
    // An attach that is under way holds events, too.
    ebs.wait_until("it waits for records", |ebs| has_attached(ebs, pid) && is_polling(ebs));
    let path = scene.path("quiet.data");
    let mut kernel = 0;
    for round in 1..=3 {
        kernel = burst_unseen(&mut target, &|signal| ebs.signal(signal));
        wait_for(&format!("{kernel} in the recording in round {round}"), || {
            let (samples, lost) = recorded_so_far(&path);
            assert!(samples + lost <= kernel, "round {round}: {samples} + {lost} of {kernel}");
            samples + lost == kernel
        });
    }
    ebs.signal(Signal::INT);
    let ended = ebs.finish();
    let (samples, lost) = recorded_so_far(&path);
    assert_eq!(samples + lost, kernel, "{ended}");
    let told = ended.told();
    assert_eq!((told.delivered, told.lost), (samples, lost), "{ended}");
    target.signal(Signal::KILL);
    let _killed = target.finish();
}
