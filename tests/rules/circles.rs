use std::collections::{BTreeMap, BTreeSet};

use crate::{
    files::is_test,
    source::code_only,
    tree::{TextFile, assert_clean, files_ending},
};

/// Which rooms a room takes something from, and where.
type Arrows<'t> = BTreeMap<&'t str, BTreeMap<&'t str, &'t str>>;

/// A file of a crate: the crate, its modules from the root down, and code
/// without comments, literals and tests.
struct Module<'t> {
    part: &'t str,
    modules: Vec<&'t str>,
    path: &'t str,
    code: String,
}

impl Module<'_> {
    fn of(file: &TextFile) -> Option<Module<'_>> {
        let (part, inside) = file.path.split_once("/src/")?;
        if is_test(&file.path) {
            return None;
        }
        let code = code_only(&file.text);
        // What a file tests with is no part of it.
        let product = code.split("#[cfg(test)]\nmod tests {").next()?;
        Some(Module {
            part,
            modules: inside.strip_suffix(".rs")?.split('/').collect(),
            path: &file.path,
            code: product.to_string(),
        })
    }

    /// The folder or file right below the crate's root; None: the root.
    fn room(&self) -> Option<&str> {
        self.modules.first().copied().filter(|name| !matches!(*name, "lib" | "main" | "bin"))
    }

    /// The names that are taken from the crate's root: by `crate::`, or by as
    /// many `super::` as lead there.
    fn taken(&self) -> Vec<&str> {
        let climb = "super::".repeat(self.modules.len());
        let mut names = Vec::new();
        for root in ["crate::", climb.as_str()] {
            for (at, _) in self.code.match_indices(root) {
                let is_inside = self.code[..at].ends_with(|c: char| is_word(c) || c == ':');
                if !is_inside {
                    names.extend(heads(&self.code[at + root.len()..]));
                }
            }
        }
        names
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// The first name of a path, or of each path of a list in braces.
fn heads(path: &str) -> Vec<&str> {
    let Some(list) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut depth, mut begins, mut found) = (0, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && is_word(c) => {
                found.push(word(&list[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    found
}

/// What the root of a crate passes on, and of which room it is.
fn passed_on(root: &str) -> BTreeMap<&str, &str> {
    let statements = root.split(';').filter_map(|it| it.split_once("use "));
    statements
        .filter(|(before, _)| before.ends_with("pub ") || before.ends_with("pub(crate) "))
        .flat_map(|(_, path)| {
            let names = path.split(|c| !is_word(c)).filter(|it| !it.is_empty());
            names.map(move |name| (name, word(path)))
        })
        .collect()
}

/// The arrows between the rooms of a crate.
fn arrows<'t>(part: &str, all: &'t [Module<'t>]) -> Arrows<'t> {
    let of_part = || all.iter().filter(|one| one.part == part);
    let rooms: BTreeSet<&str> = of_part().filter_map(Module::room).collect();
    let root = of_part().find(|one| one.modules == ["lib"]);
    let passed_on = root.map(|root| passed_on(&root.code)).unwrap_or_default();
    let mut arrows = Arrows::new();
    for module in of_part() {
        let Some(from) = module.room() else { continue };
        for name in module.taken() {
            let room = rooms.get(name).or_else(|| passed_on.get(name));
            if let Some(to) = room.filter(|to| **to != from) {
                arrows.entry(from).or_default().entry(to).or_insert(module.path);
            }
        }
    }
    arrows
}

/// Whether one room takes from another, be it by way of others.
fn reaches(arrows: &Arrows<'_>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(room) = next.pop() {
        for &taken_from in arrows.get(room).into_iter().flat_map(BTreeMap::keys) {
            if taken_from == to {
                return true;
            }
            if seen.insert(taken_from) {
                next.push(taken_from);
            }
        }
    }
    false
}

/// The arrows of a crate that are part of a circle.
fn circles(part: &str, all: &[Module<'_>]) -> Vec<String> {
    let arrows = arrows(part, all);
    let mut found = Vec::new();
    for (from, taken) in &arrows {
        for (to, path) in taken.iter().filter(|(to, _)| reaches(&arrows, to, from)) {
            found.push(format!(
                "{path}: room `{from}` takes from `{to}`, which takes from `{from}` in turn: move \
                 what is in the wrong room"
            ));
        }
    }
    found
}

/// The circles of all crates.
fn all_circles(all: &[Module<'_>]) -> Vec<String> {
    let parts: BTreeSet<&str> = all.iter().map(|one| one.part).collect();
    parts.into_iter().flat_map(|part| circles(part, all)).collect()
}

#[test]
fn rooms_form_no_circle() {
    let files = files_ending(".rs");
    let all: Vec<_> = files.iter().filter_map(Module::of).collect();
    assert_clean(&all_circles(&all));
}

#[test]
fn a_planted_circle_is_caught() {
    let file = |path: &str, text: &str| TextFile { path: path.to_string(), text: text.to_string() };
    let mut files = vec![
        file("a/src/lib.rs", "mod low;\nmod mid;\npub use mid::deep::{Other, Thing as Named};\n"),
        file("a/src/top.rs", "use super::{mid::{x, low}, Named};\nuse super::low;"),
        file("a/src/mid/deep.rs", "use crate::low::x;\nuse super::super::mid::y;"),
        file(
            "a/src/low.rs",
            "// crate::top::x\nuse other_crate::mid::x;\n#[cfg(test)]\nmod tests {\n use crate::mid;\n}",
        ),
        file("a/src/low/tests.rs", "use crate::top::x;"),
    ];
    let complaints =
        |files: &[TextFile]| all_circles(&files.iter().filter_map(Module::of).collect::<Vec<_>>());
    assert!(complaints(&files).is_empty(), "{:?}", complaints(&files));
    for planted in
        ["use crate::{x, mid::y};", "use super::super::Other;", "fn f(it: crate::top::X) {}"]
    {
        files.push(file("a/src/low/planted.rs", planted));
        assert!(complaints(&files).len() > 1, "{planted}");
        files.pop();
    }
}
