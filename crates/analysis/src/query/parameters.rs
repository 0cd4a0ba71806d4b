//! C++ names without their parameters and return types.

use std::borrow::Cow;

/// The name as perf prints it and as one types it: parameters, what may
/// follow them, the suffix of a clone, and the return type that functions of
/// templates have, are left out. `@plt` and versions stay. Parentheses inside
/// the name (a conversion's type, an anonymous namespace, an argument of a
/// template) stay, too.
pub fn without_parameters(name: &str) -> Cow<'_, str> {
    let (whole, tail) = split_tail(name);
    let Some(short) = without_last_parentheses(whole) else { return Cow::Borrowed(name) };
    match tail {
        "" => Cow::Borrowed(short),
        _ => Cow::Owned(format!("{short}{tail}")),
    }
}

/// What compilers put behind a routine's name for a copy of it, or a part: gcc for
/// bodies of OpenMP's regions, and what it cloned or split; LLVM for what it made
/// visible to other units.
const CLONES: [(&str, Numbered); 7] = [
    ("_omp_fn", Numbered::Always),
    ("isra", Numbered::Always),
    ("constprop", Numbered::Always),
    ("part", Numbered::Always),
    ("lto_priv", Numbered::Always),
    ("llvm", Numbered::Always),
    ("cold", Numbered::Sometimes),
];

/// Whether a number follows, behind a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbered {
    Always,
    Sometimes,
}

/// The name of the routine that a clone of C, or a part, was made of:
/// `work` of `work._omp_fn.0.cold`.
pub(crate) fn without_clones(name: &str) -> &str {
    let mut name = name;
    while let Some(short) = without_last_clone(name) {
        name = short;
    }
    name
}

/// None: it has none.
fn without_last_clone(name: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let (before, last) = name.rsplit_once('.')?;
    let (rest, word, has_number) = match before.rsplit_once('.').filter(|_| is_number(last)) {
        Some((rest, word)) => (rest, word, true),
        None => (before, last, false),
    };
    let (_, numbered) = CLONES.iter().find(|(clone, _)| *clone == word)?;
    let fits = has_number || *numbered == Numbered::Sometimes;
    (fits && !rest.is_empty()).then_some(rest)
}

/// Whether it is a copy of a routine, or a part of one, that the compiler made.
pub(crate) fn is_clone(name: &str) -> bool {
    name.contains(" [clone .")
}

/// A name, and `@plt` or a version behind it: an object's symbol has one `@`
/// at most, but for a default version's.
fn split_tail(name: &str) -> (&str, &str) {
    let start =
        name.rfind('@').map_or(name.len(), |at| at - usize::from(name[..at].ends_with('@')));
    let is_tail = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'_' | b'.');
    match name[start..].bytes().all(is_tail) {
        true => name.split_at(start),
        false => (name, ""),
    }
}

/// None: it has none.
fn without_last_parentheses(name: &str) -> Option<&str> {
    let tail = [" const", " volatile", " &", " &&"];
    let mut whole = name;
    // ` [clone .isra.0]`, one for each time that it was cloned.
    while let Some((rest, _)) =
        whole.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [clone ."))
    {
        whole = rest;
    }
    while let Some(rest) = tail.iter().find_map(|word| whole.strip_suffix(word)) {
        whole = rest;
    }
    if !whole.ends_with(')') {
        return None;
    }
    let mut depth = 0_usize;
    for (at, byte) in whole.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            // `operator()` and `(anonymous namespace)` are names.
            let before = &whole[..at];
            let is_name =
                before.is_empty() || before.ends_with("operator") || before.ends_with("::");
            return (!is_name).then(|| without_return_type(before));
        }
    }
    None
}

/// `before` without what stands before its last blank that is in no bracket.
/// What follows `operator` may have blanks and brackets of its own.
fn without_return_type(before: &str) -> &str {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut last = b' ';
    for (at, byte) in before.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' if last == b'-' => {}
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 => start = at + 1,
            b'o' if !last.is_ascii_alphanumeric() && last != b'_' => {
                let rest = before[at..].strip_prefix("operator");
                let is_whole = |byte: u8| !byte.is_ascii_alphanumeric() && byte != b'_';
                if rest.is_some_and(|rest| rest.bytes().next().is_none_or(is_whole)) {
                    // In brackets, where they end can no longer be told.
                    return if depth == 0 { &before[start..] } else { before };
                }
            }
            _ => {}
        }
        last = byte;
    }
    &before[start..]
}

#[cfg(test)]
mod tests {
    use super::{without_clones, without_parameters};

    #[test]
    fn clones_of_c_have_their_routines_name() {
        for (name, short) in [
            ("work._omp_fn.0", "work"),
            ("work._omp_fn.12.cold", "work"),
            ("fold.constprop.0.isra.0", "fold"),
            ("fold.part.0", "fold"),
            ("fold.cold", "fold"),
            ("fold.cold.1", "fold"),
            ("helper.lto_priv.3", "helper"),
            ("helper.llvm.1234567890", "helper"),
            ("main", "main"),
            ("a.b.0", "a.b.0"),
            ("fold.isra", "fold.isra"),
            (".cold", ".cold"),
            ("lib.so.6", "lib.so.6"),
            ("0.0", "0.0"),
        ] {
            assert_eq!(without_clones(name), short, "{name}");
        }
    }

    #[test]
    fn parameters_go_and_names_stay() {
        for (name, short) in [
            ("main", "main"),
            ("operator new(unsigned long)", "operator new"),
            ("A::A()", "A::A"),
            ("A::get(int (*)(int)) const", "A::get"),
            ("A::operator()(int) const", "A::operator()"),
            ("f<void (*)(int)>(void (*)(int))", "f<void (*)(int)>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt"),
            ("std::vec::Vec<fn(u8)>::new", "std::vec::Vec<fn(u8)>::new"),
            ("__x64_sys_read", "__x64_sys_read"),
            ("A::operator()", "A::operator()"),
            ("f(int) && ", "f(int) && "),
            ("char touch<char>(char*, long)", "touch<char>"),
            ("unsigned long A::f<(B)1>(int) const", "A::f<(B)1>"),
            ("std::map<int, A b>* g<int>()", "g<int>"),
            ("decltype (x()) h<int>(int)", "h<int>"),
            ("bool operator< <int>(A<int>, A<int>)", "operator< <int>"),
            ("A::operator unsigned long<int>()", "A::operator unsigned long<int>"),
            ("void f<&(A::operator<)>(int)", "void f<&(A::operator<)>"),
            ("void each<main::{lambda(int, A b)#1}>(int)", "each<main::{lambda(int, A b)#1}>"),
            ("void (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<int>"),
            ("void my_operator<int>(int)", "my_operator<int>"),
            ("void f<fn(u8) -> A>(int)", "f<fn(u8) -> A>"),
            (")(", ")("),
            ("refresh(Autonoma*) [clone ._omp_fn.0]", "refresh"),
            ("int f<int>(int) const [clone .isra.0] [clone .cold]", "f<int>"),
            ("refresh._omp_fn.0", "refresh._omp_fn.0"),
            ("f(int)@plt", "f@plt"),
            ("f(int)@@V_1.2", "f@@V_1.2"),
            ("malloc@plt", "malloc@plt"),
            ("A::f@m(int)", "A::f@m"),
            ("table [clone .a]", "table [clone .a]"),
        ] {
            assert_eq!(without_parameters(name), short);
        }
    }
}
