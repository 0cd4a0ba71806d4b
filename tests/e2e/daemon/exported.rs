//! Segments of a standing session as parts of a fleet's folder: each once,
//! whatever is killed meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::{Ebsd, Outcome, Scene, Truth, Workload, rights};

use super::standing::{config, is_running, recorded, storm, wait_until};

/// What a run is told.
const EXPORT: &str = "ebs export --to parquet --segments store/web -o fleet --keep-free 1m";

/// Segments of 256 KiB, of a storm of page faults that is over; how many
/// samples were recorded.
fn recorded_storm(scene: &Scene, faults: &str) -> u64 {
    let program = Workload::Storm.build(scene);
    let text = format!("{}retention = {{ bytes = \"2 MiB\", age = \"1d\" }}\n", config(scene));
    let mut storm = storm(scene, &program, &format!("{faults} 1 wait 20000"));
    let ebsd = Ebsd::start(scene, &text);
    wait_until(&ebsd, "it samples", is_running);
    storm.tell("go");
    let kernel = Truth::new(&storm.finish().success().out).number("kernel");
    wait_until(&ebsd, "the storm is over", |line| !is_running(line));
    let mut samples = 0;
    for _ in 0..100 {
        let lost;
        (samples, lost, _) = recorded(&ebsd);
        if samples + lost == kernel {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    ebsd.end();
    // The daemon may have ended amid packing, which its next start mends.
    scene
        .shell("cd store/web; rm -f *.tmp; for it in *.zst; do rm -f \"${it%.zst}\"; done")
        .success();
    samples
}

/// Files below a folder, but for those that begin with a dot.
fn parts(scene: &Scene) -> BTreeSet<PathBuf> {
    let found = scene.shell("cd fleet && find . -type f -not -name '.*'").success().out;
    found.lines().map(PathBuf::from).collect()
}

/// What a run leaves that was not to be seen: nothing but its account.
fn hidden(scene: &Scene) -> Vec<String> {
    let found = scene.shell("cd fleet && find . -type f -name '.*' | sort").success().out;
    found.lines().map(str::to_owned).collect()
}

fn account(scene: &Scene) -> Value {
    serde_json::from_str(&scene.read("fleet/.web.account")).unwrap()
}

/// Files of segments that are finished, in order.
fn segments(scene: &Scene) -> Vec<PathBuf> {
    let found = fs::read_dir(scene.path("store/web")).unwrap();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.to_string_lossy().ends_with(".open"));
    found.sort();
    found
}

/// Samples of a segment, as `ebs report` counts them.
fn reported(scene: &Scene, segment: &Path) -> u64 {
    let report = scene.run_words(&["ebs", "report", "--json", segment.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&report.success().out).unwrap();
    report["events"][0]["totals"]["counted"].as_u64().unwrap()
}

/// Sums of the rows of each part, where there is a DuckDB.
fn sums(scene: &Scene, test: &str) -> Option<BTreeMap<String, u64>> {
    let python = rights::python(test, &["duckdb"])?;
    scene.write(
        "sums.py",
        "import duckdb, json\n\
         rows = duckdb.sql(\"select filename, sum(samples)::bigint, count(distinct host) from \
         read_parquet('fleet/**/*.parquet', hive_partitioning = true, filename = true) \
         group by filename\").fetchall()\n\
         assert all(hosts == 1 for _, _, hosts in rows), rows\n\
         print(json.dumps({name: samples for name, samples, _ in rows}))\n",
    );
    let told = scene.run(&format!("{python} sums.py")).success().out;
    Some(serde_json::from_str(&told).unwrap())
}

#[track_caller]
fn fails(outcome: Outcome, words: &[&str]) {
    outcome.refused(1, words);
}

#[test]
fn each_segment_is_exported_once_and_sums_are_the_reports() {
    let test = "each_segment_is_exported_once_and_sums_are_the_reports";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("fleet")).unwrap();
    let samples = recorded_storm(&scene, "8000");
    let of_session = segments(&scene);
    assert!(of_session.len() > 2, "{of_session:?}");
    // One that is written, as if the daemon went on.
    let last = of_session.last().unwrap();
    let open = last.with_extension("").with_extension("open");
    fs::rename(last, &open).unwrap();
    scene.run(EXPORT).success();
    assert_eq!(parts(&scene).len(), of_session.len() - 1, "{:?}", parts(&scene));
    let before = parts(&scene);
    scene.run(EXPORT).success();
    assert_eq!(parts(&scene), before, "nothing new, nothing twice");
    fs::rename(&open, last).unwrap();
    scene.run(EXPORT).success();
    assert_eq!(parts(&scene).len(), of_session.len());
    assert_eq!(hidden(&scene), ["./.web.account", "./.web.account.lock"]);
    // The same samples in the daemon's account, the reports and the parts.
    let reports: Vec<u64> = of_session.iter().map(|path| reported(&scene, path)).collect();
    assert_eq!(reports.iter().sum::<u64>(), samples, "{reports:?}");
    let totals = &account(&scene)["totals"];
    let expected = json!({
        "segments": of_session.len(), "samples": samples, "damaged": 0, "missed": 0
    });
    assert_eq!(totals, &expected);
    if let Some(sums) = sums(&scene, test) {
        let mut sums: Vec<u64> = sums.into_values().collect();
        let mut reports = reports;
        // A part without samples has no row, and is there for its exposure.
        reports.retain(|samples| *samples > 0);
        sums.sort_unstable();
        reports.sort_unstable();
        assert_eq!(sums, reports);
    }
}

#[test]
fn whatever_is_killed_no_segment_is_exported_twice_or_by_half() {
    let test = "whatever_is_killed_no_segment_is_exported_twice_or_by_half";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("fleet")).unwrap();
    let samples = recorded_storm(&scene, "8000");
    let number = segments(&scene).len();
    for round in 0..12 {
        let mut run = scene.start(EXPORT);
        thread::sleep(Duration::from_millis(20 + 40 * round));
        if !run.ended() {
            run.signal(Signal::KILL);
        }
        let _killed = run.finish();
    }
    scene.run(EXPORT).success();
    let whole = || {
        assert_eq!(parts(&scene).len(), number);
        assert_eq!(hidden(&scene), ["./.web.account", "./.web.account.lock"]);
        let totals = account(&scene)["totals"].clone();
        assert_eq!((&totals["segments"], &totals["samples"]), (&json!(number), &json!(samples)));
        if let Some(sums) = sums(&scene, test) {
            assert_eq!(sums.values().sum::<u64>(), samples, "{sums:?}");
        }
    };
    whole();
    // Killed just before a part has its name, half written, and just after
    // somebody has taken the part away.
    let name = parts(&scene).into_iter().next().unwrap();
    let part = scene.path("fleet").join(&name);
    let hidden = scene.path("fleet/.half");
    let books = account(&scene);
    let key = |books: &Value| {
        let exported = books["exported"].as_object().unwrap();
        let number = exported.keys().min_by_key(|key| key.parse::<u64>().unwrap()).unwrap();
        (number.clone(), exported[number].clone())
    };
    let (first, stream) = key(&books);
    let one = reported(&scene, &segments(&scene)[0]);
    let pending = |is_whole: bool| {
        let mut books = books.clone();
        books["exported"].as_object_mut().unwrap().remove(&first);
        books["waiting"] = json!([first.parse::<u64>().unwrap()]);
        books["totals"]["segments"] = json!(number - 1);
        books["totals"]["samples"] = json!(samples - one);
        let place = is_whole.then(|| name.to_str().unwrap());
        books["pending"] = json!({
            "key": { "number": first.parse::<u64>().unwrap(), "stream": stream },
            "file": ".half", "part": place, "samples": if is_whole { one } else { 0 },
        });
        scene.write("fleet/.web.account", books.to_string());
    };
    fs::rename(&part, &hidden).unwrap();
    pending(true);
    scene.run(EXPORT).success();
    whole();
    fs::rename(&part, &hidden).unwrap();
    fs::OpenOptions::new().write(true).open(&hidden).unwrap().set_len(100).unwrap();
    pending(false);
    scene.run(EXPORT).success();
    whole();
    let kept = fs::read(&part).unwrap();
    fs::remove_file(&part).unwrap();
    pending(true);
    scene.run(EXPORT).success();
    assert!(!part.exists(), "it was exported, and taken");
    fs::write(&part, kept).unwrap();
    whole();
    // An account that was lost costs nothing where the parts are.
    fs::remove_file(scene.path("fleet/.web.account")).unwrap();
    assert!(scene.run(EXPORT).success().err.contains("is there already"));
    whole();
}

#[test]
fn what_cannot_be_exported_is_told() {
    let test = "what_cannot_be_exported_is_told";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("fleet")).unwrap();
    let samples = recorded_storm(&scene, "8000");
    let of_session = segments(&scene);
    let full = EXPORT.replace("1m", "1024g");
    fails(scene.run(&full), &["are to be kept free", "segments wait"]);
    assert!(parts(&scene).is_empty());
    // One that goes meanwhile, and one whose end a disk has lost.
    let [gone, cut] = [&of_session[0], &of_session[1]];
    let lost = reported(&scene, gone);
    fs::remove_file(gone).unwrap();
    let cut_whole = reported(&scene, cut);
    let length = fs::metadata(cut).unwrap().len();
    fs::OpenOptions::new().write(true).open(cut).unwrap().set_len(length - 3).unwrap();
    let run = scene.run(EXPORT);
    fails(run, &["before they were exported: 1", "what could be read of segment"]);
    let totals = account(&scene)["totals"].clone();
    assert_eq!((&totals["missed"], &totals["damaged"]), (&json!(1), &json!(1)), "{totals}");
    let exported = totals["samples"].as_u64().unwrap();
    assert!(exported <= samples - lost && exported >= samples - lost - cut_whole, "{totals}");
    scene.run(EXPORT).success();
    assert_eq!(account(&scene)["totals"], totals, "told once");
    // One without a header is tried again each time, and holds up no other.
    let last = of_session.last().unwrap().file_name().unwrap().to_str().unwrap();
    let next = last.split('.').next().unwrap().parse::<u64>().unwrap() + 1;
    let bad = format!("store/web/{next:010}.seg");
    scene.write(&bad, [0; 200]);
    for _ in 0..2 {
        fails(scene.run(EXPORT), &["is not exported: it has no header"]);
    }
    assert_eq!(account(&scene)["totals"], totals);
    // Two at a time are one too many, and so is another session's account.
    fs::rename(scene.path("store/web"), scene.path("store/beb")).unwrap();
    let other = EXPORT.replace("store/web", "store/beb");
    let other = format!("{other} --account fleet/.web.account");
    fails(scene.run(&other), &["is the account of"]);
    scene.run(&EXPORT.replace("-o fleet", "-o nowhere")).refused(2, &["which is there"]);
}
