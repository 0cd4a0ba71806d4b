mod callers;
mod tracepoints;

use std::{collections::BTreeMap, env, path::Path};

use rustix::process::Signal;
use tests::{Account, Outcome, Running, Scene, Truth, Workload, built, rights};

/// Runs of each comparison; HARDMETER_IN_KERNEL_ROUNDS asks for another
/// number.
const ROUNDS: u32 = 3;

fn rounds() -> u32 {
    env::var("HARDMETER_IN_KERNEL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

/// Hits by the named columns of a report.
fn hits(scene: &Scene, by: &str, recording: &str) -> BTreeMap<Vec<String>, u64> {
    let csv = scene.run(&format!("ebs report --csv --by {by} {recording}")).success().out;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let column = |name: &str| heads.iter().position(|&head| head == name).unwrap();
    let keys: Vec<usize> = by.split(',').map(column).collect();
    let count = column("count");
    let row = |line: Vec<&str>| {
        let key = keys.iter().map(|&key| line[key].to_owned()).collect();
        (key, line[count].parse().unwrap())
    };
    lines.map(row).collect()
}

/// A session on a process, once all its events are open: then alone it
/// begins to write.
fn attached(scene: &Scene, recording: &str, options: &str) -> Running {
    let path = scene.path(recording);
    let _there_was_none = std::fs::remove_file(&path);
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -i 1 -o {recording} {options}"));
    let begun = |_| std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
    ebs.wait_until("it attached", begun);
    ebs
}

/// A workload that waits, and two sessions on it: one counts in the kernel,
/// the other has a ring. Gives what the workload told, and `ring.data` and
/// `counted.data` in the scene.
fn both(scene: &Scene, workload: &str, options: &str) -> Truth {
    let mut target = scene.start(workload);
    assert_eq!(target.hear().trim(), "ready");
    let pid = target.pid();
    let ring = attached(scene, "ring.data", &format!("-c all --ring 16384 {pid}"));
    let counted = attached(scene, "counted.data", &format!("--in-kernel {options} {pid}"));
    target.tell("go");
    let told = target.finish().success().out;
    ring.finish().success();
    let counted = counted.finish().success();
    assert!(counted.last_line().contains("counted in the kernel"), "{counted}");
    Truth::new(&told)
}

/// The account of a recording of which nothing was lost.
#[track_caller]
fn whole(scene: &Scene, recording: &str) -> Account {
    let account = Account::of_stream(&scene.path(recording));
    assert_eq!(account.lost(), 0, "{recording}: {account:?}");
    assert_eq!(account.count("kernel"), account.count("delivered"), "{account:?}");
    account
}

#[test]
fn each_site_has_the_count_of_the_ring_and_of_the_kernel() {
    let test = "each_site_has_the_count_of_the_ring_and_of_the_kernel";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sites.build(&scene);
    for round in 0..rounds() {
        let told = both(&scene, "./sites 160000 8 3", "--every 1s");
        let (ring, counted) = (whole(&scene, "ring.data"), whole(&scene, "counted.data"));
        assert_eq!(ring.count("kernel"), counted.count("kernel"), "round {round}");
        assert_eq!(counted.count("seen"), counted.count("kernel"), "round {round}");
        let by_ring = hits(&scene, "ip", "ring.data");
        let by_kernel = hits(&scene, "ip", "counted.data");
        assert_eq!(by_kernel, by_ring, "round {round}");
        for site in told.rows("site") {
            let found = by_kernel.get(&vec![format!("{:#x}", site[0])]);
            assert_eq!(found.copied().unwrap_or(0), site[1], "round {round}: {:#x}", site[0]);
        }
        let rate = told.number("faults") * 1000 / told.number("milliseconds").max(1);
        eprintln!(
            "round {round}: {} hits at {} sites, {rate} a second, {} aggregates",
            counted.count("kernel"),
            by_kernel.len(),
            counted.count("aggregates")
        );
    }
}

#[test]
fn threads_and_forks_at_once_are_counted_as_the_ring_has_them() {
    let test = "threads_and_forks_at_once_are_counted_as_the_ring_has_them";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Threads.build(&scene);
    for round in 0..rounds() {
        let told = both(&scene, "./threads 8 20 50", "--by-process --sites 32768");
        let (ring, counted) = (whole(&scene, "ring.data"), whole(&scene, "counted.data"));
        assert!(ring.count("kernel") > 0 && counted.count("kernel") > 0, "round {round}");
        // The sessions do not begin at one moment; what comes late is in both.
        let late = format!("{:#x}", told.number("late"));
        let of_late = |recording| {
            let mut hits = hits(&scene, "pid,ip", recording);
            hits.retain(|key, _| key[1] == late);
            hits
        };
        let by_kernel = of_late("counted.data");
        assert_eq!(by_kernel, of_late("ring.data"), "round {round}");
        assert_eq!(by_kernel.values().sum::<u64>(), told.number("late_pages"), "round {round}");
        assert!(by_kernel.len() > 20, "the forks' pages are theirs: {by_kernel:?}");
    }
}

#[test]
fn a_table_too_small_loses_what_it_says() {
    let test = "a_table_too_small_loses_what_it_says";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sites.build(&scene);
    for round in 0..rounds() {
        let told = both(&scene, "./sites 40000 4 1", "--sites 16 --by-process");
        let ring = whole(&scene, "ring.data");
        let counted = Account::of_stream(&scene.path("counted.data"));
        let (kernel, no_room) = (counted.count("kernel"), counted.count("lost.no_room"));
        assert!(no_room > 0, "round {round}: {counted:?}");
        assert_eq!(kernel, ring.count("kernel"), "round {round}: {counted:?}");
        assert_eq!(kernel, counted.count("delivered") + no_room, "round {round}: {counted:?}");
        assert_eq!(counted.lost(), no_room, "round {round}: {counted:?}");
        let sum: u64 = hits(&scene, "ip", "counted.data").values().sum();
        assert_eq!(sum, counted.count("delivered"), "round {round}: {counted:?}");
        assert!(told.number("faults") < kernel, "libc's own are in it");
    }
}

#[test]
fn many_short_processes_find_room() {
    let test = "many_short_processes_find_room";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    // Each has some ninety addresses of its own: more than two tables hold.
    scene.write("many", "seq 500 | xargs -n 1 /bin/true");
    scene.run("ebs -u -t page_fault -i 1 --in-kernel --sites 16384 -o x.data sh many").success();
    // A machine that starts more of them between two looks at the tables than
    // these have room for loses a few hits, and counts them.
    let account = Account::of_stream(&scene.path("x.data"));
    let (kernel, no_room) = (account.count("kernel"), account.count("lost.no_room"));
    assert_eq!(kernel, account.count("delivered") + no_room, "{account:?}");
    assert_eq!(account.lost(), no_room, "{account:?}");
    assert!(no_room * 20 < kernel, "tables are taken early: {account:?}");
    assert_eq!(account.count("aggregates"), 1, "what was taken early is in it: {account:?}");
    let sites: u64 = hits(&scene, "ip", "x.data").values().sum();
    assert_eq!(sites, account.count("delivered"));
    let named = scene.run("ebs report --by object --csv x.data").success().out;
    assert!(!named.contains("several programs"), "one process each: {named}");
}

#[test]
fn no_program_knows_which_sites_share_slots() {
    let test = "no_program_knows_which_sites_share_slots";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Collide.build(&scene);
    for _ in 0..rounds() {
        let counted =
            scene.run("ebs -u -t page_fault -i 1 --in-kernel -o x.data ./collide 5000").success();
        let site = Truth::new(&counted.out).number("site");
        assert_eq!(whole(&scene, "x.data").count("lost.no_room"), 0, "{counted}");
        let at_site = hits(&scene, "ip", "x.data").remove(&vec![format!("{site:#x}")]);
        assert_eq!(at_site, Some(5000), "{counted}");
    }
}

#[test]
fn low_bits_that_never_change_are_named() {
    let test = "low_bits_that_never_change_are_named";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    let counted = scene.run("ebs -u -t page_fault -i 1 --in-kernel ./list 500").success();
    let row = counted.out.lines().find(|line| line.contains("list_insert")).unwrap();
    assert!(row.trim_start().starts_with("500 "), "{counted}");
    assert!(row.contains("cx: same 13 low bits (0x0a40)"), "{counted}");
}

#[test]
fn a_filter_lets_through_what_is_to_be_kept() {
    let test = "a_filter_lets_through_what_is_to_be_kept";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let storm = scene.run("./storm 20000 2").success();
    let site = Truth::new(&storm.out).number("site");
    let picked = format!("--in-kernel=filter --keep ip={site:x}-{:x}", site + 1);
    let sampled = scene
        .run(&format!("ebs -u -t page_fault -i 1 -c all {picked} -o p.data ./storm 20000 2"))
        .success();
    assert!(sampled.last_line().contains("filtered in the kernel"), "{sampled}");
    let account = Account::of_stream(&scene.path("p.data"));
    assert_eq!(account.count("delivered"), 20000, "{account:?}");
    let rest = account.count("kernel") - 20000;
    assert!(rest > 0 && account.count("filtered.ip") == rest, "{account:?}");
    let found = hits(&scene, "ip", "p.data");
    assert_eq!(found, BTreeMap::from([(vec![format!("{site:#x}")], 20000)]));

    let tenth = "ebs -u -t page_fault -i 1 --in-kernel --keep one_in=10 -o t.data ./storm 20000 2";
    let _counted = scene.run(tenth).success();
    let account = Account::of_stream(&scene.path("t.data"));
    let (kernel, kept) = (account.count("kernel"), account.count("delivered"));
    assert_eq!(kept + account.count("filtered.one_in"), kernel, "{account:?}");
    assert!(kept.abs_diff(kernel / 10) <= 1 + cpus(), "{account:?}");
    assert_eq!(account.lost(), 0, "{account:?}");
}

/// CPUs of this machine: each counts down by itself.
fn cpus() -> u64 {
    std::thread::available_parallelism().unwrap().get() as u64
}

#[test]
fn a_count_ends_it_and_so_does_a_signal() {
    let test = "a_count_ends_it_and_so_does_a_signal";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let mut storm = scene.start("./storm 40000 1 wait 4000");
    assert_eq!(storm.hear().trim(), "ready");
    let pid = storm.pid();
    let first = attached(&scene, "first.data", &format!("--in-kernel -c 500 {pid}"));
    let second = attached(&scene, "i.data", &format!("--in-kernel {pid}"));
    storm.tell("go");
    let counted = first.finish().success();
    let count: u64 = counted.last_line().split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((500..20_000).contains(&count), "{counted}");
    second.signal(Signal::INT);
    let interrupted = second.finish().success();
    let account = Account::of_stream(&scene.path("i.data"));
    assert_eq!(account.count("aggregates"), 1, "{interrupted}");
    assert!(account.count("delivered") >= count, "{interrupted}");
    assert_eq!(account.count("unaccounted"), 0, "{interrupted}");
    drop(storm);
}

#[test]
fn perf_reads_past_aggregates() {
    let test = "perf_reads_past_aggregates";
    if !rights::programs_in_kernel(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sites.build(&scene);
    let told = scene.shell(
        "echo go | ebs -u -t page_fault -i 1 --in-kernel -o c.data ./sites 16000 2 1 && \
         perf script -i c.data --show-mmap-events",
    );
    let told = told.success();
    assert!(told.out.contains("PERF_RECORD_MMAP2"), "{told}");
}

/// What a run without the kernel's help says and brings.
#[track_caller]
fn through_rings(scene: &Scene, told: Outcome, why: &str) {
    let told = told.success();
    assert!(told.err.contains("not counted in the kernel, but sampled through rings"), "{told}");
    assert!(told.err.contains(why), "{told}");
    assert!(told.last_line().contains("sampled through rings, not in the kernel"), "{told}");
    let stream = std::fs::read(scene.path("f.data")).unwrap();
    let promise = b";counted=rings;not_in_kernel=";
    assert!(stream.windows(promise.len()).any(|found| found == promise), "{told}");
    let account = Account::of_stream(&scene.path("f.data"));
    assert_eq!(account.count("kernel"), account.count("delivered"), "{account:?}");
}

const FAULTS: &str = "-u -t page_fault -i 1 --no-daemon --in-kernel";

#[test]
fn without_the_capability_rings_serve_and_say_why() {
    let test = "without_the_capability_rings_serve_and_say_why";
    if !rights::root(test) || !rights::program(test, "setpriv") {
        return;
    }
    let scene = Scene::new();
    let dropped = "setpriv --bounding-set=-bpf,-sys_admin ebs";
    let told = scene.run(&format!("{dropped} {FAULTS} -o f.data true"));
    through_rings(&scene, told, "CAP_BPF");
    let strict = scene.run(&format!("{dropped} {FAULTS} --no-rings true"));
    strict.refused(1, &["cannot be counted in the kernel", "CAP_BPF"]);
    let keeping = scene.run(&format!("{dropped} {FAULTS} --keep comm=true true"));
    keeping.refused(1, &["cannot be counted in the kernel", "CAP_BPF"]);
}

#[test]
fn a_plain_user_is_served_by_rings() {
    let test = "a_plain_user_is_served_by_rings";
    if !rights::root(test) {
        return;
    }
    if rights::paranoid() > 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    let ebs = scene.open_commands().join("ebs");
    let mut command = scene.command("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"])
        .arg(ebs)
        .args(FAULTS.split_whitespace())
        .args(["-o", "-", "--format", "perf", "true"]);
    let told = Running::start(&mut command).finish().success();
    assert!(told.err.contains("CAP_BPF and CAP_PERFMON"), "{told}");
    assert!(told.last_line().contains("sampled through rings, not in the kernel"), "{told}");
}

#[test]
fn a_filter_of_system_calls_means_rings() {
    let test = "a_filter_of_system_calls_means_rings";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::NoBpf.build(&scene);
    for (errno, why) in [(1, "a seccomp filter"), (38, "no bpf(2)")] {
        let ebs = built::directory().join("ebs");
        let told = run(&scene, errno, &ebs);
        through_rings(&scene, told, why);
    }
}

fn run(scene: &Scene, errno: i32, ebs: &Path) -> Outcome {
    scene.run(&format!("./no_bpf {errno} {} {FAULTS} -o f.data true", ebs.display()))
}

/// What ran before an exec is mapped no more after it: a hit must be looked up
/// when it happened, by the clock of the sideband records.
#[test]
fn hits_before_an_exec_keep_their_names() {
    if !rights::programs_in_kernel("hits_before_an_exec_keep_their_names") {
        return;
    }
    let scene = Scene::new();
    for options in ["", "--by-process"] {
        scene
            .run(&format!(
                "ebs -u -t page_fault -i 1 --in-kernel {options} -o exec.data env env true"
            ))
            .success();
        let objects = hits(&scene, "object", "exec.data");
        let unnamed = objects.keys().find(|object| object[0].starts_with('['));
        assert_eq!(unnamed, None, "{options}: {objects:?}");
        for program in ["/env", "/true"] {
            assert!(objects.keys().any(|object| object[0].ends_with(program)), "{objects:?}");
        }
    }
}
