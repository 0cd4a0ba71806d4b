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
        let ends = symbols.iter().flat_map(|symbol| [symbol.end.wrapping_sub(1), symbol.end]);
        for address in near.chain(ends).chain(asked).chain([0, u64::MAX]) {
            let found = ranges.find(address).map(|hit| (hit.name, hit.start, hit.stub));
            let expected = scan(&symbols, &strings, address);
            let expected = expected.map(|hit| (name_in(&strings, hit), hit.start, hit.stub));
            prop_assert_eq!(found, expected, "{:#x}", address);
        }
    }
}
