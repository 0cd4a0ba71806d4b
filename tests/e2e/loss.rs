use std::env;

use hardmeter_tests::{Account, Scene, Truth, Workload, rights, running::has_attached};
use rustix::process::Signal;

/// Storms per run; HARDMETER_LOSS_ROUNDS asks for another number.
const ROUNDS: u32 = 5;

/// The storm's truth and the account, of one storm with a reader that is
/// stopped while it blows.
fn storm_with_stopped_reader(scene: &Scene, faults: u64, threads: u32) -> (Truth, Account, usize) {
    let mut storm = scene.start(&format!("./storm {faults} {threads} wait"));
    assert_eq!(storm.hear(), "ready");
    let target = storm.pid();
    let mut ebs =
        scene.start(&format!("ebs -u -k -t page_fault -c all --ring 1 -o lost.data {target}"));
    ebs.wait_until("it attached", |pid| has_attached(pid, target));
    std::thread::sleep(std::time::Duration::from_millis(200));
    ebs.signal(Signal::STOP);
    storm.tell("go");
    let told = storm.finish().success().out;
    ebs.signal(Signal::CONT);
    let sampled = ebs.finish().success();
    assert!(!sampled.err.contains("unaccounted"), "{sampled}");
    let script = scene.run("ebs script -F ip lost.data").success().out;
    (Truth::new(&told), Account::of_stream(&scene.path("lost.data")), script.lines().count())
}

#[test]
fn delivered_and_lost_are_what_the_kernel_counted() {
    let test = "delivered_and_lost_are_what_the_kernel_counted";
    if !rights::sampling(test) {
        return;
    }
    let rounds = match env::var("HARDMETER_LOSS_ROUNDS") {
        Ok(rounds) => rounds.parse().unwrap(),
        Err(_) => ROUNDS,
    };
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    for round in 0..rounds {
        let threads = 1 + round % 3;
        let (truth, account, printed) = storm_with_stopped_reader(&scene, 60_000, threads);
        let kernel = truth.number("kernel");
        assert_eq!(kernel, truth.number("faults"), "the program's own count");
        let told = (account.count("delivered"), account.lost());
        assert_eq!(account.count("kernel"), kernel, "round {round}: {account:?}");
        assert_eq!(told.0 + told.1, kernel, "round {round}: {account:?}");
        assert!(told.1 > 0, "a ring of one page held {kernel} records: {account:?}");
        assert_eq!(u64::try_from(printed).unwrap(), told.0, "round {round}: {account:?}");
    }
}

#[test]
fn default_buffers_lose_nothing_at_full_speed() {
    if !rights::sampling("default_buffers_lose_nothing_at_full_speed") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let faults = 400_000;
    let start = std::time::Instant::now();
    let sampled =
        scene.run(&format!("ebs -u -t page_fault -c all -o s.data ./storm {faults} 1")).success();
    let seconds = start.elapsed().as_secs_f64();
    let account = Account::of_stream(&scene.path("s.data"));
    assert_eq!(account.lost(), 0, "{sampled}");
    let kernel = account.count("kernel");
    assert!(kernel >= faults, "{account:?}");
    assert_eq!(account.count("delivered"), kernel, "{account:?}");
    eprintln!("{kernel} records in {seconds:.2} s, none lost: {}", sampled.last_line());
}

#[test]
fn records_beyond_the_count_are_accounted_for() {
    if !rights::sampling("records_beyond_the_count_are_accounted_for") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let sampled = scene.run("ebs -u -t page_fault -c 100 -o c.data ./touch 3000").success();
    let told = Truth::new(&sampled.out);
    assert_eq!(told.rows("fault").len(), 3000, "the command runs on: {sampled}");
    let script = scene.run("ebs script -F ip c.data").success().out;
    assert_eq!(script.lines().count(), 100, "{sampled}");
    let account = Account::of_stream(&scene.path("c.data"));
    assert_eq!(account.count("delivered"), 100, "{account:?}");
    assert_eq!(account.count("kernel"), 100 + account.lost(), "{account:?}");
}
