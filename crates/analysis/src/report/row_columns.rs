//! The numbers of a row. One that is added here is in text, CSV, JSON and on the page.

use crate::report::{Latencies, Row};
use render::{Cell, Column};

/// In their order in all forms. Of a routine the samples taken in itself are `self`.
pub(crate) static ROW_COLUMNS: [Column<Row>; 14] = [
    Column::number("count", "count", |row| Some(Cell::Count(row.count))),
    Column::number("period", "period", |row| Some(Cell::Count(row.period))),
    Column::number("share", "share", |row| Some(Cell::Share(row.share))),
    Column::in_json("share_error", |row| Some(Cell::Share(row.share_error))),
    Column::program("exact_ip", |row| Some(Cell::Count(row.exact_ip))),
    Column::of_group("self", "count", "", |row| Some(Cell::Count(row.own?.count))),
    Column::of_group("self", "period", "", |row| Some(Cell::Count(row.own?.period))),
    Column::of_group("self", "share", "self", |row| Some(Cell::Share(row.own?.share))),
    Column::of_group("latency", "samples", "", |row| {
        let none = Cell::Missing { mark: "-".into(), reason: "0".into() };
        let latency = row.served.as_ref()?.latency;
        Some(latency.map_or(none, |of| Cell::Count(of.samples)))
    }),
    Column::of_group("latency", "cycles", "", |row| latency(row, |of| Cell::Count(of.cycles))),
    Column::of_group("latency", "share", "cycles", |row| latency(row, |of| Cell::Share(of.share))),
    Column::of_group("latency", "mean", "mean", |row| latency(row, |of| Cell::Mean(of.mean))),
    Column::of_group("latency", "median", "median", |row| {
        latency(row, |of| Cell::Count(of.median))
    }),
    Column::of_group("latency", "p95", "p95", |row| latency(row, |of| Cell::Count(of.p95))),
];

/// None: accesses were not asked for.
fn latency(row: &Row, value: fn(Latencies) -> Cell<'static>) -> Option<Cell<'static>> {
    Some(row.served.as_ref()?.latency.map_or(Cell::Nothing, value))
}
