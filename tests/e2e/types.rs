//! Layouts of types, against those of pahole and of compilers.

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
        let name = own_name(one["name"].as_str().unwrap());
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
            let shown: Vec<_> = candidates.iter().map(flattened).collect();
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
                let name = own_name(one["name"].as_str().unwrap()).to_owned();
                (name, flattened(&one), one["size"].as_u64())
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

/// A structure or union as pahole prints it.
#[derive(Debug)]
struct PaholeType {
    name: String,
    /// Not told of unions.
    size: Option<u64>,
    members: Vec<PlacedMember>,
}

/// A member: of a type without a name, each of its own, too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlacedMember {
    name: String,
    /// Bits from the start of the whole.
    bit: u64,
    /// Bytes of its type.
    size: u64,
}

/// A name without what it is in.
fn own_name(full: &str) -> &str {
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in full.char_indices() {
        match c {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth -= 1,
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &full[start..]
}

impl PaholeType {
    fn parse(text: &str) -> Vec<PaholeType> {
        let mut all = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(head) = head(line) else { continue };
            let body: Vec<&str> =
                lines.by_ref().take_while(|line| !line.starts_with('}')).collect();
            all.extend(PaholeType::of(head, &body));
        }
        all
    }

    fn of(name: String, body: &[&str]) -> Option<PaholeType> {
        let mut size = None;
        let mut open: Vec<Vec<PlacedMember>> = vec![Vec::new()];
        for line in body {
            let line = line.trim();
            if line.ends_with('{') {
                open.push(Vec::new());
            } else if open.len() == 1 && line.starts_with("/* size: ") {
                size = line.split([' ', ',']).nth(2).and_then(|word| word.parse().ok());
            }
            let placed = placed(line);
            if line.starts_with('}') {
                // What has no place is a type that was defined within.
                let inner = open.pop()?;
                // Nor is what a pointer leads to a part.
                let is_part = placed.is_some() && !line.starts_with("} *");
                if let (true, Some(outer)) = (is_part, open.last_mut()) {
                    outer.extend(inner);
                }
            }
            open.last_mut()?.extend(placed);
        }
        Some(PaholeType { name, size, members: open.pop()? })
    }
}

/// The name of a type that begins.
fn head(line: &str) -> Option<String> {
    let keywords = ["struct ", "class ", "union "];
    let rest = keywords.iter().find_map(|word| line.strip_prefix(word))?.strip_suffix('{')?;
    let rest = rest.trim_end();
    let end = rest.find(" : ").unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// A line with a place behind it.
fn placed(line: &str) -> Option<PlacedMember> {
    let (text, place) = line.strip_suffix("*/")?.rsplit_once("/*")?;
    let numbers: Option<Vec<u64>> =
        place.split([' ', ':']).filter(|it| !it.is_empty()).map(|it| it.parse().ok()).collect();
    let (bit, size) = match numbers?[..] {
        [offset, size] => (offset * 8, size),
        [offset, first, size] => (offset * 8 + first, size),
        _ => return None,
    };
    Some(PlacedMember { name: name_in(text), bit, size })
}

fn without_attributes(text: &str) -> String {
    let Some((before, rest)) = text.split_once("__attribute__") else { return text.to_owned() };
    let mut depth = 0;
    let closes = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    };
    let end = rest.find(closes).map_or(rest.len(), |end| end + 1);
    format!("{before} {}", without_attributes(&rest[end..]))
}

fn name_in(text: &str) -> String {
    if text.contains("<ancestor>") {
        return "<base>".to_owned();
    }
    let text = without_attributes(text.trim().trim_end_matches(';'));
    let text = text.trim_end();
    if let Some((_, pointer)) = text.split_once("(*") {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        return pointer.split(|c| !is_word(c)).next().unwrap_or_default().to_owned();
    }
    let text = text.strip_prefix('}').unwrap_or(text);
    let text = match text.rsplit_once(':') {
        Some((before, bits)) if bits.parse::<u64>().is_ok() => before,
        _ => text,
    };
    let text = match (text.ends_with(']'), text.find('[')) {
        (true, Some(start)) if !text.contains(' ') || start > text.rfind(' ').unwrap_or(0) => {
            &text[..start]
        }
        _ => text,
    };
    text.rsplit([' ', '*', '&']).next().unwrap_or_default().to_owned()
}

/// The members of one of our types, in order.
fn flattened(ours: &Value) -> Vec<PlacedMember> {
    let mut all = Vec::new();
    for member in ours["members"].as_array().into_iter().flatten() {
        all.extend(flattened(member));
        let Some(offset) = member["offset"].as_u64() else { continue };
        let name = match member["sort"].as_str() {
            Some("base" | "virtual-base") => "<base>",
            _ => member["name"].as_str().unwrap_or_default(),
        };
        let bit = offset * 8 + member["bit_offset"].as_u64().unwrap_or(0);
        let size = member["size"].as_u64().unwrap_or(0);
        all.push(PlacedMember { name: name.to_owned(), bit, size });
    }
    all.sort();
    all
}

/// Whether both tell of the same layout, but for what pahole 1.24 gets wrong.
fn same_type(ours: &Value, theirs: &PaholeType) -> bool {
    if theirs.size.is_some_and(|size| ours["size"] != size) {
        return false;
    }
    let members = || ours["members"].as_array().into_iter().flatten();
    // It does not read them.
    if members().any(|member| member["sort"] == "variant") {
        return true;
    }
    let has_virtual = members().any(|member| member["sort"] == "virtual-base");
    let to_members: Vec<&Value> = members()
        .filter(|member| member["type"].as_str().is_some_and(|of| of.contains("::*")))
        .map(|member| &member["name"])
        .collect();
    let alike = |mut all: Vec<PlacedMember>| {
        // It takes numbers out of the expressions that lead to virtual bases,
        all.retain(|one| !(has_virtual && one.name == "<base>"));
        for one in &mut all {
            // sizes of what they point to for those of pointers to members,
            let is_pointer = to_members.iter().any(|name| **name == *one.name);
            // and 0 for an empty base's.
            if is_pointer || (one.name == "<base>" && one.size <= 1) {
                one.size = 0;
            }
        }
        all.sort();
        all
    };
    alike(flattened(ours)) == alike(theirs.members.clone())
}
