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

#[test]
fn the_interval_counts_writes() {
    if !rights::sampling("the_interval_counts_writes") {
        return;
    }
    let scene = Scene::new();
    Workload::Watch.build(&scene);
    let watched = Truth::new(&scene.run("./watch 0").success().out).number("watched");
    let line = format!("ebs -u -i 100 -t mem:{watched:#x}:w -c all -o w.data ./watch 1000");
    scene.run(&line).success();
    let script = scene.run("ebs script -F period,addr w.data").success().out;
    assert_eq!(script.lines().count(), 10, "{script}");
}
