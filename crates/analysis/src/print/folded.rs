//! Call chains with their counts, as programs that draw flame graphs read them.

use crate::query::Weighting;
use crate::report::{Cell, Report};
use std::io::{self, Write};

/// Writes the rows of all events, a line each: the keys' names, with `;`
/// between them, a blank, and samples, or the periods of events whose shares
/// are those of periods. Control characters in names are escaped, and a `;` in
/// a name becomes `:`, as FlameGraph's own scripts have it.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    for event in &report.events {
        for row in &event.rows {
            let names = row.cells.iter().map(|cell| match cell {
                Cell::Chain(chain) => {
                    perfdata::printable::printable(&report.chains.folded(*chain)).into_owned()
                }
                Cell::Text(text) if text.is_empty() => "[no-name]".to_owned(),
                Cell::Text(text) => perfdata::printable::printable(text).replace(';', ":"),
                Cell::Missing(missing) => missing.mark(false).replace(' ', "_"),
                _ => "[unknown]".to_owned(),
            });
            let weight = match event.weighting {
                Weighting::Period => row.period,
                Weighting::Count => row.count,
            };
            writeln!(out, "{} {weight}", names.collect::<Vec<_>>().join(";"))?;
        }
    }
    Ok(())
}
