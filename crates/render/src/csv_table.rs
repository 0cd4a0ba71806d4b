//! A table as CSV (RFC 4180).

use crate::cell::Cell;
use crate::table::Head;
use perfdata::printable::printable;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

/// How names are written, which their owners chose. A spreadsheet would take some of them for
/// formulas: these have an apostrophe before them, and so have names that begin with one, so that a
/// program gets each name back where it takes one apostrophe off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvNames {
    /// For files and programs: all else is as it is.
    Exact,
    /// For a terminal, and what is copied from there: nothing commands it.
    Printable,
}

impl CsvNames {
    /// A name as it is written.
    pub fn shown(self, name: &str) -> Cow<'_, str> {
        let shown = match self {
            CsvNames::Exact => Cow::Borrowed(name),
            CsvNames::Printable => printable(name),
        };
        let is_guarded = name.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
        // A number is no formula, nor is a sign alone.
        let is_harmless = name == "-" || name == "+" || name.parse::<f64>().is_ok();
        match is_guarded && !is_harmless {
            true => Cow::Owned(format!("'{shown}")),
            false => shown,
        }
    }
}

/// A line of names, and rows as they come. Shares are fractions, addresses hex with 0x.
pub struct CsvTable<'h, W: Write> {
    csv: csv::Writer<W>,
    names: CsvNames,
    heads: Cow<'h, [Head]>,
}

impl<'h, W: Write> CsvTable<'h, W> {
    /// Of those columns that have a name for programs.
    pub fn new(heads: impl Into<Cow<'h, [Head]>>, names: CsvNames, out: W) -> CsvTable<'h, W> {
        CsvTable { csv: csv::Writer::from_writer(out), names, heads: heads.into() }
    }

    /// The line of names.
    ///
    /// # Errors
    /// Those of `out`, as they were: a closed pipe is one.
    pub fn head(&mut self) -> io::Result<()> {
        for head in self.heads.iter().filter(|head| is_written(head)) {
            let name = match head.group {
                "" => Cow::Borrowed(&*head.name),
                group => format!("{group}_{}", head.name).into(),
            };
            self.csv.write_field(&*name).map_err(as_io)?;
        }
        self.csv.write_record(None::<&[u8]>).map_err(as_io)
    }

    /// A row of a cell for each column.
    ///
    /// # Errors
    /// As [`CsvTable::head`].
    pub fn row<'t>(&mut self, cells: impl IntoIterator<Item = Cell<'t>>) -> io::Result<()> {
        for (_, cell) in self.heads.iter().zip(cells).filter(|(head, _)| is_written(head)) {
            let written = match &cell {
                Cell::Share(number) | Cell::Part(number) => format!("{number:.6}").into(),
                Cell::Mean(number) => format!("{number:.3}").into(),
                Cell::Rounded(number, _) => number.to_string().into(),
                Cell::Name(name) | Cell::Nested(_, name) | Cell::Missing { reason: name, .. } => {
                    self.names.shown(name)
                }
                Cell::Nothing => Cow::Borrowed(""),
                Cell::Count(_)
                | Cell::Signed(_)
                | Cell::Flag(_)
                | Cell::Address(_)
                | Cell::Words(_) => cell.text(),
            };
            self.csv.write_field(&*written).map_err(as_io)?;
        }
        self.csv.write_record(None::<&[u8]>).map_err(as_io)
    }

    /// Hands on what is held back.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

fn is_written(head: &Head) -> bool {
    head.is_in_csv && !head.name.is_empty()
}

/// The error of `out` as it was: `csv` itself would make it one of kind
/// `Other`, and a closed pipe would be a failure.
fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl<W: Write> fmt::Debug for CsvTable<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvTable").field("names", &self.names).finish_non_exhaustive()
    }
}
