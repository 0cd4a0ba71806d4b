//! C++ names against those of binutils, whose demangler perf and gdb have,
//! too: names are joined across tools.

use symbolizer::demangle;

/// Bytes of a name that is spelled out (docs/symbols.md).
const LONGEST: usize = 16 * 1024;

#[test]
fn names_are_spelled_as_binutils_spells_them() {
    let pairs =
        include_str!("../fixtures/binutils.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut checked = 0;
    for line in pairs {
        let (mangled, expected) = line.split_once('\t').unwrap();
        assert_eq!(demangle(mangled.as_bytes()), expected, "{mangled}");
        checked += 1;
    }
    assert_eq!(checked, 200);
}

/// Names that are one operator, bracket or literal after the other, and names
/// that would be deep or long: the spelling looks at brackets.
#[test]
fn hostile_names_end_and_are_bounded() {
    let deep = |open: &str, close: &str| format!("_Z{}1x{}", open.repeat(5000), close.repeat(5000));
    let wide = |argument: &str| format!("_Z1fI{}Evv", argument.repeat(4000));
    let names = [
        deep("N1AI", "EE"),
        deep("1AI", "E"),
        deep("P", ""),
        deep("F", "E"),
        wide("Lm53E"),
        wide("FviE"),
        wide("XadL_Z1gIiEvT_EE"),
        wide("JE"),
        wide("Ss"),
        "_ZN1A1BILm5EEgtIiEEvv".into(),
        "_ZN1AltIiEEvv".into(),
        "_ZN1AcmIFviEEEvv".into(),
        "_ZN3größe1fIFviEEEvv".into(),
        "_ZNSsC1ESs".repeat(1000),
    ];
    for mangled in &names {
        let name = demangle(mangled.as_bytes());
        // As it was, or spelled: what binutils has more of, is not twice as much.
        let is_bounded = name == *mangled || name.len() <= 2 * LONGEST;
        assert!(is_bounded, "{}: {} bytes", &mangled[..20], name.len());
    }
}
