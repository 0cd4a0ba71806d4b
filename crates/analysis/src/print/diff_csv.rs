//! A diff as CSV: a header, the total of each event, and a line a row.

use super::csv::{CsvNames, as_io};
use crate::diff::{DiffReport, DiffRow};
use std::io::{self, Write};

const COLUMNS: [&str; 13] = [
    "event",
    "a_samples",
    "a_events",
    "a_rate",
    "b_samples",
    "b_events",
    "b_rate",
    "ratio",
    "low",
    "high",
    "p",
    "q",
    "told",
];

/// Writes all rows of all events. Of a total the keys are empty; a bound that there is not
/// is empty, too.
pub fn write(diff: &DiffReport, names: CsvNames, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    records(diff, names, &mut csv).map_err(as_io)?;
    csv.flush()
}

fn records<W: Write>(
    diff: &DiffReport,
    names: CsvNames,
    csv: &mut csv::Writer<W>,
) -> csv::Result<()> {
    let keys = diff.by.iter().map(String::as_str);
    csv.write_record(COLUMNS.into_iter().chain(keys).chain(["was"]))?;
    for event in &diff.events {
        for row in std::iter::once(&event.total).chain(&event.rows) {
            csv.write_field(&*names.shown(&event.name))?;
            numbers(row, csv)?;
            for index in 0..diff.by.len() {
                let key = row.keys.get(index).map_or("", String::as_str);
                csv.write_field(&*names.shown(key))?;
            }
            let was = row.was.as_ref().map_or_else(String::new, |was| was.join(" "));
            csv.write_field(&*names.shown(&was))?;
            csv.write_record(None::<&[u8]>)?;
        }
    }
    Ok(())
}

fn numbers<W: Write>(row: &DiffRow, csv: &mut csv::Writer<W>) -> csv::Result<()> {
    for side in [row.a, row.b] {
        csv.write_field(side.samples.to_string())?;
        csv.write_field(side.events.to_string())?;
        csv.write_field(side.rate.to_string())?;
    }
    for value in [row.ratio, row.low, row.high, row.p, row.q] {
        csv.write_field(value.map_or_else(String::new, |value| value.to_string()))?;
    }
    csv.write_field(row.verdict.word())
}
