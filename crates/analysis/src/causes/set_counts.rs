//! Which sets of a cache the lines of samples are in.

/// Samples that are looked at together: a walk that stays in one set for a while
/// and goes on to the next one is in few sets at a time, and in all of them in
/// the end.
const WINDOW: u64 = 128;

/// Misses by the set of their line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetCounts {
    counts: Vec<u64>,
    /// Those of the last up to [`WINDOW`] samples.
    now: Vec<u64>,
    in_window: u64,
    /// Pairs of samples of one window, and those of them that are in one set.
    pairs: u64,
    met: u64,
}

impl SetCounts {
    pub(crate) fn new(sets: usize) -> SetCounts {
        let none = vec![0; sets.max(1)];
        SetCounts { counts: none.clone(), now: none, in_window: 0, pairs: 0, met: 0 }
    }

    pub(crate) fn add(&mut self, line: u64) {
        let sets = self.counts.len() as u64;
        let Ok(set) = usize::try_from(line % sets) else { return };
        self.counts[set] += 1;
        // Each sample makes a pair with each before it.
        self.met += self.now[set];
        self.pairs += self.in_window;
        self.now[set] += 1;
        self.in_window += 1;
        if self.in_window == WINDOW {
            self.now.fill(0);
            self.in_window = 0;
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many sets, all of them alike, would have as much chance that two
    /// samples of a while meet in one: 1 where all lie in one set. Without bias:
    /// pairs of different samples are counted (Simpson 1949). None: fewer than
    /// two samples, or none of them met.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
    pub(crate) fn effective(&self) -> Option<f64> {
        (self.met > 0).then(|| self.pairs as f64 / self.met as f64)
    }

    /// The sets that have most, until they have this share of all, in order of
    /// their numbers.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
    pub(crate) fn fullest(&self, share: f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_by_key(|set| (std::cmp::Reverse(self.counts[*set]), *set));
        let enough = self.total() as f64 * share;
        let mut sum = 0;
        let mut fullest: Vec<usize> = Vec::new();
        for set in order {
            if sum as f64 >= enough {
                break;
            }
            sum += self.counts[set];
            fullest.push(set);
        }
        fullest.sort_unstable();
        fullest
    }
}

#[cfg(test)]
mod tests {
    use super::SetCounts;

    #[test]
    fn nodes_in_one_set_are_in_one_set() {
        let mut counts = SetCounts::new(64);
        (0..512).for_each(|node| counts.add(3 + node * 128));
        assert_eq!(counts.effective(), Some(1.0));
        assert_eq!(counts.fullest(0.95), [3]);
    }

    #[test]
    fn a_walk_by_columns_is_in_few_sets_at_a_time() {
        let mut counts = SetCounts::new(64);
        for column in 0..256_u64 {
            (0..256).for_each(|row| counts.add((row * 2048 + column * 8) / 64));
        }
        let effective = counts.effective().unwrap();
        assert!((1.9..2.2).contains(&effective), "{effective}");
        assert!(counts.fullest(0.95).len() > 60);
    }

    #[test]
    fn a_stream_is_in_all_sets_however_few_samples_there_are() {
        let mut counts = SetCounts::new(64);
        (0..6400).for_each(|line| counts.add(line));
        let effective = counts.effective().unwrap();
        assert!(effective >= 64.0, "{effective}");
        assert_eq!(SetCounts::new(64).effective(), None);
        assert_eq!(SetCounts::new(0).total(), 0);
    }
}
