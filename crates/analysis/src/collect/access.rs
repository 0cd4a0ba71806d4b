//! Accesses to memory: what served them and how long they took.
//!
//! A row counts its accesses by their answers, those of the data source, which
//! have a number. Each keeps the distribution of its latencies.

use crate::bounded::{Bounded, MOST_REMEMBERED};
use crate::collect::distribution::Distribution;
use crate::collect::sum::Sum;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::lookup::Lookup;
use crate::query::Weighting;
use perfdata::DataSrc;
use perfdata::data_src::{DataSrcAspect, Distance, Level};
use rustc_hash::FxHashMap;

/// What a kind of access is told by, in the order of columns.
pub(crate) const ASPECTS: [DataSrcAspect; 4] =
    [DataSrcAspect::Level, DataSrcAspect::Operation, DataSrcAspect::Tlb, DataSrcAspect::Snoop];

/// Kinds told apart: real recordings have dozens; a made one could have one a
/// record.
const MOST_KINDS: usize = 1 << 12;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AccessCount {
    pub(crate) sum: Sum,
    pub(crate) latencies: Distribution,
    /// Sum of their latencies times their periods; stops at 2^64.
    estimate: u64,
}

impl AccessCount {
    pub(crate) fn add(&mut self, latency: Option<u64>, sample: Sum) {
        self.sum.join(sample);
        if let Some(latency) = latency {
            self.latencies.add(latency);
            let estimate = latency.saturating_mul(sample.period);
            self.estimate = self.estimate.saturating_add(estimate);
        }
    }

    pub(crate) fn join(&mut self, other: AccessCount) {
        self.sum.join(other.sum);
        self.latencies = Distribution::sum([&self.latencies, &other.latencies].into_iter());
        self.estimate = self.estimate.saturating_add(other.estimate);
    }

    /// Cycles that the accesses took: the sampled ones, or all that these
    /// stand for.
    pub(crate) fn cycles(&self, weighting: Weighting) -> u64 {
        match weighting {
            Weighting::Count => self.latencies.cycles(),
            Weighting::Period => self.estimate,
        }
    }
}

/// One kind of access: its answers, as [`ASPECTS`] lists them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessAnswers {
    pub(crate) answers: [KeyValue; 4],
    /// How far from the core it was served.
    pub(crate) rank: (Level, Option<Distance>),
}

#[derive(Debug, Default)]
pub(crate) struct AccessKinds {
    kinds: Vec<AccessAnswers>,
    by_answers: FxHashMap<[KeyValue; 4], u32>,
    by_word: Bounded<Option<DataSrc>, u32, MOST_REMEMBERED>,
}

impl AccessKinds {
    pub(crate) fn number(&mut self, source: Option<DataSrc>, lookup: &mut Lookup) -> u32 {
        if let Some(kind) = self.by_word.get(&source) {
            return *kind;
        }
        if self.kinds.len() >= MOST_KINDS {
            return self.other_kind();
        }
        let answers = ASPECTS.map(|aspect| match source {
            Some(source) => lookup.access(aspect, source),
            None => KeyValue::missing(Missing::DataSrc),
        });
        let next = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        let kind = *self.by_answers.entry(answers).or_insert(next);
        if kind == next {
            let source = source.unwrap_or_default();
            self.kinds.push(AccessAnswers { answers, rank: (source.level(), source.distance()) });
        }
        self.by_word.insert(source, kind);
        kind
    }

    /// The kind of all that come after there are too many.
    fn other_kind(&mut self) -> u32 {
        let number = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        let answers = ASPECTS.map(|_| KeyValue::NOT_KEPT);
        let kind = *self.by_answers.entry(answers).or_insert(number);
        if kind == number {
            let source = DataSrc::default();
            self.kinds.push(AccessAnswers { answers, rank: (source.level(), source.distance()) });
        }
        kind
    }

    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&AccessAnswers> {
        self.kinds.get(usize::try_from(number).ok()?)
    }
}
