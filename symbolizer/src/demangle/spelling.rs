//! C++ names as binutils spells them.
//!
//! Names are joined with those of other tools (perf, c++filt, gdb: all of
//! them libiberty), so one name is to have one spelling. What the demangler
//! writes differs in a few ways that its text shows beyond doubt: each is
//! set right here, on text that has its final length, in one pass each.

/// Suffixes of literals: the type, which only a literal has in parentheses
/// right before a digit, and what C++ writes behind the digits instead.
const SUFFIXES: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long long)", "ull"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(long)", "l"),
];

/// What a name that is no function's begins with, what ends it, and the words
/// for it.
const SPECIAL: [(&str, &str); 4] = [
    ("{vtable(", "vtable for "),
    ("{vtt(", "VTT for "),
    ("{virtual override thunk({offset(", "non-virtual thunk to "),
    ("{virtual override thunk({virtual offset(", "virtual thunk to "),
];

/// Types of the standard library with a name and a code of their own, and how
/// they are written in full: as constructors and destructors have them.
const STANDARD: [Standard; 4] = [
    Standard { code: "Si", short: "istream", class: "basic_istream", of: CHARACTERS },
    Standard { code: "So", short: "ostream", class: "basic_ostream", of: CHARACTERS },
    Standard { code: "Sd", short: "iostream", class: "basic_iostream", of: CHARACTERS },
    Standard {
        code: "Ss",
        short: "string",
        class: "basic_string",
        of: "char, std::char_traits<char>, std::allocator<char> ",
    },
];
const CHARACTERS: &str = "char, std::char_traits<char> ";

/// A type that the ABI abbreviates.
struct Standard {
    code: &'static str,
    short: &'static str,
    class: &'static str,
    of: &'static str,
}

/// The same name, spelled as binutils does.
pub(super) fn spelled(name: String, mangled: &str) -> String {
    let name = special(name);
    let name = literals(name);
    let name = replaced(name, &EMPTY_PACKS);
    let name = replaced(name, &[("std::nullptr_t", "decltype(nullptr)")]);
    let name = match name.contains('<') && name.contains('(') {
        true => Arguments::default().spelled(&name),
        false => name,
    };
    standard(misplaced(name), mangled)
}

/// A pack of no parameters leaves no comma, nor the reference to each.
const EMPTY_PACKS: [(&str, &str); 5] =
    [(", >", ">"), (", &&)", ")"), (", &)", ")"), (">(&&)", ">()"), (">(&)", ">()")];

fn replaced(mut name: String, pairs: &[(&str, &str)]) -> String {
    for (written, meant) in pairs {
        if name.contains(written) {
            name = name.replace(written, meant);
        }
    }
    name
}

/// `vtable for X`.
fn special(name: String) -> String {
    if !name.starts_with('{') {
        return name;
    }
    for (begin, words) in SPECIAL {
        let Some(rest) = name.strip_prefix(begin) else { continue };
        let rest = match words.ends_with("thunk to ") {
            // Of a thunk the distance comes first; two are of a covariant one.
            true => rest.split_once(")}, ").map_or("", |(_, rest)| rest),
            false => rest,
        };
        let words = match rest.starts_with("{offset(") || rest.starts_with("{virtual offset(") {
            true => "covariant return thunk to ",
            false => words,
        };
        let rest = match words.starts_with("covariant") {
            true => rest.split_once(")}, ").map_or("", |(_, rest)| rest),
            false => rest,
        };
        let Some((of, tail)) = rest.rsplit_once(")}") else { continue };
        return format!("{words}{of}{tail}");
    }
    name
}

/// `53ul`.
fn literals(name: String) -> String {
    if !name.contains("g)") && !name.contains("t)") {
        return name;
    }
    let mut spelled = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(at) = rest.find('(') {
        let (before, from) = rest.split_at(at);
        spelled.push_str(before);
        let found = SUFFIXES.iter().find_map(|(of, suffix)| {
            let after = from.strip_prefix(of)?;
            let unsigned = after.strip_prefix('-').unwrap_or(after);
            let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
            let length = after.len() - unsigned.len() + digits;
            (digits > 0).then(|| (after.split_at(length), suffix))
        });
        match found {
            Some(((digits, after), suffix)) => {
                spelled.push_str(digits);
                spelled.push_str(suffix);
                rest = after;
            }
            None => {
                spelled.push('(');
                rest = &from[1..];
            }
        }
    }
    spelled.push_str(rest);
    spelled
}

/// `A::B const&`: what is said of a member type stands behind it, and never
/// within its name.
fn misplaced(mut name: String) -> String {
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|rest| rest.find("::")).map(|at| from + at) {
        from = at + 2;
        let scope = &name[..at];
        let start = unqualified(scope).len();
        if start == at || scope[..start].ends_with("operator") {
            continue;
        }
        let member = member(&name[at..]);
        if member == 0 {
            continue;
        }
        let moved = format!("{}{}", &name[at..at + member], &scope[start..]);
        name.replace_range(start..at + member, &moved);
        // What was moved may be of a member of a member.
        from = start;
        if !moved.starts_with("::") {
            break;
        }
        from += 2;
    }
    name
}

/// A type without what is said of it behind its name.
fn unqualified(mut name: &str) -> &str {
    while let Some(shorter) = ["&", "*", " const", " volatile"]
        .iter()
        .find_map(|said| name.strip_suffix(said))
        .filter(|shorter| {
            shorter.ends_with(|last: char| last.is_alphanumeric() || "_>&*".contains(last))
        })
    {
        name = shorter;
    }
    name
}

/// Bytes of `::name` or `::name<...>` at the front, with all members that
/// follow; 0: no name does.
fn member(text: &str) -> usize {
    let mut end = 0;
    while let Some(rest) = text[end..].strip_prefix("::") {
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let word = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        if word == 0 || rest.starts_with("operator") {
            break;
        }
        end += 2 + word;
        if !text[end..].starts_with('<') {
            continue;
        }
        let mut depth = 0_i32;
        let closed = text[end..].find(|character| {
            depth += i32::from(character == '<') - i32::from(character == '>');
            depth == 0
        });
        let Some(closed) = closed else { return 0 };
        end += closed + 1;
    }
    end
}

/// `std::istream`, and in full where it is constructed or destroyed.
fn standard(mut name: String, mangled: &str) -> String {
    for Standard { code, short, class, of } in &STANDARD {
        if !mangled.contains(code) {
            continue;
        }
        let full = format!("std::{class}<{of}>");
        let abbreviated = format!("std::{short}");
        if *short != "string" {
            name = replaced(name, &[(&full, &abbreviated)]);
        }
        for tilde in ["", "~"] {
            for open in ["(", "<"] {
                let whole = format!("{full}::{tilde}{class}{open}");
                for made in [short, class] {
                    let made = format!("{abbreviated}::{tilde}{made}{open}");
                    name = replaced(name, &[(&made, &whole)]);
                }
            }
        }
    }
    name
}

/// Arguments of templates that are types of functions, `void (int)`, or
/// addresses of instances of templates, `&(void f<int>(int))`.
#[derive(Debug, Default)]
struct Arguments {
    spelled: String,
    open: Vec<Open>,
}

/// A bracket that is open.
#[derive(Debug)]
struct Open {
    is_template: bool,
    /// Where its argument begins in what is spelled.
    argument: usize,
    /// Where parentheses of the argument itself begin, of which no other
    /// follows.
    parameters: Option<usize>,
}

impl Arguments {
    fn spelled(mut self, name: &str) -> String {
        let mut rest = name;
        while let Some(character) = rest.chars().next() {
            let mut length = character.len_utf8();
            match character {
                'o' if rest.starts_with("operator") && !self.is_within_word() => {
                    length = operator(rest);
                }
                '<' => self.open(true, 1),
                '(' => self.parenthesis(),
                ')' => drop(self.open.pop()),
                '>' if !self.spelled.ends_with('-') => {
                    self.end();
                    self.open.pop();
                }
                ',' => {
                    self.end();
                    let next = self.spelled.len() + 2;
                    if let Some(open) = self.open.last_mut() {
                        (open.argument, open.parameters) = (next, None);
                    }
                }
                _ => {}
            }
            let (piece, after) = rest.split_at(length);
            self.spelled.push_str(piece);
            rest = after;
        }
        self.spelled
    }

    fn is_within_word(&self) -> bool {
        self.spelled.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '$')
    }

    fn open(&mut self, is_template: bool, length: usize) {
        let argument = self.spelled.len() + length;
        self.open.push(Open { is_template, argument, parameters: None });
    }

    fn parenthesis(&mut self) {
        let at = self.spelled.len();
        if let Some(open) = self.open.last_mut().filter(|open| open.is_template) {
            let argument = self.spelled.get(open.argument..).unwrap_or_default();
            let follows_name = argument.ends_with(|last: char| {
                last.is_alphanumeric() || matches!(last, '_' | '>' | '*' | '&')
            });
            open.parameters = (follows_name && !is_expression(argument)).then_some(at);
        }
        self.open(false, 1);
    }

    /// The argument ends here.
    fn end(&mut self) {
        let Some(open) = self.open.last().filter(|open| open.is_template) else { return };
        let Some(at) = open.parameters else { return };
        let argument = open.argument;
        if !self.spelled.ends_with(')') && !self.spelled.ends_with("const") {
            return;
        }
        let is = |range: Option<&str>, test: fn(&str) -> bool| range.is_some_and(test);
        match is(self.spelled.get(argument..), |text| text.starts_with('&')) {
            true if is(self.spelled.get(..at), |text| text.ends_with('>')) => {
                self.spelled.insert(argument + 1, '(');
                self.spelled.push(')');
            }
            true => {}
            false => self.spelled.insert(at, ' '),
        }
    }
}

/// Whether what stands before a parenthesis is no type.
fn is_expression(argument: &str) -> bool {
    ["decltype", "sizeof", "alignof", "noexcept", "!", "(", "-", "~"]
        .iter()
        .any(|begin| argument.starts_with(begin))
        || argument.contains("decltype (") && !argument.contains('<')
}

/// Bytes of an operator's name at the front: its symbols are no brackets.
fn operator(rest: &str) -> usize {
    let word = "operator".len();
    let after = rest.get(word..).unwrap_or_default();
    for symbols in ["()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">", ","] {
        if after.starts_with(symbols) {
            return word + symbols.len();
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::spelled;

    #[test]
    fn only_what_is_beyond_doubt_is_set_right() {
        for (written, meant) in [
            ("f<(unsigned long)53>()", "f<53ul>()"),
            ("f<(long)-1, (unsigned int)8, (char)65>()", "f<-1l, 8u, (char)65>()"),
            ("f(unsigned long)", "f(unsigned long)"),
            ("A::operator()(unsigned long)::x", "A::operator()(unsigned long)::x"),
            ("{vtable(A<(long long)2>)}", "vtable for A<2ll>"),
            ("{vtt(A)}", "VTT for A"),
            (
                "{virtual override thunk({offset(-8)}, A::f() const)}",
                "non-virtual thunk to A::f() const",
            ),
            (
                "{virtual override thunk({virtual offset(0, -24)}, A::~A())}",
                "virtual thunk to A::~A()",
            ),
            (
                "{virtual override thunk({offset(-8)}, {virtual offset(0, -24)}, A::f())}",
                "covariant return thunk to A::f()",
            ),
            ("{lambda(int)#1}::operator()(int) const", "{lambda(int)#1}::operator()(int) const"),
            ("A<B, >::f(C<D, >&)", "A<B>::f(C<D>&)"),
            ("std::function<E(int)>::f()", "std::function<E (int)>::f()"),
            ("f<&void g<int>(int)>()", "f<&(void g<int>(int))>()"),
            ("A::operator<<(std::ostream&)", "A::operator<<(std::ostream&)"),
            ("A<void (*)(int)>", "A<void (*)(int)>"),
            ("f(A&::B, C const*::D<E*>::F)", "f(A::B&, C::D<E*>::F const*)"),
            ("f(A const::B*)", "f(A::B const*)"),
            ("A::operator*::x", "A::operator*::x"),
            ("A::f() const::x", "A::f() const::x"),
            ("f(int A::*)", "f(int A::*)"),
        ] {
            assert_eq!(spelled(written.to_owned(), ""), meant, "{written}");
        }
    }
}
