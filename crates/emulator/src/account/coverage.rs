//! How much of a target was counted, and how well that tells the rest.

use std::ops::AddAssign;

/// What ran in bursts and between them, over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Instructions of bursts: their events are counted.
    pub counted: u64,
    /// Instructions that the model saw before bursts, to warm its caches up.
    pub warmed: u64,
    /// Instructions between, which ran without the model.
    pub bare: u64,
    /// Bursts that came to their end.
    pub bursts: u64,
    /// Events in them.
    pub events: u64,
    /// Sum of the squares of the events of each.
    pub squares: u128,
}

/// Fewer bursts say nothing about how far they differ.
const MIN_BURSTS: u64 = 10;

impl Coverage {
    /// All instructions that the target executed under the emulation.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.counted.saturating_add(self.warmed).saturating_add(self.bare)
    }

    /// How often the bursts' instructions go into all: what to multiply
    /// counts by. None: no instruction was counted.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a factor for estimates")]
    pub fn factor(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.instructions() as f64 / self.counted as f64)
    }

    /// Standard error of the estimate of all events, relative to it, from how
    /// far bursts differ: 0.05 is 5 %. What no burst happened to see, it does
    /// not know. None when there were fewer than ten bursts, or no event.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn error(&self) -> Option<f64> {
        if self.bursts < MIN_BURSTS || self.events == 0 {
            return None;
        }
        let (count, sum) = (self.bursts as f64, self.events as f64);
        let spread = (self.squares as f64 - sum * sum / count).max(0.0) / (count - 1.0);
        // Of a whole that is counted there is no doubt.
        let left = 1.0 - self.counted as f64 / self.instructions().max(1) as f64;
        Some((spread * count * left).sqrt() / sum)
    }
}

impl AddAssign for Coverage {
    fn add_assign(&mut self, more: Coverage) {
        self.counted = self.counted.saturating_add(more.counted);
        self.warmed = self.warmed.saturating_add(more.warmed);
        self.bare = self.bare.saturating_add(more.bare);
        self.bursts = self.bursts.saturating_add(more.bursts);
        self.events = self.events.saturating_add(more.events);
        self.squares = self.squares.saturating_add(more.squares);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_are_alike_tell_the_whole() {
        let alike = Coverage {
            counted: 1000,
            warmed: 1000,
            bare: 8000,
            bursts: 10,
            events: 50,
            squares: 250,
        };
        assert_eq!(alike.instructions(), 10_000);
        assert_eq!(alike.factor(), Some(10.0));
        assert_eq!(alike.error(), Some(0.0));
        // Ten bursts, one of which has all events.
        let single = Coverage { squares: 2500, ..alike };
        let error = single.error().unwrap();
        assert!((error - 0.9_f64.sqrt()).abs() < 1e-9, "{error}");
        let few = Coverage { bursts: 9, ..alike };
        assert_eq!(few.error(), None);
        assert_eq!(Coverage::default().factor(), None);
    }

    #[test]
    fn threads_add_up() {
        let one = Coverage { counted: 1, warmed: 2, bare: 3, bursts: 4, events: 5, squares: 6 };
        let mut sum = one;
        sum += one;
        let two = Coverage { counted: 2, warmed: 4, bare: 6, bursts: 8, events: 10, squares: 12 };
        assert_eq!(sum, two);
    }
}
