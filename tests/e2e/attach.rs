use std::collections::BTreeMap;

use hardmeter_tests::{Account, Scene, Truth, Workload, rights, running::has_attached};

/// Time, address and instruction pointer of a record.
type Record = (f64, u64, u64);

fn records(script: &str) -> Vec<Record> {
    let record = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
        (words[0].trim_end_matches(':').parse().unwrap(), hex(words[1]), hex(words[2]))
    };
    let lines = script.lines().filter(|line| !line.trim().is_empty());
    let mut all: Vec<Record> = lines.map(record).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[test]
fn attaching_amid_threads_and_forks_misses_and_doubles_nothing() {
    let test = "attaching_amid_threads_and_forks_misses_and_doubles_nothing";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Threads.build(&scene);
    for round in 0..3 {
        let mut threads = scene.start("./threads 200 50 8");
        assert_eq!(threads.hear(), "ready");
        let target = threads.pid();
        let mut ebs = scene.start(&format!("ebs -u -k -t page_fault -c all -o a.data {target}"));
        // Attached while threads come and go all the time.
        ebs.wait_until("it attached", |pid| has_attached(pid, target));
        std::thread::sleep(std::time::Duration::from_millis(300));
        threads.tell("go");
        let truth = Truth::new(&threads.finish().success().out);
        let sampled = ebs.finish().success();
        let account = Account::of_stream(&scene.path("a.data"));
        assert_eq!(account.lost(), 0, "round {round}: {sampled}");

        let script = scene.run("ebs script -F time,addr,ip a.data").success().out;
        let all = records(&script);
        assert_each_page_once(&all, &truth);
        assert_marks_enclose_the_kernels_count(&all, &truth);
        assert_eq!(account.count("kernel"), u64::try_from(all.len()).unwrap(), "{account:?}");
    }
}

/// No page of the program is touched twice: an address that comes twice was
/// counted twice, and a late page that does not come was missed.
fn assert_each_page_once(all: &[Record], truth: &Truth) {
    let mut at: BTreeMap<u64, BTreeMap<u64, u32>> = BTreeMap::new();
    for (_, addr, ip) in all {
        *at.entry(*ip).or_default().entry(addr >> 12).or_default() += 1;
    }
    for site in ["early", "late"] {
        let pages = at.get(&truth.number(site)).unwrap_or_else(|| panic!("nothing at {site}"));
        let twice: Vec<_> = pages.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "{site} pages counted more than once: {twice:x?}");
    }
    let first = truth.number("base") >> 12;
    let late: Vec<_> = at[&truth.number("late")].keys().copied().collect();
    let expected: Vec<_> = (first..first + truth.number("late_pages")).collect();
    assert!(late == expected, "{} late pages of {}", late.len(), expected.len());
}

/// Between the two marks lie as many records as the kernel counted there.
fn assert_marks_enclose_the_kernels_count(all: &[Record], truth: &Truth) {
    let mark = truth.number("mark");
    let marks: Vec<_> =
        all.iter().enumerate().filter(|(_, record)| record.2 == mark).map(|(n, _)| n).collect();
    assert_eq!(marks.len(), 2, "the main thread touches two pages at its marks");
    let between = u64::try_from(marks[1] - marks[0] - 1).unwrap();
    assert_eq!(between, truth.number("kernel"), "the program's own count between its marks");
}

#[test]
fn an_attached_process_ends_the_sampling_with_its_end() {
    if !rights::sampling("an_attached_process_ends_the_sampling_with_its_end") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let mut storm = scene.start("./storm 1000 1 wait");
    assert_eq!(storm.hear(), "ready");
    let target = storm.pid();
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -c all {target}"));
    ebs.wait_until("it attached", |pid| has_attached(pid, target));
    std::thread::sleep(std::time::Duration::from_millis(200));
    storm.tell("go");
    storm.finish().success();
    let sampled = ebs.finish().success();
    let row = sampled.out.lines().find(|line| line.contains("storm_touch"));
    let row = row.unwrap_or_else(|| panic!("no storm_touch in the table: {sampled}"));
    assert!(
        row.trim_start().starts_with("1000 ") || row.trim_start().starts_with("1,000 "),
        "{row}"
    );
}
