//! Rows in bounded memory.
//!
//! A table by site has as many rows as there are sites, and a recording of a
//! few packed megabytes may have millions of them, each sampled once. When
//! there are more rows than there may be, those with the least part of their
//! event's samples are joined into one, the row of what was not kept. So sums
//! stay exact, and a row that was dropped and comes back lacks what it had:
//! never more than the largest rows that were dropped had together (lossy
//! counting; Manku and Motwani, VLDB 2002). That much is told.

use crate::collect::event::Event;
use crate::collect::sum::Sum;
use crate::collect::tally::{CountedRows, RowTally};
use crate::error::Error;
use crate::name::key_value::KeyValue;
use crate::query::Weighting;
use perfdata::aggregate::SeededRandom;
use rustc_hash::FxHashMap;

pub(crate) fn is_not_kept(values: &[KeyValue]) -> bool {
    values.first() == Some(&KeyValue::NOT_KEPT)
}

/// Rows without what the kernel counted at a site that take as much as one
/// with it.
const SITE: usize = 16;

#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    /// Answers of accesses in all rows together.
    pub(crate) accesses: usize,
    pub(crate) sites: usize,
    /// By event: the samples and periods that a row of it may lack.
    lacking: FxHashMap<usize, Sum>,
}

impl Room {
    /// For so many rows of all events together.
    pub(crate) fn new(most: usize) -> Room {
        Room { most, accesses: 0, sites: 0, lacking: FxHashMap::default() }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// What a row of an event may lack at most; None: all its rows are whole.
    pub(crate) fn lacking(&self, event: usize) -> Option<Sum> {
        self.lacking.get(&event).copied()
    }

    /// Whether rows must go before more come. Accesses are several to a row,
    /// of so many kinds.
    #[inline]
    pub(crate) fn is_short(&self, rows: usize, kinds: usize) -> bool {
        rows > self.most
            || self.accesses > self.most.max(kinds * 2)
            || self.sites.saturating_mul(SITE) > self.most
    }

    /// Joins the lesser half of the rows, or more if they are as many as
    /// others, into one an event.
    pub(crate) fn make(
        &mut self,
        tally: &mut RowTally,
        events: &[Event],
        chance: &mut SeededRandom,
    ) -> Result<(), Error> {
        let rows = std::mem::replace(tally, RowTally::new(0)).into_rows();
        let wholes = wholes(&rows, events);
        let share = |event: usize, sum: &Sum| {
            let weighting = events.get(event).map_or(Weighting::Count, |event| event.weighting);
            share(sum.weight(weighting), wholes.get(&event).copied().unwrap_or(0))
        };
        let mut shares: Vec<u64> = rows.sums().map(|(event, sum)| share(event, sum)).collect();
        let middle = shares.len() / 2;
        let least = *shares.select_nth_unstable(middle).1;
        drop(shares);
        let mut dropped: FxHashMap<usize, Sum> = FxHashMap::default();
        *tally = rows.counted(
            |event, values, sum| {
                if is_not_kept(values) || share(event, sum) > least {
                    return;
                }
                let most = dropped.entry(event).or_default();
                most.count = most.count.max(sum.count);
                most.period = most.period.max(sum.period);
                values.fill(KeyValue::NOT_KEPT);
            },
            chance,
        )?;
        for (event, most) in dropped {
            self.lacking.entry(event).or_default().join(most);
        }
        self.accesses = tally.counts().map(|row| row.accesses().count()).sum();
        self.sites = tally.counts().filter(|row| row.site().is_some()).count();
        Ok(())
    }
}

/// By event: what shares are of.
fn wholes(rows: &CountedRows, events: &[Event]) -> FxHashMap<usize, u64> {
    let mut wholes: FxHashMap<usize, u64> = FxHashMap::default();
    for (event, sum) in rows.sums() {
        let weighting = events.get(event).map_or(Weighting::Count, |event| event.weighting);
        let whole = wholes.entry(event).or_default();
        *whole = whole.saturating_add(sum.weight(weighting));
    }
    wholes
}

/// A part of a whole as a number that ascends with it. Rows of several events
/// share the room: an event with few samples keeps its rows.
fn share(part: u64, whole: u64) -> u64 {
    // As their bits numbers ascend that are not negative.
    crate::share_interval::ratio(part, whole).to_bits()
}
