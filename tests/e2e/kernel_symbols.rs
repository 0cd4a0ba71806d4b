use std::fs;

use tests::{Scene, Workload, rights};

/// Faults of the kernel's own, and their names.
fn recording(test: &str, options: &str) -> Option<Scene> {
    if !rights::sampling(test) {
        return None;
    }
    if !fs::read_to_string("/proc/kallsyms").is_ok_and(|list| !list.starts_with("0000000000000000"))
    {
        eprintln!("skipped {test}: /proc/kallsyms shows no addresses to this user");
        return None;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    let line = format!("ebs -k -t cpu_clock -i 100000 -c all {options} -o k.data ./touch 20000");
    scene.run(&line).success();
    Some(scene)
}

/// Another machine: other release, other kernel, other place.
fn other_machine(scene: &Scene) {
    for directory in ["other", "other/proc", "other/proc/sys", "other/proc/sys/kernel"] {
        fs::create_dir(scene.path(directory)).unwrap();
    }
    scene.write("other/proc/sys/kernel/osrelease", b"1.2.3-other\n");
    let list = "ffffffff81000000 T _text\nffffffff81000000 T wrong\nffffffffff000000 T _etext\n";
    scene.write("other/proc/kallsyms", list.as_bytes());
}

const REPORT: &str = "ebs report --by routine --top 1000 --csv";

#[test]
fn a_recording_names_the_kernels_routines_on_another_machine() {
    let Some(scene) = recording("a_recording_names_the_kernels_routines_on_another_machine", "")
    else {
        return;
    };
    other_machine(&scene);
    let here = scene.run(&format!("{REPORT} k.data")).success();
    assert!(here.out.lines().count() > 2, "{here}");
    assert!(!here.out.contains("recorded under"), "{here}");
    let there = scene.run(&format!("{REPORT} --root other k.data")).success();
    let kernel = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains('[')).map(str::to_owned).collect()
    };
    assert_eq!(kernel(&there.out), kernel(&here.out));
    assert!(!there.out.contains("wrong"), "{there}");
    // A list that is given is used, and nothing else.
    let script = |options: &str| scene.run(&format!("ebs script -F ip,sym {options} k.data"));
    assert_eq!(script("--root other").success().out, script("").success().out);
    let size = fs::metadata(scene.path("k.data")).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes");
}

#[test]
fn perf_reads_a_recording_that_has_the_kernels_symbols() {
    let test = "perf_reads_a_recording_that_has_the_kernels_symbols";
    if !rights::perf(test) {
        return;
    }
    let Some(scene) = recording(test, "") else { return };
    scene.run("ebs convert k.data file.data").success();
    let ours = scene.run("ebs script -F ip k.data").success();
    for file in ["k.data", "file.data"] {
        let perf = scene.run(&format!("perf script -F ip -i {file}")).success();
        assert_eq!(perf.err, "", "{perf}");
        assert_eq!(perf.out.lines().count(), ours.out.lines().count(), "{file}");
    }
}

#[test]
fn a_converted_recording_keeps_the_kernels_symbols_and_an_anonymous_one_does_not() {
    let test = "a_converted_recording_keeps_the_kernels_symbols_and_an_anonymous_one_does_not";
    let Some(scene) = recording(test, "") else { return };
    other_machine(&scene);
    let names =
        |file: &str| scene.run(&format!("ebs script -F ip,sym --root other {file}")).success().out;
    let all = names("k.data");
    scene.run("ebs convert k.data file.data").success();
    scene.run("ebs convert --pipe file.data pipe.data").success();
    assert_eq!(names("file.data"), all);
    assert_eq!(names("pipe.data"), all);
    let told = scene.run("ebs convert --anonymise k.data nobody.data").success();
    assert!(told.err.contains("the kernel's symbols"), "{told}");
    let bytes = fs::read(scene.path("nobody.data")).unwrap();
    assert!(!bytes.windows(15).any(|window| window == b"kernel_symbols="));
}

#[test]
fn a_recording_without_the_kernels_symbols_is_small_and_bound_to_its_boot() {
    let test = "a_recording_without_the_kernels_symbols_is_small_and_bound_to_its_boot";
    let Some(scene) = recording(test, "--no-kallsyms") else { return };
    other_machine(&scene);
    let bytes = fs::read(scene.path("k.data")).unwrap();
    assert!(!bytes.windows(15).any(|window| window == b"kernel_symbols="));
    let there = scene.run(&format!("{REPORT} --root other k.data")).success();
    assert!(there.out.contains("recorded under kernel"), "{there}");
}

#[test]
fn user_code_alone_takes_no_symbols_of_the_kernel_along() {
    let test = "user_code_alone_takes_no_symbols_of_the_kernel_along";
    let Some(scene) = recording(test, "") else { return };
    scene.run("ebs -u -t page_fault -c all -o u.data ./touch 10").success();
    let bytes = fs::read(scene.path("u.data")).unwrap();
    assert!(!bytes.windows(15).any(|window| window == b"kernel_symbols="));
}
