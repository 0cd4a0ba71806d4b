use crate::{
    source::{code_only, words},
    tree::{assert_clean, files_ending},
};

/// A longer file is worth a look: the test says which, and does not fail.
const SOFT_LIMIT: usize = 800;
/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "manager", "helper", "helpers", "shared", "misc"];
/// The words a map may not hold: it only says what is where.
const ITEMS: &[&str] =
    &["fn", "struct", "enum", "trait", "impl", "const", "static", "type", "macro_rules"];

pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs")
        || path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples"))
}

fn is_long(text: &str) -> bool {
    text.lines().count() > SOFT_LIMIT
}

fn names(path: &str, text: &str) -> Vec<String> {
    let mut found: Vec<_> = path
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| EMPTY_NAMES.contains(part))
        .map(|part| format!("{path}: `{part}` says nothing about what is in it"))
        .collect();
    let code = code_only(text);
    let all: Vec<_> = words(&code).collect();
    for pair in all.windows(2) {
        if pair[0].1 == "mod" && EMPTY_NAMES.contains(&pair[1].1) {
            found.push(format!("{path}:{}: module `{}` says nothing", pair[1].0, pair[1].1));
        }
    }
    found
}

fn map(path: &str, text: &str) -> Option<String> {
    if !path.ends_with("lib.rs") {
        return None;
    }
    let code = code_only(text);
    let (line, item) = words(&code).find(|(_, word)| ITEMS.contains(word))?;
    Some(format!("{path}:{line}: a lib.rs is a map, `{item}` belongs in a file of its own"))
}

#[test]
fn long_files_are_named() {
    for file in files_ending(".rs").iter().filter(|file| is_long(&file.text)) {
        eprintln!("remark: {} has more than {SOFT_LIMIT} lines", file.path);
    }
}

#[test]
fn names_say_what_is_inside() {
    let all: Vec<_> =
        files_ending(".rs").iter().flat_map(|file| names(&file.path, &file.text)).collect();
    assert_clean(&all);
}

#[test]
fn lib_files_are_maps() {
    let all: Vec<_> =
        files_ending("lib.rs").iter().filter_map(|file| map(&file.path, &file.text)).collect();
    assert_clean(&all);
}

#[test]
fn a_planted_long_file_is_seen() {
    assert!(is_long(&"let a = 1;\n".repeat(SOFT_LIMIT + 1)));
    assert!(!is_long(&"let a = 1;\n".repeat(SOFT_LIMIT)));
}

#[test]
fn a_planted_empty_name_is_caught() {
    assert_eq!(names("crates/perfdata/src/utils.rs", "").len(), 1);
    assert_eq!(names("crates/perfdata/src/common/bytes.rs", "").len(), 1);
    assert_eq!(names("crates/perfdata/src/bytes.rs", "pub(crate) mod helper;\n").len(), 1);
    assert!(names("crates/perfdata/src/bytes.rs", "// mod helper\nmod shares;\n").is_empty());
}

#[test]
fn a_planted_function_in_a_map_is_caught() {
    assert!(map("crates/perfdata/src/lib.rs", "//! Docs.\nmod a;\npub use a::A;\n").is_none());
    assert!(map("crates/perfdata/src/lib.rs", "mod a;\npub fn b() {}\n").is_some());
    assert!(map("crates/perfdata/src/a.rs", "pub fn b() {}\n").is_none());
}
