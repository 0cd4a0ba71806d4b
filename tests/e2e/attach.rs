use std::collections::BTreeMap;

use tests::{Account, Scene, Truth, Workload, rights, running::has_attached};

/// A text record: nanoseconds, address, instruction pointer.
struct Record {
    time: u64,
    addr: u64,
    ip: u64,
}

/// The records of a text, in order of time.
fn records(text: &str) -> Vec<Record> {
    let header: Vec<_> = text.lines().next().unwrap().split_whitespace().collect();
    let column = |name: &str| header.iter().position(|word| *word == name).unwrap();
    let (time, addr, ip) = (column("time"), column("addr"), column("linear_ip"));
    let record = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let hex = |column: usize| u64::from_str_radix(words[column], 16).unwrap();
        Record { time: words[time].parse().unwrap(), addr: hex(addr), ip: hex(ip) }
    };
    let mut all: Vec<Record> =
        text.lines().filter(|line| !line.starts_with('#')).map(record).collect();
    all.sort_by_key(|record| record.time);
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

        let text = scene.run("ebs script --format text a.data").success().out;
        let all = records(&text);
        assert_each_page_once(&all, &truth);
        assert_marks_enclose_the_kernels_count(&all, &truth);
        assert_eq!(account.count("kernel"), u64::try_from(all.len()).unwrap(), "{account:?}");
    }
}

/// No page of the program is touched twice: an address that comes twice was
/// counted twice, and a late page that does not come was missed. Early pages
/// may fault twice (the program says why), but not in the same nanosecond.
fn assert_each_page_once(all: &[Record], truth: &Truth) {
    let at = |site: &str| {
        let ip = truth.number(site);
        all.iter().filter(move |record| record.ip == ip)
    };
    let mut early: BTreeMap<_, u32> = BTreeMap::new();
    at("early").for_each(|record| *early.entry((record.addr >> 12, record.time)).or_default() += 1);
    assert!(!early.is_empty(), "nothing at early");
    let twice: Vec<_> = early.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "early pages counted more than once: {twice:x?}");

    let first = truth.number("base") >> 12;
    let mut late: Vec<_> = at("late").map(|record| record.addr >> 12).collect();
    late.sort_unstable();
    let expected: Vec<_> = (first..first + truth.number("late_pages")).collect();
    let doubled: Vec<_> = late.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(doubled.is_empty(), "late pages counted more than once: {doubled:x?}");
    assert!(late == expected, "{} late pages of {}", late.len(), expected.len());
}

/// Between the two marks lie as many records as the kernel counted there.
fn assert_marks_enclose_the_kernels_count(all: &[Record], truth: &Truth) {
    let mark = truth.number("mark");
    let marks: Vec<_> =
        all.iter().enumerate().filter(|(_, record)| record.ip == mark).map(|(n, _)| n).collect();
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
