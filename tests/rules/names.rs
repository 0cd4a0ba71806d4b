use std::collections::BTreeMap;

use crate::{
    files::is_test,
    source::code_only,
    tree::{assert_clean, files_ending},
};

/// What defines a type.
const KINDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// A type that more than its own module sees.
struct Definition {
    path: String,
    line: usize,
    name: String,
}

impl Definition {
    /// The folder of the crate, such as `crates/perfdata`.
    fn part(&self) -> &str {
        self.path.split("/src/").next().unwrap_or_default()
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
        // In a macro, `$name` is none.
        (KINDS.contains(&kind) && end > 0).then(|| rest[..end].to_string())
    };
    let of_line = |(index, line)| {
        Some(Definition { path: path.to_string(), line: index + 1, name: name(line)? })
    };
    code_only(text).lines().enumerate().filter_map(of_line).collect()
}

/// Names that two types of one crate have.
fn shared(all: &[Definition]) -> Vec<String> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&Definition>> = BTreeMap::new();
    for one in all {
        by_name.entry((one.part(), &one.name)).or_default().push(one);
    }
    let shared = by_name.into_iter().filter(|(_, defined)| defined.len() > 1);
    shared
        .map(|((_, name), defined)| {
            let places: Vec<_> =
                defined.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
            format!("{name}: {}: two types of one crate", places.join(", "))
        })
        .collect()
}

#[test]
fn types_of_a_crate_have_names_of_their_own() {
    let all: Vec<_> = files_ending(".rs")
        .iter()
        .filter(|file| !is_test(&file.path))
        .flat_map(|file| definitions(&file.path, &file.text))
        .collect();
    assert_clean(&shared(&all));
}

#[test]
fn a_planted_second_place_is_caught() {
    let mut all = definitions("crates/perfdata/src/a.rs", "pub struct Place<'a> {\n}\n");
    all.extend(definitions("daemon/src/b.rs", "// pub enum Place {\n    struct Place;\n"));
    all.extend(definitions(
        "daemon/src/c.rs",
        "    pub(crate) enum Place {\npub enum $a {\npub enum $b {\n",
    ));
    assert!(shared(&all).is_empty());
    all.extend(definitions("daemon/src/d.rs", "pub type Place = u8;\n"));
    assert_eq!(shared(&all).len(), 1);
}
