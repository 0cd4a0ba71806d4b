//! Two recordings, or two sets of them, side by side: docs/diff.md.
//!
//! [`DiffRun`]s of both sides become a [`DiffReport`]: rows of one name in both are one
//! (`key_names`), what is counted is made comparable by what it is counted per
//! (`exposure`), and `statistics` tell chance from change. [`DiffLimit`] is what a
//! change must not exceed.

mod build;
mod counts;
mod exposure;
mod key_names;
mod limit;
mod moves;
mod print;
mod run_counts;
mod statistics;

pub use build::DiffQuery;
pub use exposure::{DiffPer, DiffPerError, DiffUnit};
pub use key_names::{SameObject, SameObjectError};
pub use limit::{DiffLimit, DiffLimitError, LimitAnswer, LimitVerdict};
pub use print::{render, write_csv};

use crate::report::Report;
use serde::Serialize;

/// One recording of a side.
#[derive(Clone, Debug)]
pub struct DiffRun {
    /// What it is called, such as its file's name.
    pub name: String,
    /// All its rows, by the keys of the diff.
    pub report: Report,
    /// How long it took, in seconds, where its recorder's ledger does not tell.
    pub seconds: Option<f64>,
}

/// What is compared: A is what was, B what is.
#[derive(Clone, Copy, Debug)]
pub struct DiffSides<'r> {
    /// Runs of A, one at least.
    pub a: &'r [DiffRun],
    /// Runs of B, one at least.
    pub b: &'r [DiffRun],
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// Nothing was sampled by both.
    #[error(
        "the two sides have no such event in common: A has {}, B has {}", .a.join(", "), .b.join(", ")
    )]
    Events {
        /// Names of A's events.
        a: Vec<String>,
        /// Names of B's events.
        b: Vec<String>,
    },
    /// Not every recording tells what counts are to be divided by.
    #[error("{run} does not tell its {what}: {instead}")]
    Exposure {
        /// The recording.
        run: String,
        /// What it does not tell.
        what: &'static str,
        /// The way out.
        instead: &'static str,
    },
    /// No event is called like that of a limit.
    #[error("{limit}: no event is called {event:?} in both sides; there are {}", .have.join(", "))]
    LimitEvent {
        /// The limit as typed.
        limit: String,
        /// The event of it.
        event: String,
        /// Events that are there.
        have: Vec<String>,
    },
    /// No row is called like that of a limit.
    #[error("{limit}: no row of {event} is called {routine:?}, in A or in B")]
    LimitRoutine {
        /// The limit as typed.
        limit: String,
        /// The event of it.
        event: String,
        /// The routine of it.
        routine: String,
    },
}

/// Everything that a table, JSON or CSV shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffReport {
    /// Version of this shape: [`DiffReport::VERSION`].
    pub hardmeter_diff: u32,
    /// Keys of a row.
    pub by: Vec<String>,
    /// What counts are divided by.
    pub per: DiffUnit,
    /// Why by that.
    pub per_because: String,
    /// Runs of A.
    pub a: Vec<DiffRunFacts>,
    /// Runs of B.
    pub b: Vec<DiffRunFacts>,
    /// What intervals hold: part of cases, 0 to 1.
    pub level: f64,
    /// Of discoveries, so many are false at most, on average.
    pub false_discovery_rate: f64,
    /// Whether intervals hold what runs vary by, too.
    pub repeated: bool,
    /// What the reader must know, in sentences.
    pub notes: Vec<String>,
    /// Events that both sides sampled, in A's order.
    pub events: Vec<DiffEvent>,
    /// What became of limits: whoever asked for some adds them.
    pub limits: Vec<LimitAnswer>,
}

impl DiffReport {
    /// Counts up when a field changes its meaning or goes; new fields do not
    /// count.
    pub const VERSION: u32 = 1;
}

/// One recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffRunFacts {
    /// What it is called.
    pub name: String,
    /// How much of the unit it is.
    pub exposure: f64,
}

/// One event of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffEvent {
    /// As requested, without the PMU.
    pub name: String,
    /// All of it.
    pub total: DiffRow,
    /// Whether the total is what the recorders counted, and not what samples
    /// stand for.
    pub counted: bool,
    /// Variance of repeated runs' samples over what chance has, of all rows; None: one run each.
    pub dispersion: Option<f64>,
    /// Rows that have samples enough to differ by more than sampling error.
    pub tested: usize,
    /// Rows that are told apart.
    pub told_apart: usize,
    /// Rows before the cut to the top ones.
    pub rows_total: usize,
    /// Those told apart first, by how much the rate changed.
    pub rows: Vec<DiffRow>,
}

/// One row of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffRow {
    /// What it is, in the order of [`DiffReport::by`]; of a total nothing.
    pub keys: Vec<String>,
    /// What it was called in A, where it is called otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Vec<String>>,
    /// What was told of it.
    pub verdict: DiffVerdict,
    /// What A counted.
    pub a: DiffCount,
    /// What B counted.
    pub b: DiffCount,
    /// B's rate as a multiple of A's; None: A has none.
    pub ratio: Option<f64>,
    /// The least that agrees with both.
    pub low: Option<f64>,
    /// The largest; None: no bound.
    pub high: Option<f64>,
    /// How likely counts so far apart are where the rates are the same; None: that was
    /// not tested, or there is one run each.
    pub p: Option<f64>,
    /// The smallest rate of false discoveries at which it is told apart; None as for `p`.
    pub q: Option<f64>,
}

/// What one side counted in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DiffCount {
    /// Samples.
    pub samples: u64,
    /// Events that they stand for, or that were counted.
    pub events: f64,
    /// Events by the unit.
    pub rate: f64,
}

/// What is told of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffVerdict {
    /// Told apart: B's rate is larger.
    Up,
    /// Told apart: B's rate is smaller.
    Down,
    /// Told apart: B has none.
    Gone,
    /// Told apart: A has none.
    New,
    /// It is elsewhere in B, by 30 samples of each side at least; the ratio tells whether it is
    /// more or less.
    Moved,
    /// Samples differ by more than their own error, but of one run each what runs vary by is
    /// not known.
    Unrepeated,
    /// Not told apart.
    Same,
    /// Too few samples to be told apart, however they were shared out.
    TooFew,
}

impl DiffVerdict {
    /// The word for it in tables.
    pub fn word(self) -> &'static str {
        match self {
            DiffVerdict::Up => "up",
            DiffVerdict::Down => "down",
            DiffVerdict::Gone => "gone",
            DiffVerdict::New => "new",
            DiffVerdict::Moved => "moved",
            DiffVerdict::Unrepeated => "one run each",
            DiffVerdict::Same => "not told apart",
            DiffVerdict::TooFew => "too few",
        }
    }
}
