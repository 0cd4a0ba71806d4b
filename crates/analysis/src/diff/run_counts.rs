//! One recording's counts of one event, in what they stand for.

use super::exposure::float;
use super::key_names::key_names;
use crate::query::Weighting;
use crate::report::{EventReport, Report};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct RunCounts {
    pub(super) exposure: f64,
    /// Events that a sample stands for, where samples weigh alike.
    pub(super) weight: f64,
    /// Whether samples weigh differently.
    pub(super) by_period: bool,
    /// Events that the recorder counted, where it did and all of them are meant.
    pub(super) counted: Option<f64>,
    /// Parts that were lost, 0 to 1.
    pub(super) lost: f64,
    pub(super) rows: BTreeMap<Vec<String>, RowSum>,
    pub(super) all: RowSum,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RowSum {
    pub(super) samples: u64,
    pub(super) events: f64,
    /// Of each sample's events the square.
    pub(super) squares: f64,
}

impl RowSum {
    pub(super) fn join(&mut self, other: RowSum) {
        self.samples = self.samples.saturating_add(other.samples);
        self.events += other.events;
        self.squares += other.squares;
    }
}

impl RunCounts {
    /// `of_bursts`: what was counted is of bursts, and so is `exposure`.
    pub(super) fn new(
        report: &Report,
        event: &EventReport,
        exposure: f64,
        of_bursts: bool,
    ) -> RunCounts {
        let totals = &event.totals;
        let ledger = event.ledger.as_ref();
        let bursts = ledger.and_then(|ledger| ledger.bursts).filter(|_| !of_bursts);
        let whole = bursts
            .map_or(1.0, |bursts| float(bursts.instructions()) / float(bursts.counted).max(1.0));
        let mean =
            if totals.counted == 0 { 0.0 } else { float(totals.period) / float(totals.counted) };
        // Samples that were lost stood for events, too.
        let told = mean * float(totals.samples);
        let events = ledger.and_then(|ledger| ledger.events).map(float);
        let scale = match events.filter(|_| told > 0.0) {
            Some(events) => events / told * whole,
            None => whole,
        };
        let is_all = event.filter.is_none() && report.query.filters.is_empty();
        let lost = ledger.map_or(0.0, |ledger| {
            let lost = ledger.lost.iter().filter(|(cause, _)| *cause != "count");
            let lost = float(lost.map(|(_, count)| *count).fold(0, u64::saturating_add));
            lost / (lost + float(ledger.delivered.unwrap_or(0))).max(1.0)
        });
        let mut counts = RunCounts {
            exposure,
            weight: mean * scale,
            by_period: event.weighting == Weighting::Period,
            counted: events.filter(|_| is_all && bursts.is_none()),
            lost,
            ..RunCounts::default()
        };
        for row in &event.rows {
            let sum = RowSum {
                samples: row.count,
                events: match event.weighting {
                    Weighting::Count => float(row.count) * counts.weight,
                    Weighting::Period => float(row.period) * scale,
                },
                squares: row.squares * scale * scale,
            };
            counts.all.join(sum);
            let keys = key_names(&row.keys, &row.cells, &report.chains);
            counts.rows.entry(keys).or_default().join(sum);
        }
        counts
    }
}
