//! C++ names against those of binutils, whose demangler perf and gdb have,
//! too: names are joined across tools.

use symbolizer::demangle;

/// Bytes of a name that is spelled out (docs/symbols.md).
const LONGEST: usize = 16 * 1024;

#[test]
fn names_are_spelled_as_binutils_spells_them() {
    let pairs = include_str!("binutils.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut checked = 0;
    for line in pairs {
        let (mangled, expected) = line.split_once('\t').unwrap();
        assert_eq!(demangle(mangled.as_bytes()), expected, "{mangled}");
        checked += 1;
    }
    assert_eq!(checked, 731);
}

/// Names that are one operator, bracket or literal after the other, and names
/// that would be deep or long.
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
        // Each part within the one before it, without recursion of the reader.
        format!("_ZN{}E", "1A".repeat(50_000)),
        format!("_Z1f{}", "i".repeat(100_000)),
        format!("_ZN{}3fooEv", "1AIiE".repeat(5000)),
        // As deep as is read.
        format!("_Z1f{}i", "P".repeat(250)),
        format!("_Z1f{}i{}", "1AI".repeat(120), "E".repeat(120)),
        deep("T_I", "E"),
        deep("Dp", ""),
        deep("U3fooI", "E"),
        deep("XcvT_", "E"),
        deep("ZN1AcvT_I", "E"),
        deep("Xsr1AI", "E"),
        wide("DpT_"),
        // A pack of packs of packs, each of nothing.
        format!("_Z1fIJ{}EEv{}", "JE".repeat(500), "DpDpT_".repeat(500)),
    ];
    for mangled in &names {
        let name = demangle(mangled.as_bytes());
        let is_bounded = name == *mangled || name.len() <= LONGEST;
        assert!(is_bounded, "{}: {} bytes", &mangled[..20], name.len());
    }
}
