//! Recordings in the forms of other tools. Samples in, bytes out; no file is
//! opened here.
//!
//! Samples come one by one from [`analysis::Pipeline`], which counts them for
//! a report at the same time: sums of an export are a report's.
//!
//! ```
//! use analysis::{Pipeline, Query};
//! use export::{ExportFormat, SharedExport};
//! use symbolizer::{Symbolizer, SymbolizerOptions};
//!
//! fn pipeline(format: ExportFormat) -> Result<(Pipeline, SharedExport), analysis::Error> {
//!     let export = SharedExport::new(format.to(Box::new(Vec::new())));
//!     let query = Query { keys: format.keys(), ..Query::default() };
//!     let symbolizer = Symbolizer::new(SymbolizerOptions::default());
//!     Ok((Pipeline::new(query, symbolizer)?.hand_to(Box::new(export.clone()), None), export))
//! }
//! # assert!(pipeline(ExportFormat::Csv).is_ok());
//! ```
//!
//! - [`ExportFormat`]: the forms there are.
//! - [`Export`]: one of them, being written. Whoever owns it calls
//!   [`Export::finish`] with what is known when the recording has ended.
//! - [`SharedExport`]: the same for the pipeline and its owner.
//!
//! The rooms, each of which uses those before it: `columns`, a sample as a flat
//! row; `export`, what a form is; `formats`, a file a form; `export_format`.

mod columns;
mod export;
mod export_format;
mod formats {
    //! A file a form.

    pub(crate) mod csv;
    pub(crate) mod firefox;
    pub(crate) mod folded;
    #[cfg(feature = "parquet")]
    pub(crate) mod parquet;
    pub(crate) mod pprof;
    pub(crate) mod protobuf;
    pub(crate) mod speedscope;
}

pub use export::{Export, ExportedRecording, SharedExport};
pub use export_format::ExportFormat;
