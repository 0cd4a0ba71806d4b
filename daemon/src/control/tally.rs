//! What a worker counts, while it runs: session threads add, its main thread
//! reads. Nobody waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recorder::session::ledger::{Ledger, Lost};

use super::report::{WORDS, WorkerMetric, WorkerReport, drain_at, fill_at, lost_at};

/// Samples that came to the clients of a session; each client counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSamples {
    pub(crate) given: u64,
    pub(crate) dropped: u64,
}

#[derive(Debug)]
pub(crate) struct WorkerTally {
    words: [AtomicU64; WORDS],
}

/// What a session has told already, so that only what is new is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportedCounts {
    /// By [`WorkerMetric`], those that sessions tell.
    words: [u64; 7],
    lost: Lost,
}

impl Default for WorkerTally {
    fn default() -> WorkerTally {
        WorkerTally { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl WorkerTally {
    pub(crate) fn add(&self, metric: WorkerMetric, more: u64) {
        self.add_at(metric as usize, more);
    }

    fn add_at(&self, index: usize, more: u64) {
        if more > 0 {
            self.words[index].fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Adds what a session has gained since it told last: its ledger, and
    /// the samples that its clients were given and had no room for.
    pub(crate) fn add_new(
        &self,
        reported: &mut ReportedCounts,
        ledger: &Ledger,
        sent: ClientSamples,
    ) {
        let time = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = [
            (WorkerMetric::Samples, ledger.delivered),
            (WorkerMetric::Side, ledger.side_delivered),
            (WorkerMetric::SideLost, ledger.side_lost),
            (WorkerMetric::Throttled, ledger.throttled),
            (WorkerMetric::Enabled, time(ledger.enabled)),
            (WorkerMetric::Running, time(ledger.running)),
            (WorkerMetric::Delivered, sent.given),
        ];
        for ((metric, now), before) in now.into_iter().zip(&mut reported.words) {
            self.add(metric, now.saturating_sub(*before));
            *before = now;
        }
        let lost = Lost { queue: ledger.lost.queue + sent.dropped, ..ledger.lost };
        let causes = lost.causes().into_iter().zip(reported.lost.causes());
        for (cause, ((_, now), (_, before))) in causes.enumerate() {
            self.add_at(lost_at(cause), now.saturating_sub(before));
        }
        reported.lost = lost;
    }

    /// One drain of all of a session's rings, the fullest of which was so
    /// full.
    pub(crate) fn drained(&self, took: Duration, fullest_per_mille: u64) {
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.add(WorkerMetric::DrainTime, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.add(WorkerMetric::FillSum, fullest_per_mille);
        self.add_at(drain_at(microseconds), 1);
        self.add_at(fill_at(fullest_per_mille), 1);
    }

    /// The sums so far; what there is now (sessions, clients) is for the
    /// caller to add.
    pub(crate) fn report(&self) -> WorkerReport {
        let load = |index: usize| self.words[index].load(Ordering::Relaxed);
        WorkerReport { words: std::array::from_fn(load) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_not_told_again() {
        let tally = WorkerTally::default();
        let (mut reported, mut ledger) = (ReportedCounts::default(), Ledger::default());
        ledger.delivered = 5;
        ledger.lost.ring = 2;
        tally.add_new(&mut reported, &ledger, ClientSamples { given: 8, dropped: 1 });
        ledger.delivered = 7;
        let sent = ClientSamples { given: 10, dropped: 1 };
        ledger.lost.stop = 1;
        tally.add_new(&mut reported, &ledger, sent);
        tally.add_new(&mut reported, &ledger, sent);
        let report = tally.report();
        assert_eq!(
            (report.get(WorkerMetric::Samples), report.get(WorkerMetric::Delivered)),
            (7, 10)
        );
        let lost = Lost { ring: 2, queue: 1, stop: 1, ..Lost::default() }.causes();
        for (cause, (_, count)) in lost.into_iter().enumerate() {
            assert_eq!(report.words[lost_at(cause)], count);
        }
    }

    #[test]
    fn drains_are_counted_by_duration_and_level() {
        let tally = WorkerTally::default();
        tally.drained(Duration::from_micros(50), 5);
        tally.drained(Duration::from_millis(2), 800);
        let report = tally.report();
        let counted = [drain_at(50), drain_at(2000), fill_at(5), fill_at(800)];
        assert_eq!(counted.map(|at| report.words[at]), [1; 4]);
        assert_eq!(
            (report.get(WorkerMetric::DrainTime), report.get(WorkerMetric::FillSum)),
            (2_050_000, 805)
        );
    }
}
