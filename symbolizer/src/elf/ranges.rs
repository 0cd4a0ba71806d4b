//! Symbols with all their overlaps -> sorted, disjoint ranges of addresses.

use std::cmp::Ordering;
use std::ops::Range;

/// Names are compared and shown up to this length; a hostile file could let
/// a million symbols share a name of a megabyte.
const NAME_LIMIT: usize = 4096;

/// A symbol that names code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) start: u64,
    /// First address beyond; `start` when the symbol has no size.
    pub(crate) end: u64,
    /// What a symbol without size cannot reach beyond: its section's end.
    pub(crate) limit: u64,
    /// Offset in the string table.
    pub(crate) name: u32,
    pub(crate) table: u8,
    pub(crate) binding: Binding,
    /// Declared as a function, not just as a label.
    pub(crate) typed: bool,
    /// A stub in a PLT, named after the function it jumps to.
    pub(crate) stub: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Weak,
    Local,
    Global,
}

/// Sorted, disjoint ranges, each with its symbol.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    starts: Vec<u64>,
    rest: Vec<Rest>,
    symbols: Vec<Symbol>,
    strings: Vec<Box<[u8]>>,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    end: u64,
    symbol: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SymbolHit<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) stub: bool,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Ranges {
    /// Sized symbols hold their extent, the innermost wins. Symbols without
    /// size hold what is left up to the next symbol or their section's end.
    pub(crate) fn new(mut symbols: Vec<Symbol>, strings: Vec<Box<[u8]>>) -> Ranges {
        let name = |symbol: &Symbol| name_in(&strings, symbol);
        symbols.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| prefer(a, b, &name)));
        symbols.dedup_by_key(|symbol| symbol.start);
        let mut ranges = Ranges { symbols, strings, ..Ranges::default() };
        ranges.flatten();
        ranges
    }

    fn flatten(&mut self) {
        let symbols = std::mem::take(&mut self.symbols);
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        for (index, symbol) in symbols.iter().enumerate() {
            at = self.close(&symbols, &mut open, at, symbol.start);
            if symbol.end > symbol.start {
                if let Some(&outer) = open.last() {
                    self.push(at, symbol.start, outer);
                }
                open.push(index);
                at = symbol.start;
            } else if open.is_empty() {
                let next = symbols.get(index + 1).map_or(u64::MAX, |next| next.start);
                self.push(symbol.start, next.min(symbol.limit), index);
            }
        }
        self.close(&symbols, &mut open, at, u64::MAX);
        self.symbols = symbols;
    }

    /// Ends the open symbols that end at or before `until`, innermost first.
    fn close(&mut self, symbols: &[Symbol], open: &mut Vec<usize>, at: u64, until: u64) -> u64 {
        let mut at = at;
        while let Some(&inner) = open.last().filter(|&&inner| symbols[inner].end <= until) {
            self.push(at, symbols[inner].end, inner);
            at = at.max(symbols[inner].end);
            open.pop();
        }
        at
    }

    fn push(&mut self, start: u64, end: u64, symbol: usize) {
        if let Ok(symbol) = u32::try_from(symbol)
            && start < end
        {
            self.starts.push(start);
            self.rest.push(Rest { end, symbol });
        }
    }

    /// The routine that holds a link-time address. The end of a section is that
    /// of its last routine where this has no size: a system call that is the last
    /// instruction (`exit`) was made by it, and goes back to what is behind.
    pub(crate) fn find(&self, address: u64) -> Option<SymbolHit<'_>> {
        let index = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        let rest = self.rest[index];
        let is_behind = || {
            let symbol = usize::try_from(rest.symbol).ok().and_then(|it| self.symbols.get(it));
            let reaches = |it: &Symbol| it.end <= it.start && it.limit == address;
            address == rest.end && symbol.is_some_and(reaches)
        };
        (address < rest.end || is_behind()).then(|| self.hit(rest))?
    }

    /// All ranges in address order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Range<u64>, SymbolHit<'_>)> {
        let ranges = self.starts.iter().zip(&self.rest);
        ranges.filter_map(|(&start, &rest)| Some((start..rest.end, self.hit(rest)?)))
    }

    fn hit(&self, rest: Rest) -> Option<SymbolHit<'_>> {
        let symbol = self.symbols.get(usize::try_from(rest.symbol).ok()?)?;
        let end = if symbol.end > symbol.start { symbol.end } else { rest.end };
        let name = name_in(&self.strings, symbol);
        Some(SymbolHit { name, stub: symbol.stub, start: symbol.start, end })
    }

    /// Whether an address lies between the first and the last range.
    pub(crate) fn spans(&self, address: u64) -> bool {
        match (self.starts.first(), self.rest.last()) {
            (Some(&first), Some(last)) => (first..last.end).contains(&address),
            _ => false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Moves every address: a debug file keeps what its program had before
    /// prelink moved it.
    pub(crate) fn shift(symbols: &mut [Symbol], delta: u64) {
        for symbol in symbols {
            symbol.start = symbol.start.wrapping_add(delta);
            symbol.end = symbol.end.wrapping_add(delta);
            symbol.limit = symbol.limit.wrapping_add(delta);
        }
    }
}

fn name_in<'a>(strings: &'a [Box<[u8]>], symbol: &Symbol) -> &'a [u8] {
    let start = usize::try_from(symbol.name).unwrap_or(usize::MAX);
    let table = strings.get(usize::from(symbol.table)).map_or(&[][..], |table| table);
    let rest = table.get(start..).unwrap_or_default();
    let rest = &rest[..rest.len().min(NAME_LIMIT)];
    &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
}

/// The order in which perf prefers one of several symbols at an address
/// (`choose_best_symbol` in tools/perf/util/symbol.c): sized, typed, not
/// weak, global, fewer leading underscores, longer.
fn prefer<'a>(a: &Symbol, b: &Symbol, name: &dyn Fn(&Symbol) -> &'a [u8]) -> Ordering {
    let sized = |symbol: &Symbol| symbol.end > symbol.start;
    let key = |symbol: &Symbol| (!symbol.stub, sized(symbol), symbol.typed, symbol.binding);
    key(b).cmp(&key(a)).then_with(|| {
        let (a, b) = (name(a), name(b));
        let underscores = |name: &[u8]| name.iter().take_while(|&&byte| byte == b'_').count();
        underscores(a).cmp(&underscores(b)).then(b.len().cmp(&a.len()))
    })
}

#[cfg(test)]
mod tests {
    //! Against a resolver that looks at every symbol.

    use super::*;
    use proptest::prelude::*;

    fn symbol() -> impl Strategy<Value = Symbol> {
        let start = prop_oneof![0_u64..64, any::<u64>(), u64::MAX - 8..=u64::MAX];
        let size = prop_oneof![2 => Just(0_u64), 5 => 1_u64..24, 1 => any::<u64>()];
        let binding = prop::sample::select(&[Binding::Weak, Binding::Local, Binding::Global][..]);
        (start, size, 0_u64..40, 0_u32..8, binding, any::<(bool, bool)>()).prop_map(
            |(start, size, room, name, binding, (typed, stub))| Symbol {
                start,
                end: start.saturating_add(size),
                limit: start.saturating_add(room),
                name,
                table: 0,
                binding,
                typed,
                stub,
            },
        )
    }

    /// The symbol that names `address`, by the rules in words.
    fn scan<'a>(symbols: &'a [Symbol], strings: &[Box<[u8]>], address: u64) -> Option<&'a Symbol> {
        let ends_here = |it: &&Symbol| it.end == it.start && it.limit == address;
        let before = || holder(symbols, strings, address.checked_sub(1)?).filter(ends_here);
        holder(symbols, strings, address).or_else(before)
    }

    fn holder<'a>(
        symbols: &'a [Symbol],
        strings: &[Box<[u8]>],
        address: u64,
    ) -> Option<&'a Symbol> {
        let name = |symbol: &Symbol| name_in(strings, symbol);
        let best = |start: u64| {
            let here = symbols.iter().filter(|symbol| symbol.start == start);
            here.reduce(|a, b| if prefer(a, b, &name).is_gt() { b } else { a })
        };
        let mut starts: Vec<u64> = symbols.iter().map(|symbol| symbol.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let chosen: Vec<&Symbol> = starts.iter().filter_map(|&start| best(start)).collect();
        let holds = |symbol: &&&Symbol, address| (symbol.start..symbol.end).contains(&address);
        if let Some(sized) = chosen.iter().rfind(|symbol| holds(symbol, address)) {
            return Some(sized);
        }
        let label = chosen.iter().rfind(|symbol| symbol.start <= address)?;
        let inside = chosen.iter().any(|symbol| holds(&symbol, label.start));
        (label.end == label.start && !inside && address < label.limit).then_some(*label)
    }

    proptest! {
        #[test]
        fn equals_the_scan(
            symbols in prop::collection::vec(symbol(), 0..24),
            asked in prop::collection::vec(any::<u64>(), 0..8),
        ) {
            let strings = vec![b"\0_a\0__b\0c".to_vec().into_boxed_slice()];
            let ranges = Ranges::new(symbols.clone(), strings.clone());
            let near = symbols.iter().flat_map(|symbol| {
                [-1_i64, 0, 1, 9].map(|step| symbol.start.wrapping_add_signed(step))
            });
            let ends = symbols
                .iter()
                .flat_map(|symbol| [symbol.end.wrapping_sub(1), symbol.end, symbol.limit]);
            for address in near.chain(ends).chain(asked).chain([0, u64::MAX]) {
                let found = ranges.find(address).map(|hit| (hit.name, hit.start, hit.stub));
                let expected = scan(&symbols, &strings, address);
                let expected = expected.map(|hit| (name_in(&strings, hit), hit.start, hit.stub));
                prop_assert_eq!(found, expected, "{:#x}", address);
            }
        }
    }

    #[test]
    fn the_end_of_a_section_is_its_last_routines_that_has_no_size() {
        let code = Symbol {
            start: 0x1204,
            end: 0x1204,
            limit: 0x1217,
            name: 1,
            table: 0,
            binding: Binding::Global,
            typed: false,
            stub: false,
        };
        let strings = || vec![b"\0hit\0next".to_vec().into_boxed_slice()];
        let name = |symbols: Vec<Symbol>, address| {
            let ranges = Ranges::new(symbols, strings());
            ranges.find(address).map(|hit| String::from_utf8_lossy(hit.name).into_owned())
        };
        let hit = Some("hit".to_owned());
        assert_eq!(name(vec![code], 0x1217), hit, "where `exit` would go back to");
        assert_eq!(name(vec![code], 0x1218), None);
        let next = Symbol { start: 0x1217, end: 0x1217, limit: 0x1230, name: 5, ..code };
        assert_eq!(name(vec![code, next], 0x1217), Some("next".to_owned()), "of another section");
        let sized = Symbol { end: 0x1217, ..code };
        assert_eq!(name(vec![sized], 0x1217), None, "as perf has it");
    }
}
