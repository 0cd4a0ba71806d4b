use std::collections::BTreeMap;

use tests::{Scene, Truth, Workload, rights};

/// Counts by name of lines "COUNT ... NAME".
fn counts(text: &str, name_column: usize) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let name = words[name_column].to_owned();
        *counts.entry(name).or_insert(0) += words[0].parse::<u64>().unwrap();
    }
    counts
}

#[test]
fn the_pipeline_of_the_original_counts_what_report_counts() {
    if !rights::sampling("the_pipeline_of_the_original_counts_what_report_counts") {
        return;
    }
    let scene = Scene::new();
    // One recording in both forms: no two recordings are the same.
    let line = "ebs -k -t page_fault -c 50000 -o f.data bash -c 'ls -lR /usr/include | tail -1'";
    scene.shell(line).success();
    scene.shell("ebs script --format text f.data > f.1").success();
    let piped = scene
        .shell("grep -v '#' f.1 | awk '{print $2}' | eip2r | sort | uniq -c | sort -nr")
        .success()
        .out;
    let counted = scene.shell("grep -v '#' f.1 | eip2r -p 2 --count").success().out;
    let reported = scene.run("ebs report --by ip,routine --csv f.data").success().out;

    let mut lines = reported.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| {
        header
            .iter()
            .position(|word| word.trim_matches('"') == name)
            .unwrap_or_else(|| panic!("no column {name} in {header:?}"))
    };
    let (count, routine) = (column("count"), column("routine"));
    let mut by_routine: BTreeMap<String, u64> = BTreeMap::new();
    for line in lines {
        let cells: Vec<_> = line.split(',').map(|cell| cell.trim_matches('"')).collect();
        let name = cells[routine].split('+').next().unwrap().to_owned();
        *by_routine.entry(name).or_insert(0) += cells[count].parse::<u64>().unwrap();
    }
    assert!(by_routine.values().sum::<u64>() > 10, "{reported}");
    assert_eq!(counts(&piped, 2), by_routine, "{piped}\n{reported}");
    assert_eq!(counts(&counted, 2), by_routine, "{counted}\n{reported}");
}

#[test]
fn the_table_names_the_sites_of_the_program() {
    if !rights::sampling("the_table_names_the_sites_of_the_program") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let truth = Truth::new(&scene.run("./touch 800").success().out);
    let sampled = scene.run("ebs -u -t page_fault -c all --top 60 ./touch 800").success();
    let mut missing = 0;
    for site in truth.rows("site") {
        let (number, address, count) = (site[0], site[1], site[2]);
        let row = sampled.out.lines().find(|line| line.contains(&format!("touch_{number}+")));
        let row = row.unwrap_or_else(|| panic!("no site in touch_{number}: {sampled}"));
        let words: Vec<_> = row.split_whitespace().collect();
        let counted: u64 = words[0].replace(',', "").parse().unwrap();
        assert!(counted <= count, "{row} is of {count} faults");
        missing += count - counted;
        assert!(row.contains(&format!("{address:x}")), "{row} is not at {address:x}");
        assert!(row.trim_end().ends_with("touch"), "{row} does not end in its object");
    }
    assert!(missing <= sampled.told().lost, "{missing} are missing: {sampled}");
}

#[test]
fn a_stream_goes_through_a_pipe() {
    if !rights::sampling("a_stream_goes_through_a_pipe") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let truth = Truth::new(&scene.run("./touch 400").success().out);
    // The program's own stdout must not get into the stream.
    let piped = scene
        .shell(
            "ebs -u -t page_fault -c all --format perf -o - bash -c './touch 400 > told' \
             | ebs report --filter object=touch --by routine --csv -",
        )
        .success();
    for site in truth.rows("site") {
        let row = piped.out.lines().find(|line| {
            line.split(',').any(|cell| cell.trim_matches('"') == format!("touch_{}", site[0]))
        });
        let row = row.unwrap_or_else(|| panic!("no touch_{}: {piped}", site[0]));
        assert!(row.split(',').any(|cell| cell == site[2].to_string()), "{row}: {site:?}");
    }
}

#[test]
fn every_key_makes_a_table_of_all_records() {
    if !rights::sampling("every_key_makes_a_table_of_all_records") {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    scene.run("ebs -u -t page_fault -c all -o l.data ./list 300").success();
    let records = scene.run("ebs script -F ip l.data").success().out.lines().count();
    for by in [
        "ip",
        "routine",
        "object",
        "comm",
        "pid",
        "tid",
        "cpu",
        "addr",
        "line",
        "page",
        "reg:rcx",
        "routine,page",
        "comm,pid,object",
    ] {
        let csv = scene.run(&format!("ebs report --by {by} --csv l.data")).success().out;
        let mut lines = csv.lines();
        let header: Vec<_> = lines.next().unwrap().split(',').collect();
        let count = header.iter().position(|word| *word == "count").unwrap();
        let total: usize =
            lines.map(|line| line.split(',').nth(count).unwrap().parse::<usize>().unwrap()).sum();
        assert_eq!(total, records, "--by {by}: {csv}");
    }
}

#[test]
fn where_data_lie_is_recorded_when_asked_for() {
    if !rights::sampling("where_data_lie_is_recorded_when_asked_for") {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    for (option, said) in [("-d", "300 100.00% //anon"), ("", "300 100.00% [not-mapped]")] {
        scene.run(&format!("ebs -u {option} -t page_fault -c all -o f.data ./list 300")).success();
        let report = scene.run("ebs report --by variable --filter routine=list_insert f.data");
        let report = report.success();
        let row = report.out.lines().last().unwrap_or_default();
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(row.starts_with(said), "{option}: {report}");
    }
}

#[test]
fn rows_are_cut_to_a_terminal_and_never_in_a_pipe() {
    if !rights::sampling("rows_are_cut_to_a_terminal_and_never_in_a_pipe") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene.run("ebs -u -t page_fault -o t.data ./touch 10").success();
    let rows = |text: &str| -> Vec<String> {
        let plain = ["\x1b[1m", "\x1b[2m", "\x1b[0m"]
            .iter()
            .fold(text.to_owned(), |text, code| text.replace(code, ""));
        let lines = plain.lines().map(|line| line.trim_end().to_owned());
        lines.skip_while(|line| !line.starts_with("count")).collect()
    };
    let on_pipe = scene.run("ebs report t.data").success().out;
    let longest = |text: &str| rows(text).iter().map(|row| row.chars().count()).max().unwrap();
    assert!(longest(&on_pipe) > 60, "{on_pipe}");
    let terminal = |line: &str| {
        let line = format!("script -qec 'stty cols 60; {line}' /dev/null < /dev/null");
        scene.shell(&line).success().out
    };
    let cut = terminal("ebs report t.data");
    assert!(longest(&cut) <= 60 && cut.contains('…'), "{cut}");
    // An address is never cut.
    let addresses = |text: &str| -> Vec<String> {
        let third = |row: &String| row.split_whitespace().nth(2).map(str::to_owned);
        rows(text).iter().filter_map(third).collect()
    };
    assert_eq!(addresses(&cut), addresses(&on_pipe), "{cut}");
    assert_eq!(rows(&terminal("ebs report --wide t.data")), rows(&on_pipe));
}
