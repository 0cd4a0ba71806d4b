//! Layouts of types, against those of pahole and of compilers.

mod pahole;

use pahole::{PaholeType, same_type};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use tests::{Scene, rights, workload};

/// The types that `ebs layout` tells of a file, by their own names.
fn ours(scene: &Scene, file: &str) -> HashMap<String, Vec<Value>> {
    let told = scene.run(&format!("ebs layout --json {file}")).success();
    let report: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(report["notes"].as_array().unwrap().len(), 0, "{}", report["notes"]);
    let mut all: HashMap<String, Vec<Value>> = HashMap::new();
    for one in report["types"].as_array().unwrap() {
        let name = pahole::own_name(one["name"].as_str().unwrap());
        all.entry(name.to_owned()).or_default().push(one.clone());
    }
    all
}

/// Compares every structure and union that pahole prints; gives how many
/// there were.
fn compare(scene: &Scene, file: &str) -> usize {
    compare_with(scene, file, &format!("pahole {file} 2>/dev/null"))
}

/// The same of what a script prints.
fn compare_with(scene: &Scene, file: &str, script: &str) -> usize {
    let ours = ours(scene, file);
    let told = scene.shell(script);
    let all = PaholeType::parse(&told.out);
    let mut wrong = Vec::new();
    for theirs in &all {
        let candidates = ours.get(&theirs.name).map_or(&[][..], |found| found);
        if !candidates.iter().any(|one| same_type(one, theirs)) {
            let shown: Vec<_> = candidates.iter().map(pahole::flattened).collect();
            wrong.push(format!("{theirs:#?}\nis here: {shown:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{file}: {} of {}: {}", wrong.len(), all.len(), wrong[0]);
    eprintln!("{file}: {} types are as pahole has them", all.len());
    all.len()
}

fn source(name: &str) -> String {
    workload::sources().join(name).display().to_string()
}

/// Rustup finds its compilers by the environment.
fn compile_rust(scene: &Scene) {
    let source = source("odd_types.rs");
    let line = ["--edition", "2021", "-C", "debuginfo=2", "-o", "rust", &source];
    let built = Command::new("rustc").args(line).current_dir(scene.path("")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

#[test]
fn every_structure_of_c_is_as_pahole_has_it() {
    let test = "every_structure_of_c_is_as_pahole_has_it";
    if !rights::program(test, "gcc") || !rights::program(test, "pahole") {
        return;
    }
    let scene = Scene::new();
    let source = source("odd_types.c");
    for (file, compiler) in [
        ("five", "gcc -gdwarf-5"),
        ("four", "gcc -gdwarf-4"),
        ("two", "gcc -gdwarf-2 -gstrict-dwarf"),
        ("packed", "gcc -g -gz"),
    ] {
        scene.shell(&format!("{compiler} -o {file} {source}")).success();
        assert!(compare(&scene, file) > 18, "{file}");
    }
    if rights::program(test, "clang-14") {
        scene.shell(&format!("clang-14 -g -o clang {source}")).success();
        assert!(compare(&scene, "clang") > 18);
    }
}

#[test]
fn every_class_of_cpp_is_as_pahole_has_it() {
    let test = "every_class_of_cpp_is_as_pahole_has_it";
    if !rights::program(test, "g++") || !rights::program(test, "pahole") {
        return;
    }
    let scene = Scene::new();
    scene.shell(&format!("g++ -g -o classes {}", source("odd_types.cc"))).success();
    assert!(compare(&scene, "classes") > 12);
}

#[test]
fn every_structure_of_a_rust_program_is_as_pahole_has_it() {
    let test = "every_structure_of_a_rust_program_is_as_pahole_has_it";
    if !rights::program(test, "rustc") || !rights::program(test, "pahole") {
        return;
    }
    let scene = Scene::new();
    compile_rust(&scene);
    // pahole passes over what is in namespaces, but not when asked for it.
    // It takes commas for the ends of names.
    let is_asked = |name: &String| !name.contains(',');
    let names: Vec<String> = ours(&scene, "rust").into_keys().filter(is_asked).collect();
    scene.write("names", names.join("\n") + "\n");
    let each = "while read -r name; do pahole -C \"$name\" rust 2>/dev/null || true; done <names";
    assert!(compare_with(&scene, "rust", each) > 20);
}

#[test]
fn types_in_units_of_their_own_are_the_same() {
    if !rights::program("types_in_units_of_their_own_are_the_same", "g++") {
        return;
    }
    let scene = Scene::new();
    let source = source("odd_types.cc");
    let mut all = Vec::new();
    for (file, how) in [
        ("plain", ""),
        ("units", "-gdwarf-4 -fdebug-types-section"),
        ("units5", "-fdebug-types-section"),
        ("split", "-gsplit-dwarf"),
    ] {
        scene.shell(&format!("g++ -g {how} -o {file} {source}")).success();
        let mut told: Vec<_> = ours(&scene, file)
            .into_values()
            .flatten()
            .map(|one| {
                // Units of their own may leave out the namespace.
                let name = pahole::own_name(one["name"].as_str().unwrap()).to_owned();
                (name, pahole::flattened(&one), one["size"].as_u64())
            })
            .collect();
        told.sort();
        told.dedup();
        all.push((file, told));
    }
    let (_, plain) = &all[0];
    assert!(plain.len() > 100);
    for (file, told) in &all {
        let lacks = plain.iter().find(|one| !told.contains(one));
        assert!(lacks.is_none(), "{file} lacks {lacks:?}");
    }
}

#[test]
fn the_kernels_own_types_are_as_pahole_has_them() {
    let test = "the_kernels_own_types_are_as_pahole_has_them";
    let file = "/sys/kernel/btf/vmlinux";
    if !rights::program(test, "pahole") {
        return;
    }
    if !Path::new(file).exists() {
        return eprintln!("skipped {test}: no {file} here");
    }
    assert!(compare(&Scene::new(), file) > 1000);
}

#[test]
fn enums_of_rust_lie_where_the_program_says() {
    if !rights::program("enums_of_rust_lie_where_the_program_says", "rustc") {
        return;
    }
    let scene = Scene::new();
    compile_rust(&scene);
    let truth = scene.run("./rust").success();
    let mut checked = 0;
    for line in truth.out.lines() {
        let words: Vec<_> = line.split('|').collect();
        let [name, variant, member, offset, size] = words[..] else { panic!("{line}") };
        let told = scene.run_words(&["ebs", "layout", "--json", name, "rust"]).success();
        let report: Value = serde_json::from_str(&told.out).unwrap();
        let one = &report["types"][0];
        assert_eq!(one["size"].to_string(), size, "{name}: {one:#}");
        checked += 1;
        if variant.is_empty() {
            continue;
        }
        let of = |value: &Value, name: &str| {
            let all = value["members"].as_array().cloned().unwrap_or_default();
            all.into_iter().find(|member| member["name"] == name)
        };
        let found = of(one, variant).unwrap_or_else(|| panic!("{line}: {one:#}"));
        let found = of(&found, member).unwrap_or_else(|| panic!("{line}: {one:#}"));
        assert_eq!(found["offset"].to_string(), offset, "{line}: {one:#}");
    }
    assert!(checked > 15, "{}", truth.out);
}

#[test]
fn an_unknown_type_is_told_with_those_like_it() {
    if !rights::program("an_unknown_type_is_told_with_those_like_it", "gcc") {
        return;
    }
    let scene = Scene::new();
    scene.shell(&format!("gcc -g -o odd {0} && gcc -o bare {0}", source("odd_types.c"))).success();
    let told = scene.run("ebs layout nodes odd");
    assert!(told.err.contains("no type \"nodes\". nearest: node"), "{}", told.err);
    let told = scene.run("ebs layout node bare");
    assert!(told.err.contains("no debug info of"), "{}", told.err);
    assert!(told.err.contains("-g"), "{}", told.err);
    let told = scene.run("ebs layout node gone");
    assert!(told.err.contains("gone is not there"), "{}", told.err);
    let told = scene.run("ebs layout --line 32 node odd").success();
    assert!(told.out.contains("struct node {\n"), "{}", told.out);
    assert!(told.out.contains("cacheline 1 boundary (32 bytes)"), "{}", told.out);
    let listed = scene.run("ebs layout odd").success();
    assert!(listed.out.contains("struct outer\n"), "{}", listed.out);
}
