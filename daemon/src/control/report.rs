//! What a worker counts while it runs, and reports of itself.

use std::time::Duration;

use recorder::session::ledger::{Ledger, Lost};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerMetric {
    Sessions,
    /// Of them, those whose thread has not moved since the last report.
    Still,
    Clients,
    /// Bytes that wait for clients.
    Queued,
    /// Samples that sessions took from their rings.
    Samples,
    /// Other records that they took.
    Side,
    /// Samples that clients were given room for; each client counts.
    Delivered,
    Started,
    Refused,
    /// Times that the kernel paused an event.
    Throttled,
    SideLost,
    /// Time that the events of ended sessions were on, nanoseconds.
    Enabled,
    /// Of it, time that they counted.
    Running,
    /// All drains together, nanoseconds.
    DrainTime,
    /// All fill levels together, per mille.
    FillSum,
    /// Times that the guard had all sessions sample half as often.
    GuardSlowed,
    /// Times that it began to let no session begin.
    GuardRefused,
    GuardStopped,
}

impl WorkerMetric {
    const COUNT: usize = WorkerMetric::GuardStopped as usize + 1;
}

/// Upper bounds of a drain's duration, microseconds; the rest is longer.
pub(crate) const DRAIN_BOUNDS: [u32; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
/// Upper bounds of the level of the fullest ring, per mille; the rest is
/// fuller.
pub(crate) const FILL_BOUNDS: [u32; 6] = [10, 100, 250, 500, 750, 900];

/// The numbers, in an order that both processes have from one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    metrics: [u64; WorkerMetric::COUNT],
    /// As `Lost::causes` has them.
    lost: [u64; Lost::CAUSES],
    drains: [u64; DRAIN_BOUNDS.len() + 1],
    fills: [u64; FILL_BOUNDS.len() + 1],
}

/// Samples that came to the clients of a session; each client counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSamples {
    pub(crate) given: u64,
    pub(crate) dropped: u64,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Which of the classes that these bounds divide a value is in.
fn class(bounds: &[u32], value: u64) -> usize {
    bounds.iter().take_while(|&&bound| value > u64::from(bound)).count()
}

impl WorkerReport {
    /// What a session has counted so far: its ledger, and the samples that its
    /// clients were given and had no room for.
    pub(crate) fn of_session(ledger: &Ledger, sent: ClientSamples) -> WorkerReport {
        let lost = Lost { queue: ledger.lost.queue + sent.dropped, ..ledger.lost };
        let lost = lost.causes().map(|(_, count)| count);
        let mut report = WorkerReport { lost, ..WorkerReport::default() };
        for (metric, value) in [
            (WorkerMetric::Samples, ledger.delivered),
            (WorkerMetric::Side, ledger.side_delivered),
            (WorkerMetric::SideLost, ledger.side_lost),
            (WorkerMetric::Throttled, ledger.throttled),
            (WorkerMetric::Enabled, nanoseconds(ledger.enabled)),
            (WorkerMetric::Running, nanoseconds(ledger.running)),
            (WorkerMetric::Delivered, sent.given),
        ] {
            report.set(metric, value);
        }
        report
    }

    pub(crate) fn get(&self, metric: WorkerMetric) -> u64 {
        self.metrics[metric as usize]
    }

    pub(crate) fn set(&mut self, metric: WorkerMetric, value: u64) {
        self.metrics[metric as usize] = value;
    }

    pub(crate) fn count(&mut self, metric: WorkerMetric, more: u64) {
        self.metrics[metric as usize] += more;
    }

    pub(crate) fn lost(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Lost::default().causes().map(|(name, _)| name).into_iter().zip(self.lost)
    }

    /// Drains by duration, as [`DRAIN_BOUNDS`] divides them.
    pub(crate) fn drains(&self) -> &[u64] {
        &self.drains
    }

    /// Drains by how full the fullest ring was, as [`FILL_BOUNDS`] divides
    /// them.
    pub(crate) fn fills(&self) -> &[u64] {
        &self.fills
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.metrics.into_iter().chain(self.lost).chain(self.drains).chain(self.fills)
    }

    fn words_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let WorkerReport { metrics, lost, drains, fills } = self;
        metrics.iter_mut().chain(lost).chain(drains).chain(fills)
    }

    /// Takes both what another worker has counted and what it has.
    pub(crate) fn add(&mut self, other: &WorkerReport) {
        for (sum, more) in self.words_mut().zip(other.words()) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Takes what another worker has counted, and nothing of what it has.
    pub(crate) fn add_counts(&mut self, other: &WorkerReport) {
        let words = self.words_mut().zip(other.words());
        for (sum, more) in words.skip(WorkerMetric::Samples as usize) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Adds what a session has counted since it `reported` last.
    pub(crate) fn add_new(&mut self, reported: &mut WorkerReport, now: WorkerReport) {
        for (sum, (now, before)) in self.words_mut().zip(now.words().zip(reported.words())) {
            *sum += now.saturating_sub(before);
        }
        *reported = now;
    }

    /// One drain of all of a session's rings, and how full the fullest was.
    pub(crate) fn drained(&mut self, took: Duration, fullest_per_mille: u64) {
        self.count(WorkerMetric::DrainTime, nanoseconds(took));
        self.count(WorkerMetric::FillSum, fullest_per_mille);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.drains[class(&DRAIN_BOUNDS, microseconds)] += 1;
        self.fills[class(&FILL_BOUNDS, fullest_per_mille)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::passed;

    #[test]
    fn the_longest_report_comes_out_as_it_went_in() {
        let mut report = WorkerReport::default();
        for (metric, value) in report.words_mut().zip((0..=u64::MAX).rev()) {
            *metric = value;
        }
        assert_eq!(passed(&report), Some(report));
    }

    #[test]
    fn of_a_worker_that_is_gone_counts_stay() {
        let (mut sum, mut gone) = (WorkerReport::default(), WorkerReport::default());
        gone.set(WorkerMetric::Sessions, 3);
        gone.set(WorkerMetric::Samples, 10);
        gone.lost[0] = 7;
        sum.add_counts(&gone);
        sum.add_counts(&gone);
        assert_eq!((sum.get(WorkerMetric::Sessions), sum.get(WorkerMetric::Samples)), (0, 20));
        assert_eq!(sum.lost[0], 14);
    }

    #[test]
    fn every_duration_and_level_has_its_place() {
        assert_eq!([0, 100, 101].map(|value| class(&DRAIN_BOUNDS, value)), [0, 0, 1]);
        assert_eq!(class(&DRAIN_BOUNDS, u64::MAX), DRAIN_BOUNDS.len());
        assert_eq!([0, 1000].map(|value| class(&FILL_BOUNDS, value)), [0, FILL_BOUNDS.len()]);
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let (mut tally, mut reported) = (WorkerReport::default(), WorkerReport::default());
        let mut ledger = Ledger { delivered: 5, ..Ledger::default() };
        ledger.lost.ring = 2;
        let sent = ClientSamples { given: 8, dropped: 1 };
        tally.add_new(&mut reported, WorkerReport::of_session(&ledger, sent));
        ledger.delivered = 7;
        ledger.lost.stop = 1;
        let sent = ClientSamples { given: 10, dropped: 1 };
        for _ in 0..2 {
            tally.add_new(&mut reported, WorkerReport::of_session(&ledger, sent));
        }
        let told = [WorkerMetric::Samples, WorkerMetric::Delivered].map(|word| tally.get(word));
        assert_eq!(told, [7, 10]);
        let lost = Lost { ring: 2, queue: 1, stop: 1, ..Lost::default() }.causes();
        assert!(tally.lost().eq(lost), "{tally:?}");
    }

    #[test]
    fn drains_are_counted_by_duration_and_level() {
        let mut tally = WorkerReport::default();
        tally.drained(Duration::from_micros(50), 5);
        tally.drained(Duration::from_millis(2), 800);
        assert_eq!(tally.drains(), [1, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(tally.fills(), [1, 0, 0, 0, 0, 1, 0]);
        let sums = [WorkerMetric::DrainTime, WorkerMetric::FillSum].map(|word| tally.get(word));
        assert_eq!(sums, [2_050_000, 805]);
    }
}
