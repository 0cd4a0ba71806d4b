//! Numbers that look random, for which hits stay of those that were taken.

/// The same numbers in every run from one seed (xorshift64*, Vigna 2014).
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// From any seed; that of 0, which would give nothing but zeros, is
    /// another's.
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom(if seed == 0 { 0x9e37_79b9_7f4a_7c15 } else { seed })
    }

    /// A number below `limit`, not 0, each as likely as any other.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        u64::try_from((u128::from(word) * u128::from(limit)) >> 64).unwrap_or(0)
    }
}

impl Default for SeededRandom {
    fn default() -> SeededRandom {
        SeededRandom::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_below_the_limit_comes_as_often() {
        let mut chance = SeededRandom::default();
        let mut times = [0u32; 7];
        for _ in 0..70_000 {
            times[usize::try_from(chance.below(7)).unwrap()] += 1;
        }
        // 10,000 expected, standard deviation 93.
        assert!(times.iter().all(|times| times.abs_diff(10_000) < 5 * 93), "{times:?}");
        assert_eq!(chance.below(1), 0);
    }
}
