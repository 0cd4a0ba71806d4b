//! Data source words on a line, each spelled once.

use perfdata::DataSrc;
use perfdata::data_src::PerfText;
use rustc_hash::FxHashMap;
use std::io::Write;

/// Texts that are kept; machines write some dozens of different words.
const KEPT: usize = 4096;

/// The texts of the words seen so far.
#[derive(Debug, Default)]
pub(super) struct DataSources {
    texts: FxHashMap<DataSrc, Box<[u8]>>,
    /// Of the longest text so far: perf pads all that follow to it.
    width: usize,
}

impl DataSources {
    /// Appends a word and what it says.
    pub(super) fn write(&mut self, word: DataSrc, out: &mut Vec<u8>) {
        if self.texts.len() >= KEPT {
            self.texts.clear();
        }
        let text = self.texts.entry(word).or_insert_with(|| {
            let mut text = Vec::new();
            // Writing to a vector cannot fail.
            let _ = write!(text, " {:15x} {}", word.0, PerfText(word));
            text.into()
        });
        self.width = self.width.max(text.len());
        let end = out.len() + self.width;
        out.extend_from_slice(text);
        out.resize(end, b' ');
    }
}
