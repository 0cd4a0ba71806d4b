//! Intervals, added up event by event.

use crate::interval_count::IntervalCount;
use crate::view_kind::with_line;
use analysis::Weighting;
use analysis::report::{
    Cell, EventReport, MissingValue, PeriodUnit, RecorderLedger, Report, SamplingMode,
};
use rustc_hash::FxHashMap;

/// Rows that are told apart, of all events; what comes beyond is one row more.
pub const MOST_ROWS: usize = 200_000;

/// All that was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopTotals {
    /// In the order in which samples of them came.
    pub(crate) events: Vec<EventTotals>,
    /// Samples that records in the stream say were lost.
    pub(crate) lost: u64,
    /// Times that the kernel throttled.
    pub(crate) throttled: u64,
    /// Intervals.
    pub(crate) intervals: u64,
    /// Seconds of all of them.
    pub(crate) seconds: f64,
    /// Seconds of the last one.
    pub(crate) now_seconds: f64,
    rows: usize,
}

/// All that was counted of one event.
#[derive(Clone, Debug)]
pub(crate) struct EventTotals {
    pub(crate) name: String,
    pub(crate) sampling: SamplingMode,
    pub(crate) unit: PeriodUnit,
    pub(crate) weighting: Weighting,
    /// Samples in the stream, whether counted or not.
    pub(crate) delivered: u64,
    /// Of all rows.
    pub(crate) sum: IntervalCount,
    /// The recorder's own account, once it has ended.
    pub(crate) ledger: Option<RecorderLedger>,
    /// By the cells of [`crate::sampled_keys`].
    pub(crate) rows: FxHashMap<Vec<Cell>, IntervalCount>,
}

impl TopTotals {
    /// Takes in what an interval of so many seconds counted.
    pub(crate) fn add(&mut self, report: &Report, seconds: f64) {
        self.intervals += 1;
        (self.seconds, self.now_seconds) = (self.seconds + seconds, seconds);
        let losses = &report.losses;
        let lost = losses.lost.saturating_add(losses.lost_samples);
        self.lost = self.lost.saturating_add(lost);
        self.throttled = self.throttled.saturating_add(losses.throttled);
        for event in &report.events {
            let at = self.place(event);
            let (of, room) = (self.intervals, MOST_ROWS.saturating_sub(self.rows));
            self.rows += self.events[at].add(event, of, room);
        }
    }

    fn place(&mut self, event: &EventReport) -> usize {
        let found = self.events.iter().position(|known| known.name == event.name);
        found.unwrap_or_else(|| {
            self.events.push(EventTotals::new(event));
            self.events.len() - 1
        })
    }
}

impl EventTotals {
    fn new(event: &EventReport) -> EventTotals {
        EventTotals {
            name: event.name.clone(),
            sampling: event.sampling,
            unit: event.unit,
            weighting: event.weighting,
            delivered: 0,
            sum: IntervalCount::default(),
            ledger: None,
            rows: FxHashMap::default(),
        }
    }

    /// Takes in an interval, and so many rows more at most; gives how many.
    fn add(&mut self, event: &EventReport, of: u64, room: usize) -> usize {
        self.weighting = event.weighting;
        self.delivered = self.delivered.saturating_add(event.totals.samples);
        self.ledger = event.ledger.clone().or(self.ledger.take());
        let before = self.rows.len();
        for row in &event.rows {
            self.sum.add(row, of);
            let has_room = self.rows.len() < before.saturating_add(room);
            let cells = with_line(&row.cells);
            let cells = match has_room || self.rows.contains_key(&cells) {
                true => cells,
                false => vec![Cell::Missing(MissingValue::NotKept); cells.len()],
            };
            self.rows.entry(cells).or_default().add(row, of);
        }
        self.rows.len() - before
    }

    /// What shares are shares of: samples, or events that they stand for.
    pub(crate) fn weight(&self, count: &IntervalCount) -> u64 {
        match self.weighting {
            Weighting::Count => count.samples,
            Weighting::Period => count.events,
        }
    }

    /// The same of the last interval.
    pub(crate) fn now_weight(&self, count: &IntervalCount) -> u64 {
        match self.weighting {
            Weighting::Count => count.now_samples,
            Weighting::Period => count.now_events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted_report::{report, row};

    #[test]
    fn more_rows_than_there_is_room_for_are_one() {
        let mut totals = TopTotals::default();
        totals.add(&report(vec![row("sort", 1, 90), row("walk", 1, 10)], 0), 1.0);
        let event = &mut totals.events[0];
        let more = report(vec![row("a", 1, 1), row("bc", 1, 2), row("sort", 1, 3)], 0);
        assert_eq!(event.add(&more.events[0], 2, 0), 1);
        let mut counts: Vec<u64> = event.rows.values().map(|count| count.samples).collect();
        counts.sort_unstable();
        assert_eq!((counts, event.sum.samples), (vec![3, 10, 93], 106));
    }
}
