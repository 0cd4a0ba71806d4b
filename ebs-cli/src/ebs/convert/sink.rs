//! The form that a recording comes out in.

use super::content::Content;
use anyhow::Result;
use perfdata::stream::{FeatureId, StreamDecoder};
use perfdata::{ByteOrder, RecordType};
use std::collections::BTreeMap;
use std::fmt;

pub(super) trait Sink {
    fn is_file(&self) -> bool;

    /// The recording has this byte order; called first.
    fn start(&mut self, order: ByteOrder) -> Result<()>;

    /// `stream` described an event, or told more ids of one.
    fn described(&mut self, stream: &StreamDecoder) -> Result<()>;

    /// The first record of the data comes; `of_file`: of a recording in file
    /// form.
    fn begin(&mut self, stream: &StreamDecoder, of_file: bool) -> Result<()>;

    fn record(&mut self, kind: RecordType, bytes: &[u8]) -> Result<()>;

    /// Takes bytes that follow a record outside its size.
    fn following(&mut self, bytes: &[u8]) -> Result<()>;

    /// Takes a HEADER_BUILD_ID record.
    fn build_id(&mut self, bytes: &[u8]) -> Result<()>;

    /// Takes a feature; the last of its kind counts.
    fn feature(&mut self, id: FeatureId, content: Content, left_out: &mut LeftOut) -> Result<()>;

    fn finish(&mut self, stream: &StreamDecoder) -> Result<()>;
}

/// Reasons, and how often each.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeMap<String, u64>);

impl LeftOut {
    pub(super) fn note(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (what, count)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "; left out: " } else { ", " })?;
            match count {
                1 => f.write_str(what)?,
                count => write!(f, "{what} ({count} times)")?,
            }
        }
        Ok(())
    }
}
