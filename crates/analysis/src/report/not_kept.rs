//! Rows that there was no room for.

use serde::Serialize;

/// What the row of all that was not kept holds, and what the other rows may
/// lack for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NotKept {
    /// Rows that were kept at most, of all events.
    pub most_rows: usize,
    /// Samples in the row of what was not kept.
    pub samples: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Samples that any other row may lack at most. Every row of more samples
    /// than these has a row of its own.
    pub lacking: u64,
    /// The same of periods.
    pub lacking_period: u64,
}

impl NotKept {
    /// In a sentence, of the event of this name.
    pub fn told(&self, event: &str) -> String {
        let NotKept { most_rows, samples, lacking, .. } = self;
        format!(
            "{event}: {samples} samples are in the row [rows not kept], as there are more than \
             {most_rows} rows: any other row may lack up to {lacking} samples, and what has more \
             than that has a row; sums are exact (--most-rows keeps more)"
        )
    }
}
