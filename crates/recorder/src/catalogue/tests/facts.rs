//! Fixtures of facts about events; fixtures/events/README.md says whence.

use std::io::Read;

use flate2::read::GzDecoder;

pub(super) fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text
}

/// The rows of a table with tabs, without its head.
pub(super) fn rows<const N: usize>(text: &str) -> impl Iterator<Item = [&str; N]> {
    text.lines().skip(1).map(|line| {
        let words: Vec<_> = line.split('\t').collect();
        words.try_into().unwrap_or_else(|words| panic!("{N} columns: {words:?}"))
    })
}

/// "0x1cd", or nothing, which is 0.
pub(super) fn hex(word: &str) -> u64 {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None if word.is_empty() => 0,
        None => panic!("{word} is no hexadecimal number"),
    }
}

#[test]
fn the_tables_are_small() {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::super::table::{CPUS, EXTRA, NAMES, TYPES};

    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    for table in [TYPES, EXTRA, CPUS, NAMES] {
        assert!(table.is_ascii() && table.ends_with('\n'));
        packed.write_all(table.as_bytes()).unwrap();
    }
    let bytes = packed.finish().unwrap().len();
    assert!(bytes < 200_000, "{bytes}");
    assert!(bytes > 20_000, "{bytes}: the tables are not whole");
}
