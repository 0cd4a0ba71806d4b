//! What slices of time say of the whole, of which an event saw a part.

use crate::metrics::{Estimate, Figure, NotCounted};

/// Fewer slices do not tell how far a program's may differ: of bursts of 1 to
/// 2 ms, each 10 to 40 ms, 23 of them held the truth 77 to 90 times of 100, 46
/// 94 to 96, 93 of them 95 to 98 (simulated, docs/stat.md).
const MIN_SLICES: u64 = 100;
/// How often the truth may be outside of the bounds of an even program: with
/// so little, 95 of 100 hold it where few bursts make most of the count.
const RISK: f64 = 0.01;

/// Sums over slices of time: in each an event was enabled for a while, on a
/// counter for a part of it, and counted in that part.
///
/// The rate while it was on the counter, times the time that it was enabled,
/// is the estimate of the whole (a ratio estimator). How far the slices'
/// counts are from that rate, with Student's t for so many slices and
/// with the part that was seen taken out, gives the bounds; they are no
/// nearer than those of events that fall into the seen part by chance.
/// Of a program whose phases keep step with the kernel's turns (4 ms each)
/// no such bounds hold: `--passes` counts it whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceSums {
    /// Slices in which it was on a counter.
    slices: u64,
    /// Events.
    pub counted: u64,
    /// Nanoseconds.
    pub enabled: u64,
    /// Nanoseconds.
    pub running: u64,
    /// The most events of a slice.
    largest: u64,
    counts_squared: f64,
    counts_by_time: f64,
    time_squared: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSlice {
    /// Events.
    pub counted: u64,
    /// Nanoseconds.
    pub enabled: u64,
    /// Nanoseconds.
    pub running: u64,
}

#[expect(clippy::cast_precision_loss, reason = "estimates")]
fn real(number: u64) -> f64 {
    number as f64
}

impl SliceSums {
    pub fn add(&mut self, slice: TimeSlice) {
        self.counted += slice.counted;
        self.enabled += slice.enabled;
        self.running += slice.running;
        if slice.running == 0 {
            return;
        }
        self.slices += 1;
        self.largest = self.largest.max(slice.counted);
        let (count, time) = (real(slice.counted), real(slice.running));
        self.counts_squared += count * count;
        self.counts_by_time += count * time;
        self.time_squared += time * time;
    }

    /// Whether it was on a counter all the time.
    pub fn is_whole(&self) -> bool {
        self.running >= self.enabled
    }

    /// The whole's count, by these parts of it, such as those of several CPUs.
    pub fn figure(parts: &[SliceSums]) -> Figure {
        let never_ran = parts.iter().all(|part| part.enabled == 0);
        if parts.is_empty() || !never_ran && parts.iter().all(|part| part.running == 0) {
            return Err(NotCounted::Never);
        }
        let seen: u64 = parts.iter().map(|part| part.counted).sum();
        if parts.iter().all(SliceSums::is_whole) {
            return Ok(Estimate::exact(real(seen)));
        }
        let value: f64 = parts.iter().map(SliceSums::scaled).sum();
        let error = parts.iter().map(SliceSums::square_of_error).sum::<f64>().sqrt();
        let unseen: f64 = parts.iter().map(SliceSums::may_be_unseen).sum();
        let is_unbounded = parts.iter().any(|part| !part.is_whole() && part.slices < MIN_SLICES);
        // What was seen has happened.
        let seen = real(seen);
        if is_unbounded {
            return Ok(Estimate { value, low: seen.min(value), high: f64::INFINITY });
        }
        let low = (value - error).max(seen).min(value);
        Ok(Estimate { value, low, high: value + error + unseen })
    }

    /// Share of the time that it was on a counter.
    fn share(&self) -> f64 {
        real(self.running) / real(self.enabled)
    }

    fn scaled(&self) -> f64 {
        match self.running {
            0 => 0.0,
            _ if self.is_whole() => real(self.counted),
            _ => real(self.counted) / self.share(),
        }
    }

    /// Of the bounds' distance, events.
    fn square_of_error(&self) -> f64 {
        if self.is_whole() || self.slices < 2 {
            return 0.0;
        }
        let (slices, share) = (real(self.slices), self.share());
        let rate = real(self.counted) / real(self.running);
        let residuals = self.counts_squared - 2.0 * rate * self.counts_by_time
            + rate * rate * self.time_squared;
        let between = residuals.max(0.0) * slices / (slices - 1.0);
        let by_chance = real(self.counted);
        let variance = (1.0 - share) / (share * share) * between.max(by_chance);
        let t = student(slices - 1.0);
        variance * t * t
    }

    /// So many events may have happened without one being seen; of a program
    /// of few bursts one more, as large as the largest.
    fn may_be_unseen(&self) -> f64 {
        if self.is_whole() {
            return 0.0;
        }
        let chance = RISK.ln() / (1.0 - self.share()).max(f64::MIN_POSITIVE).ln();
        chance.max(real(self.largest))
    }
}

/// Student's t, two-sided 99 %, a little above it: 4.60, 3.25, 2.63 for 4, 9
/// and 100 degrees of freedom.
fn student(freedom: f64) -> f64 {
    2.58 + 5.0 / freedom + 9.0 / (freedom * freedom) + 20.0 / (freedom * freedom * freedom)
}
