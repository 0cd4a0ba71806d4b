//! Which of an event's samples its type means.

use super::Ledger;
use crate::table::ratio;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a filter made of the samples of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sieved {
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
    /// What the recorder's kernel counted of the event as sampled.
    pub events: Option<u64>,
    /// `events` times `share`: about so many were meant.
    pub estimate: Option<u64>,
}

impl Sieved {
    pub(crate) fn new(
        filter: String,
        (sampled, kept): (u64, u64),
        undecided: BTreeMap<String, u64>,
        ledger: Option<&Ledger>,
    ) -> Sieved {
        let told = sampled.saturating_sub(undecided.values().sum());
        let events = ledger.and_then(|ledger| ledger.events.or(ledger.kernel));
        let estimate = events.filter(|_| told > 0).and_then(|events| {
            let (events, kept, told) = (u128::from(events), u128::from(kept), u128::from(told));
            u64::try_from((events * kept + told / 2) / told).ok()
        });
        Sieved { filter, sampled, kept, undecided, share: ratio(kept, told), events, estimate }
    }
}
