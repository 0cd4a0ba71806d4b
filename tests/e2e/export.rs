//! Recordings in the forms of other tools: sums are the report's.

mod fleet;
mod profile_proto;
mod speedscope;
mod weights;

use std::{collections::BTreeMap, path::PathBuf};

use profile_proto::Profile;
use serde_json::Value;
use tests::{Scene, rights, workload};

/// Samples, and the events that they stand for.
type Sums = BTreeMap<String, [u64; 2]>;

fn fixture(name: &str) -> PathBuf {
    let fixtures = workload::sources().join("../../crates/perfdata/tests/fixtures");
    fixtures.join(format!("{name}.data"))
}

/// Recordings of perf and other machines.
const FIXTURES: [&str; 4] = [
    "weight_struct-5.17.file",
    "everything-6.1.file",
    "hybrid_topology-5.15.file",
    "group_read-6.1.file",
];

/// Misses of a program whose types and lines are known.
fn emulated(scene: &Scene) {
    let source = workload::sources().join("typed.c");
    scene.shell(&format!("gcc -g -O2 -pthread -o typed {}", source.display())).success();
    let events = "-t l1_cache_miss -t memory_moves";
    scene
        .run(&format!(
            "ebs -u -d --source emulated --cache l1d=32k,8 {events} -i =97 -o e.data ./typed"
        ))
        .success();
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What the report of a recording says of each event.
fn reported(scene: &Scene, options: &str) -> Sums {
    let report = json(&scene.run(&format!("ebs report --json {options}")).success().out);
    let mut sums = Sums::new();
    for event in report["events"].as_array().unwrap() {
        let own = sums.entry(event["name"].as_str().unwrap().to_owned()).or_default();
        own[0] += number(&event["totals"]["counted"]);
        own[1] += number(&event["totals"]["period"]);
    }
    sums.retain(|_, sums| sums[0] > 0);
    sums
}

/// Sums of a table of samples by one of its columns.
fn by_column(csv: &str, column: &str) -> Sums {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|it| it == name).unwrap();
    let (key, samples, events) = (at(column), at("samples"), at("events"));
    let mut sums = Sums::new();
    for row in reader.records() {
        let row = row.unwrap();
        let own = sums.entry(row[key].to_owned()).or_default();
        own[0] += row[samples].parse::<u64>().unwrap();
        own[1] += row[events].parse::<u64>().unwrap();
    }
    sums
}

/// Events of each profile of speedscope, which must be in itself right.
fn of_speedscope(text: &str) -> BTreeMap<String, u64> {
    let file = json(text);
    let frames = file["shared"]["frames"].as_array().unwrap();
    assert!(frames.iter().all(|frame| frame["name"].is_string()), "{text}");
    let mut sums = BTreeMap::new();
    for profile in file["profiles"].as_array().unwrap() {
        let (samples, weights) = (&profile["samples"], &profile["weights"]);
        let (samples, weights) = (samples.as_array().unwrap(), weights.as_array().unwrap());
        assert_eq!((samples.len(), &profile["type"]), (weights.len(), &Value::from("sampled")));
        let numbers = samples.iter().flat_map(|stack| stack.as_array().unwrap());
        assert!(numbers.map(number).all(|frame| frame < frames.len() as u64));
        let sum = weights.iter().map(number).sum::<u64>();
        assert_eq!(number(&profile["endValue"]), sum);
        *sums.entry(profile["name"].as_str().unwrap().to_owned()).or_default() += sum;
    }
    sums
}

/// Events of each thread of a profile of the Firefox Profiler, and its markers.
fn of_firefox(text: &str) -> [u64; 2] {
    let profile = json(text);
    let schema = &profile["meta"]["markerSchema"];
    let mut sums = [0; 2];
    for thread in profile["threads"].as_array().unwrap() {
        let samples = &thread["samples"];
        let [stacks, weights] = ["stack", "weight"].map(|it| samples[it].as_array().unwrap());
        let known = number(&thread["stackTable"]["length"]);
        assert_eq!(
            (stacks.len(), samples["weightType"].as_str()),
            (weights.len(), Some("samples"))
        );
        assert!(stacks.iter().map(number).all(|stack| stack < known), "{text}");
        sums[0] += weights.iter().map(number).sum::<u64>();
        for marker in thread["markers"]["data"].as_array().unwrap() {
            assert_eq!((&marker["type"], &schema[0]["name"]), (&"access".into(), &"access".into()));
            sums[1] += 1;
        }
    }
    sums
}

/// The last number of each line.
fn of_folded(text: &str) -> u64 {
    let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    text.lines().map(count).sum()
}

/// Each form of a recording, against its report.
#[track_caller]
fn sums_are_equal(scene: &Scene, of: &str) {
    let reported = reported(scene, of);
    let csv = scene.run(&format!("ebs export --to csv {of}")).success().out;
    assert_eq!(by_column(&csv, "event"), reported, "{of}");
    let events: BTreeMap<String, u64> =
        reported.iter().map(|(name, sums)| (name.clone(), sums[1])).collect();
    let speedscope = scene.run(&format!("ebs export --to speedscope {of}")).success().out;
    assert_eq!(of_speedscope(&speedscope), events, "{of}");
    let firefox = scene.run(&format!("ebs export --to firefox {of}")).success().out;
    let with_data = by_column(&csv, "data_src").into_iter().filter(|(word, _)| !word.is_empty());
    let [weights, markers] = of_firefox(&firefox);
    assert_eq!(weights, events.values().sum::<u64>(), "{of}");
    assert!(markers >= with_data.map(|(_, sums)| sums[0]).sum(), "{of}");
    let folded = scene.run(&format!("ebs export --to folded {of}")).success().out;
    assert_eq!(folded, scene.run(&format!("ebs report --folded {of}")).success().out);
    let least = reported.values().map(|sums| sums[0]).sum::<u64>();
    assert!(of_folded(&folded) >= least, "{of}");
    scene.run(&format!("ebs export --to pprof -o p.pb.gz {of}")).success();
    let profile = Profile::read(&scene.path("p.pb.gz"));
    assert_eq!(profile.sums(&reported), reported, "{of}");
}

#[test]
fn sums_of_all_forms_are_those_of_the_report() {
    let scene = Scene::new();
    for name in FIXTURES {
        sums_are_equal(&scene, fixture(name).to_str().unwrap());
    }
}

#[test]
fn sums_of_a_recording_made_here_are_those_of_the_report() {
    let test = "sums_of_a_recording_made_here_are_those_of_the_report";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    emulated(&scene);
    sums_are_equal(&scene, "e.data");
    for options in ["-f object=*/typed --time 20%-70%", "--class reads_memory"] {
        let of = format!("{options} e.data");
        let csv = scene.run(&format!("ebs export --to csv {of}")).success().out;
        assert_eq!(by_column(&csv, "event"), reported(&scene, &of), "{options}");
    }
    let csv = scene.run("ebs export --to csv -e *l1_cache_miss* e.data").success().out;
    for [column, key] in [
        ["routine", "routine"],
        ["level", "level"],
        ["type", "type"],
        ["member", "member"],
        ["variable", "variable"],
    ] {
        let by = match key {
            "member" => "type,member",
            key => key,
        };
        let report =
            json(&scene.run(&format!("ebs report --json --by {by} -e *l1_* e.data")).success().out);
        let mut expected = Sums::new();
        for row in report["events"][0]["rows"].as_array().unwrap() {
            let own = expected.entry(row[key].as_str().unwrap_or_default().to_owned()).or_default();
            own[0] += number(&row["count"]);
            own[1] += number(&row["period"]);
        }
        assert!(expected.keys().any(|name| !name.is_empty()), "{key}: nothing is known");
        assert_eq!(by_column(&csv, column), expected, "{key}");
    }
}

#[test]
fn types_that_are_told_later_are_those_of_the_report() {
    let test = "types_that_are_told_later_are_those_of_the_report";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    // More accesses than are named at once, by code that knows no types; what
    // the blocks hold is known from what comes behind them.
    scene.write(
        "fill.c",
        "void fill(volatile long *at) { for (int i = 0; i < 512; i++) at[i] = i; }\n",
    );
    scene.write(
        "late.c",
        "#include <stdlib.h>\n\
         struct late { long key, value, rest[510]; };\n\
         void fill(volatile long *at);\n\
         __attribute__((noinline)) void touch(volatile struct late *it) { it->value = it->key; }\n\
         int main(void) { struct late *all[64];\n\
         for (int i = 0; i < 64; i++) fill((long *)(all[i] = malloc(sizeof(struct late))));\n\
         for (int i = 0; i < 64; i++) touch(all[i]); }\n",
    );
    scene.shell("gcc -O1 -c fill.c && gcc -g -O1 -o late late.c fill.o").success();
    scene.run("ebs -u -t memory_moves -i =1 --source emulated --heap -o l.data ./late").success();
    sums_are_equal(&scene, "l.data");
    let csv = scene.run("ebs export --to csv -e *memory_moves* l.data").success().out;
    let words = "ebs report --json --by type,member -e *memory_moves* l.data";
    let report = json(&scene.run(words).success().out);
    for column in ["type", "member"] {
        let mut expected = Sums::new();
        for row in report["events"][0]["rows"].as_array().unwrap() {
            let name = row[column].as_str().unwrap_or_default().to_owned();
            let own = expected.entry(name).or_default();
            own[0] += number(&row["count"]);
            own[1] += number(&row["period"]);
        }
        assert_eq!(by_column(&csv, column), expected, "{column}");
    }
    let of_type = by_column(&csv, "type")["struct late"][0];
    assert!(of_type >= 64 * 512, "{of_type}");
    // In their order, whatever they waited for.
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let at = reader.headers().unwrap().iter().position(|it| it == "time").unwrap();
    let times = reader.records().map(|row| row.unwrap()[at].parse::<u64>().unwrap());
    assert!(times.is_sorted());
}

#[test]
fn pprof_reads_what_is_exported() {
    let test = "pprof_reads_what_is_exported";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") || !rights::program(test, "go")
    {
        return;
    }
    let scene = Scene::new();
    emulated(&scene);
    let all = reported(&scene, "e.data");
    scene.run("ebs export --to pprof -o all.pb.gz e.data").success();
    scene.run("ebs export --to pprof -e *l1_cache_miss* -o one.pb.gz e.data").success();
    let top = |index: &str, file: &str| {
        let words = format!("-top -noinlines -sample_index={index} {file}");
        scene.run(&format!("go tool pprof {words}")).success().out
    };
    for (event, [samples, events]) in &all {
        for (what, sum) in [("samples", samples), ("events", events)] {
            let shown = top(&format!("{event}:{what}"), "all.pb.gz");
            assert!(shown.contains(&format!("of {sum} total")), "{event} {what} {sum}: {shown}");
        }
    }
    let by_routine = json(
        &scene
            .run("ebs report --json --by routine --top 1 -e *l1_cache_miss* e.data")
            .success()
            .out,
    );
    let row = &by_routine["events"][0]["rows"][0];
    let shown = top("events", "one.pb.gz");
    let mut first = shown.lines().skip_while(|line| !line.trim().starts_with("flat")).skip(1);
    let first: Vec<&str> = first.next().unwrap().split_whitespace().collect();
    assert_eq!(first[0], row["period"].to_string(), "{shown}");
    assert_eq!(first[5], row["routine"].as_str().unwrap(), "{shown}");
    let tags = scene.run("go tool pprof -tags one.pb.gz").success().out;
    for tag in ["thread:", "level:", "type:", "member:", "data:", "page:"] {
        assert!(tags.contains(tag), "{tag} {tags}");
    }
}

#[test]
fn databases_read_what_is_exported() {
    let test = "databases_read_what_is_exported";
    let Some(python) = rights::python(test, &["duckdb", "pyarrow"]) else { return };
    let scene = Scene::new();
    let mut recordings: Vec<String> =
        FIXTURES[..2].iter().map(|name| fixture(name).display().to_string()).collect();
    if rights::emulated_pmu(test) && rights::program(test, "gcc") {
        emulated(&scene);
        recordings.push("e.data".to_owned());
    }
    scene.write("sums.py", SUMS);
    for of in recordings {
        scene.run(&format!("ebs export --to parquet -o s.parquet {of}")).success();
        let told = json(&scene.run(&format!("{python} sums.py s.parquet")).success().out);
        let reported = reported(&scene, &of);
        for by in ["duckdb", "pyarrow"] {
            let sums: Sums = serde_json::from_value(told[by].clone()).unwrap();
            assert_eq!(sums, reported, "{by} {of}");
        }
        let exposure = json(told["exposure"].as_str().unwrap());
        let counted: BTreeMap<&str, u64> = exposure["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| (event["name"].as_str().unwrap(), number(&event["counted"])))
            .filter(|(_, counted)| *counted > 0)
            .collect();
        let expected = reported.iter().map(|(name, sums)| (name.as_str(), sums[0])).collect();
        assert_eq!((counted, &told["schema"]), (expected, &"1".into()), "{of}");
        // Row by row what CSV has.
        let csv = scene.run(&format!("ebs export --to csv {of}")).success().out;
        scene.write("s.csv", csv);
        scene.run(&format!("{python} sums.py s.parquet s.csv")).success();
    }
}

/// Sums by event as two programs see them; with a CSV besides, whether both have
/// the same rows.
const SUMS: &str = r#"
import csv, json, sys
import duckdb, pyarrow.parquet as parquet
file = sys.argv[1]
if len(sys.argv) > 2:
    rows = parquet.read_table(file).to_pylist()
    addresses = ("ip", "object_address", "addr", "data_src")
    def text(name, value):
        if value is None:
            return ""
        if name in addresses:
            return hex(value)
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    told = list(csv.DictReader(open(sys.argv[2], newline="")))
    ours = [{name: text(name, value) for name, value in row.items()} for row in rows]
    assert ours == told, (ours[:1], told[:1])
    sys.exit()
by = "select event, sum(samples)::bigint, sum(events)::bigint from '%s' group by event" % file
table = parquet.read_table(file, columns=["event", "samples", "events"])
table = table.group_by("event").aggregate([("samples", "sum"), ("events", "sum")])
metadata = parquet.read_schema(file).metadata
print(json.dumps({
    "duckdb": {event: [samples, events] for event, samples, events in duckdb.sql(by).fetchall()},
    "pyarrow": {row["event"]: [row["samples_sum"], row["events_sum"]] for row in table.to_pylist()},
    "schema": metadata[b"hardmeter.schema"].decode(),
    "exposure": metadata[b"hardmeter.exposure"].decode(),
}))
"#;

#[test]
fn hostile_names_break_no_form() {
    let test = "hostile_names_break_no_form";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    // A routine, a file and with it a thread.
    scene.write(
        "odd.c",
        "#include <sys/prctl.h>\n\
         static char all[1 << 20];\n\
         __attribute__((noinline)) void odd(void) __asm__(\"\\\"o;d,d q=\\xe2\\x80\\xae\\\"\");\n\
         void odd(void) { for (int i = 0; i < 1 << 20; i += 64) all[i]++; }\n\
         int main(void) { prctl(PR_SET_NAME, \"t;\\nh,\"); odd(); }\n",
    );
    let file = "a;\"b,\u{202e}c";
    scene.shell("gcc -g -O1 -o odd odd.c").success();
    std::fs::rename(scene.path("odd"), scene.path(file)).unwrap();
    let program = format!("./{file}");
    let words = [
        "ebs",
        "-u",
        "-g",
        "--source",
        "emulated",
        "-t",
        "l1_cache_miss",
        "-i",
        "=97",
        "-o",
        "e.data",
    ];
    let words: Vec<&str> = words.into_iter().chain(["--", &program]).collect();
    scene.run_words(&words).success();
    sums_are_equal(&scene, "e.data");
    let csv = scene.run("ebs export --to csv e.data").success().out;
    let comms = by_column(&csv, "comm");
    assert!(comms.contains_key(file) && comms.contains_key("t;\nh,"), "{comms:?}");
    let routines = by_column(&csv, "routine");
    let odd = "o;d,d q=\u{202e}";
    assert!(routines.contains_key(odd), "{routines:?}");
    for stack in by_column(&csv, "stack").keys().filter(|stack| stack.contains("o:d")) {
        assert!(!stack.contains("o;d"), "{stack}");
    }
    let escaped = "d,d q=\\u{202e}";
    let folded = scene.run("ebs export --to folded e.data").success().out;
    let speedscope = scene.run("ebs export --to speedscope e.data").success().out;
    assert!(folded.contains(escaped) && !folded.contains('\u{202e}'), "{folded}");
    assert!(!speedscope.contains('\u{202e}'), "{speedscope}");
    let frames = json(&speedscope)["shared"]["frames"].clone();
    let mut named = frames.as_array().unwrap().iter().filter_map(|frame| frame["name"].as_str());
    assert!(named.any(|name| name.ends_with(escaped)), "{frames}");
    scene.run("ebs export --to pprof -o p.pb.gz e.data").success();
    let profile = Profile::read(&scene.path("p.pb.gz"));
    assert!(profile.strings.iter().any(|it| it.ends_with(escaped)), "{:?}", profile.strings);
    assert!(!profile.strings.iter().any(|it| it.contains(['\n', '\u{202e}'])));
}

#[test]
fn an_export_is_whole_or_not_there() {
    let scene = Scene::new();
    let from = fixture("everything-6.1.file");
    let from = from.to_str().unwrap();
    scene.run("ebs export --to csv -o out.csv nowhere.data").refused(1, &["nowhere.data"]);
    scene.run(&format!("ebs export --to xml {from}")).refused(2, &["xml", "speedscope"]);
    scene.run(&format!("ebs export {from}")).refused(2, &["--to"]);
    scene.run(&format!("ebs export --to csv -f nothing=1 {from}")).refused(2, &["nothing"]);
    scene
        .run(&format!("ebs export --to csv -e nothing -o out.csv {from}"))
        .refused(1, &["nothing"]);
    scene.run(&format!("ebs export --to csv -o no/out.csv {from}")).refused(1, &["no"]);
    let left = std::fs::read_dir(scene.path("")).unwrap().count();
    assert_eq!(left, 0, "what was not written lies there");
    scene.write("same.data", std::fs::read(from).unwrap());
    scene.run("ebs export --to csv -o same.data same.data").refused(2, &["same.data"]);
    // A recording of which the end is missing: what is there, and a failure.
    let whole = std::fs::read(from).unwrap();
    scene.write("cut.data", &whole[..whole.len() * 2 / 3]);
    for form in ["csv", "speedscope", "folded", "pprof", "firefox", "parquet"] {
        let out = scene.run(&format!("ebs export --to {form} -o cut.{form} cut.data")).sane();
        assert_eq!((out.code(), scene.path(&format!("cut.{form}")).exists()), (1, true), "{out}");
    }
    of_speedscope(&scene.read("cut.speedscope"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let scene = Scene::new();
    let from = fixture("weight_struct-5.17.file");
    let from = from.display();
    for form in ["csv", "speedscope", "folded", "pprof", "firefox", "parquet"] {
        let line = format!("ebs export --to {form} {from} | true; echo ${{PIPESTATUS[0]}}");
        let outcome = scene.shell(&line);
        assert_eq!((outcome.out.trim(), outcome.err.as_str()), ("0", ""), "{form}: {outcome}");
    }
}
