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

fn holder<'a>(symbols: &'a [Symbol], strings: &[Box<[u8]>], address: u64) -> Option<&'a Symbol> {
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
