use std::env;

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::{Account, Scene, Truth, Workload, rights, running::has_attached};

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
fn default_buffers_account_for_full_speed() {
    if !rights::sampling("default_buffers_account_for_full_speed") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let faults = 400_000;
    let sampled =
        scene.run(&format!("ebs -u -t page_fault -c all -o s.data ./storm {faults} 1")).success();
    let account = Account::of_stream(&scene.path("s.data"));
    let kernel = account.count("kernel");
    assert!(kernel >= faults, "{account:?}");
    let delivered = account.count("delivered");
    assert_eq!(delivered + account.lost(), kernel, "{account:?}");
    let told = sampled.told();
    assert_eq!((told.delivered, told.lost), (delivered, account.lost()), "{sampled}");
    let script = scene.run("ebs script -F ip s.data").success().out;
    assert_eq!(u64::try_from(script.lines().count()).unwrap(), delivered, "{account:?}");
    eprintln!("{}", sampled.last_line());
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

#[test]
fn tables_and_streams_go_to_the_end_and_text_records_to_the_originals_count() {
    let test = "tables_and_streams_go_to_the_end_and_text_records_to_the_originals_count";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let stream = scene.run("ebs -u -t page_fault -o all.data ./touch 5000").success();
    let account = Account::of_stream(&scene.path("all.data"));
    assert_eq!(account.count("delivered") + account.lost(), account.count("kernel"), "{stream}");
    assert!(account.count("kernel") >= 5000, "{account:?}");
    assert!(!stream.last_line().contains("count"), "{stream}");

    let table = scene.run("ebs -u -t page_fault ./touch 5000").success();
    assert!(!table.last_line().contains("count"), "{table}");

    let text = scene.run("ebs -u -t page_fault -o records ./touch 5000").success();
    let records = std::fs::read_to_string(scene.path("records")).unwrap();
    assert_eq!(records.lines().filter(|line| !line.starts_with('#')).count(), 2000, "{text}");
    assert!(text.last_line().contains("; the count of 2000 "), "{text}");
    assert!(text.last_line().contains("; -c all "), "{text}");
}

/// What a report on a recording says of its count.
fn count_reached(scene: &Scene, file: &str) -> Value {
    let told = scene.run(&format!("ebs report --json {file}")).success();
    let report: Value = serde_json::from_str(&told.out).unwrap();
    report["events"][0]["ledger"]["count_reached"].clone()
}

#[test]
fn a_count_that_ends_sampling_says_what_part_of_the_run_was_seen() {
    if !rights::sampling("a_count_that_ends_sampling_says_what_part_of_the_run_was_seen") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let line = "ebs -u -t page_fault -c 50 -o c.data sh -c './touch 3000; sleep 1'";
    let sampled = scene.shell(line).success();
    let said = sampled.last_line();
    let (_, said) = said.split_once("; the count of 50 ended sampling ").expect(said);
    let numbers: Vec<f64> = said.split([' ', '(']).filter_map(|word| word.parse().ok()).collect();
    let [seen, run, share] = numbers[..] else { panic!("{sampled}") };
    assert!(run >= 1.0 && seen < run && share < 100.0, "{sampled}");
    assert!(said.ends_with("-c all samples all of it"), "{sampled}");
    // Who keeps the table alone sees it, too.
    let table = scene.shell(&line.replace(" -o c.data", "")).success();
    let note = |line: &str| line.starts_with("# the count of 50 ended sampling ");
    assert_eq!(table.out.lines().filter(|line| note(line)).count(), 1, "{table}");
    // And who reads the recording later: above the table, in JSON, on the page.
    let read = scene.run("ebs report c.data").success();
    assert_eq!(read.out.lines().filter(|line| note(line)).count(), 1, "{read}");
    assert_eq!(count_reached(&scene, "c.data"), json!({"count": 50, "ran_on": true}));
    scene.run("ebs html c.data -o c.html").success();
    let page = std::fs::read_to_string(scene.path("c.html")).unwrap();
    assert!(page.contains("the count of 50 ended sampling after "), "the page does not say it");
    let all = scene.shell(&line.replace("-c 50", "-c all")).success();
    assert!(count_reached(&scene, "c.data").is_null(), "{all}");

    scene.write("storm.sh", "echo on; while :; do /bin/true; done");
    let mut storm = scene.start("sh storm.sh");
    assert_eq!(storm.hear(), "on");
    let line = format!("ebs -uk -t page_fault -c 50 -o p.data {}", storm.pid());
    let attached = scene.run(&line).success();
    assert!(attached.last_line().contains(", the target runs on; -c all "), "{attached}");
    let system = scene.run("ebs -uk -t page_fault -c 50 -o s.data").success();
    assert!(system.last_line().contains(", the system runs on; -c all "), "{system}");
    for file in ["p.data", "s.data"] {
        assert_eq!(count_reached(&scene, file), json!({"count": 50, "ran_on": true}), "{file}");
    }
}

/// Whether the rest, which runs natively, has ended when that is looked at or not.
#[test]
fn a_count_that_ends_an_emulation_says_so_each_time() {
    if !rights::emulated_pmu("a_count_that_ends_an_emulation_says_so_each_time") {
        return;
    }
    let scene = Scene::new();
    let line = "ebs -u --source emulated -t memory_loads -i 1000 -c 10 -o e.data /bin/true";
    for _ in 0..4 {
        let sampled = scene.run(line).success();
        let (_, said) =
            sampled.last_line().split_once("; the count of 10 ended sampling after ").expect(line);
        assert!(said.contains(", and the command ran on natively, for "), "{sampled}");
        assert_eq!(count_reached(&scene, "e.data"), json!({"count": 10, "ran_on": true}));
    }
    let all = scene.run(&line.replace("-c 10", "-c all")).success();
    assert!(!all.last_line().contains("the count of"), "{all}");
    // Of fewer events than a period has the model knows how many they were.
    let few = scene.run(&line.replace("-i 1000 -c 10 -o e.data", "-i 1g")).success();
    let (_, events) = few.out.split_once(" at random: 0 samples for ").expect(&few.out);
    let events: u64 = events.split(' ').next().and_then(|it| it.parse().ok()).unwrap();
    assert!(events > 1000, "{few}");
}
