use crate::tree::{TextFile, assert_clean, root};
use std::fs;
use walkdir::WalkDir;

/// Hosts of package registries and of Debian's mirrors. Their clients know the mirror that
/// a user has set up, and the proxy and the keys of it; a script that names a host does not.
const HOSTS: [&str; 10] = [
    "crates.io",
    "npmjs.org",
    "npmjs.com",
    "yarnpkg.com",
    "pypi.org",
    "pythonhosted.org",
    "proxy.golang.org",
    "rubygems.org",
    "debian.org",
    "ubuntu.com",
];

/// Files that may name a host, which, and why.
const EXCEPTIONS: [(&str, &str); 2] = [
    // What Debian's mirrors have no longer is there; apt has no name for it.
    ("tests/pmu-box/fetch", "snapshot.debian.org"),
    // The address of a format, which nothing fetches.
    ("xtask/debian/copyright", "www.debian.org/doc/packaging-manuals"),
];

fn named_hosts(path: &str, text: &str) -> Vec<String> {
    let exceptions = || EXCEPTIONS.iter().filter(|(of, _)| *of == path);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = exceptions().fold(line.to_owned(), |line, (_, named)| line.replace(named, ""));
        found.extend(HOSTS.iter().filter(|host| line.contains(**host)).map(|host| {
            format!("{path}:{}: names {host}: let the registry's client fetch it", index + 1)
        }));
    }
    found
}

/// Files that are run or read by programs: all but build products, the source in Rust, what
/// people read, and what cargo itself writes.
fn scripts() -> Vec<TextFile> {
    let (root, mut found) = (root(), Vec::new());
    let walk = WalkDir::new(&root).sort_by_file_name().into_iter().filter_entry(|entry| {
        entry.depth() == 0
            || !["target", "corpus", ".git"].iter().any(|it| entry.file_name() == *it)
    });
    for entry in walk {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let is_other = [".rs", ".md", "Cargo.lock"].iter().any(|end| path.ends_with(end));
        if entry.file_type().is_file()
            && !is_other
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push(TextFile { path, text });
        }
    }
    found
}

#[test]
fn no_script_names_a_registrys_host() {
    let scripts = scripts();
    assert!(scripts.iter().any(|script| script.path == ".ci/run"));
    let all: Vec<_> =
        scripts.iter().flat_map(|TextFile { path, text }| named_hosts(path, text)).collect();
    assert_clean(&all);
}

#[test]
fn a_planted_host_is_caught() {
    let script = "#!/bin/sh\ncurl https://registry.npmjs.org/x/-/x-1.tgz\nnpm pack x@1\n";
    assert_eq!(named_hosts("x/run", script).len(), 1);
    assert_eq!(named_hosts("x/run", "deb http://deb.debian.org/debian sid main\n").len(), 1);
    let snapshot = "snapshots=http://snapshot.debian.org/archive\n";
    assert_eq!(named_hosts("tests/pmu-box/fetch", snapshot).len(), 0);
    assert_eq!(named_hosts("x/run", snapshot).len(), 1);
}
