use crate::{
    source::code_only,
    tree::{assert_clean, entries, files_ending},
};

/// Functions that still take a tuple: lines of a path and a function. Only
/// ever shorter: what takes parameters with names is struck off.
const TO_NAME: &str = include_str!("tuple_parameters.txt");

/// A function with a parameter that is a tuple.
struct Taker {
    path: String,
    function: String,
}

/// The functions of a file that take a tuple. What a closure takes, and what
/// stands inside of another type, is left alone.
fn takers(path: &str, text: &str) -> Vec<Taker> {
    let code = code_only(text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let begins_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = &code[at + 3..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (function, rest) = rest.split_at(end);
        if begins_word && !function.is_empty() && parameters(rest).any(is_tuple) {
            found.push(Taker { path: path.to_string(), function: function.to_string() });
        }
    }
    found
}

/// What stands between a function's parentheses, parted at its commas.
fn parameters(after_name: &str) -> impl Iterator<Item = &str> {
    let generic = if after_name.starts_with('<') { inside(after_name).len() + 2 } else { 0 };
    let list = after_name.get(generic..).filter(|rest| rest.starts_with('(')).map_or("", inside);
    parted(list)
}

/// What is between the bracket that a text starts with and its end.
fn inside(text: &str) -> &str {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !matches!(before, '-' | '=') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..at];
        }
        before = c;
    }
    &text[1..]
}

/// Parts a list at the commas that are not inside brackets.
fn parted(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let mut before = ' ';
    list.split(move |c| {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !matches!(before, '-' | '=') => depth -= 1,
            _ => {}
        }
        before = c;
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

/// Whether a parameter is taken apart where it is declared, or is a tuple or
/// a reference to one by its type.
fn is_tuple(parameter: &str) -> bool {
    let Some((pattern, of_type)) = parameter.split_once(": ") else { return false };
    let bare = of_type.trim_start_matches(['&', ' ']);
    let bare = match bare.split_once(' ') {
        Some((lifetime, rest)) if lifetime.starts_with('\'') => rest,
        _ => bare,
    };
    let bare = bare.strip_prefix("mut ").unwrap_or(bare);
    pattern.trim_start_matches('&').starts_with('(')
        || bare.starts_with('(') && parted(inside(bare)).count() > 1
}

/// Functions that take a tuple, but for those still to be mended; and what
/// is to be mended and is.
fn unnamed(all: &[Taker], to_name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for Taker { path, function } in all {
        if !entries(to_name).any(|it| it == (path, function)) {
            found.push(format!("{path}: `{function}` takes a tuple: name what is in it"));
        }
    }
    for (path, function) in entries(to_name) {
        if !all.iter().any(|one| (one.path.as_str(), one.function.as_str()) == (path, function)) {
            found.push(format!("{path} {function}: is mended, strike it off tuple_parameters.txt"));
        }
    }
    found
}

#[test]
fn no_parameter_is_a_tuple() {
    let all: Vec<_> =
        files_ending(".rs").iter().flat_map(|file| takers(&file.path, &file.text)).collect();
    assert_clean(&unnamed(&all, TO_NAME));
}

#[test]
fn a_planted_tuple_is_caught() {
    let path = "crates/perfdata/src/a.rs";
    let caught = |text: &str| takers(path, text).len();
    assert_eq!(caught("fn a((b, c): (u8, u8)) {}"), 1);
    assert_eq!(caught("fn a(self, b: &'a mut (u8,\n u8), c: u8) {}"), 1);
    assert_eq!(caught("fn a<F: Fn(u8) -> u8>(&(b, c): &(u8, u8), f: F) {}"), 1);
    assert_eq!(caught("fn a(b: &[(u8, u8)], c: Option<(u8, u8)>, d: ()) {}"), 0);
    assert_eq!(caught("fn a(b: impl Fn((u8, u8)), c: &(dyn D + E)) -> (u8, u8) {}"), 0);
    assert_eq!(caught("// fn a((b, c): B)\nlet f = |(b, c): B| b;"), 0);
    let all = takers(path, "fn a((b, c): B) {}");
    assert_eq!(unnamed(&all, "").len(), 1);
    assert!(unnamed(&all, "crates/perfdata/src/a.rs a\n").is_empty());
    assert_eq!(unnamed(&[], "crates/perfdata/src/a.rs a\n").len(), 1);
}
