//! A diff as CSV: a header, the total of each event, and a line a row.

use crate::diff::DiffReport;
use crate::diff::columns::DIFF_COLUMNS;
use crate::print::csv::CsvNames;
use render::{Cell, CsvTable, Head};
use std::io::{self, Write};

/// Writes all rows of all events. Of a total the keys are empty; a bound that there is not
/// is empty, too.
pub fn write(diff: &DiffReport, names: CsvNames, out: impl Write) -> io::Result<()> {
    let mut heads = vec![Head::program("event")];
    heads.extend(DIFF_COLUMNS.iter().map(|column| column.head.clone()));
    heads.extend(diff.by.iter().cloned().map(Head::program));
    heads.push(Head::program("was"));
    let mut csv = CsvTable::new(heads, names, out);
    csv.head()?;
    for event in &diff.events {
        for row in std::iter::once(&event.total).chain(&event.rows) {
            let numbers = DIFF_COLUMNS.iter().map(|column| column.cell(row));
            let key = |index| Cell::name(row.keys.get(index).map_or("", String::as_str));
            let was = row.was.as_ref().map_or_else(String::new, |was| was.join(" "));
            let name = [Cell::name(&*event.name)].into_iter();
            csv.row(
                name.chain(numbers).chain((0..diff.by.len()).map(key)).chain([Cell::name(was)]),
            )?;
        }
    }
    csv.flush()
}
