//! Which records are printed: those that their event means.

use analysis::{Doubt, Error, Sieve, SieveVerdict};
use perfdata::stream::StreamDecoder;
use perfdata::{InstructionClass, Sample};
use std::collections::BTreeMap;
use symbolizer::Symbolizer;

#[derive(Debug)]
pub struct Sifter {
    sieve: Sieve,
    kept: u64,
    others: u64,
    undecided: BTreeMap<Doubt, u64>,
    filters: Vec<String>,
}

impl Sifter {
    /// Follows the filters of the stream, and asks for `class` besides.
    pub fn new(class: Option<InstructionClass>) -> Sifter {
        Sifter {
            sieve: Sieve::new(class),
            kept: 0,
            others: 0,
            undecided: BTreeMap::new(),
            filters: Vec::new(),
        }
    }

    /// Takes note of the events described so far.
    ///
    /// # Errors
    ///
    /// A filter that is not known here.
    pub(super) fn learn(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        self.sieve.learn(decoder)
    }

    /// Whether it judges by instructions, whose places a symbolizer knows.
    pub(super) fn needs_code(&self) -> bool {
        self.sieve.needs_code()
    }

    pub(super) fn keeps(
        &mut self,
        symbolizer: &mut Symbolizer,
        decoder: &StreamDecoder,
        event: usize,
        sample: &Sample<'_>,
    ) -> bool {
        let filter = self.sieve.filter(event);
        if filter.is_all() {
            return true;
        }
        let text = filter.to_string();
        if !self.filters.contains(&text) {
            self.filters.push(text);
        }
        match self.sieve.judge(symbolizer, decoder, event, sample) {
            SieveVerdict::Kept => {
                self.kept += 1;
                return true;
            }
            SieveVerdict::Other => self.others += 1,
            SieveVerdict::Undecided(doubt) => *self.undecided.entry(doubt).or_default() += 1,
        }
        false
    }

    pub fn left_out(&self) -> u64 {
        self.others + self.undecided.values().sum::<u64>()
    }

    pub fn notes(&self) -> Vec<String> {
        if self.filters.is_empty() {
            return Vec::new();
        }
        let filters = self.filters.join(" | ");
        let all = self.kept + self.left_out();
        let kept = self.kept;
        let mut notes =
            vec![format!("{kept} of {all} records are of {filters}; the others are left out")];
        for (doubt, count) in &self.undecided {
            let why = self.sieve.reason(*doubt);
            notes.push(format!("{count} of those left out could not be decided: {why}"));
        }
        notes
    }
}
