use std::fs;
use std::path::Path;

use crate::tree::{assert_clean, files_ending, root};

/// What a path in the docs may begin with to be taken for one of ours.
const TOP: &[&str] = &[
    "crates",
    "daemon",
    "symbolizer",
    "ebs-cli",
    "xtask",
    "docs",
    "tests",
    "benches",
    "fuzz",
    ".ci",
];

/// Paths of the tree that a page names: in backticks from the root, and as
/// targets of links from the page's own folder.
fn named_paths(page: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for token in text.split('`').skip(1).step_by(2) {
        let token = token.split(':').next().unwrap_or_default().trim_end_matches('/');
        let plain = token.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        let ours = token.split_once('/').is_some_and(|(top, _)| TOP.contains(&top));
        // `fuzz/corpus/TARGET` stands for many.
        let placeholder = token.split('/').any(|part| part.chars().all(|c| c.is_ascii_uppercase()));
        if plain && ours && !placeholder {
            found.push(token.to_owned());
        }
    }
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    for rest in text.split("](").skip(1) {
        let target = rest.split([')', '#']).next().unwrap_or_default();
        if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
            found.push(format!("{folder}/{target}").trim_start_matches('/').to_owned());
        }
    }
    found
}

/// Names of decision files that do not begin with the next free number.
fn misnumbered(names: &[String]) -> Vec<String> {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort();
    let mut found = Vec::new();
    for (index, name) in sorted.into_iter().enumerate() {
        let next = format!("{:04}-", index + 1);
        if !name.starts_with(&next) || !name.ends_with(".md") {
            found.push(format!("docs/decisions/{name}: expected {next}<what>.md"));
        }
    }
    found
}

#[test]
fn paths_named_in_the_docs_exist() {
    let root = root();
    let mut missing = Vec::new();
    let mut checked = 0;
    for page in files_ending(".md") {
        for path in named_paths(&page.path, &page.text) {
            checked += 1;
            // A crate's own page may name its files as the crate sees them.
            let mut folders = Path::new(&page.path).ancestors().skip(1);
            if !folders.any(|folder| root.join(folder).join(&path).exists()) {
                missing.push(format!("{}: names {path}, which does not exist", page.path));
            }
        }
    }
    assert!(checked > 0, "the docs name no path at all");
    assert_clean(&missing);
}

#[test]
fn decisions_are_numbered() {
    let names: Vec<_> = fs::read_dir(root().join("docs/decisions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.is_empty());
    assert_clean(&misnumbered(&names));
}

#[test]
fn a_planted_missing_path_is_seen() {
    let page = "See `crates/perfdata/src/attr.rs:12`, `ebs -k`, `a/b`, `docs/events/`, `daemon/src/*` \
                and `fuzz/corpus/TARGET`.";
    assert_eq!(named_paths("README.md", page), ["crates/perfdata/src/attr.rs", "docs/events"]);
    let links = "[map](architecture.md#parts) [web](https://example.org/docs/x) [up](../README.md)";
    assert_eq!(named_paths("docs/guide.md", links), ["docs/architecture.md", "docs/../README.md"]);
}

#[test]
fn a_planted_unnumbered_decision_is_caught() {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert!(misnumbered(&names(&["0002-b.md", "0001-a.md"])).is_empty());
    assert_eq!(misnumbered(&names(&["0001-a.md", "why.md"])).len(), 1);
    assert_eq!(misnumbered(&names(&["0001-a.md", "0001-b.md"])).len(), 1);
    assert_eq!(misnumbered(&names(&["0001-a.md", "0003-b.md"])).len(), 1);
}
