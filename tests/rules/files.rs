use crate::{
    source::{code_only, words},
    tree::{assert_clean, files_ending},
};

/// No product file is longer, its tests not counted.
const MOST_LINES: usize = 500;
/// Names that say nothing about what a file holds.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "manager", "helper", "helpers", "shared", "misc"];
/// The words a map may not hold: it only says what is where.
const ITEMS: &[&str] =
    &["fn", "struct", "enum", "trait", "impl", "const", "static", "type", "macro_rules"];

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs")
        || path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples"))
}

/// The lines before the test module at the end of the file.
fn product_lines(text: &str) -> usize {
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let opens_tests = line.trim() == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.contains("mod ") && next.contains('{'));
        if opens_tests {
            break;
        }
        count += 1;
    }
    count
}

fn size(path: &str, text: &str) -> Option<String> {
    let lines = product_lines(text);
    (!is_test(path) && lines > MOST_LINES)
        .then(|| format!("{path}: {lines} product lines, at most {MOST_LINES}"))
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
fn product_files_are_short() {
    let all: Vec<_> =
        files_ending(".rs").iter().filter_map(|file| size(&file.path, &file.text)).collect();
    assert_clean(&all);
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
fn a_planted_long_file_is_caught() {
    let long = "let a = 1;\n".repeat(MOST_LINES + 1);
    assert!(size("record/src/long.rs", &long).is_some());
    assert!(size("record/src/long/tests.rs", &long).is_none());
    let tests = format!("let a = 1;\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
    assert!(size("record/src/long.rs", &tests).is_none());
    let only_declared = format!("#[cfg(test)]\nmod tests;\n{long}");
    assert!(size("record/src/long.rs", &only_declared).is_some());
}

#[test]
fn a_planted_empty_name_is_caught() {
    assert_eq!(names("record/src/utils.rs", "").len(), 1);
    assert_eq!(names("record/src/common/bytes.rs", "").len(), 1);
    assert_eq!(names("record/src/bytes.rs", "pub(crate) mod helper;\n").len(), 1);
    assert!(names("record/src/bytes.rs", "// mod helper\nmod shares;\n").is_empty());
}

#[test]
fn a_planted_function_in_a_map_is_caught() {
    assert!(map("record/src/lib.rs", "//! Docs.\nmod a;\npub use a::A;\n").is_none());
    assert!(map("record/src/lib.rs", "mod a;\npub fn b() {}\n").is_some());
    assert!(map("record/src/a.rs", "pub fn b() {}\n").is_none());
}
