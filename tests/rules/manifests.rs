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

/// Addresses that a package gives as its own. Nobody keeps hardmeter at one
/// yet, and an address that is not ours is whoever's takes it.
fn addresses(path: &str, text: &str) -> Vec<String> {
    let keys = ["repository", "homepage", "documentation"];
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if keys.contains(&key) && line.contains('=') {
            found.push(format!("{path}:{}: an address that is nobody's: {line}", index + 1));
        }
    }
    found
}

#[test]
fn no_package_gives_an_address_that_is_nobodys() {
    let all: Vec<_> = files_ending("Cargo.toml")
        .iter()
        .flat_map(|TextFile { path, text }| addresses(path, text))
        .collect();
    assert_clean(&all);
}

#[test]
fn a_planted_address_is_caught() {
    let manifest = "[package]\nname = \"x\"\nrepository = \"https://example.org/x\"\n";
    assert_eq!(addresses("x/Cargo.toml", manifest).len(), 1);
    assert_eq!(addresses("x/Cargo.toml", "repository.workspace = true\n").len(), 1);
    let said = "# repository = \"none\"\n[dependencies]\nrepository-x = \"1\" # names\n";
    assert!(addresses("x/Cargo.toml", said).is_empty());
}
