//! A line a sample (RFC 4180), behind a line of names.

use crate::columns::{COLUMNS, ColumnKind, FlatRow, FlatValue, push_stack};
use crate::export::{Export, ExportedRecording};
use analysis::csv::CsvNames;
use analysis::{SampleNames, SampleSink, SingleSample};
use std::fmt;
use std::io::{self, Write};

pub(crate) struct CsvExport {
    csv: csv::Writer<Box<dyn Write + Send>>,
    names: CsvNames,
    is_begun: bool,
    stack: String,
}

impl CsvExport {
    pub(crate) fn new(out: Box<dyn Write + Send>, names: CsvNames) -> CsvExport {
        let csv = csv::Writer::from_writer(out);
        CsvExport { csv, names, is_begun: false, stack: String::new() }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Ok(());
        }
        self.csv.write_record(COLUMNS.iter().map(|column| column.name)).map_err(as_io)
    }
}

/// The error of `out` as it was: a closed pipe is one.
fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl fmt::Debug for CsvExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvExport").field("names", &self.names).finish_non_exhaustive()
    }
}

impl SampleSink for CsvExport {
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()> {
        self.begin()?;
        self.stack.clear();
        push_stack(sample, names, &mut self.stack);
        let row = FlatRow { sample, names, stack: &self.stack };
        for column in &COLUMNS {
            let written = match ((column.value)(&row), column.kind) {
                (FlatValue::Absent, _) => self.csv.write_field(""),
                (FlatValue::Text(text), _) => self.csv.write_field(&*self.names.shown(&text)),
                (FlatValue::Unsigned(number), ColumnKind::Address) => {
                    self.csv.write_field(format!("{number:#x}"))
                }
                (FlatValue::Unsigned(number), _) => self.csv.write_field(number.to_string()),
                (FlatValue::Signed(number), _) => self.csv.write_field(number.to_string()),
                (FlatValue::Flag(flag), _) => self.csv.write_field(flag.to_string()),
            };
            written.map_err(as_io)?;
        }
        self.csv.write_record(None::<&[u8]>).map_err(as_io)
    }

    fn end(&mut self, _names: &SampleNames<'_>) -> io::Result<()> {
        self.begin()
    }
}

impl Export for CsvExport {
    fn finish(&mut self, _recording: &ExportedRecording<'_>) -> io::Result<()> {
        self.csv.flush()
    }
}
