use hardmeter_tests::{Account, Scene, Truth, Workload, rights};

#[test]
fn a_thousand_writes_are_a_thousand_records() {
    let test = "a_thousand_writes_are_a_thousand_records";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Watch.build(&scene);
    let place = Truth::new(&scene.run("./watch 0").success().out);
    let (watched, after) = (place.number("watched"), place.number("after"));
    for modes in ["-u", "-u -k"] {
        let line = format!("ebs {modes} -t mem:{watched:#x}/8:w -c all -o w.data ./watch 1000");
        let sampled = scene.run(&line).success();
        let script = scene.run("ebs script -F ip,addr w.data").success().out;
        let expected = format!("{watched:x} {after:x}");
        let got: Vec<_> = script
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(got.iter().all(|line| *line == expected), "{expected}, not {got:?}");
        assert_eq!(got.len(), 1000, "{sampled}");
        let account = Account::of_stream(&scene.path("w.data"));
        assert_eq!((account.count("kernel"), account.count("delivered")), (1000, 1000));
    }
}

/// Each CPU counts towards an interval of its own; on one, none is split.
const ONE_CPU: &str = "taskset -c 0";

#[test]
fn the_interval_counts_writes() {
    if !rights::sampling("the_interval_counts_writes") {
        return;
    }
    let scene = Scene::new();
    Workload::Watch.build(&scene);
    let watched = Truth::new(&scene.run("./watch 0").success().out).number("watched");
    let line =
        format!("{ONE_CPU} ebs -u -i 100 -t mem:{watched:#x}:w -c all -o w.data ./watch 1000");
    scene.run(&line).success();
    let script = scene.run("ebs script -F addr w.data").success().out;
    assert_eq!(script.lines().count(), 10, "{script}");
}

/// A sample_type with PERIOD made the kernel ignore the interval.
#[test]
fn the_interval_counts_faults() {
    if !rights::sampling("the_interval_counts_faults") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let line = format!("{ONE_CPU} ebs -u -t page_fault -i 100 -c all -o s.data ./storm 20000");
    let sampled = scene.run(&line).success();
    let delivered = Account::of_stream(&scene.path("s.data")).count("delivered");
    // The storm's 200, and what two threads keep or swap of their remainders.
    assert!((199..=201).contains(&delivered), "{sampled}");
    let script = scene.run("ebs script -F period s.data").success().out;
    assert!(script.lines().all(|line| line.trim() == "100"), "{script}");
}
