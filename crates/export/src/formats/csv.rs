//! A line a sample (RFC 4180), behind a line of names.

use crate::columns::{COLUMNS, FlatRow, push_stack};
use crate::export::{Export, ExportedRecording};
use analysis::{SampleNames, SampleSink, SingleSample};
use render::{Cell, CsvNames, CsvTable, Head};
use std::io::{self, Write};

#[derive(Debug)]
pub(crate) struct CsvExport {
    csv: CsvTable<'static, Box<dyn Write + Send>>,
    is_begun: bool,
    stack: String,
}

impl CsvExport {
    pub(crate) fn new(out: Box<dyn Write + Send>, names: CsvNames) -> CsvExport {
        let csv =
            CsvTable::new(COLUMNS.map(|column| Head::program(column.name)).to_vec(), names, out);
        CsvExport { csv, is_begun: false, stack: String::new() }
    }

    fn begin(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.is_begun, true) {
            true => Ok(()),
            false => self.csv.head(),
        }
    }
}

impl SampleSink for CsvExport {
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()> {
        self.begin()?;
        self.stack.clear();
        push_stack(sample, names, &mut self.stack);
        let row = FlatRow { sample, names, stack: &self.stack };
        self.csv.row(COLUMNS.iter().map(|column| (column.value)(&row).unwrap_or(Cell::Nothing)))
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
