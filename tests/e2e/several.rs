//! Several events in one run: each with an account of its own.

use std::os::unix::fs::chown;
use std::process::Command;

use rustix::process::Signal;
use tests::{Account, Ebsd, Outcome, Running, Scene, Truth, User, Workload, rights, workload};

/// Faults of the storm, each of which is a fault and a minor one: few enough for
/// their records to have room in the smallest rings, however late they are read.
const FAULTS: u64 = 300;

/// Both events have a table, and the storm's site the storm's faults in each.
#[track_caller]
fn assert_two_tables(report: &Outcome, truth: &Truth) {
    let site = format!("{:#x}", truth.number("site"));
    for event in ["# page_fault, ", "# minor_fault, "] {
        let table = report.out.split("\n\n").find(|table| table.starts_with(event));
        let table = table.unwrap_or_else(|| panic!("no {event:?}: {report}"));
        let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = row.clone().any(|row| {
            row.first() == Some(&FAULTS.to_string().as_str()) && row.get(2) == Some(&site.as_str())
        });
        assert!(found, "{event:?} has other counts: {report}");
    }
}

#[test]
fn each_event_of_a_run_has_its_own_account_and_table() {
    let test = "each_event_of_a_run_has_its_own_account_and_table";
    if !(rights::sampling(test) && rights::perf(test)) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let line = format!(
        "ebs -u -t page_fault,minor_fault -t cpu_clock -i 1,=1,50k -o s.data ./storm {FAULTS}"
    );
    let told = scene.run(&line).success();
    let truth = Truth::new(&told.out);
    let accounts = Account::each_of_stream(&scene.path("s.data"));
    let events = ["page_fault", "minor_fault", "cpu_clock"];
    assert_eq!(accounts.len(), events.len(), "{accounts:?}");
    for (event, account) in events.iter().zip(&accounts) {
        let delivered = account.count("delivered");
        if let Some(kernel) = account.find("kernel") {
            assert_eq!(kernel, delivered + account.lost(), "{event}: {account:?}");
            assert!(kernel >= FAULTS, "{event}: {account:?}");
        }
        assert!(told.last_line().contains(&format!("{event} {delivered}")), "{told}");
    }
    assert_two_tables(&scene.run("ebs report s.data").success(), &truth);
    assert_joined(&scene, accounts.first().map_or(0, |account| account.count("delivered")));
    assert_parts(&scene);
    // perf tells the events apart, by the same counts.
    let perf = scene.run("perf script -F event -i s.data").success();
    for (event, account) in events.iter().zip(&accounts) {
        let records = perf.out.lines().filter(|line| line.trim() == format!("{event}:")).count();
        assert_eq!(u64::try_from(records).unwrap(), account.count("delivered"), "{event}");
    }
}

/// Whatever a run is cut into, each sample is in one of its parts.
#[track_caller]
fn assert_parts(scene: &Scene) {
    let counted = |arguments: &str| -> Vec<u64> {
        let told = scene.run(&format!("ebs report --json {arguments} s.data")).success();
        let report: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        let events = report["events"].as_array().unwrap().iter();
        let sum_of = |event: &serde_json::Value| {
            let rows = event["rows"].as_array().unwrap();
            let sum: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
            assert_eq!(event["totals"]["counted"], sum, "{told}");
            sum
        };
        events.map(sum_of).collect()
    };
    let all = counted("");
    let halves = [counted("--time -50%"), counted("--time 50%-")];
    let both: Vec<u64> = halves[0].iter().zip(&halves[1]).map(|(one, other)| one + other).collect();
    assert_eq!(both, all);
    assert_eq!(counted("--by time:1ms"), all);
    assert_eq!(counted("--time 0-1000000"), all);
    scene.run("ebs report --time 2-1 s.data").refused(2, &["\"2-1\"", "earlier"]);
    scene.run("ebs report --by time:5 s.data").refused(2, &["time:100ms"]);
    scene.shell("cat s.data | ebs report --time 1-2 -").refused(1, &["name a file"]);
}

/// One table has what the tables of both faults have, each per the other.
#[track_caller]
fn assert_joined(scene: &Scene, delivered: u64) {
    let joined = "ebs report --join --per minor_fault --by routine --json s.data";
    let told = scene.run(joined).success();
    let joined: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(joined["events"][0]["period"], delivered, "{told}");
    assert_eq!(joined["per"], 1, "{told}");
    let rows = joined["rows"].as_array().unwrap();
    assert_eq!(joined["rows_total"], rows.len(), "{told}");
    let storm = rows.iter().find(|row| row["routine"] == "storm_touch").unwrap();
    for event in [0, 1] {
        assert_eq!(storm["events"][event]["period"], FAULTS, "{told}");
        assert_eq!(storm["events"][event]["ratio"], 1.0, "{told}");
    }
    // No event is in two rows, and none is lost.
    let sum = |event: usize| -> u64 {
        rows.iter().map(|row| row["events"][event]["count"].as_u64().unwrap()).sum()
    };
    for event in 0..3 {
        assert_eq!(joined["events"][event]["count"], sum(event), "{told}");
    }
    let table = scene.run("ebs report --join --top 1 s.data").success();
    let header = table.out.lines().find(|line| !line.starts_with('#')).unwrap();
    let words: Vec<&str> = header.split_whitespace().collect();
    let expected = "page_fault share minor_fault share per page_fault cpu_clock share per page_fault address routine object";
    assert_eq!(words.join(" "), expected, "{table}");
    assert!(table.out.lines().last().unwrap().ends_with("more rows"), "{table}");
    scene.run("ebs report --join --per nothing s.data").refused(1, &["nothing", "minor_fault"]);
    scene.run("ebs report --join --csv s.data").refused(2, &["--csv"]);
}

#[test]
fn several_events_are_counted_in_the_kernel() {
    let test = "several_events_are_counted_in_the_kernel";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let line = format!("ebs -u --in-kernel -t page_fault,minor_fault -o s.data ./storm {FAULTS}");
    let truth = Truth::new(&scene.run(&line).success().out);
    assert_two_tables(&scene.run("ebs report s.data").success(), &truth);
}

#[test]
fn the_daemon_samples_several_events() {
    let test = "the_daemon_samples_several_events";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let storm = Workload::Storm.build(&scene);
    scene.open_commands();
    let policy = "[[allow]]\ngroup = 4100\npermissions = [\"kernel\"]\n";
    let ebsd = Ebsd::start(&scene, policy);
    std::fs::create_dir(scene.path("out")).unwrap();
    chown(scene.path("out"), Some(4002), None).unwrap();
    // By the user's own rights, and by what policy grants.
    for (user, modes) in
        [(User::new(4002), "-u"), (User { group: Some(4100), ..User::new(4002) }, "-uk")]
    {
        let mut command = user.command(&scene, scene.path("bin/ebs"));
        command.args([modes, "-t", "page_fault,minor_fault", "-i", "=1", "-o", "out/s.data"]);
        command.arg("--socket").arg(&ebsd.socket).arg(&storm).arg(FAULTS.to_string());
        let outcome = Running::start(&mut command).finish().success();
        assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
        let truth = Truth::new(&outcome.out);
        assert_two_tables(&scene.run("ebs report out/s.data").success(), &truth);
    }
    ebsd.end();
}

/// All that the emulated PMU counts.
const EMULATED: [&str; 22] = [
    "l1_cache_miss",
    "instr_retired",
    "l2_cache_miss",
    "memory_loads",
    "l3_cache_miss",
    "memory_stores",
    "dtlb_load_miss",
    "memory_moves",
    "dtlb_store_miss",
    "packed_sp_retired",
    "dtlb_all_miss",
    "packed_dp_retired",
    "page_walk",
    "scaler_sp_retired",
    "split_load_retired",
    "scaler_dp_retired",
    "mob_load_replay_retired",
    "64bit_mmx_retired",
    "hitm",
    "128bit_mmx_retired",
    "x87_fp_retired",
    "x87_simd_memory_moves_retired",
];
/// Small, so that a small program misses in all of it.
const CACHE: &str = "--cache l1d=4k,4 --cache l1i=4k,4 --cache l2=16k,4 --cache l3=64k,4 \
                     --cache dtlb=16,4 --cache stlb=32,4";

/// Without what depends on where the kernel puts a program.
fn fixed(scene: &Scene, arguments: &str) -> Outcome {
    scene
        .run(&format!("setarch -R ebs -u --source emulated {CACHE} --seed 5 {arguments}"))
        .success()
}

#[test]
fn emulated_events_of_one_run_are_those_of_single_runs() {
    let test = "emulated_events_of_one_run_are_those_of_single_runs";
    if !(cfg!(target_arch = "x86_64") && rights::program(test, "setarch")) {
        return;
    }
    let scene = Scene::new();
    Workload::Classes.build(&scene);
    let all = EMULATED.join(",");
    let told = fixed(&scene, &format!("-t {all} -i 7 -o all.data ./classes 40"));
    let accounts = Account::each_of_stream(&scene.path("all.data"));
    assert_eq!(accounts.len(), EMULATED.len(), "{accounts:?}");
    let report = scene.run("ebs report --json --top 100000 all.data").success();
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let mut happened = 0;
    for (place, (event, account)) in EMULATED.iter().zip(&accounts).enumerate() {
        let (delivered, lost) = (account.count("delivered"), account.lost());
        assert_eq!(account.count("kernel"), delivered + lost, "{event}: {account:?}");
        assert!(told.last_line().contains(&format!("{event}/ {delivered}")), "{told}");
        fixed(&scene, &format!("-t {event} -i 7 -o one.data ./classes 40"));
        let alone = Account::of_stream(&scene.path("one.data"));
        for key in ["events", "kernel", "delivered", "exact_ip"] {
            assert_eq!(account.count(key), alone.count(key), "{key} of {event}");
        }
        happened += u64::from(account.count("events") > 0);
        let single = scene.run("ebs report --json --top 100000 one.data").success();
        let single: serde_json::Value = serde_json::from_str(&single.out).unwrap();
        let rows = |report: &serde_json::Value, place: usize| {
            let rows = report["events"][place]["rows"].as_array().unwrap().iter();
            let row = |row: &serde_json::Value| (row["address"].to_string(), row["count"].as_u64());
            let mut rows: Vec<_> = rows.map(row).collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(&report, place), rows(&single, 0), "records of {event}");
    }
    // But for `hitm`, of which one thread has none, and loads that wait for stores.
    assert!(happened >= 20, "{happened} of {} types", EMULATED.len());
    assert_emulated_side_by_side(&scene, &accounts);
}

/// The access that the count ends at may be an event of several types: what is left
/// of it is accounted for.
#[test]
fn what_a_count_leaves_out_of_several_emulated_events_is_booked() {
    let test = "what_a_count_leaves_out_of_several_emulated_events_is_booked";
    if !(cfg!(target_arch = "x86_64") && rights::program(test, "setarch")) {
        return;
    }
    let scene = Scene::new();
    Workload::Classes.build(&scene);
    let all = EMULATED.join(",");
    let mut beyond = 0;
    for count in 1000..1020 {
        let told = fixed(&scene, &format!("-t {all} -i 1 -c {count} -o c.data ./classes 40"));
        let accounts = Account::each_of_stream(&scene.path("c.data"));
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|account| account.count("delivered")), count, "{told}");
        for (event, account) in EMULATED.iter().zip(&accounts) {
            let kernel = account.count("kernel");
            assert_eq!(kernel, account.count("delivered") + account.lost(), "{event}: {account:?}");
            assert_eq!(account.count("events"), kernel, "{event}: {account:?}");
        }
        beyond += sum(Account::lost);
    }
    assert!(beyond > 0, "twenty counts, and none at an access of two types");
}

/// One row for each site, with a column of each of four events.
#[track_caller]
fn assert_emulated_side_by_side(scene: &Scene, accounts: &[Account]) {
    let chosen = [0, 4, 10, 3];
    let names = chosen.map(|place| EMULATED[place]).join(",");
    fixed(scene, &format!("-t {names} -i 1 --call-graph dwarf,512 -o four.data ./classes 40"));
    let joined = "ebs report --join --by routine --top 100000 --json four.data";
    let told = scene.run(joined).success();
    let joined: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let rows = joined["rows"].as_array().unwrap();
    for (column, place) in chosen.into_iter().enumerate() {
        let sum: u64 =
            rows.iter().map(|row| row["events"][column]["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, accounts[place].count("events"), "{}: {told}", EMULATED[place]);
    }
}

/// Whoever ends it, what was counted is delivered or lost, of each event.
#[test]
fn each_emulated_event_has_its_account_when_a_run_is_ended() {
    let test = "each_emulated_event_has_its_account_when_a_run_is_ended";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let compiled = Command::new("gcc")
        .args(["-O2", "-w", "-pthread", "-o"])
        .arg(scene.path("crowd"))
        .arg(workload::sources().join("emulated/crowd.c"))
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let events = "-t l1_cache_miss,memory_stores,instr_retired,hitm -i =100,=200,=10k,=1";
    let ebs = format!("ebs -u --source emulated {events}");
    scene.write("twice", "./crowd && exec ./crowd\n");
    for arguments in ["-o s.data ./crowd", "-o s.data -- sh twice", "-c 100 -o s.data ./crowd"] {
        scene.run(&format!("{ebs} {arguments}")).success();
        let delivered = assert_each_accounted(&scene, arguments);
        assert!(delivered == 100 || !arguments.starts_with("-c"), "{delivered}");
    }
    // It ends by a signal, at anything; a process that was attached to runs on.
    scene.write("on", "echo on; i=0; while ! [ -e stop ]; do i=$((i+1)); done\n");
    let mut command = scene.start(&format!("{ebs} -o s.data -- sh on"));
    assert_eq!(command.hear(), "on");
    command.signal(Signal::INT);
    scene.write("stop", "");
    assert!(command.finish().err.contains(" records ("));
    assert_each_accounted(&scene, "SIGINT");
    std::fs::remove_file(scene.path("stop")).unwrap();
    let mut target = scene.start("sh on");
    assert_eq!(target.hear(), "on");
    scene.run(&format!("{ebs} -c 300 -o s.data {}", target.pid())).success();
    assert_eq!(assert_each_accounted(&scene, "attached"), 300);
    assert!(!target.ended(), "it was let go");
}

/// What the kernel counted of each event is delivered or lost; gives all that was delivered.
#[track_caller]
fn assert_each_accounted(scene: &Scene, run: &str) -> u64 {
    let accounts = Account::each_of_stream(&scene.path("s.data"));
    assert_eq!(accounts.len(), 4, "{run}");
    for account in &accounts {
        let all = account.count("delivered") + account.lost();
        assert_eq!(account.count("kernel"), all, "{run}: {accounts:?}");
    }
    accounts.iter().map(|account| account.count("delivered")).sum()
}

#[test]
fn what_cannot_be_sampled_together_is_refused() {
    let scene = Scene::new();
    for (line, words) in [
        ("ebs -u -t page_fault,page_fault true", "twice"),
        ("ebs -u -t page_fault,page-faults true", "twice"),
        ("ebs -u -t page_fault,cpu_clock -i 1,2,3 true", "one for each"),
        ("ebs -u -t page_fault,cpu_clock -m x true", "masks are of one event"),
        ("ebs -u -t page_fault, true", "no event type given"),
        ("ebs -u --source emulated -t l1_cache_miss,l1_cache_miss true", "twice"),
    ] {
        scene.run(line).refused(2, &[words]);
    }
}
