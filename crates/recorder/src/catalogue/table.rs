//! The embedded tables: text of tab-separated columns, read when asked for.
//!
//! tables/generate.py makes them; tables/NOTICE says from what. Types in words,
//! masks, and what the kernel calls PMUs are written by hand.

pub(super) const SOFTWARE: &str = include_str!("../../tables/software.txt");
pub(super) const HARDWARE: &str = include_str!("../../tables/hardware.txt");
pub(super) const TYPES: &str = include_str!("../../tables/types.tsv");
pub(super) const EXTRA: &str = include_str!("../../tables/extra.tsv");
pub(super) const CPUS: &str = include_str!("../../tables/cpus.tsv");
pub(super) const PMU_NAMES: &str = include_str!("../../tables/pmu_names.tsv");
pub(super) const MASKS: &str = include_str!("../../tables/masks.tsv");
pub(super) const NAMES: &str = include_str!("../../tables/names.tsv");
pub(crate) const QUANTITIES: &str = include_str!("../../tables/quantities.tsv");
pub(crate) const METRICS: &str = include_str!("../../tables/metrics.tsv");

/// The rows of a table, without its head. Rows of another number of columns
/// are left out: a test finds that there are none.
pub(crate) fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(columns)
}

pub(crate) fn columns<const N: usize>(line: &'static str) -> Option<[&'static str; N]> {
    let mut columns = [""; N];
    let mut words = line.split('\t');
    for column in &mut columns {
        *column = words.next()?;
    }
    words.next().is_none().then_some(columns)
}

/// A hexadecimal number; nothing is 0.
pub(crate) fn hex(word: &str) -> Option<u64> {
    if word.is_empty() { Some(0) } else { u64::from_str_radix(word, 16).ok() }
}

/// Whether a list with commas has the word.
pub(crate) fn lists(list: &str, word: &str) -> bool {
    list.split(',').any(|have| have == word)
}
