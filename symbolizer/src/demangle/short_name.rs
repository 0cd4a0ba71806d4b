//! A name as a table has room for it: without parameters, with `<...>` for template arguments.

use std::borrow::Cow;

/// What precedes a name without being its return type.
const SPECIAL: [&str; 9] = [
    "vtable for ",
    "VTT for ",
    "typeinfo for ",
    "typeinfo name for ",
    "guard variable for ",
    "reference temporary ",
    "construction vtable for ",
    "TLS ",
    "transaction clone for ",
];
const ANONYMOUS: &str = "(anonymous namespace)";

/// The name of a routine without its parameters and return type, its template or generic
/// arguments as `<...>`: `lookup`, `std::unordered_map<...>::find`, `<Vec<...> as Drop>::drop`.
///
/// A name that is none of C++ or Rust stays what it is.
pub fn short_name(name: &str) -> Cow<'_, str> {
    match folded(name) {
        Cow::Owned(short) => without_return_type(short).into(),
        whole => whole,
    }
}

/// Words with names in them, or a type, with the same brackets folded: `Node<...> *`, `block from
/// A<...>::add+0x1c`.
pub fn folded(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '(']) {
        return text.into();
    }
    let short = String::with_capacity(text.len());
    let mut reader = ShortNameReader { rest: text, short, depth: 0 };
    match reader.path(None) {
        Some(()) => reader.short.into(),
        // Brackets that do not match: it is no such name.
        None => text.into(),
    }
}

/// Brackets within brackets that are read.
const DEEPEST: usize = 64;

struct ShortNameReader<'n> {
    rest: &'n str,
    short: String,
    /// Brackets that are open.
    depth: usize,
}

impl ShortNameReader<'_> {
    /// Reads up to `end`, which is taken, or to the end of all.
    fn path(&mut self, end: Option<char>) -> Option<()> {
        loop {
            if let Some(operator) = self.operator() {
                self.short.push_str(operator);
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix(ANONYMOUS) {
                self.rest = rest;
                self.short.push_str(ANONYMOUS);
                continue;
            }
            let Some(next) = self.rest.chars().next() else {
                return end.is_none().then_some(());
            };
            let front = self.rest;
            self.rest = &self.rest[next.len_utf8()..];
            if next == '>' && self.short.ends_with(['-', '=']) {
                self.short.push(next);
                continue;
            }
            if Some(next) == end {
                self.short.push(next);
                return Some(());
            }
            let is_operator =
                self.short.rsplit("::").next().is_some_and(|last| last.contains("operator"));
            let follows_name = is_operator
                || self.short.ends_with(|last: char| {
                    last.is_alphanumeric() || matches!(last, '_' | '>' | '}' | ']' | ')')
                });
            match next {
                '<' if follows_name => {
                    self.skip('<', '>')?;
                    self.short.truncate(self.short.trim_end().len());
                    self.short.push_str("<...>");
                }
                // Rust's turbofish.
                '<' if self.short.ends_with("::")
                    && !front.starts_with("<impl ")
                    && !is_qualified(front) =>
                {
                    self.skip('<', '>')?;
                    self.short.truncate(self.short.len() - 2);
                    self.short.push_str("<...>");
                }
                '<' => {
                    self.within('<', '>')?;
                }
                '{' => {
                    self.within('{', '}')?;
                }
                '(' if follows_name => {
                    self.skip('(', ')')?;
                    for suffix in [" const", " volatile", " &&", " &"] {
                        self.rest = self.rest.strip_prefix(suffix).unwrap_or(self.rest);
                    }
                }
                '>' | ')' | '}' => return None,
                '(' => {
                    self.within('(', ')')?;
                }
                other => self.short.push(other),
            }
        }
    }

    fn within(&mut self, open: char, close: char) -> Option<()> {
        self.short.push(open);
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        self.path(Some(close))?;
        self.depth -= 1;
        Some(())
    }

    /// `operator` and its sign, whose brackets are none.
    fn operator(&mut self) -> Option<&'static str> {
        const SIGNS: [&str; 14] = [
            "operator()",
            "operator[]",
            "operator<=>",
            "operator<<=",
            "operator>>=",
            "operator->*",
            "operator<<",
            "operator>>",
            "operator<=",
            "operator>=",
            "operator->",
            "operator<",
            "operator>",
            "operator ",
        ];
        let is_within = self.short.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let sign = SIGNS.into_iter().find(|sign| self.rest.starts_with(sign) && !is_within)?;
        self.rest = &self.rest[sign.len()..];
        Some(sign)
    }

    /// Passes over what an open bracket begins.
    fn skip(&mut self, open: char, close: char) -> Option<()> {
        let mut depth = 1_usize;
        let mut before = ' ';
        for (at, letter) in self.rest.char_indices() {
            if letter == open {
                depth += 1;
            } else if letter == close && !(close == '>' && matches!(before, '-' | '=')) {
                depth -= 1;
            }
            before = letter;
            if depth == 0 {
                self.rest = &self.rest[at + letter.len_utf8()..];
                return Some(());
            }
        }
        None
    }
}

/// Whether `<T as Trait>` begins the text.
fn is_qualified(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            ' ' if depth == 1 && text[at..].starts_with(" as ") => return true,
            _ => {}
        }
        if depth == 0 {
            return text[at..].starts_with(">::");
        }
    }
    false
}

/// Template functions are named with what they return.
fn without_return_type(name: String) -> String {
    if SPECIAL.iter().any(|special| name.starts_with(special)) || name.contains("thunk to ") {
        return name;
    }
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' if name[..at].ends_with(['-', '=']) => {}
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if name[at..].starts_with(" [clone ") => break,
            ' ' if depth == 0 && !name[..at].ends_with("operator") => begin = at + 1,
            _ => {}
        }
        if name[at..].starts_with("operator") {
            break;
        }
    }
    name[begin..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fit_tables() {
        for (name, short) in [
            ("main", "main"),
            ("lookup(std::vector<int> const&, int)", "lookup"),
            (
                "std::unordered_map<int, std::pair<int, A>, h<int> >::find(int const&) const",
                "std::unordered_map<...>::find",
            ),
            ("void sort<int*, bool (*)(int, int)>(int*, int*)", "sort<...>"),
            ("std::vector<int> make<int>(int)", "make<...>"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("A::operator()(int) const", "A::operator()"),
            ("operator<<(std::ostream&, A const&)", "operator<<"),
            ("bool operator< <int>(A<int>, A<int>)", "operator<<...>"),
            ("bool operator==<int>(A<int>, A<int>)", "operator==<...>"),
            ("operator new(unsigned long)", "operator new"),
            ("A::operator unsigned int() const", "A::operator unsigned int"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"),
            ("f(int)::g(A<int>)", "f::g"),
            ("f(int) [clone .cold]", "f [clone .cold]"),
            ("vtable for std::vector<int>", "vtable for std::vector<...>"),
            ("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f"),
            (
                "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop",
                "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop",
            ),
            ("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<...>"),
            ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<...>"),
            ("alloc::slice::<impl [T]>::sort", "alloc::slice::<impl [T]>::sort"),
            (
                "a::<impl core::fmt::Debug for a::B<u8>>::fmt",
                "a::<impl core::fmt::Debug for a::B<...>>::fmt",
            ),
            ("run::{{closure}}", "run::{{closure}}"),
            ("<fn(i32) -> u8 as F>::call", "<fn -> u8 as F>::call"),
        ] {
            assert_eq!(short_name(name), short, "{name}");
        }
    }

    #[test]
    fn words_around_a_name_stay() {
        for (text, short) in [
            (
                "block from A<int>::add(int, int)+0x1c, a.cc:7",
                "block from A<...>::add+0x1c, a.cc:7",
            ),
            ("std::vector<int> *", "std::vector<...> *"),
            ("5 mappings of 16 KiB", "5 mappings of 16 KiB"),
        ] {
            assert_eq!(folded(text), short, "{text}");
        }
    }

    #[test]
    fn what_is_no_such_name_stays() {
        for name in ["", "a<b", "f(", "x>y(", "operator<", "[no-symbols]", "a b(c", "日本<語>"] {
            let short = short_name(name);
            assert!(short == name || name == "日本<語>", "{name}: {short}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_short_form(name in "[a-c<>(){}:\\[\\] ,&*-]{0,40}|.{0,20}") {
            prop_assert!(short_name(&name).len() <= name.len() + 3 * name.matches('<').count());
        }
    }
}
