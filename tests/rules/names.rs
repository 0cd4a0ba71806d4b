use std::collections::BTreeMap;

use crate::{
    files::is_test,
    source::code_only,
    tree::{assert_clean, entries, files_ending},
};

/// Names of types that parts have yet to give up: lines of a part and a
/// name. Only ever shorter: what is renamed is struck off.
const TO_RENAME: &str = include_str!("names_to_rename.txt");
/// What defines a type.
const KINDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// A type that more than its own module sees.
struct Definition {
    path: String,
    line: usize,
    name: String,
}

impl Definition {
    /// The folder of the crate, such as `record`.
    fn part(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }
}

/// The types of a file that are public, or the crate's.
fn definitions(path: &str, text: &str) -> Vec<Definition> {
    let name = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "))?;
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        let (kind, rest) = line.split_once(' ')?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        KINDS.contains(&kind).then(|| rest[..end].to_string())
    };
    let of_line = |(index, line)| {
        Some(Definition { path: path.to_string(), line: index + 1, name: name(line)? })
    };
    code_only(text).lines().enumerate().filter_map(of_line).collect()
}

/// Names that stand for two things, but for those still to be renamed; and
/// what is to be renamed and is gone.
fn shared(all: &[Definition], to_rename: &str) -> Vec<String> {
    let listed = |one: &Definition| entries(to_rename).any(|it| it == (one.part(), &one.name));
    let mut by_name: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
    for one in all {
        by_name.entry(&one.name).or_default().push(one);
    }
    let mut found = Vec::new();
    for (name, defined) in by_name {
        let stay: Vec<_> = defined.iter().filter(|one| !listed(one)).collect();
        if stay.len() > 1 {
            let places: Vec<_> =
                stay.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
            found.push(format!("{name}: {}: one name, one thing", places.join(", ")));
        }
    }
    for (part, name) in entries(to_rename) {
        if !all.iter().any(|one| (one.part(), one.name.as_str()) == (part, name)) {
            found.push(format!("{part} {name}: is gone, strike it off names_to_rename.txt"));
        }
    }
    found
}

#[test]
fn types_have_names_of_their_own() {
    let all: Vec<_> = files_ending(".rs")
        .iter()
        .filter(|file| !is_test(&file.path))
        .flat_map(|file| definitions(&file.path, &file.text))
        .collect();
    assert_clean(&shared(&all, TO_RENAME));
}

#[test]
fn a_planted_second_place_is_caught() {
    let mut all = definitions("crates/perfdata/src/a.rs", "pub struct Place<'a> {\n}\n");
    all.extend(definitions("daemon/src/b.rs", "// pub enum Place {\n    struct Place;\n"));
    assert!(shared(&all, "").is_empty());
    all.extend(definitions("daemon/src/c.rs", "    pub(crate) enum Place {\n"));
    assert_eq!(shared(&all, "").len(), 1);
    assert!(shared(&all, "# Why.\ndaemon Place\n").is_empty());
    all.extend(definitions("daemon/src/d.rs", "pub type Frame = u8;\n"));
    assert_eq!(shared(&all, "daemon Place\ndaemon Gone\n").len(), 1);
}
