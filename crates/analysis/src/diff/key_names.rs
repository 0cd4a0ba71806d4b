//! What rows are called, whatever build they are of.

use crate::name::cell::{Cell, MissingValue, UnresolvedName};
use crate::query::key::Key;
use crate::report::ReportChains;
use std::collections::BTreeSet;
use std::str::FromStr;

/// An object of A that is called otherwise in B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameObject {
    /// File name in A.
    pub a: String,
    /// File name in B.
    pub b: String,
}

/// A word is no pair of names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--same {0:?} is no OLD=NEW, two names of files, such as server-1.2=server-1.3")]
pub struct SameObjectError(String);

impl FromStr for SameObject {
    type Err = SameObjectError;

    fn from_str(text: &str) -> Result<SameObject, SameObjectError> {
        match text.split_once('=') {
            Some((a, b)) if !a.is_empty() && !b.is_empty() => {
                Ok(SameObject { a: object_name(a), b: object_name(b) })
            }
            _ => Err(SameObjectError(text.to_owned())),
        }
    }
}

/// Rows' keys as text: the same of two builds.
pub(super) fn key_names(keys: &[Key], cells: &[Cell], chains: &ReportChains) -> Vec<String> {
    keys.iter().zip(cells).map(|(key, cell)| key_name(key, cell, chains)).collect()
}

fn key_name(key: &Key, cell: &Cell, chains: &ReportChains) -> String {
    match (key, cell) {
        (Key::Object, Cell::Text(path)) => object_name(path),
        (Key::Srcline, Cell::Text(line)) => {
            line.rsplit_once('/').map_or(&**line, |(_, file)| file).to_owned()
        }
        (Key::Inlined, Cell::Text(chain)) => {
            chain.split(" <- ").map(routine_name).collect::<Vec<_>>().join(" <- ")
        }
        (Key::RoutineLine | Key::Operands, Cell::Text(text)) => {
            let (routine, rest) = routine_part(key, text);
            format!("{}{rest}", routine_name(routine))
        }
        (_, Cell::Text(name)) => routine_name(name),
        (_, Cell::Number(number)) => number.to_string(),
        (_, Cell::Time(time)) => crate::query::time::seconds(*time),
        (_, Cell::Address(address)) => crate::name::cell::hex(*address),
        (_, Cell::Chain(chain)) => chains.folded(*chain),
        (_, Cell::Site(site) | Cell::Data(site)) => match &site.routine {
            Ok(routine) => format!("{}+{:#x}", routine_name(&routine.name), routine.offset),
            Err(unresolved) => unresolved.tag.to_owned(),
        },
        (
            _,
            Cell::Missing(MissingValue::Name(UnresolvedName { tag, of: Some(of), .. }))
            | Cell::SiteMissing(MissingValue::Name(UnresolvedName { tag, of: Some(of), .. })),
        ) => format!("{tag} {}", object_name(of)),
        (_, Cell::Missing(missing) | Cell::SiteMissing(missing)) => missing.mark(true),
    }
}

/// The routine in a row of a part of one, and the rest: `+3` or `: mov r64, m64[r]`, or why it
/// is of the routine alone, as ` [no-line]`.
pub(super) fn routine_part<'t>(key: &Key, text: &'t str) -> (&'t str, &'t str) {
    let mark = match key {
        Key::RoutineLine if !text.ends_with(']') => "+",
        Key::Operands if text.contains(": ") => ": ",
        _ => " [",
    };
    text.rfind(mark).map_or((text, ""), |at| text.split_at(at))
}

/// A file's name without its folder and the version behind `.so` or before it:
/// `libc.so` of `/usr/lib/libc.so.6` and of `libc-2.31.so`.
pub(super) fn object_name(path: &str) -> String {
    // `//anon` is no file.
    let name = if path.starts_with("//") { path } else { symbolizer::file_name(path) };
    let is_version =
        |text: &str| !text.is_empty() && text.chars().all(|it| it.is_ascii_digit() || it == '.');
    let Some((stem, version)) = name.split_once(".so") else { return name.to_owned() };
    if !version.is_empty() && !version.strip_prefix('.').is_some_and(is_version) {
        return name.to_owned();
    }
    let stem = stem
        .rsplit_once('-')
        .filter(|(_, it)| it.contains('.') && is_version(it))
        .map_or(stem, |(it, _)| it);
    format!("{stem}.so")
}

/// A routine's name without what compilers number anew in each build: the hash
/// behind a name of Rust (`::h` and 16 digits), `[HASH]` of a crate in one, numbers of
/// `.constprop.0`, `.isra.0`, `.part.0`, `.lto_priv.0`, `.llvm.0`.
pub(super) fn routine_name(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && text.chars().all(|it| it.is_ascii_hexdigit());
    let mut name = match name.rsplit_once("::h") {
        Some((rest, hash)) if is_hash(hash) => rest,
        _ => name,
    }
    .to_owned();
    for mark in [".constprop.", ".isra.", ".part.", ".lto_priv.", ".llvm."] {
        if let Some(at) = name.find(mark) {
            let number = at + mark.len();
            let digits = name[number..].chars().take_while(char::is_ascii_digit).count();
            if digits > 0 {
                name.replace_range(number - 1..number + digits, "");
            }
        }
    }
    let mut from = 0;
    while let Some(open) = name[from..].find('[').map(|at| from + at) {
        let digits = name[open + 1..].chars().take_while(char::is_ascii_hexdigit).count();
        let is_crate = (13..=16).contains(&digits) && name[open + 1 + digits..].starts_with(']');
        if is_crate {
            name.replace_range(open..open + digits + 2, "");
        }
        from = if is_crate { open } else { open + 1 };
    }
    name
}

/// Which object of A is which of B, where each side has exactly one that the other has not and
/// that is no library: a program that was built under another name.
pub(super) fn only_other(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Option<SameObject> {
    let is_program = |name: &&String| !name.starts_with(['[', '/']) && !name.contains(".so");
    let mut only_a = a.difference(b).filter(is_program);
    let mut only_b = b.difference(a).filter(is_program);
    match (only_a.next(), only_a.next(), only_b.next(), only_b.next()) {
        (Some(a), None, Some(b), None) => Some(SameObject { a: a.clone(), b: b.clone() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_neither_folder_nor_version() {
        for (path, name) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so"),
            ("/lib/libc-2.31.so", "libc.so"),
            ("libsqlite3.so.0.8.6", "libsqlite3.so"),
            ("ld-linux-x86-64.so.2", "ld-linux-x86-64.so"),
            ("/tmp/walk", "walk"),
            ("/x/libfoo.so.debug", "libfoo.so.debug"),
            ("[kernel]", "[kernel]"),
            ("//anon", "//anon"),
        ] {
            assert_eq!(object_name(path), name);
        }
    }

    #[test]
    fn routines_keep_no_hash() {
        for (name, kept) in [
            ("walk::rows::h0123456789abcdef", "walk::rows"),
            ("walk::rows::hammer", "walk::rows::hammer"),
            ("fold.constprop.0", "fold.constprop"),
            ("fold.isra.12.cold", "fold.isra.cold"),
            ("f.llvm.1234567890", "f.llvm"),
            ("core[5f8a3c2be01d7c44]::iter::next", "core::iter::next"),
            ("<[u8]>::len", "<[u8]>::len"),
            ("operator[](unsigned)", "operator[](unsigned)"),
        ] {
            assert_eq!(routine_name(name), kept);
        }
    }

    #[test]
    fn parts_of_routines_keep_no_hash() {
        let of = |key: Key, text: &str| {
            key_name(&key, &Cell::Text(text.into()), &ReportChains::default())
        };
        for (text, kept) in [
            ("walk::rows::h0123456789abcdef+3", "walk::rows+3"),
            ("operator+(A, A)+0", "operator+(A, A)+0"),
            ("fold.constprop.1 [no-line]", "fold.constprop [no-line]"),
            ("[no-symbols]", "[no-symbols]"),
        ] {
            assert_eq!(of(Key::RoutineLine, text), kept);
        }
        for (text, kept) in [
            ("walk::h0123456789abcdef: mov r64, m64[r+0x8]", "walk: mov r64, m64[r+0x8]"),
            ("<[u8]>::len::h0123456789abcdef [no-code]", "<[u8]>::len [no-code]"),
        ] {
            assert_eq!(of(Key::Operands, text), kept);
        }
    }

    #[test]
    fn one_object_of_each_side_is_one_program() {
        let set = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect();
        let pair = only_other(&set(&["libc.so", "walk-1"]), &set(&["m.so", "walk-2", "[kernel]"]));
        assert_eq!(pair, Some(SameObject { a: "walk-1".into(), b: "walk-2".into() }));
        assert_eq!(only_other(&set(&["a", "b"]), &set(&["c"])), None);
        assert_eq!(only_other(&set(&["a"]), &set(&["a"])), None);
        assert!("a=".parse::<SameObject>().unwrap_err().to_string().contains("\"a=\""));
    }
}
