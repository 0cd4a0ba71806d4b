//! `ebs memlat`: what holds on any machine and under any load. No time is
//! asserted.

use rustix::process::Signal;
use serde_json::Value;
use tests::Scene;

/// Small and short: no test is about what memory takes here.
const SMALL: &str = "ebs memlat --quick --largest 8m";

fn document(scene: &Scene, options: &str) -> Value {
    let done = scene.run(&format!("{SMALL} --json {options}")).success();
    assert_eq!(done.err, "", "nothing is said beside the document");
    serde_json::from_str(&done.out).unwrap()
}

/// What must hold of each figure, wherever in a document it is; gives how
/// many there are.
fn assert_figures(value: &Value) -> usize {
    let number = |name: &str| value[name].as_f64();
    if let (Some(minimum), Some(median), Some(spread)) =
        (number("minimum"), number("median"), number("spread"))
    {
        assert!(minimum > 0.0 && minimum <= median && spread >= 0.0, "{value:#}");
        return 1;
    }
    if value["nanoseconds"].is_object() {
        assert!(value["runs"].as_u64() > Some(0), "{value:#}");
    }
    match value {
        Value::Object(fields) => fields.values().map(assert_figures).sum(),
        Value::Array(all) => all.iter().map(assert_figures).sum(),
        _ => 0,
    }
}

fn assert_ascending(all: &Value, name: &str) {
    let sizes: Vec<u64> =
        all.as_array().unwrap().iter().map(|one| one[name].as_u64().unwrap()).collect();
    assert!(!sizes.is_empty() && sizes.windows(2).all(|pair| pair[0] < pair[1]), "{all:#}");
}

#[test]
fn all_parts_give_figures_that_can_be() {
    let scene = Scene::new();
    let document = document(&scene, "--html page.html");
    assert_eq!(document["schema"], "hardmeter-memlat/1");
    assert_eq!(document["is_interrupted"], false);
    assert!(assert_figures(&document) > 100, "{document:#}");
    let levels = &document["levels"];
    let curves = levels["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 3);
    for curve in curves {
        assert_ascending(&curve["points"], "size");
        assert!(curve["points"].as_array().unwrap().len() > 10, "{curve:#}");
    }
    assert_eq!(curves[1]["pages"]["huge"], false);
    assert_ascending(&levels["levels"], "size");
    assert_ascending(&document["tlbs"]["points"], "pages");
    assert_ascending(&document["strides"]["strides"], "stride");
    assert_ascending(&document["chains"]["chains"], "chains");
    assert_eq!(document["chains"]["chains"].as_array().unwrap().len(), 16);
    assert_ascending(&document["load"]["readers"], "readers");
    assert!(document["forwarding"].is_object());
    let cpus = document["cores"]["cpus"].as_array().unwrap().len();
    let pairs = document["cores"]["pairs"].as_array().unwrap().len();
    assert_eq!(pairs, cpus * (cpus - 1) / 2);
    let page = scene.read("page.html");
    assert!(page.contains("default-src 'none'") && page.contains("<polyline"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http://"), "{page}");
}

#[test]
fn parts_are_those_that_are_named() {
    let scene = Scene::new();
    let document = document(&scene, "--only forwarding,strides");
    for part in ["levels", "tlbs", "chains", "cores", "nodes", "load"] {
        assert!(document[part].is_null(), "{part}: {document:#}");
    }
    assert!(document["forwarding"].is_object() && document["as_cache"].is_null(), "{document:#}");
    let text = scene.run(&format!("{SMALL} --only forwarding")).success().out;
    assert!(text.starts_with("# CPU ") && text.contains("same 8 bytes"), "{text}");
}

/// The emulated PMU takes what is printed.
#[test]
fn a_description_for_the_emulated_pmu_is_understood() {
    let test = "a_description_for_the_emulated_pmu_is_understood";
    if !cfg!(target_arch = "x86_64") {
        return eprintln!("skipped {test}: the emulated PMU is for x86-64");
    }
    let scene = Scene::new();
    let done = scene.run(&format!("{SMALL} --as-cache"));
    if done.code() == 1 && done.err.contains("no two levels were seen") {
        return eprintln!("skipped {test}: this machine shows no levels now");
    }
    let done = done.success();
    let cache = done.out.trim_end();
    assert!(cache.starts_with("l1d=") && cache.contains(" memory="), "{done}");
    let mut command = scene.command("ebs");
    command.args(["-u", "-t", "l1_cache_miss", "--cache", cache, "--", "true"]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{cache}: {told}");
    assert!(told.contains(", cycles ") && told.contains(" memory "), "{cache}: {told}");
}

#[test]
fn sigint_prints_what_there_is() {
    let scene = Scene::new();
    let mut running = scene.start("ebs memlat --json");
    // It catches signals before it starts its second thread.
    running.wait_until("its second thread", |pid| {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        threads.is_ok_and(|threads| threads.count() > 1)
    });
    running.signal(Signal::INT);
    let done = running.finish().success();
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["is_interrupted"], true, "{document:#}");
    assert_figures(&document);
}

#[test]
fn a_reader_that_is_gone_is_no_failure() {
    let scene = Scene::new();
    scene.shell(&format!("({SMALL} --only forwarding; echo $? > status) 2> err | :")).success();
    assert_eq!((scene.read("status").trim(), scene.read("err").as_str()), ("0", ""));
}

#[test]
fn memory_that_is_not_to_be_had_says_what_to_do() {
    let scene = Scene::new();
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // A quarter of what there is bounds what is asked for.
    if kib.is_none_or(|kib| kib < 6 << 20) {
        return eprintln!("skipped memory_that_is_not_to_be_had_says_what_to_do: little memory");
    }
    scene
        .shell("ulimit -v 1000000; exec ebs memlat --quick --only levels --largest 1g")
        .refused(1, &["ulimit -v", "bytes of memory"]);
}

#[test]
fn words_without_meaning_are_refused() {
    let scene = Scene::new();
    scene.run("ebs memlat --only caches").refused(2, &["caches", "levels, tlbs"]);
    scene.run("ebs memlat --cpus 1").refused(2, &["0-3,8"]);
    scene.run("ebs memlat --largest 1k").refused(2, &["512m"]);
    scene.run("ebs memlat --json --as-cache").refused(2, &["--as-cache"]);
    scene.run("ebs memlat --quick --cpu 99999").refused(1, &["99999", "taskset"]);
    let help = scene.run("ebs help memlat").success();
    assert!(help.out.contains("ebs memlat --as-cache"), "{help}");
    scene.run("ebs man pages").success();
    assert!(scene.read("pages/ebs-memlat.1").contains("core cycles"), "a page of its own");
}
