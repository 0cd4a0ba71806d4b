//! Streams in, reports out: what the library promises as a whole.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "tests with small numbers"
)]

mod access;
mod aggregation;
mod annotate;
mod bounds;
mod callers;
mod filters;
mod groups;
mod in_kernel;
mod ledgers;
mod mappings;
mod recording;
mod registers;
mod requests;
mod room;
mod sieve;
mod tables;

use analysis::{Pipeline, Query, Report};
use perfdata::stream::{StreamDecoder, StreamStep};
use std::path::Path;
use symbolizer::{KernelOffset, KernelSource, Symbolizer, SymbolizerOptions};

/// A symbolizer that sees a small kernel and no files.
fn symbolizer() -> Symbolizer {
    let data = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("fixtures");
    let kernel =
        KernelSource::File { path: data.join("System.map"), offset: KernelOffset::Given(0) };
    Symbolizer::new(SymbolizerOptions { root: data, kernel, ..SymbolizerOptions::default() })
}

fn report(query: Query, stream: &[u8]) -> Result<Report, analysis::Error> {
    report_with(symbolizer(), query, stream)
}

fn report_with(
    symbolizer: Symbolizer,
    query: Query,
    stream: &[u8],
) -> Result<Report, analysis::Error> {
    let mut pipeline = Pipeline::new(query, symbolizer)?;
    let (mut decoder, mut rest) = (StreamDecoder::new(), stream);
    while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
        pipeline.record(&decoder, &record)?;
        rest = &rest[consumed..];
    }
    decoder.finish(rest.len()).unwrap();
    pipeline.finish(&decoder)
}
