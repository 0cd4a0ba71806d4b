//! Type and member of each access, against what programs tell of their objects.

use std::{collections::BTreeMap, process::Command};

use tests::{Outcome, Scene, rights, workload};

/// A stretch of memory that is of one type, one after the other.
struct ToldObject {
    bytes: u64,
    of: String,
}

struct ToldMember {
    offset: u64,
    bytes: u64,
    /// Several with bars between them: they lie over each other.
    names: String,
}

/// What a program told.
#[derive(Default)]
struct ToldTypes {
    sizes: BTreeMap<String, u64>,
    members: BTreeMap<String, Vec<ToldMember>>,
    objects: BTreeMap<u64, ToldObject>,
}

impl ToldTypes {
    fn of(outcome: &Outcome) -> ToldTypes {
        let mut told = ToldTypes::default();
        for line in outcome.out.lines() {
            let Some((word, rest)) = line.split_once(' ') else { continue };
            match word {
                "type" => {
                    let (name, size) = rest.rsplit_once(' ').unwrap();
                    told.sizes.insert(name.to_owned(), size.parse().unwrap());
                }
                "member" => {
                    let mut words = rest.rsplitn(4, ' ');
                    let mut next = || words.next().unwrap().to_owned();
                    let (names, bytes, offset, of) = (next(), next(), next(), next());
                    let (offset, bytes) = (offset.parse().unwrap(), bytes.parse().unwrap());
                    let member = ToldMember { offset, bytes, names };
                    told.members.entry(of).or_default().push(member);
                }
                "object" => {
                    let mut words = rest.splitn(3, ' ');
                    let start = words.next().unwrap().trim_start_matches("0x");
                    let start = u64::from_str_radix(start, 16).unwrap();
                    let bytes = words.next().unwrap().parse().unwrap();
                    let of = words.next().unwrap().to_owned();
                    told.objects.insert(start, ToldObject { bytes, of });
                }
                _ => {}
            }
        }
        told
    }

    /// The member that has an address.
    fn member(&self, address: u64) -> Option<&str> {
        let (start, object) = self.objects.range(..=address).next_back()?;
        let within = address - start;
        let offset = within % self.sizes.get(&object.of)?;
        let members = (within < object.bytes).then(|| self.members.get(&object.of))??;
        let holds = |it: &&ToldMember| (it.offset..it.offset + it.bytes).contains(&offset);
        members.iter().find(holds).map(|it| &*it.names)
    }
}

/// Samples by what the report says of them.
#[derive(Debug, Default)]
struct JudgedTypes {
    right: u64,
    /// The type of a part of the object, of which the program does not tell.
    part: u64,
    wrong: Vec<String>,
    without: u64,
}

/// What of accesses by some routines is right.
fn judge(told: &ToldTypes, report: &Outcome, routines: &[&str]) -> JudgedTypes {
    let document: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let mut judged = JudgedTypes::default();
    for row in document["events"][0]["rows"].as_array().unwrap() {
        let routine = row["routine"].as_str().unwrap_or_default();
        let address = row["addr"].as_str().unwrap_or_default().trim_start_matches("0x");
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let Some(names) = told.member(address) else { continue };
        if !routines.iter().any(|it| routine.contains(it)) {
            continue;
        }
        let count = row["count"].as_u64().unwrap();
        let (Some(of), Some(member)) = (row["type"].as_str(), row["member"].as_str()) else {
            judged.without += count;
            continue;
        };
        let is_named = |name: &str| {
            member.split(['|', '.']).any(|it| it.trim_matches(['<', '>', '[', ']']) == name)
        };
        if names.split('|').any(is_named) {
            judged.right += count;
        } else if member == "[some member]" {
            judged.without += count;
        } else if of.starts_with("std::") || ["-", "[bytes]"].contains(&member) {
            judged.part += count;
        } else {
            judged.wrong.push(format!("{count} of {names} are {of}.{member} in {routine}"));
        }
    }
    judged
}

/// Builds, records each access, and judges; told in percent of those that the
/// program knows.
fn compare(build: &str, routines: &[&str], least: u64) {
    compare_with("", build, routines, least);
}

/// The same with more options of `ebs`.
fn compare_with(options: &str, build: &str, routines: &[&str], least: u64) {
    let scene = Scene::new();
    scene.shell(build).success();
    let run = format!("ebs -u -t memory_moves -i =1 {options} -o t.data ./typed");
    let run = scene.run(&run).success();
    let told = ToldTypes::of(&run);
    assert!(told.objects.len() > 4, "{run}");
    let by = "-e *memory_moves* --by addr,type,member,routine --json --filter object=*/typed";
    let report = scene.run(&format!("ebs report {by} t.data")).success();
    assert!(report.out.contains("samples are known"), "its notes tell of types");
    let judged = judge(&told, &report, routines);
    let known = judged.right + judged.part;
    let all = known + judged.without;
    assert!(all > 5000, "{build}: {judged:?}");
    assert!(judged.wrong.is_empty(), "{build}: {judged:?}");
    assert!(known * 100 >= all * least, "{build}: {judged:?}");
}

fn source(name: &str) -> String {
    workload::sources().join(name).display().to_string()
}

const OF_C: [&str; 12] = [
    "walk",
    "ringed",
    "hash",
    "look",
    "by_index",
    "by_pointer",
    "scatter",
    "add",
    "by_rank",
    "skip",
    "neighbours",
    "find",
];
/// What they copy, its blocks tell.
const OF_BLOCKS: [&str; 1] = ["copy"];
const OF_CXX: [&str; 7] = ["areas", "area()", "records", "couples", "plant", "weigh", "look"];
const OF_RUST: [&str; 8] =
    ["walk", "records", "scattered", "forms", "pairs", "counted", "typed::look", "marked"];

#[test]
fn members_of_c_are_what_the_program_says() {
    let test = "members_of_c_are_what_the_program_says";
    if !rights::emulated_pmu(test) {
        return;
    }
    for compiler in ["gcc", "clang-14"] {
        if rights::program(test, compiler) {
            for level in ["-O0", "-O2"] {
                let typed = source("typed.c");
                // Of gcc -O0 a sum of shifted copies hides how far apart rows lie.
                let least = if level == "-O0" { 85 } else { 95 };
                compare(&format!("{compiler} -g {level} -o typed {typed}"), &OF_C, least);
            }
        }
    }
}

#[test]
fn members_of_cxx_are_what_the_program_says() {
    let test = "members_of_cxx_are_what_the_program_says";
    if !rights::emulated_pmu(test) {
        return;
    }
    for compiler in ["g++", "clang++-14"] {
        if rights::program(test, compiler) {
            let typed = source("typed.cc");
            compare(&format!("{compiler} -std=c++17 -g -O2 -o typed {typed}"), &OF_CXX, 95);
        }
    }
    if rights::program(test, "g++") {
        let build = format!("g++ -std=c++17 -g -O2 -o typed {}", source("typed.cc"));
        compare_with("--heap", &build, &OF_CXX, 95);
    }
}

#[test]
fn members_of_rust_are_what_the_program_says() {
    let test = "members_of_rust_are_what_the_program_says";
    if !rights::emulated_pmu(test) || !rights::program(test, "rustc") {
        return;
    }
    // The scene's home has no toolchain.
    let sysroot = Command::new("rustc").arg("--print=sysroot").output().unwrap().stdout;
    let rustc = format!("{}/bin/rustc", String::from_utf8(sysroot).unwrap().trim());
    let options = "--edition 2024 -A warnings -C opt-level=2 -g";
    let build = format!("{rustc} {options} -o typed {}", source("typed.rs"));
    compare(&build, &OF_RUST, 95);
    // Blocks of the heap tell more, and nothing that is wrong.
    compare_with("--heap", &build, &OF_RUST, 95);
}

#[test]
fn blocks_of_the_heap_tell_what_the_code_does_not() {
    let test = "blocks_of_the_heap_tell_what_the_code_does_not";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let build = format!("gcc -g -O2 -o typed {}", source("typed.c"));
    compare_with("--heap", &build, &OF_BLOCKS, 100);
    compare_with("--heap", &build, &OF_C, 95);
    // What is filtered out tells of blocks, too.
    let scene = Scene::new();
    scene.shell(&build).success();
    scene.run("ebs -u -t memory_moves -i =1 --heap -o t.data ./typed").success();
    let by = "-e *memory_moves* --by type,member --filter routine=copy";
    let report = scene.run(&format!("ebs report {by} t.data")).success();
    for row in ["struct node    next", "struct item    chain.prior", "struct node    corner[].east"]
    {
        assert!(report.out.contains(row), "{report}");
    }
    // Neither pools nor blocks that hold now this, now that: of their reads no type is told.
    assert!(report.out.contains(" 4800 by what their block of the heap holds"), "{report}");
    // Layouts and annotations ask blocks, too.
    let layout = "ebs layout -e *memory_moves* -f routine=copy --top 9 t.data";
    let layout = scene.run(layout).success();
    for of in ["struct node", "struct item"] {
        let count = |text: &str, column: usize| -> u64 {
            let rows = text.lines().filter(|line| line.contains(of) && !line.starts_with('#'));
            let counts = rows.filter_map(|row| row.split_whitespace().nth(column));
            counts.filter_map(|count| count.parse::<u64>().ok()).sum()
        };
        let reported = count(&report.out, 0);
        assert!(reported > 0 && reported == count(&layout.out, 0), "{of}: {report} {layout}");
    }
    let annotation = scene.run("ebs annotate -e *memory_moves* copy t.data").success();
    let is_told = annotation.out.lines().any(|line| {
        line.contains("; struct node.") && line.contains(" more")
            || line.contains("; struct item.") && line.contains(" more")
    });
    assert!(is_told, "{annotation}");
}

/// What samples at each instruction are on, most first, by the report.
fn reported(report: &Outcome) -> BTreeMap<String, Vec<(u64, String, String)>> {
    let document: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let mut by_ip: BTreeMap<String, Vec<(u64, String, String)>> = BTreeMap::new();
    for row in document["events"][0]["rows"].as_array().unwrap() {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let at = by_ip.entry(text("ip").unwrap()).or_default();
        if let (Some(of), Some(member)) = (text("type"), text("member")) {
            at.push((row["count"].as_u64().unwrap(), of, member));
        }
    }
    by_ip.values_mut().for_each(|of| of.sort_by_key(|(count, ..)| std::cmp::Reverse(*count)));
    by_ip
}

#[test]
fn annotated_operands_have_the_members_of_the_report() {
    let test = "annotated_operands_have_the_members_of_the_report";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    let typed = source("typed.c");
    let (mut sampled, mut by_code) = (0, 0);
    for level in ["-O0", "-O2"] {
        // Addresses are as sampled.
        let line = format!("gcc -g {level} -static -no-pie -fno-pie -o typed {typed}");
        scene.shell(&line).success();
        scene.run("ebs -u -t memory_moves -i =7 -o t.data ./typed").success();
        let by = "--by ip,type,member --json --filter object=*/typed";
        let rows = reported(&scene.run(&format!("ebs report {by} t.data")).success());
        for routine in ["walk", "ringed", "look", "by_index", "scatter*", "add"] {
            let line = format!("ebs annotate --format json {routine} t.data");
            let annotation = scene.run(&line).success().out;
            let annotation: serde_json::Value = serde_json::from_str(&annotation).unwrap();
            for instruction in annotation["code"].as_array().unwrap() {
                let at = instruction["address"].as_str().unwrap();
                match rows.get(at) {
                    Some(rows) => {
                        is_as_reported(instruction, rows);
                        sampled += 1;
                    }
                    None => by_code += u32::from(instruction["type"].is_string()),
                }
            }
        }
    }
    assert!(sampled > 50 && by_code > 0, "{sampled} instructions with samples, {by_code} without");
    let text = scene.run("ebs annotate walk t.data").success().out;
    assert!(text.contains(",%rdi  ; struct node.next"), "{text}");
    assert!(!text.contains('\x1b'), "no colours where no terminal is: {text}");
}

/// The commonest member is shown, and how many others there are.
fn is_as_reported(instruction: &serde_json::Value, rows: &[(u64, String, String)]) {
    let told = (instruction["type"].as_str(), instruction["member"].as_str());
    let Some((most, ..)) = rows.first() else {
        assert_eq!(told, (None, None), "{instruction}");
        return;
    };
    let others = instruction["other_members"].as_u64().unwrap_or(0);
    assert_eq!(others, rows.len() as u64 - 1, "{instruction}: {rows:?}");
    let is_it = |(count, of, member): &(u64, String, String)| {
        count == most && told == (Some(of.as_str()), Some(member.as_str()))
    };
    assert!(rows.iter().any(is_it), "{instruction}: {rows:?}");
}
