//! How far it is to the next sampled byte.

use std::cell::Cell;

/// What a thread has left until the next sampled byte. In its first word are the bytes that
/// `sys::hooks` counts down by itself: never more than the rate, so that a block of that size is
/// always looked at. Zeros at first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ByteCountdown {
    left: Cell<u64>,
    /// Bytes behind these.
    beyond: Cell<u64>,
}

impl ByteCountdown {
    /// Whether a block is sampled: all of `rate` bytes and more are, of the smaller ones those
    /// that hold the byte. `draw` gives the next distance, from 1 on.
    pub(crate) fn samples(&self, bytes: u64, rate: u64, draw: impl FnOnce() -> u64) -> bool {
        if bytes >= rate {
            return true;
        }
        let mut bytes = bytes;
        loop {
            let left = self.left.get();
            if bytes < left {
                self.left.set(left - bytes);
                return false;
            }
            if self.beyond.get() == 0 {
                self.begin(draw(), rate);
                return true;
            }
            bytes -= left;
            self.begin(self.beyond.get(), rate);
        }
    }

    pub(crate) fn begin(&self, distance: u64, rate: u64) {
        self.left.set(distance.min(rate));
        self.beyond.set(distance.saturating_sub(rate));
    }

    /// No block is looked at any more, but for those of more bytes than there are.
    pub(crate) fn end(&self) {
        self.left.set(u64::MAX);
    }

    pub(crate) fn look(&self) {
        self.left.set(0);
    }
}

/// The next of a sequence of numbers (xorshift64*); `state` is never 0.
pub(crate) fn next(state: u64) -> u64 {
    let mut word = state;
    word ^= word >> 12;
    word ^= word << 25;
    word ^= word >> 27;
    word
}

/// A state of no pattern, of any word (splitmix64).
pub(crate) fn seed(word: u64) -> u64 {
    let mut mixed = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31).max(1)
}

/// Bytes to the next sampled one, `rate` on average: exponentially distributed, so that each byte
/// has the same chance whatever was before it.
pub(crate) fn distance(state: u64, rate: u64) -> i64 {
    let word = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
    // From 2^-53 to 1.
    let uniform = as_double((word >> 11).wrapping_add(1)) / as_double(1 << 53);
    let bytes = -ln(uniform) * as_double(rate);
    // Between 0 and 2^62 whatever the rate.
    #[allow(clippy::cast_possible_truncation, reason = "`as` stops at the ends")]
    let whole = bytes as i64;
    whole.clamp(0, 1 << 62)
}

#[allow(clippy::cast_precision_loss, reason = "what is above 2^53 is rounded")]
fn as_double(word: u64) -> f64 {
    word as f64
}

/// The natural logarithm of a normal number above 0, right to 12 digits: the library loads no libm
/// into the program.
fn ln(of: f64) -> f64 {
    let bits = of.to_bits();
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1023;
    // From 1 to 2.
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    // ln m = 2 artanh((m - 1)/(m + 1)), of at most 1/3.
    let part = (mantissa - 1.0) / (mantissa + 1.0);
    let square = part * part;
    let mut sum = 0.0;
    for odd in (0..13).rev() {
        sum = sum * square + 1.0 / f64::from(2 * odd + 1);
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * part * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        for of in
            [f64::from_bits(1 << 52), 2f64.powi(-53), 1e-9, 0.1, 0.5, 0.999_999, 1.0, 7.5, 1e300]
        {
            let (found, right) = (ln(of), of.ln());
            assert!(
                (found - right).abs() <= 1e-12 * right.abs().max(1.0),
                "{of}: {found}, {right}"
            );
        }
    }

    #[test]
    fn blocks_are_sampled_by_their_bytes_and_large_ones_always() {
        let rate = 1000;
        let mut state = seed(9);
        let mut draw = || {
            state = next(state);
            distance(state, rate).unsigned_abs() + 1
        };
        let countdown = ByteCountdown::default();
        countdown.begin(draw(), rate);
        for size in [1, 16, 100, 999] {
            let (mut sampled, blocks) = (0, 3_000_000 / size);
            for number in 0..blocks {
                assert!(countdown.left.get() <= rate);
                sampled += i32::from(countdown.samples(size, rate, &mut draw));
                // These are nobody's bytes.
                assert!(number % 7 > 0 || countdown.samples(rate, rate, || 0));
            }
            let chance = -(-(size as f64) / 1000.0).exp_m1();
            let right = blocks as f64 * chance;
            assert!(
                (f64::from(sampled) - right).abs() < 5.0 * right.sqrt(),
                "{size}: {sampled}, {right}"
            );
        }
        assert!(!countdown.samples(0, rate, &mut draw));
        countdown.look();
        assert_eq!(countdown.left.get(), 0);
        countdown.end();
        assert!(!countdown.samples(999, rate, || 0));
    }

    /// The same numbers in each run.
    #[test]
    fn distances_are_the_rate_on_average() {
        let (rate, draws) = (1000, 200_000);
        let mut state = seed(7);
        let (mut sum, mut beyond) = (0, 0);
        for _ in 0..draws {
            state = next(state);
            let distance = distance(state, rate);
            sum += distance;
            beyond += i32::from(distance >= 1000);
        }
        let mean = sum / draws;
        assert!((985..=1015).contains(&mean), "{mean}");
        let share = f64::from(beyond) / 200_000.0;
        assert!((share - (-1f64).exp()).abs() < 0.01, "{share}");
        assert_eq!(distance(u64::MAX, u64::MAX).signum(), 1);
    }
}
