//! The grammar that /proc/kallsyms, System.map and `nm -n` share:
//! `ADDRESS TYPE NAME [MODULE]`, one symbol a line.

use crate::{NamedSymbol, SymbolKind};
use perfdata::KernelList;
use perfdata::kernel_list::{KernelSymbol, UnpackError};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedSymbol {
    pub(crate) address: u64,
    /// Where the name starts in the list's bytes.
    pub(crate) name: u32,
    pub(crate) name_length: u32,
    /// Index into [`SymbolList::modules`]; [`ListedSymbol::NO_MODULE`] for the
    /// kernel proper.
    pub(crate) module: u16,
    /// nm's type letter.
    pub(crate) kind: u8,
}

impl ListedSymbol {
    pub(crate) const NO_MODULE: u16 = u16::MAX;

    /// Whether nm's letter says code: text, or weak.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.kind, b't' | b'T' | b'w' | b'W')
    }

    /// Whether it says data: initialised, zeroed, read-only, weak.
    pub(crate) fn is_data(&self) -> bool {
        matches!(self.kind, b'd' | b'D' | b'b' | b'B' | b'r' | b'R' | b'v' | b'V')
    }
}

/// A parsed list; names stay in its bytes.
#[derive(Debug)]
pub struct SymbolList {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Vec<ListedSymbol>,
    pub(crate) modules: Vec<Box<[u8]>>,
}

/// Why bytes are no symbol list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("line {line} is no symbol (ADDRESS TYPE NAME [MODULE]): `{text}`")]
    Line { line: usize, text: String },
    #[error("it is a stub that holds no symbols; it says: {text}")]
    Stub { text: String },
    #[error("every address in it is 0: kptr_restrict hid the addresses from whoever read it")]
    Hidden,
    #[error("it is empty")]
    Empty,
    #[error("it has {size} bytes; at most {} are read", u32::MAX)]
    TooLong { size: usize },
    #[error(transparent)]
    Recorded(#[from] UnpackError),
    #[error("line {line} names the {}th module; that many do not exist", u16::MAX)]
    TooManyModules { line: usize },
}

impl SymbolList {
    /// Parses a whole list. Blank lines, and undefined symbols as nm prints
    /// them (no address), are passed over.
    pub fn parse(bytes: Vec<u8>) -> Result<SymbolList, ListError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(ListError::TooLong { size: bytes.len() });
        }
        if is_stub(&bytes) {
            return Err(ListError::Stub { text: quote(first_line(&bytes), 200) });
        }
        let mut list = SymbolList {
            entries: Vec::with_capacity(bytes.len() / 40),
            bytes,
            modules: Vec::new(),
        };
        let mut numbers = FxHashMap::default();
        let mut seen = 0;
        let (mut at, mut line) = (0, 0);
        let is_unix = memchr::memchr(b'\r', &list.bytes).is_none();
        while at < list.bytes.len() {
            line += 1;
            let rest = &list.bytes[at..];
            if let Some((address, kind, name_length)) = common(rest).filter(|_| is_unix) {
                let (name, name_length) = (narrow(at + NAME), narrow(name_length));
                let module = ListedSymbol::NO_MODULE;
                seen |= address;
                list.entries.push(ListedSymbol { address, name, name_length, module, kind });
                at += NAME + name_length as usize + 1;
                continue;
            }
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let text = &rest[..length];
            if let Some((address, kind, name)) = split(text) {
                let (name_length, module) = split_module(&text[name..]);
                if name_length == 0 {
                    return Err(ListError::Line { line, text: quote(text, 80) });
                }
                let module = match module {
                    None => ListedSymbol::NO_MODULE,
                    Some(range) => {
                        let module = &rest[name + range.start..name + range.end];
                        number(&mut list.modules, &mut numbers, module)
                            .ok_or(ListError::TooManyModules { line })?
                    }
                };
                seen |= address;
                list.entries.push(ListedSymbol {
                    address,
                    name: narrow(at + name),
                    name_length: narrow(name_length),
                    module,
                    kind,
                });
            } else if !is_undefined(text) {
                return Err(ListError::Line { line, text: quote(text, 80) });
            }
            at += length + 1;
        }
        match (list.entries.is_empty(), seen) {
            (true, _) => Err(ListError::Empty),
            (false, 0) => Err(ListError::Hidden),
            (false, _) => Ok(list),
        }
    }

    pub(crate) fn recorded(list: KernelList) -> Result<SymbolList, ListError> {
        let KernelList { modules, symbols, names, .. } = list;
        match (symbols.first(), symbols.last()) {
            (None, _) | (_, None) => return Err(ListError::Empty),
            (_, Some(last)) if last.address == 0 => return Err(ListError::Hidden),
            _ => {}
        }
        let entry = |symbol: KernelSymbol| ListedSymbol {
            address: symbol.address,
            name: symbol.name,
            name_length: symbol.length.into(),
            // Both mean the kernel proper by the same number.
            module: symbol.module,
            kind: symbol.kind,
        };
        let entries = symbols.into_iter().map(entry).collect();
        let modules = modules.into_iter().map(|module| module.name.into()).collect();
        Ok(SymbolList { bytes: names, entries, modules })
    }

    pub(crate) fn name(&self, entry: &ListedSymbol) -> &[u8] {
        let start = entry.name as usize;
        &self.bytes[start..start + entry.name_length as usize]
    }

    /// The first address that a symbol of the kernel proper has.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.entries
            .iter()
            .find(|entry| {
                entry.module == ListedSymbol::NO_MODULE && self.name(entry) == name.as_bytes()
            })
            .map(|entry| entry.address)
    }

    /// The routines and variables of that name.
    pub fn called(&self, name: &str) -> Vec<NamedSymbol> {
        let is_it = |entry: &&ListedSymbol| self.name(entry) == name.as_bytes();
        let found = self.entries.iter().filter(is_it).filter_map(|entry| {
            let kind = match (entry.is_text(), entry.is_data()) {
                (true, _) => SymbolKind::Routine,
                (_, true) => SymbolKind::Variable,
                _ => return None,
            };
            let (raw, start) = (name.to_owned(), entry.address);
            Some(NamedSymbol { name: raw.clone(), raw, start, size: 0, kind, is_global: true })
        });
        found.collect()
    }

    /// Symbols in the list, of every type.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none; never so in a list that [`SymbolList::parse`]
    /// accepted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Offsets are below 2^32: checked once for the whole list.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// Where the name starts in a line whose address has sixteen digits.
const NAME: usize = 19;

/// Address, type letter and length of the name, of a line as nearly all are:
/// sixteen digits, and nothing behind the name. None of any other. No carriage
/// return is in the text.
#[inline]
fn common(text: &[u8]) -> Option<(u64, u8, usize)> {
    let [digits @ .., b' ', kind, b' '] = text.first_chunk::<NAME>()? else { return None };
    let address = sixteen_digits(digits)?;
    let name = &text[NAME..];
    let length = memchr::memchr3(b'\n', b' ', b'\t', name)?;
    (name[length] == b'\n' && length > 0 && kind.is_ascii_graphic())
        .then_some((address, *kind, length))
}

/// Address, type letter, and where the name starts.
fn split(line: &[u8]) -> Option<(u64, u8, usize)> {
    let (address, digits) = match line.first_chunk().and_then(sixteen_digits) {
        Some(address) => (address, 16),
        None => any_digits(line),
    };
    let [b' ', kind, b' ', ..] = *line.get(digits..)? else { return None };
    ((1..=16).contains(&digits) && kind.is_ascii_graphic()).then_some((address, kind, digits + 3))
}

/// Sixteen digits, the letters small, as the kernel and nm print them.
fn sixteen_digits(text: &[u8; 16]) -> Option<u64> {
    const EACH: u128 = u128::MAX / 0xff;
    let text = u128::from_be_bytes(*text);
    // One bit in each byte that is at least `byte`, of bytes below 128.
    let at_least = |byte: u8| ((text + EACH * u128::from(0x80 - byte)) >> 7) & EACH;
    if text & (0x80 * EACH) != 0 {
        return None;
    }
    let is_digit = at_least(b'0') & !at_least(b'9' + 1);
    let is_letter = at_least(b'a') & !at_least(b'f' + 1);
    if is_digit | is_letter != EACH {
        return None;
    }
    let digits = (text & (0x0f * EACH)) + 9 * is_letter;
    // Two of them side by side, then two of those, until all are.
    let pairs = (digits | digits >> 4) & (u128::MAX / 0xffff * 0xff);
    let fours = (pairs | pairs >> 8) & (u128::MAX / 0xffff_ffff * 0xffff);
    let eights = (fours | fours >> 16) & (u128::MAX / 0xffff_ffff_ffff_ffff * 0xffff_ffff);
    u64::try_from((eights | eights >> 32) & u128::from(u64::MAX)).ok()
}

/// Digits up to what is none, and how many there are.
fn any_digits(line: &[u8]) -> (u64, usize) {
    let mut address = 0_u64;
    let mut digits = 0;
    for &byte in line {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => break,
        };
        address = address << 4 | u64::from(digit);
        digits += 1;
    }
    (address, digits)
}

/// Length of the name, and where the module's name is if there is one.
fn split_module(text: &[u8]) -> (usize, Option<std::ops::Range<usize>>) {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let Some(length) = memchr::memchr3(b' ', b'\t', b'\r', text) else {
        return (text.len(), None);
    };
    let rest = &text[length..];
    let start = rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
    let end = rest.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    match &rest[start..end] {
        [] => (length, None),
        [b'[', .., b']'] if end - start > 2 => (length, Some(length + start + 1..length + end - 1)),
        _ => (0, None),
    }
}

/// A module's number. Lists name a module's symbols one after the other, so
/// the last module is tried first.
fn number(
    modules: &mut Vec<Box<[u8]>>,
    numbers: &mut FxHashMap<Box<[u8]>, u16>,
    name: &[u8],
) -> Option<u16> {
    if modules.last().is_some_and(|last| **last == *name) {
        return u16::try_from(modules.len() - 1).ok();
    }
    if let Some(&known) = numbers.get(name) {
        return Some(known);
    }
    let new = u16::try_from(modules.len()).ok().filter(|&new| new != ListedSymbol::NO_MODULE)?;
    modules.push(name.into());
    numbers.insert(name.into(), new);
    Some(new)
}

fn is_undefined(line: &[u8]) -> bool {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    match words.next() {
        None => true,
        Some(kind) => line[0] == b' ' && matches!(kind, b"U" | b"w" | b"v") && words.count() == 1,
    }
}

/// Debian's linux-image packages install a one-line System.map when the real
/// one is in the -dbg package.
fn is_stub(bytes: &[u8]) -> bool {
    bytes.len() < 4096 && memchr::memmem::find(bytes, b"The real System.map is in").is_some()
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == b'\n').next().unwrap_or_default()
}

fn quote(text: &[u8], limit: usize) -> String {
    let cut = &text[..text.len().min(limit)];
    String::from_utf8_lossy(cut).trim().escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SymbolList, ListError> {
        SymbolList::parse(text.as_bytes().to_vec())
    }

    #[test]
    fn the_grammar() {
        let list = parse(concat!(
            "ffffffff81000000 T _text\n",
            "\n",
            "                 U undefined\n",
            "c0100000 t short.constprop.0\n",
            "ffffffffc0000000 t init_module\t[nf_tables]\n",
            "ffffffffc0000010 T other [x y]\r\n",
            "FFFFFFFFC0201000 t ftrace_trampoline\t[__builtin__ftrace]\n",
            "0000000000000001 A last_without_newline",
        ))
        .unwrap();
        let module = |entry: &ListedSymbol| {
            list.modules.get(usize::from(entry.module)).map(|name| String::from_utf8_lossy(name))
        };
        let seen: Vec<_> = list
            .entries
            .iter()
            .map(|entry| {
                let name = String::from_utf8_lossy(list.name(entry));
                (entry.address, char::from(entry.kind), name, module(entry))
            })
            .collect();
        let expected = [
            (0xffff_ffff_8100_0000, 'T', "_text", None),
            (0xc010_0000, 't', "short.constprop.0", None),
            (0xffff_ffff_c000_0000, 't', "init_module", Some("nf_tables")),
            (0xffff_ffff_c000_0010, 'T', "other", Some("x y")),
            (0xffff_ffff_c020_1000, 't', "ftrace_trampoline", Some("__builtin__ftrace")),
            (1, 'A', "last_without_newline", None),
        ];
        let expected = expected.map(|(address, kind, name, module)| {
            (address, kind, name.into(), module.map(std::borrow::Cow::from))
        });
        assert_eq!(seen, expected);
        assert_eq!(list.address_of("short.constprop.0"), Some(0xc010_0000));
        assert_eq!(list.address_of("init_module"), None);
    }

    #[test]
    fn lines_that_are_none_are_quoted_with_their_number() {
        for line in [
            "hello",
            "ffffffff81000000",
            "ffffffff81000000 T",
            "ffffffff81000000 T ",
            "ffffffff81000000  name",
            "fffffffff81000000 T name",
            "ffffffff81000000 T name module",
            "ffffffff81000000 T name []",
            "ffffffff81000000 T\tname",
            " T name x",
            "g T name",
        ] {
            let error = parse(&format!("ffffffff81000000 T _text\n{line}\n")).unwrap_err();
            assert_eq!(
                error,
                ListError::Line { line: 2, text: line.trim().escape_debug().to_string() }
            );
        }
    }

    #[test]
    fn lists_without_addresses() {
        assert_eq!(parse("").unwrap_err(), ListError::Empty);
        assert_eq!(parse("\n\n").unwrap_err(), ListError::Empty);
        assert_eq!(parse("0000000000000000 T _text\n0 t x\n").unwrap_err(), ListError::Hidden);
    }

    #[test]
    fn more_modules_than_numbers() {
        let text: String =
            (0..=u32::from(u16::MAX)).map(|n| format!("{n:x} t a [m{n}]\n")).collect();
        assert_eq!(parse(&text).unwrap_err(), ListError::TooManyModules { line: 65536 });
        // Alternating names take no time.
        let text: String = (0..200_000).map(|n| format!("1 t a [m{}]\n", n % 60_000)).collect();
        assert_eq!(parse(&text).unwrap().modules.len(), 60_000);
    }

    proptest::proptest! {
        #[test]
        fn sixteen_digits_at_once_are_those_one_by_one(number: u64, at in 0_usize..16, byte: u8) {
            let mut text: [u8; 16] = format!("{number:016x}").into_bytes().try_into().unwrap();
            proptest::prop_assert_eq!(sixteen_digits(&text), Some(number));
            text[at] = byte;
            // Large letters go the other way.
            let is_small = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let expected = is_small.then(|| any_digits(&text).0);
            proptest::prop_assert_eq!(sixteen_digits(&text), expected);
        }
    }

    proptest::proptest! {
        /// One line that ends as Windows has it, and none goes the short way.
        #[test]
        fn the_short_way_gives_what_the_long_one_does(
            lines in proptest::collection::vec(
                proptest::prop_oneof![
                    "[0-9a-f]{16} [a-zA-Z ] [a-z_. \t]{0,12}",
                    "[0-9a-f]{14,17} [tT] [a-z_]{1,9}(\t\\[[a-z]{1,4}\\])?",
                    "[0-9A-F]{16} T x",
                    "[ -~]{0,30}",
                ],
                1..12,
            ),
        ) {
            let text = lines.join("\n") + "\n";
            let last = "ffffffffffffffff T last";
            let of = |end: &str| {
                parse(&format!("{text}{last}{end}\n")).map(|list| (list.entries, list.modules))
            };
            proptest::prop_assert_eq!(of(""), of("\r"));
        }
    }
}
