//! Which of an event's samples its type means.

use crate::share_interval::ratio;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a filter made of the samples of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FilterReport {
    /// The filter, as streams carry it; ` | ` between those of several events.
    pub filter: String,
    /// Samples in the stream.
    pub sampled: u64,
    /// Samples that are meant.
    pub kept: u64,
    /// Samples of which it could not be told, by why.
    pub undecided: BTreeMap<String, u64>,
    /// `kept` as a part of those that could be told, 0 to 1.
    pub share: f64,
    /// Events that were sampled from, as the recorder's kernel counted them;
    /// by the samples that it made, where it counts what it leaves out.
    pub events: Option<u64>,
    /// About so many were meant: of each event its `events` times its share.
    /// None when that is not known of one that counted an interval or more.
    pub estimate: Option<u64>,
    /// `events` and `estimate` are upper bounds: of each interval a part that
    /// cannot be told went by where nothing is sampled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterPart {
    /// Events that its samples stand for.
    pub(crate) events: Option<u64>,
    /// Events between two samples; 0: that varies.
    pub(crate) interval: u64,
    /// Whether it has no filter: all of it is meant.
    pub(crate) is_all: bool,
    pub(crate) kept: u64,
    /// Samples that could be told, those included.
    pub(crate) told: u64,
    /// Whether its samples stand for fewer events than the interval says.
    pub(crate) is_bound: bool,
}

impl FilterReport {
    pub(crate) fn new(
        filter: String,
        sampled: u64,
        undecided: BTreeMap<String, u64>,
        parts: &[FilterPart],
    ) -> FilterReport {
        let sum = |of: fn(&FilterPart) -> Option<u64>| {
            parts.iter().map(of).try_fold(0, |sum: u64, one| Some(sum.saturating_add(one?)))
        };
        let kept = parts.iter().map(|part| part.kept).sum();
        let told = parts.iter().map(|part| part.told).sum();
        FilterReport {
            filter,
            sampled,
            kept,
            undecided,
            share: ratio(kept, told),
            events: sum(|part| part.events),
            estimate: sum(FilterPart::estimate).filter(|_| told > 0),
            is_bound: parts.iter().any(|part| part.is_bound),
        }
    }
}

impl FilterPart {
    fn estimate(&self) -> Option<u64> {
        let events = self.events?;
        if self.is_all {
            return Some(events);
        }
        if self.told == 0 {
            // Too few for a sample.
            return (events < self.interval.max(1)).then_some(0);
        }
        let [events, kept, told] = [events, self.kept, self.told].map(u128::from);
        u64::try_from((events * kept + told / 2) / told).ok()
    }
}
