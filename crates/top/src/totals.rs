//! Intervals, added up event by event.

use crate::interval_count::IntervalCount;
use crate::view_kind::{NO_LINE, ViewKind, with_line};
use analysis::Weighting;
use analysis::report::{
    Cell, EventReport, MissingValue, PeriodUnit, RecorderLedger, Report, SamplingMode,
};
use rustc_hash::FxHashMap;

/// Rows that are told apart, of all events; what comes beyond is one row more.
pub const MOST_ROWS: usize = 200_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct TopTotals {
    /// In the order in which samples of them came.
    pub(crate) events: Vec<EventTotals>,
    /// Samples that records in the stream say were lost.
    pub(crate) lost: u64,
    pub(crate) throttled: u64,
    pub(crate) intervals: u64,
    /// Seconds of all of them.
    pub(crate) seconds: f64,
    /// Seconds of the last one.
    pub(crate) now_seconds: f64,
    rows: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct EventTotals {
    pub(crate) name: String,
    pub(crate) sampling: SamplingMode,
    pub(crate) unit: PeriodUnit,
    pub(crate) weighting: Weighting,
    /// Samples in the stream, whether counted or not.
    pub(crate) delivered: u64,
    pub(crate) sum: IntervalCount,
    pub(crate) without_line: IntervalCount,
    /// The recorder's own account, once it has ended.
    pub(crate) ledger: Option<RecorderLedger>,
    /// By the cells of [`crate::sampled_keys`].
    pub(crate) rows: FxHashMap<Vec<Cell>, IntervalCount>,
}

impl TopTotals {
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
            without_line: IntervalCount::default(),
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
            if cells.last() == Some(&NO_LINE) {
                self.without_line.add(row, of);
            }
            let cells = match has_room || self.rows.contains_key(&cells) {
                true => cells,
                false => vec![Cell::Missing(MissingValue::NotKept); cells.len()],
            };
            self.rows.entry(cells).or_default().add(row, of);
        }
        self.rows.len() - before
    }

    /// What the shares of a view are of, over all time and in the interval `now`: all rows that
    /// its key was looked up of.
    pub(crate) fn whole(&self, kind: ViewKind, now: u64) -> [u64; 2] {
        let less = match kind {
            ViewKind::Lines => self.without_line,
            _ => IntervalCount::default(),
        };
        let of_now = |count: &IntervalCount| match count.of == now {
            true => self.now_weight(count),
            false => 0,
        };
        let sum = &self.sum;
        [
            self.weight(sum).saturating_sub(self.weight(&less)),
            of_now(sum).saturating_sub(of_now(&less)),
        ]
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

    /// What was counted before lines were looked up has no part in their shares.
    #[test]
    fn shares_of_lines_are_of_rows_that_have_one() {
        use crate::seen_rows::{RowQuestion, seen_rows};
        let mut before = row("sort", 1, 90);
        before.cells.pop();
        let mut totals = TopTotals::default();
        totals.add(&report(vec![before], 0), 1.0);
        totals.add(&report(vec![row("sort", 1, 30), row("walk", 1, 10)], 0), 1.0);
        let event = &totals.events[0];
        let now = totals.intervals;
        assert_eq!(event.whole(ViewKind::Lines, now), [40, 40]);
        assert_eq!(event.whole(ViewKind::Sites, now), [130, 40]);
        let kind = ViewKind::Lines;
        let rows = seen_rows(event, RowQuestion { kind, by_thread: false, filter: "", now });
        let mut weights: Vec<_> = rows.iter().map(|row| (row.count.samples, row.weight)).collect();
        weights.sort_unstable();
        assert_eq!(weights, [(10, 10), (30, 30), (90, 0)]);
    }

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
