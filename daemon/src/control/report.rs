//! What a worker says of itself: numbers, in a fixed order.

use recorder::session::ledger::Lost;

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

const DRAINS: usize = DRAIN_BOUNDS.len() + 1;
const FILLS: usize = FILL_BOUNDS.len() + 1;
const LOST_AT: usize = WorkerMetric::COUNT;
const DRAINS_AT: usize = LOST_AT + Lost::CAUSES;
const FILLS_AT: usize = DRAINS_AT + DRAINS;
pub(super) const WORDS: usize = FILLS_AT + FILLS;
pub(crate) const REPORT_BYTES: usize = 8 * WORDS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerReport {
    pub(super) words: [u64; WORDS],
}

impl Default for WorkerReport {
    fn default() -> WorkerReport {
        WorkerReport { words: [0; WORDS] }
    }
}

impl WorkerReport {
    pub(crate) fn get(&self, metric: WorkerMetric) -> u64 {
        self.words[metric as usize]
    }

    pub(crate) fn set(&mut self, metric: WorkerMetric, value: u64) {
        self.words[metric as usize] = value;
    }

    pub(crate) fn lost(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Lost::default().causes().map(|(name, _)| name);
        names.into_iter().zip(self.words[LOST_AT..DRAINS_AT].iter().copied())
    }

    /// Drains by duration, as [`DRAIN_BOUNDS`] divides them.
    pub(crate) fn drains(&self) -> &[u64] {
        &self.words[DRAINS_AT..FILLS_AT]
    }

    /// Drains by how full the fullest ring was, as [`FILL_BOUNDS`] divides
    /// them.
    pub(crate) fn fills(&self) -> &[u64] {
        &self.words[FILLS_AT..]
    }

    /// Takes both what another worker has counted and what it has.
    pub(crate) fn add(&mut self, other: &WorkerReport) {
        for (sum, more) in self.words.iter_mut().zip(other.words) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Takes what another worker has counted, and nothing of what it has.
    pub(crate) fn add_counts(&mut self, other: &WorkerReport) {
        for (sum, more) in
            self.words.iter_mut().zip(other.words).skip(WorkerMetric::Samples as usize)
        {
            *sum = sum.saturating_add(more);
        }
    }

    pub(crate) fn encode(&self) -> [u8; REPORT_BYTES] {
        let mut bytes = [0; REPORT_BYTES];
        for (to, metric) in bytes.chunks_exact_mut(8).zip(self.words) {
            to.copy_from_slice(&metric.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<WorkerReport> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: [[u8; 8]; WORDS] = words.try_into().ok()?;
        Some(WorkerReport { words: words.map(u64::from_ne_bytes) })
    }
}

/// Where a loss of this place in `Lost::causes` is counted.
pub(super) fn lost_at(cause: usize) -> usize {
    LOST_AT + cause
}

pub(super) fn drain_at(microseconds: u64) -> usize {
    DRAINS_AT + DRAIN_BOUNDS.iter().take_while(|&&bound| microseconds > u64::from(bound)).count()
}

pub(super) fn fill_at(per_mille: u64) -> usize {
    FILLS_AT + FILL_BOUNDS.iter().take_while(|&&bound| per_mille > u64::from(bound)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_out_as_they_went_in() {
        let mut report = WorkerReport::default();
        for (index, metric) in report.words.iter_mut().enumerate() {
            *metric = u64::MAX - index as u64;
        }
        assert_eq!(WorkerReport::decode(&report.encode()), Some(report.clone()));
        assert_eq!(WorkerReport::decode(&report.encode()[8..]), None);
        assert_eq!(WorkerReport::decode(&[]), None);
    }

    #[test]
    fn of_a_worker_that_is_gone_counts_stay() {
        let (mut sum, mut gone) = (WorkerReport::default(), WorkerReport::default());
        gone.set(WorkerMetric::Sessions, 3);
        gone.set(WorkerMetric::Samples, 10);
        gone.words[lost_at(0)] = 7;
        sum.add_counts(&gone);
        sum.add_counts(&gone);
        assert_eq!((sum.get(WorkerMetric::Sessions), sum.get(WorkerMetric::Samples)), (0, 20));
        assert_eq!(sum.words[lost_at(0)], 14);
    }

    #[test]
    fn every_duration_and_level_has_its_place() {
        assert_eq!(drain_at(0), DRAINS_AT);
        assert_eq!(drain_at(100), DRAINS_AT);
        assert_eq!(drain_at(101), DRAINS_AT + 1);
        assert_eq!(drain_at(u64::MAX), FILLS_AT - 1);
        assert_eq!(fill_at(0), FILLS_AT);
        assert_eq!(fill_at(1000), WORDS - 1);
    }
}
