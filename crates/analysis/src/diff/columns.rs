//! The numbers of a row of a diff: one that is added here is in text and CSV.

use crate::diff::DiffRow;
use crate::print::table::told;
use render::{Cell, Column};

/// In their order in both.
pub(crate) static DIFF_COLUMNS: [Column<DiffRow>; 12] = [
    Column::program("a_samples", |row| Some(Cell::Count(row.a.samples))),
    Column::program("a_events", |row| Some(rate(row.a.events))),
    Column::number("a_rate", "A", |row| Some(rate(row.a.rate))),
    Column::program("b_samples", |row| Some(Cell::Count(row.b.samples))),
    Column::program("b_events", |row| Some(rate(row.b.events))),
    Column::number("b_rate", "B", |row| Some(rate(row.b.rate))),
    Column::number("ratio", "ratio", |row| bound(row, row.ratio)),
    Column::number("low", "from", |row| bound(row, row.low)),
    Column::number("high", "to", |row| bound(row, row.high)),
    Column::program("p", |row| Some(likelihood(row.p?))),
    Column::number("q", "q", |row| Some(likelihood(row.q?))),
    Column::whole("told", "told", |row| Some(Cell::words(row.verdict.word()))),
];

fn rate(rate: f64) -> Cell<'static> {
    Cell::Rounded(rate, told(rate))
}

/// Without a bound a row is so many times nothing.
fn bound(row: &DiffRow, bound: Option<f64>) -> Option<Cell<'static>> {
    let has_any = row.a.events + row.b.events > 0.0;
    let none = Cell::Missing { mark: if has_any { "inf" } else { "-" }.into(), reason: "".into() };
    Some(bound.map_or(none, rate))
}

/// Small ones by their size alone.
fn likelihood(value: f64) -> Cell<'static> {
    let text = match value {
        0.0 => "0".to_owned(),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    };
    Cell::Rounded(value, text)
}
