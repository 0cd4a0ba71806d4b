//! How many distinct lines there are, estimated from those that were sampled.

use rustc_hash::FxHashMap;

/// Distinct lines are counted up to this many; an instruction that misses on more
/// has a working set of 64 MiB.
const MOST: usize = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    counts: FxHashMap<u64, u32>,
}

impl Footprint {
    pub(crate) fn add(&mut self, line: u64) {
        if self.counts.len() < MOST || self.counts.contains_key(&line) {
            let count = self.counts.entry(line).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Lines that were sampled; at least so many where some are not kept.
    pub(crate) fn sampled(&self) -> u64 {
        self.counts.len() as u64
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of lines are at most 2^20")]
    fn times(&self, times: u32) -> f64 {
        self.counts.values().filter(|count| **count == times).count() as f64
    }

    /// At least so many lines there are (Chao 1984, without bias): those that were
    /// sampled, and those that were not, by how many were sampled once and
    /// twice. Sound for samples that were drawn at random. None: no line was
    /// sampled twice, and there may be any number.
    #[expect(clippy::cast_precision_loss, reason = "counts of lines are at most 2^20")]
    pub(crate) fn estimated(&self) -> Option<f64> {
        let (once, twice) = (self.times(1), self.times(2));
        let unseen = once * (once - 1.0).max(0.0) / (2.0 * (twice + 1.0));
        (once < self.sampled() as f64).then(|| self.sampled() as f64 + unseen)
    }
}

#[cfg(test)]
mod tests {
    use super::Footprint;

    #[test]
    fn lines_that_were_not_sampled_are_estimated() {
        let mut state = 7_u64;
        let mut footprint = Footprint::default();
        for _ in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            footprint.add((state >> 33) % 8192);
        }
        assert!(footprint.sampled() < 3600, "{}", footprint.sampled());
        let estimated = footprint.estimated().unwrap();
        assert!((6500.0..9800.0).contains(&estimated), "{estimated} of 8192");
    }

    #[test]
    fn all_lines_sampled_often_are_all() {
        let mut footprint = Footprint::default();
        (0..640).for_each(|sample| footprint.add(sample % 64));
        assert_eq!(footprint.estimated(), Some(64.0));
        let mut once = Footprint::default();
        (0..100).for_each(|line| once.add(line));
        assert_eq!(once.estimated(), None, "nothing came twice");
    }
}
