//! Counts of all time, and of the last interval.

use analysis::report::Row;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IntervalCount {
    pub(crate) samples: u64,
    /// Events that they stand for.
    pub(crate) events: u64,
    /// Samples of the interval that `of` names.
    pub(crate) now_samples: u64,
    /// Events that those stand for.
    pub(crate) now_events: u64,
    /// The last interval in which anything came.
    pub(crate) of: u64,
    /// Samples whose latency is known.
    pub(crate) timed: u64,
    /// Their latencies, cycles.
    pub(crate) cycles: u64,
}

impl IntervalCount {
    /// Takes in what an interval counted; `of` is the interval's number.
    pub(crate) fn add(&mut self, row: &Row, of: u64) {
        if self.of != of {
            (self.of, self.now_samples, self.now_events) = (of, 0, 0);
        }
        self.samples = self.samples.saturating_add(row.count);
        self.events = self.events.saturating_add(row.period);
        self.now_samples = self.now_samples.saturating_add(row.count);
        self.now_events = self.now_events.saturating_add(row.period);
        if let Some(latency) = row.served.as_ref().and_then(|served| served.latency) {
            self.timed = self.timed.saturating_add(latency.samples);
            self.cycles = self.cycles.saturating_add(latency.cycles);
        }
    }

    /// Takes in another row; `now` is the number of the last interval.
    pub(crate) fn join(&mut self, other: &IntervalCount, now: u64) {
        self.samples = self.samples.saturating_add(other.samples);
        self.events = self.events.saturating_add(other.events);
        self.timed = self.timed.saturating_add(other.timed);
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.of = now;
        if other.of == now {
            self.now_samples = self.now_samples.saturating_add(other.now_samples);
            self.now_events = self.now_events.saturating_add(other.now_events);
        }
    }

    /// Mean latency, cycles; None: none is known.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.timed > 0).then(|| ratio(self.cycles, self.timed))
    }
}

/// One number by another; 0 by 0 is 0.
#[expect(clippy::cast_precision_loss, reason = "shares are shown with two digits")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
