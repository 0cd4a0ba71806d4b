//! What caches of other sizes would miss: by programs whose working sets are known, by the
//! model's own second cache, and by cachegrind's caches of these sizes.

use crate::cachegrind::DataMisses;
use serde_json::Value;
use tests::{Scene, rights, workload};

/// The first cache of all recordings here.
const L1: &str = "l1d=32k,8";
const KIB: u64 = 1024;

/// A program of `tests/programs`, static: what it misses on is its own.
fn build(scene: &Scene, name: &str) {
    let source = workload::sources().join(format!("{name}.c"));
    let flags = "-O1 -g -static -no-pie -fno-pie -pthread";
    scene.shell(&format!("gcc {flags} -o {name} {}", source.display())).success();
}

/// Records each event of a type.
fn record(scene: &Scene, kind: &str, cache: &str, program: &str) {
    let line = format!("ebs -u --source emulated -t {kind} -i 1 -c all -d -o curve.data");
    let words: Vec<&str> = line.split(' ').chain(["--cache", cache]).collect();
    scene.run_words(&words.into_iter().chain(program.split(' ')).collect::<Vec<_>>()).success();
}

fn json(scene: &Scene, line: &str) -> Value {
    serde_json::from_str(&scene.run(line).success().out).unwrap()
}

/// The curve of the recording.
fn curve(scene: &Scene) -> Value {
    let told = json(scene, "ebs causes --curve --json curve.data");
    assert_eq!(told["hardmeter_curves"], 1, "{told:#}");
    let curve = told["curve"].clone();
    assert!(curve.is_object(), "{told:#}");
    // What is recorded is in it, and each point adds up.
    assert_eq!(curve["accesses"], told["report"]["events"][0]["totals"]["counted"]);
    let of = |key: &str| curve[key].as_u64().unwrap();
    assert_eq!(of("first") + of("taken") + of("again"), of("accesses"));
    for point in curve["points"].as_array().unwrap() {
        let [misses, left] = ["misses", "left"].map(|key| point[key].as_u64().unwrap());
        assert_eq!(misses, left + of("first") + of("taken"), "{point}");
    }
    curve
}

/// A number of the point of this size.
fn at(curve: &Value, kib: u64, key: &str) -> u64 {
    let points = curve["points"].as_array().unwrap();
    let point = points.iter().find(|it| it["bytes"] == kib * KIB);
    // Behind the last one nothing more is spared.
    point.or(points.last()).unwrap()[key].as_u64().unwrap()
}

/// No further apart than a share of the larger one, in thousandths, and some
/// lines of the program's begin and end.
#[track_caller]
fn near(what: &str, [one, other]: [u64; 2], thousandths: u64) {
    let most = one.max(other) * thousandths / 1000 + 64;
    assert!(one.abs_diff(other) <= most, "{what}: {one} and {other} are more than {most} apart");
}

#[test]
fn a_round_is_missed_up_to_its_size_and_fits_behind_it() {
    if !rights::program("a_round_is_missed_up_to_its_size_and_fits_behind_it", "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "rounds");
    record(&scene, "l1_cache_miss", L1, "./rounds 160 10");
    let of = curve(&scene);
    for kib in [32, 48, 64, 96, 128] {
        near("all but the first round", [at(&of, kib, "left"), 9 * 2560], 5);
    }
    near("none", [at(&of, 192, "left"), 0], 5);
    assert_eq!(of["fits_from"], 192 * KIB, "{of:#}");
    let text = scene.run("ebs causes --curve curve.data").success();
    assert!(text.out.contains("# fits from 192 KiB on: of "), "{text}");
    assert!(text.out.contains("10.00% at most are left; "), "{text}");
}

#[test]
fn a_round_in_a_round_makes_two_steps() {
    if !rights::program("a_round_in_a_round_makes_two_steps", "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "rounds");
    // 1,024 lines eight times before each round over 6,400.
    record(&scene, "l1_cache_miss", L1, "./rounds 400 4 64 8");
    let of = curve(&scene);
    for kib in [32, 48] {
        near("all", [at(&of, kib, "left"), 4 * (8 * 1024 + 6400) - 7424], 5);
    }
    for kib in [96, 128, 192, 256, 384] {
        near("the outer one", [at(&of, kib, "left"), 4 * (1024 + 6400) - 7424], 5);
    }
    near("none", [at(&of, 512, "left"), 0], 5);
}

/// Of the misses recorded those that the model's second cache missed too.
fn missed_by_second(scene: &Scene) -> u64 {
    let report = json(scene, "ebs report --json --mem --by level curve.data");
    let rows = report["events"][0]["rows"].as_array().unwrap();
    let beyond = rows.iter().filter(|row| row["level"] != "L2 hit");
    beyond.map(|row| row["count"].as_u64().unwrap()).sum()
}

#[test]
fn the_models_second_cache_misses_what_the_curve_says() {
    if !rights::program("the_models_second_cache_misses_what_the_curve_says", "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "patterns");
    build(&scene, "rounds");
    // It models 128 ways at most: small caches can be of one set.
    for program in ["./patterns random", "./patterns product", "./rounds 5 40 3 8"] {
        for kib in [4, 8] {
            record(&scene, "l1_cache_miss", &format!("l1d=2k,8 l2={kib}k,full"), program);
            let told = [at(&curve(&scene), kib, "misses"), missed_by_second(&scene)];
            near(&format!("{program}, {kib} KiB"), told, 1);
        }
    }
    // With 8 ways lines at random are in each other's way by chance.
    record(&scene, "l1_cache_miss", &format!("{L1} l2=128k,8"), "./patterns random");
    near("8 ways", [at(&curve(&scene), 128, "misses"), missed_by_second(&scene)], 20);
}

#[test]
fn cachegrind_counts_what_the_curve_says() {
    let test = "cachegrind_counts_what_the_curve_says";
    if !rights::program(test, "valgrind") || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "patterns");
    for program in ["./patterns random", "./patterns columns"] {
        record(&scene, "l1_cache_miss", L1, program);
        let misses = curve(&scene);
        record(&scene, "memory_moves", L1, program);
        let all = curve(&scene);
        assert_eq!((&all["from"], &all["level"]), (&Value::from(64), &Value::Null));
        for kib in [64, 256] {
            let second = DataMisses::counted(&scene, program, ["32768,8", &full(kib)]).last;
            let first = DataMisses::counted(&scene, program, [&full(kib), "8388608,16"]).first;
            let told = [at(&misses, kib, "misses"), at(&all, kib, "misses")];
            near(&format!("{program}, a second cache of {kib} KiB"), [told[0], second], 5);
            near(&format!("{program}, a first cache of {kib} KiB"), [told[1], first], 5);
        }
        for kib in [1, 16] {
            let first = DataMisses::counted(&scene, program, [&full(kib), "8388608,16"]).first;
            let told = [at(&all, kib, "misses"), first];
            near(&format!("{program}, a first cache of {kib} KiB"), told, 5);
        }
    }
}

/// A cache of one set, as cachegrind has it.
fn full(kib: u64) -> String {
    format!("{},{}", kib * KIB, kib * KIB / 64)
}

#[test]
fn what_another_thread_took_no_size_spares() {
    if !rights::program("what_another_thread_took_no_size_spares", "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "lines");
    record(&scene, "l1_cache_miss", L1, "./lines false 20000");
    let of = curve(&scene);
    let by_class = of["taken"].as_u64().unwrap();
    assert!(by_class > 0, "{of:#}");
    assert!(at(&of, 1024, "misses") >= by_class, "{of:#}");
}

#[test]
fn what_has_no_curve_says_why() {
    let test = "what_has_no_curve_says_why";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "rounds");
    let says = |line: &str, more: &str, why: &str| {
        let line = format!("ebs -u --source emulated -d -c all {line} -o x.data ./rounds 64 4");
        scene.run(&line).success();
        let told = scene.run(&format!("ebs causes --curve {more} x.data")).success();
        assert!(told.out.contains("no curve: ") && told.out.contains(why), "{line}: {told}");
        if more.is_empty() {
            scene.run("ebs html x.data -o page.html").success();
            let page = scene.read("page.html");
            let there = page.contains("<dt>Misses by cache size</dt><dd>");
            assert!(there && page.contains(&why.replace('\'', "&#39;")), "{line}");
        }
    };
    says("-t l1_cache_miss -i 7", "", "-i 1 samples each");
    says("-t l1_cache_miss -i 1", "-f routine=go_round", "take room in a cache");
    says("-t memory_loads -i 100", "", "stores from loads");
    says("-t dtlb_load_miss -i 1", "", "translations");
    says("-t l1_cache_miss -i 1 --burst 10k/100k", "", "bursts");
    says("-t l1_cache_miss -i 1 --layout align=64@0x4bb000+64", "", "without --layout");
    scene.run("ebs causes --curve --try pad=64 -- ./rounds 64 4").refused(2, &["--curve"]);
    // Of several levels it is of the first.
    let line = "ebs -u --source emulated -d -c all -t l2_cache_miss,l1_cache_miss -i 1 -o x.data";
    scene.run(&format!("{line} ./rounds 64 4")).success();
    let told = json(&scene, "ebs causes --curve --json x.data");
    assert_eq!(told["curve"]["level"], "l1d", "{told:#}");
    assert_eq!(told["without"][0]["event"], "emulated/l2_cache_miss/", "{told:#}");
}
