use std::collections::BTreeMap;

use tests::{Account, Scene, Truth, Workload, rights, workload::number};

/// The registers that `ebs` samples, in the order and spelling of perf.
const REGISTERS: [&str; 18] = [
    "AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "R8", "R9", "R10", "R11", "R12",
    "R13", "R14", "R15",
];
/// CF PF AF ZF SF OF: what a program can pin of the flags.
const STATUS_FLAGS: u64 = 0x8d5;
const PAGES: u64 = 2000;

/// One fault: address, instruction, registers in the order of [`REGISTERS`].
type Fault = (u64, u64, Vec<u64>);

/// What `touch` says it did, sorted: its faults and the number at each site.
fn truth(told: &str) -> (Vec<Fault>, BTreeMap<u64, u64>) {
    let truth = Truth::new(told);
    let sites: Vec<_> = truth.rows("site");
    let mut faults: Vec<Fault> = truth
        .rows("fault")
        .into_iter()
        .map(|row| {
            let ip = sites[usize::try_from(row[0]).unwrap()][1];
            // ax bx cx dx si di bp sp r8 .. r15 flags become perf's order.
            let (first, rest) = row[2..].split_at(8);
            let flags = rest[8] & STATUS_FLAGS;
            let registers = [first, &[ip, flags], &rest[..8]].concat();
            (row[1], ip, registers)
        })
        .collect();
    faults.sort();
    (faults, sites.iter().map(|site| (site[1], site[2])).collect())
}

/// Lines of `-F ip,addr,iregs` at the sites, sorted.
fn faults_at(sites: &BTreeMap<u64, u64>, script: &str) -> Vec<Fault> {
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let mut faults = Vec::new();
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        let (addr, ip) = (hex(words[0]), hex(words[1]));
        if !sites.contains_key(&ip) {
            continue;
        }
        assert_eq!(words[2], "ABI:2", "{line}");
        let pairs = words[3..].iter().map(|word| word.split_once(':').unwrap());
        let (names, values): (Vec<_>, Vec<_>) = pairs.map(|(n, v)| (n, number(v))).unzip();
        assert_eq!(names, REGISTERS, "{line}");
        faults.push((addr, ip, values));
    }
    faults.sort();
    faults
}

fn with_status_flags_only(mut faults: Vec<Fault>) -> Vec<Fault> {
    for (_, _, registers) in &mut faults {
        registers[9] &= STATUS_FLAGS;
    }
    faults
}

#[test]
fn counts_addresses_and_registers_equal_the_truth_and_perf() {
    let test = "counts_addresses_and_registers_equal_the_truth_and_perf";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    // Warm: the first run also reads the file.
    scene.run(&format!("setarch -R ./touch {PAGES}")).success();
    let counted = scene
        .run(&format!("setarch -R perf stat -x, -o stat -e page-faults ./touch {PAGES}"))
        .success();
    let kernel: u64 = scene
        .read("stat")
        .lines()
        .find(|l| l.contains("page-faults"))
        .unwrap()
        .split(',')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let ours = scene
        .run(&format!("setarch -R ebs -u -k -t page_fault -c all -o ours.data ./touch {PAGES}"))
        .success();
    let intr_regs = REGISTERS.join(",");
    let theirs = scene
        .run(&format!(
            "setarch -R perf record -q -e page-faults -c 1 -d --intr-regs={intr_regs} -o theirs.data ./touch {PAGES}"
        ))
        .success();
    let stable = |told: &str| {
        told.lines()
            .filter(|line| !line.starts_with("between"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(stable(&ours.out), stable(&theirs.out), "the program is the same on every run");
    assert_eq!(stable(&ours.out), stable(&counted.out));

    let (expected, sites) = truth(&ours.out);
    assert_eq!(u64::try_from(expected.len()).unwrap(), PAGES);
    let our_script = scene.run("ebs script -F ip,addr,iregs ours.data").success().out;
    let their_script = scene.run("perf script -F ip,addr,iregs -i theirs.data").success().out;
    let total = |script: &str| script.lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(u64::try_from(total(&their_script)).unwrap(), kernel, "perf record and perf stat");
    assert_eq!(u64::try_from(total(&our_script)).unwrap(), kernel, "ebs and perf stat");

    let our_faults = faults_at(&sites, &our_script);
    let their_faults = faults_at(&sites, &their_script);
    assert!(our_faults == their_faults, "{}", first_difference(&our_faults, &their_faults));
    let our_faults = with_status_flags_only(our_faults);
    assert!(our_faults == expected, "{}", first_difference(&our_faults, &expected));

    let mut at_sites = BTreeMap::new();
    for (_, ip, _) in &our_faults {
        *at_sites.entry(*ip).or_insert(0) += 1;
    }
    assert_eq!(at_sites, sites);
}

fn first_difference(left: &[Fault], right: &[Fault]) -> String {
    let pair = left.iter().zip(right).find(|(a, b)| a != b);
    format!("{} and {} faults, first that differ: {pair:x?}", left.len(), right.len())
}

#[test]
fn script_prints_what_perf_script_prints() {
    let test = "script_prints_what_perf_script_prints";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    Workload::Threads.build(&scene);
    scene.run("ebs -u -k -t page_fault -c all -o f.data ./touch 500").success();
    let forks = "echo go | ebs -u -k -t page_fault -c all -o g.data ./threads 8 3 5";
    scene.shell(forks).success();
    for fields in [
        "ip,addr,iregs",
        "comm,pid,tid,cpu,time,event,period,addr,ip",
        "comm,tid,cpu,time,event,ip,sym,symoff",
        "pid,time,ip,dso",
        "tid,addr,iregs",
    ] {
        for file in ["f.data", "g.data"] {
            let ours = scene.run(&format!("ebs script -F {fields} {file}")).success().out;
            let theirs = scene.run(&format!("perf script -F {fields} -i {file}")).success().out;
            assert_same_fields(&ours, &theirs, &format!("{fields} of {file}"));
        }
    }
}

/// Line by line and field by field; blanks between fields are not fields.
#[track_caller]
fn assert_same_fields(ours: &str, theirs: &str, what: &str) {
    let fields = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let (mut ours, mut theirs) = (fields(ours), fields(theirs));
    assert!(theirs.len() > 50, "{what}: perf script prints {} lines", theirs.len());
    assert_eq!(ours.len(), theirs.len(), "{what}: lines");
    // Records of one instant on two CPUs have no order of their own.
    ours.sort();
    theirs.sort();
    let differ: Vec<_> = ours.iter().zip(&theirs).filter(|(a, b)| a != b).take(5).collect();
    assert!(differ.is_empty(), "{what}: ours and perf's differ:\n{differ:#?}");
}

#[test]
fn text_records_hold_every_register() {
    if !rights::sampling("text_records_hold_every_register") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let ours = scene.run("ebs -u -t page_fault -c all -o f.1 ./touch 300").success();
    let (expected, sites) = truth(&ours.out);
    let text = scene.read("f.1");
    let header: Vec<_> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header[..2], ["#rflags", "linear_ip"]);
    let column = |name: &str| header.iter().position(|word| *word == name).unwrap();
    let names = [
        "rax",
        "rbx",
        "rcx",
        "rdx",
        "rsi",
        "rdi",
        "rbp",
        "rsp",
        "linear_ip",
        "#rflags",
        "r8",
        "r9",
        "r10",
        "r11",
        "r12",
        "r13",
        "r14",
        "r15",
    ];
    let mut faults = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split_whitespace().collect();
        let hex = |name: &str| u64::from_str_radix(words[column(name)], 16).unwrap();
        assert!(words[..18].iter().all(|word| word.len() == 16), "16 hex digits each: {line}");
        if sites.contains_key(&hex("linear_ip")) {
            faults.push((hex("addr"), hex("linear_ip"), names.map(hex).to_vec()));
        }
    }
    faults.sort();
    let faults = with_status_flags_only(faults);
    assert!(faults == expected, "{}", first_difference(&faults, &expected));
}

/// The kernel fills a sample once for all who listen to a software event, so
/// records came under the id of another profiler and readers dropped them.
#[test]
fn another_profiler_of_the_same_event_takes_nothing() {
    let test = "another_profiler_of_the_same_event_takes_nothing";
    if !rights::root(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let mut other = scene.start("perf record -q -a -g -e page-faults -c 1 -o other.data sleep 20");
    other.wait_until("it samples", |_| {
        std::fs::metadata(scene.path("other.data")).is_ok_and(|file| file.len() > 0)
    });
    let sampled = scene.run("ebs -u -t page_fault -c all -o s.data ./storm 30000").success();
    drop(other);
    let delivered = Account::of_stream(&scene.path("s.data")).count("delivered");
    assert!(delivered >= 30_000, "{sampled}");
    for script in ["ebs script -F comm,ip s.data", "perf script -F comm,ip -i s.data"] {
        let lines = scene.run(script).success().out.lines().count();
        assert_eq!(u64::try_from(lines).unwrap(), delivered, "{script}");
    }
}
