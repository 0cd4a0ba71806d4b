//! The order of rows.

use crate::query::Weighting;
use crate::query::sort::Sort;
use crate::report::{Cell, Latencies, Row};
use std::cmp::Ordering;

/// Sorts; ties go by address, then by name, then by all cells.
pub(super) fn sort_rows(rows: &mut [Row], by: &Sort, weighting: Weighting) {
    let weight = |row: &Row| match weighting {
        Weighting::Count => row.count,
        Weighting::Period => row.period,
    };
    rows.sort_unstable_by(|a, b| {
        let first = match by {
            Sort::Count => b.count.cmp(&a.count),
            Sort::Share => weight(b).cmp(&weight(a)),
            Sort::Cycles => by_latency(a, b, |latency| latency.share),
            Sort::Latency => by_latency(a, b, |latency| latency.mean),
            Sort::Address => Ordering::Equal,
            Sort::Name => some_first(name(a), name(b)),
            Sort::Key(key) => match a.keys.iter().position(|column| column == key) {
                // Missing values come last.
                Some(column) => a.cells[column].cmp(&b.cells[column]),
                None => Ordering::Equal,
            },
        };
        first
            .then_with(|| some_first(address(a), address(b)))
            .then_with(|| some_first(name(a), name(b)))
            .then_with(|| a.cells.cmp(&b.cells))
    });
}

/// Greatest first, rows without latencies last.
fn by_latency(a: &Row, b: &Row, of: fn(&Latencies) -> f64) -> Ordering {
    let value = |row: &Row| row.served.as_ref()?.latency.as_ref().map(of);
    // None of them is negative.
    value(b).unwrap_or(-1.0).total_cmp(&value(a).unwrap_or(-1.0))
}

fn address(row: &Row) -> Option<u64> {
    row.cells.iter().find_map(Cell::address)
}

fn name(row: &Row) -> Option<&str> {
    row.cells.iter().find_map(Cell::name)
}

/// Rows without the thing come last.
fn some_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
