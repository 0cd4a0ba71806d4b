//! The forms there are.

use crate::export::Export;
use crate::formats::csv::CsvExport;
use crate::formats::firefox::FirefoxExport;
use crate::formats::folded::FoldedExport;
#[cfg(feature = "parquet")]
use crate::formats::parquet::ParquetExport;
use crate::formats::pprof::PprofExport;
use crate::formats::speedscope::SpeedscopeExport;
use analysis::Key;
use render::CsvNames;
use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// `profile.proto` of pprof, gzip.
    Pprof,
    /// JSON of the Firefox Profiler.
    Firefox,
    #[cfg(feature = "parquet")]
    Parquet,
    /// Lines of stacks, for programs that draw flame graphs.
    Folded,
    /// JSON of speedscope.
    Speedscope,
    /// A line a sample.
    Csv,
    /// The same with names that a terminal can show.
    PrintableCsv,
}

impl ExportFormat {
    pub fn is_binary(self) -> bool {
        match self {
            ExportFormat::Pprof => true,
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => true,
            _ => false,
        }
    }

    /// What the rows of the report are to be made of that
    /// [`Export::finish`] takes.
    pub fn keys(self) -> Vec<Key> {
        match self {
            ExportFormat::Folded => vec![Key::Comm, Key::Stack],
            _ => Vec::new(),
        }
    }

    pub fn takes_samples(self) -> bool {
        self != ExportFormat::Folded
    }

    /// Writes to `out`, which does best to gather small writes.
    pub fn to(self, out: Box<dyn Write + Send>) -> Box<dyn Export> {
        match self {
            ExportFormat::Pprof => Box::new(PprofExport::new(out)),
            ExportFormat::Firefox => Box::new(FirefoxExport::new(out)),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => Box::new(ParquetExport::new(out)),
            ExportFormat::Folded => Box::new(FoldedExport::new(out)),
            ExportFormat::Speedscope => Box::new(SpeedscopeExport::new(out)),
            ExportFormat::Csv => Box::new(CsvExport::new(out, CsvNames::Exact)),
            ExportFormat::PrintableCsv => Box::new(CsvExport::new(out, CsvNames::Printable)),
        }
    }
}
