//! Who called: chains against what a program's source says, as perf and as we
//! unwind them.

use std::process::Command;

use tests::{Account, Ebsd, Running, Scene, User, rights, workload};

/// The chains of `tests/programs/callers.c`, innermost first. What its C
/// library has in the midst of a chain is left out.
const CHAINS: [&[&str]; 5] = [
    &["touch", "inner", "middle", "main"],
    &["touch", "odd", "even", "odd", "even", "odd", "even", "main"],
    // `hop` has jumped to `last`.
    &["touch", "last", "main"],
    &["touch", "on_signal", "raise_it", "main"],
    // What longjmp(3) has left is no caller.
    &["touch", "after_jump", "main"],
];

/// Builds it with these options of gcc.
fn build(scene: &Scene, options: &[&str]) {
    let source = workload::sources().join("callers.c");
    let compiled = Command::new("gcc")
        .args(["-O2", "-w", "-o"])
        .arg(scene.path("callers"))
        .arg(&source)
        .args(options)
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// Chains of samples in `touch`, as `perf script` or `ebs script` prints them: the program's
/// own routines.
fn chains(scene: &Scene, reader: &str, file: &str) -> Vec<Vec<String>> {
    const OWN: [&str; 12] = [
        "touch",
        "inner",
        "middle",
        "main",
        "odd",
        "even",
        "last",
        "hop",
        "on_signal",
        "raise_it",
        "after_jump",
        "leave",
    ];
    let told = scene.run(&format!("{reader} {file}")).success();
    let routines = |chain: &str| -> Vec<String> {
        let names = chain.lines().filter_map(|line| line.split_whitespace().nth(1));
        names.filter(|name| OWN.contains(name)).map(str::to_owned).collect()
    };
    let all = told.out.split("\n\n").map(routines);
    all.filter(|chain| chain.first().is_some_and(|name| name == "touch")).collect()
}

const PERF: &str = "perf script -F ip,sym -i";
const EBS: &str = "ebs script -F ip,sym";

#[track_caller]
fn assert_all(scene: &Scene, reader: &str, file: &str) {
    let found = chains(scene, reader, file);
    for chain in CHAINS {
        assert!(found.iter().any(|one| one == chain), "no {chain:?} in {found:?}");
    }
    let known = |one: &Vec<String>| CHAINS.iter().any(|chain| one == chain);
    assert!(found.iter().all(known), "{reader} has another chain: {found:?}");
}

#[test]
fn chains_of_page_faults_are_those_of_the_source() {
    let test = "chains_of_page_faults_are_those_of_the_source";
    if !(rights::sampling(test) && rights::perf(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    let told = scene.run("ebs -u -g -t page_fault -o c.data ./callers").success();
    assert!(told.err.contains("built without frame pointers"), "{told}");
    assert_all(&scene, PERF, "c.data");
    assert_all(&scene, EBS, "c.data");
    scene.run("ebs -u --call-graph dwarf,57344 -t page_fault -o c.data ./callers").success();
    assert_all(&scene, PERF, "c.data");
    assert_all(&scene, EBS, "c.data");
}

/// perf 6.1 finds no tables in some of these.
#[test]
fn chains_do_not_depend_on_how_a_program_is_linked() {
    let test = "chains_do_not_depend_on_how_a_program_is_linked";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    for options in [
        &["-static", "-no-pie"][..],
        &["-static-pie"],
        &["-O3", "-fomit-frame-pointer", "-no-pie", "-g"],
        &["-fno-omit-frame-pointer", "-Wl,--no-eh-frame-hdr"],
        &["-fcf-protection=none", "-Wl,-z,now", "-Wl,-z,noseparate-code"],
    ] {
        build(&scene, options);
        scene.run("ebs -u -g -t page_fault -o c.data ./callers").success();
        assert_all(&scene, EBS, "c.data");
    }
}

#[test]
fn chains_of_emulated_samples_are_those_of_the_source() {
    let test = "chains_of_emulated_samples_are_those_of_the_source";
    if !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    let sampled = "ebs --source emulated -u -g -t l1_cache_miss -i =1 -o c.data ./callers";
    scene.run(sampled).success();
    assert_all(&scene, PERF, "c.data");
    assert_all(&scene, EBS, "c.data");
}

#[test]
fn the_daemon_passes_chains_on() {
    let test = "the_daemon_passes_chains_on";
    if !(rights::root(test) && rights::perf(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    std::fs::create_dir(scene.path("out")).unwrap();
    std::os::unix::fs::chown(scene.path("out"), Some(4002), None).unwrap();
    for how in ["dwarf", "fp"] {
        let mut command = User::new(4002).command(&scene, scene.path("bin/ebs"));
        command.args(["-u", "--call-graph", how, "-t", "page_fault", "-o", "out/c.data"]);
        command.arg("--socket").arg(&ebsd.socket).arg(scene.path("callers"));
        let outcome = Running::start(&mut command).finish().success();
        assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
        let all = scene.shell("perf script --force -F ip -i out/c.data").success();
        let frames = all.out.lines().filter_map(|line| line.split_whitespace().next());
        assert!(frames.clone().count() > 10, "{all}");
        assert!(
            !frames.into_iter().any(|ip| ip.starts_with("ffff")),
            "a frame of the kernel: {all}"
        );
    }
    let mut command = User::new(4002).command(&scene, scene.path("bin/ebs"));
    command.args(["-u", "-g", "-t", "page_fault", "-o", "out/c.data"]);
    command.arg("--socket").arg(&ebsd.socket).arg(scene.path("callers"));
    Running::start(&mut command).finish().success();
    std::os::unix::fs::chown(scene.path("out/c.data"), Some(0), None).unwrap();
    assert_all(&scene, PERF, "out/c.data");
    assert_all(&scene, EBS, "out/c.data");
    ebsd.end();
}

/// Without a C library that has none.
#[test]
fn frame_pointers_are_followed_where_they_are_kept() {
    let test = "frame_pointers_are_followed_where_they_are_kept";
    if !(rights::sampling(test) && rights::perf(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &["-DBARE", "-nostdlib", "-static", "-no-pie", "-fno-omit-frame-pointer"]);
    let told = scene.run("ebs -u -g -t page_fault -o c.data ./callers").success();
    assert!(told.err.contains("--call-graph fp: ") && told.err.contains("keeps frame"), "{told}");
    // A routine that calls nothing has no frame: its caller is left out.
    let plain = ["touch", "middle"].map(str::to_owned);
    let found = chains(&scene, PERF, "c.data");
    assert_eq!(found, chains(&scene, EBS, "c.data"));
    assert!(found.iter().any(|chain| chain.starts_with(&plain)), "{found:?}");
}

/// Names and counts of a table's rows, and that they add up.
fn rows(scene: &Scene, options: &str) -> Vec<String> {
    let told = scene.run(&format!("ebs report --json {options} c.data")).success();
    let report: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let event = &report["events"][0];
    let number = |value: &serde_json::Value| value.as_u64().expect("a count");
    let all = event["rows"].as_array().expect("rows");
    let sum: u64 = all.iter().map(|row| number(&row["count"])).sum();
    let totals = &event["totals"];
    assert_eq!(sum, number(&totals["counted"]), "{told}");
    assert_eq!(number(&totals["samples"]), sum + number(&totals["filtered"]), "{told}");
    let key = report["query"]["by"][0].as_str().expect("a key");
    let name = |row: &serde_json::Value| match &row[key] {
        serde_json::Value::String(name) => name.clone(),
        serde_json::Value::Number(chain) => chain.to_string(),
        missing => missing["missing"].as_str().expect("a reason").to_owned(),
    };
    let mut names: Vec<String> = all.iter().map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn reports_look_at_the_part_of_a_chain_that_was_asked_for() {
    let test = "reports_look_at_the_part_of_a_chain_that_was_asked_for";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    scene.run("ebs -u -g -t page_fault -o c.data ./callers").success();
    let callers = ["after_jump", "inner", "last", "odd", "on_signal"];
    assert_eq!(rows(&scene, "--callers touch"), callers);
    assert_eq!(rows(&scene, "--filter routine=touch --outside touch --by routine"), callers);
    assert_eq!(rows(&scene, "--filter routine=touch --by caller"), callers);
    let outside =
        "--filter routine=touch --outside touch,inner,odd,even,last,on_s*,after_?ump,libc*";
    assert_eq!(rows(&scene, &format!("{outside} --by routine")), ["main", "middle", "raise_it"]);
    assert_eq!(rows(&scene, "--callers touch --callees odd --by stack").len(), 1);
    assert_eq!(rows(&scene, "--filter frame=even --callees even"), ["odd"]);
    assert_eq!(rows(&scene, "--filter frame=raise_it --callers touch"), ["on_signal"]);
    assert_eq!(rows(&scene, "--callers no_such_routine"), [""; 0]);
    let told = scene.run("ebs annotate --filter frame=middle touch c.data").success();
    let other = scene.run("ebs annotate --filter frame=inner touch c.data").success();
    assert_eq!(told.out.replace("frame=middle", "frame=inner"), other.out);
    let inclusive = scene.run("ebs report --children --filter routine=touch c.data").success();
    assert!(
        inclusive.out.lines().any(|line| line.ends_with("100.00%  100.00%  touch")),
        "{inclusive}"
    );
    assert!(
        inclusive.out.lines().any(|line| line.ends_with("100.00%    0.00%  main")),
        "{inclusive}"
    );
    let tree = scene.run("ebs report --tree --callees main --callers touch c.data").success();
    assert!(tree.out.contains("  middle > inner > touch\n"), "{tree}");
    let tree =
        scene.run("ebs report --tree=callers --callees main --callers touch c.data").success();
    assert!(tree.out.contains("  inner < middle < main\n"), "{tree}");
    assert!(tree.out.contains("  odd < even < odd < even < odd < even < main\n"), "{tree}");
    let refused = scene.run("ebs report --by callee c.data");
    assert!(refused.err.contains("add --callees ROUTINE"), "{refused}");
}

#[test]
fn kernel_frames_come_before_those_of_the_program() {
    let test = "kernel_frames_come_before_those_of_the_program";
    if !(rights::root(test) && rights::perf(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    scene.run("ebs -k -g -t page_fault -o c.data ./callers").success();
    let is_joined = |chain: &str| {
        let frames: Vec<&str> = chain.lines().filter_map(|l| l.split_whitespace().next()).collect();
        let kernel = frames.iter().take_while(|frame| frame.starts_with("ffff")).count();
        kernel > 1 && chain.contains(" by_kernel\n") && chain.contains(" main\n")
    };
    for reader in [PERF, EBS] {
        let told = scene.run(&format!("{reader} c.data")).success();
        assert!(told.out.split("\n\n").any(is_joined), "{told}");
    }
}

/// Deeper than a copy of 8 KiB holds.
const DEEP: &str = r#"
static volatile int sink;
__attribute__((noipa)) int deep(int left)
{
    volatile char room[200];
    room[left % 200] = 1;
    if (left) return deep(left - 1) + room[left % 200];
    for (int i = 0; i < 100000; i++) sink++;
    return 0;
}
int main(void) { return deep(300) == 0; }
"#;

#[test]
fn a_stack_that_the_copy_cuts_takes_the_room_of_its_frames() {
    let test = "a_stack_that_the_copy_cuts_takes_the_room_of_its_frames";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    scene.write("deep.c", DEEP);
    scene.shell("gcc -O1 -w -fno-omit-frame-pointer -o deep deep.c").success();
    let ebs = "ebs -u -g --call-graph dwarf --source emulated -t memory_stores -i =100 --no-files";
    let mut told = Vec::new();
    for (file, more) in [("frames.data", ""), ("stacks.data", "--keep-stacks")] {
        scene.run(&format!("{ebs} {more} -o {file} ./deep")).success();
        let account = Account::of_stream(&scene.path(file));
        let (kernel, delivered) = (account.count("kernel"), account.count("delivered"));
        assert_eq!(kernel, delivered, "{account:?}");
        let bytes = std::fs::metadata(scene.path(file)).unwrap().len() / delivered;
        // 35 frames of 8 bytes, registers twice and what else a sample has.
        match more {
            "" => assert!(bytes < 1500, "{bytes} a sample"),
            _ => assert!(bytes > 8192, "{bytes} a sample"),
        }
        let report = scene.run(&format!("ebs report --by routine,caller {file}")).success();
        let note = report.out.lines().find(|line| line.contains("the copy of the stack is too"));
        let note = note.unwrap_or_else(|| panic!("{report}")).to_owned();
        let script = scene.run(&format!("ebs script -F ip,sym {file}")).success();
        // `deep` alone is in a chain that is cut; all begin alike.
        let chains = script.out.split("\n\n").filter(|chain| chain.contains("deep"));
        let mut depths: Vec<usize> = chains.map(|chain| chain.matches("deep").count()).collect();
        depths.sort_unstable();
        let as_perf = scene.run(&format!("perf script -F ip,sym -i {file}"));
        let shown_by_perf = as_perf.out.matches("deep").count();
        let said = script.err.lines().find(|line| line.contains("too short")).map(str::to_owned);
        assert!(said.is_some(), "{}", script.err);
        told.push((note, depths, said, shown_by_perf));
    }
    let (frames, stacks) = (&told[0], &told[1]);
    assert!(frames.1.last().is_some_and(|depth| (20..100).contains(depth)), "{frames:?}");
    assert_eq!((&frames.0, &frames.1, &frames.2), (&stacks.0, &stacks.1, &stacks.2));
    if rights::program(test, "perf") {
        let all: usize = frames.1.iter().sum();
        assert_eq!(frames.3, all, "perf reads the frames that took the place of stacks");
    }
}
