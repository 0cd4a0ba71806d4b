//! Accesses to memory: what served them and how long they took.
//!
//! A row of accesses is a path of the query's keys, then the number of the
//! access's kind: the answers of its data source. Each keeps the distribution
//! of its latencies.

use crate::collect::distribution::Distribution;
use crate::collect::room;
use crate::collect::tally::{RowTally, Rows, Sum};
use crate::error::Error;
use crate::name::atom::{Atom, Lack};
use crate::name::lookup::Lookup;
use crate::query::Weighting;
use record::DataSrc;
use record::data_src::{Aspect, Distance, Level};
use rustc_hash::FxHashMap;

/// What a kind of access is told by, in the order of columns.
pub(crate) const ASPECTS: [Aspect; 4] =
    [Aspect::Level, Aspect::Operation, Aspect::Tlb, Aspect::Snoop];

/// Data sources remembered: real recordings have dozens.
const MOST_WORDS: usize = 1 << 16;

/// Kinds told apart: real recordings have dozens; a made one could have one a
/// record.
const MOST_KINDS: usize = 1 << 12;

/// Samples of one kind in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AccessCount {
    pub(crate) sum: Sum,
    /// Of those that have one.
    pub(crate) latencies: Distribution,
    /// Sum of their latencies times their periods; stops at 2^64.
    estimate: u64,
}

impl AccessCount {
    /// Adds another's samples.
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
    pub(crate) answers: [Atom; 4],
    /// How far from the core it was served.
    pub(crate) rank: (Level, Option<Distance>),
}

/// All accesses of all events.
#[derive(Debug)]
pub(crate) struct Accesses {
    tally: RowTally<AccessCount>,
    kinds: Vec<AccessAnswers>,
    by_answers: FxHashMap<[Atom; 4], u32>,
    by_word: FxHashMap<Option<DataSrc>, u32>,
}

impl Accesses {
    /// For rows of so many keys.
    pub(crate) fn new(keys: usize) -> Accesses {
        Accesses {
            tally: RowTally::new(keys + 1),
            kinds: Vec::new(),
            by_answers: FxHashMap::default(),
            by_word: FxHashMap::default(),
        }
    }

    /// Counts a sample in the row of `path`, to which its own atom is added.
    pub(crate) fn add(
        &mut self,
        event: u32,
        path: &mut Vec<Atom>,
        (source, latency): (Option<DataSrc>, Option<u64>),
        (sample, lookup): (Sum, &mut Lookup),
    ) -> Result<(), Error> {
        path.push(Atom::number(u64::from(self.kind(source, lookup))));
        if let Some(access) = self.tally.row(event, path)? {
            access.sum.join(sample);
            if let Some(latency) = latency {
                access.latencies.add(latency);
                let estimate = latency.saturating_mul(sample.period);
                access.estimate = access.estimate.saturating_add(estimate);
            }
        }
        Ok(())
    }

    fn kind(&mut self, source: Option<DataSrc>, lookup: &mut Lookup) -> u32 {
        if let Some(kind) = self.by_word.get(&source) {
            return *kind;
        }
        if self.by_word.len() >= MOST_WORDS {
            self.by_word.clear();
        }
        if self.kinds.len() >= MOST_KINDS {
            return self.other_kind();
        }
        let answers = ASPECTS.map(|aspect| match source {
            Some(source) => lookup.access(aspect, source),
            None => Atom::lack(Lack::DataSrc),
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
        let answers = ASPECTS.map(|_| Atom::NOT_KEPT);
        let kind = *self.by_answers.entry(answers).or_insert(number);
        if kind == number {
            let source = DataSrc::default();
            self.kinds.push(AccessAnswers { answers, rank: (source.level(), source.distance()) });
        }
        kind
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.tally.len()
    }

    /// How many kinds there are.
    pub(crate) fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Joins the accesses of rows that were not kept.
    pub(crate) fn follow(&mut self, kept: &RowTally) -> Result<(), Error> {
        room::follow(&mut self.tally, kept, 1, AccessCount::join)
    }

    /// The rows, and the kinds that their last atoms number.
    pub(crate) fn rows(self) -> (Rows<AccessCount>, Vec<AccessAnswers>) {
        (self.tally.rows(), self.kinds)
    }
}
