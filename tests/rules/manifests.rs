use crate::tree::{TextFile, assert_clean, files_ending};

/// Dependencies without a comment that says what for. The table of versions
/// in the workspace's manifest is not a use and needs none.
fn unexplained(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            let table = header.rsplit('.').next().unwrap_or_default();
            in_dependencies = table.ends_with("dependencies") && !header.starts_with("workspace");
            continue;
        }
        let dependency = in_dependencies && line.contains('=') && !line.starts_with('#');
        if dependency && !says_what_for(line) {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            found.push(format!("{path}:{}: `{name}` does not say what it is for", index + 1));
        }
    }
    found
}

/// Whether there is a comment behind the value.
fn says_what_for(line: &str) -> bool {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return !line[at + 1..].trim().is_empty(),
            _ => {}
        }
    }
    false
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let all: Vec<_> = files_ending("Cargo.toml")
        .iter()
        .flat_map(|TextFile { path, text }| unexplained(path, text))
        .collect();
    assert_clean(&all);
}

#[test]
fn a_planted_unexplained_dependency_is_caught() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nlibc.workspace = true\n";
    assert_eq!(unexplained("x/Cargo.toml", manifest).len(), 1);
    let said = "[dependencies]\nlibc.workspace = true # errno names\n";
    assert!(unexplained("x/Cargo.toml", said).is_empty());
    let versions = "[workspace.dependencies]\nlibc = \"0.2\"\n";
    assert!(unexplained("Cargo.toml", versions).is_empty());
    let target = "[target.'cfg(interleavings)'.dependencies]\nloom = \"0.7\"\n";
    assert_eq!(unexplained("x/Cargo.toml", target).len(), 1);
    let quoted = "[dev-dependencies]\na = { git = \"u#not a comment\" }\n";
    assert_eq!(unexplained("x/Cargo.toml", quoted).len(), 1);
}
