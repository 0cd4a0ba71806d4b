//! How far apart the addresses are that one instruction misses on, one after
//! the other.

/// Differences that are told apart; of more, those that come often stay (Misra
/// and Gries 1982).
const KEPT: usize = 16;

/// Differences of successive addresses, the frequent ones with a lower bound of
/// their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepSizes {
    counts: Vec<StepCount>,
    total: u64,
    /// Of all differences; divides each of them.
    divisor: u64,
}

/// A difference of addresses and how often it came at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepCount {
    pub(crate) bytes: i64,
    pub(crate) count: u64,
}

impl StepSizes {
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        let bytes = to.wrapping_sub(from).cast_signed();
        self.total += 1;
        self.divisor = divisor(self.divisor, bytes.unsigned_abs());
        if let Some(known) = self.counts.iter_mut().find(|it| it.bytes == bytes) {
            known.count += 1;
        } else if self.counts.len() < KEPT {
            self.counts.push(StepCount { bytes, count: 1 });
        } else {
            self.counts.iter_mut().for_each(|it| it.count -= 1);
            self.counts.retain(|it| it.count > 0);
        }
    }

    /// The difference that comes most, and the share of steps that it has at
    /// least, 0 to 1; None: no steps.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
    pub(crate) fn commonest(&self) -> Option<(i64, f64)> {
        let most = self.counts.iter().max_by_key(|it| (it.count, std::cmp::Reverse(it.bytes)))?;
        Some((most.bytes, most.count as f64 / self.total as f64))
    }

    /// The greatest number of bytes that all steps are multiples of; 0: none, or
    /// all stayed where they were.
    pub(crate) fn divisor(&self) -> u64 {
        self.divisor
    }
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::StepSizes;

    #[test]
    fn a_walk_by_columns_has_the_rows_length() {
        let mut steps = StepSizes::default();
        for column in 0..4_u64 {
            for row in 1..256_u64 {
                steps.add((row - 1) * 2048 + column * 8, row * 2048 + column * 8);
            }
            steps.add(255 * 2048 + column * 8, (column + 1) * 8);
        }
        let (bytes, share) = steps.commonest().unwrap();
        assert_eq!(bytes, 2048);
        assert!(share > 0.99, "{share}");
        assert_eq!(steps.divisor(), 8);
    }

    #[test]
    fn one_that_is_frequent_is_found_among_many() {
        let mut steps = StepSizes::default();
        for step in 0..3000_u64 {
            steps.add(0, if step % 2 == 0 { 64 } else { 1000 + step * 8 });
        }
        assert_eq!(steps.commonest().map(|(bytes, _)| bytes), Some(64));
        assert_eq!(StepSizes::default().commonest(), None);
    }
}
