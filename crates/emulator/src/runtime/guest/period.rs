//! How many events lie between one record of a thread and its next.

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodRule {
    /// Events of a period, on average; at least 1, at most 2^63 - 1.
    pub mean: u64,
    /// Not 0: each is drawn, from 1 to 2 `mean` - 1. 0: all are `mean`.
    pub drawn: u64,
    /// Not 0: the session's [`AdaptedMean`](super::adapted_mean::AdaptedMean) takes the place of
    /// `mean`, with which a thread begins.
    pub adapted: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodState {
    pub events: u64,
    pub before: u64,
    pub random: u64,
    /// What `events` was drawn for, where the mean is adapted.
    pub mean: u64,
}

impl PeriodState {
    /// A thread's first: with another number, another sequence.
    ///
    /// Drawn like all others, it would make the first events of a thread half as likely to be
    /// sampled as later ones, and those after some `mean` more likely. So
    /// it is what an observer who comes at any time waits for the end of a
    /// period: the lower of two different numbers up to 2 `mean`. Then each event,
    /// from the first on, is a record's with a chance of 1 in `mean`.
    pub fn new(rule: PeriodRule, seed: u64, number: u64) -> PeriodState {
        if rule.drawn == 0 {
            return PeriodState { events: rule.mean, ..PeriodState::default() };
        }
        let mut random = seed;
        random = next_random(&mut random).wrapping_add(number);
        let limit = rule.mean.wrapping_mul(2);
        let one = random_below(&mut random, limit);
        let other = random_below(&mut random, limit.wrapping_sub(1));
        let other = other.wrapping_add(u64::from(other >= one));
        PeriodState { events: one.min(other).wrapping_add(1), before: 0, random, mean: rule.mean }
    }

    /// Ends it, and gives the events that its record stands for: its own; or, where the mean is
    /// adapted, the mean that it was drawn for, as each event was a record's with a chance of 1
    /// in that.
    pub fn turn(&mut self, rule: PeriodRule) -> u64 {
        let ended = self.events;
        self.before = self.before.wrapping_add(ended);
        if rule.adapted != 0 {
            self.events = memoryless(&mut self.random, self.mean);
            return self.mean;
        }
        if rule.drawn != 0 {
            let most = rule.mean.wrapping_mul(2).wrapping_sub(1);
            self.events = random_below(&mut self.random, most).wrapping_add(1);
        }
        ended
    }

    /// Takes another mean, a power of two, for the period that has just begun: whether it is
    /// another one.
    pub fn adapt(&mut self, mean: u64) -> bool {
        let changes = mean != self.mean;
        if changes {
            self.mean = mean;
            self.events = memoryless(&mut self.random, mean);
        }
        changes
    }

    /// The thread's events so far, when so many are left of this period.
    pub fn passed(&self, left: u64) -> u64 {
        self.before.wrapping_add(self.events.wrapping_sub(left))
    }
}

/// A period that each event ends with the chance of 1 in `mean`, whatever came before: where the
/// mean changes, an event that another period would make less likely, or more, is as likely.
/// `mean` is a power of two, at most 2^40.
fn memoryless(random: &mut u64, mean: u64) -> u64 {
    /// 32 bits behind the point.
    const LN_2: u128 = 2_977_044_472;
    if mean <= 1 {
        return 1;
    }
    // The negative logarithm of a number from 0 to 1, to the base of 2: squaring gives it bit by bit.
    let number = next_random(random) | 1;
    let zeros = number.leading_zeros();
    let (mut part, mut fraction) = (u128::from(number) << zeros, 0_u128);
    for _ in 0..32 {
        part = (part * part) >> 63;
        fraction <<= 1;
        if part >> 64 != 0 {
            fraction |= 1;
            part >>= 1;
        }
    }
    let exponential = ((((u128::from(zeros) + 1) << 32) - fraction) * LN_2) >> 32;
    // -1 / ln(1 - 1 / mean): its series, but for the shortest.
    let scale = match mean {
        2 => 6_196_328_019,
        4 => 14_929_561_859,
        // 2^32 / (12 mean), without a division, which can panic.
        mean => {
            let twelfth = 357_913_941_u64 >> (mean.trailing_zeros() & 63);
            (u128::from(mean) << 32) - (1 << 31) - u128::from(twelfth)
        }
    };
    u64::try_from((exponential * scale) >> 64).unwrap_or(0).wrapping_add(1)
}

/// The next number of a generator (splitmix64). States that lie less than
/// some billions apart give sequences that have nothing in common.
pub fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A number below `limit`, all as likely; 0 below 0.
pub fn random_below(state: &mut u64, limit: u64) -> u64 {
    u64::try_from((u128::from(next_random(state)) * u128::from(limit)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mean: u64) -> PeriodRule {
        PeriodRule { mean, drawn: 1, adapted: 0 }
    }

    #[test]
    fn fixed_periods_are_all_alike() {
        let rule = PeriodRule { mean: 7, drawn: 0, adapted: 0 };
        let mut period = PeriodState::new(rule, 3, 4);
        assert_eq!([period.turn(rule), period.turn(rule)], [7, 7]);
        assert_eq!((period.events, period.before, period.passed(5)), (7, 14, 16));
    }

    #[test]
    fn an_interval_of_one_is_each_event() {
        for number in 0..100 {
            let mut period = PeriodState::new(drawn(1), 99, number);
            assert_eq!([period.turn(drawn(1)), period.turn(drawn(1))], [1, 1]);
        }
    }

    #[test]
    fn the_longest_interval_has_periods_too() {
        let longest = drawn(i64::MAX.cast_unsigned());
        for number in 0..100 {
            let mut period = PeriodState::new(longest, 99, number);
            assert!(period.turn(longest) > 0 && period.turn(longest) > 0);
        }
    }

    /// Each of the first 60 events of 200,000 threads, at 1 in 10: 20,000
    /// records are due at each, with a standard deviation of 134 and of the
    /// whole range of 60 under 5 of them.
    #[test]
    fn every_event_is_as_likely_from_the_first_on() {
        let (rule, mut hits) = (drawn(10), [0_u64; 60]);
        for number in 0..200_000 {
            let mut period = PeriodState::new(rule, 42, number);
            let mut at = period.turn(rule);
            while let Some(hit) = usize::try_from(at - 1).ok().and_then(|at| hits.get_mut(at)) {
                *hit += 1;
                at += period.turn(rule);
            }
        }
        for (at, hits) in hits.into_iter().enumerate() {
            assert!((19_330..=20_670).contains(&hits), "{hits} records at event {at}");
        }
    }

    /// 19 lengths, 10,000 of each expected, 97 a standard deviation.
    #[test]
    fn every_length_is_as_likely() {
        let (rule, mut of_length) = (drawn(10), [0_u64; 20]);
        let mut period = PeriodState::new(rule, 1, 0);
        period.turn(rule);
        for _ in 0..190_000 {
            of_length[usize::try_from(period.turn(rule)).unwrap()] += 1;
        }
        assert_eq!(of_length[0], 0);
        for (length, count) in of_length.into_iter().enumerate().skip(1) {
            assert!((9_500..=10_500).contains(&count), "{count} of length {length}");
        }
    }

    /// Each of the first 60 events of 200,000 threads, whose mean is 8 after the first record and
    /// 16 after the first from the 30th event on: what the records at each stand for is 200,000 on
    /// average, with a standard deviation of 1,183 and 1,732.
    #[test]
    fn what_records_stand_for_is_every_event_whatever_the_mean() {
        let (rule, mut hits) = (PeriodRule { mean: 1, drawn: 1, adapted: 1 }, [0_u64; 60]);
        for number in 0..200_000 {
            let mut period = PeriodState::new(rule, 42, number);
            let mut at = 0;
            loop {
                at += period.events;
                let Some(hit) = usize::try_from(at - 1).ok().and_then(|at| hits.get_mut(at)) else {
                    break;
                };
                *hit += period.turn(rule);
                period.adapt(if at < 30 { 8 } else { 16 });
            }
        }
        for (at, hits) in hits.into_iter().enumerate() {
            let most = if at < 30 { 6_000 } else { 8_700 };
            assert!(hits.abs_diff(200_000) <= most, "{hits} events at {at}");
        }
    }

    /// Of a million periods the mean is 1 mean away from 0, with a standard error of a thousandth;
    /// and 1 - 1/e, 63.2 %, are no longer.
    #[test]
    fn periods_without_memory_have_their_mean() {
        for power in [1, 2, 3, 10, 30, 40] {
            let (mean, mut random, mut sum, mut short) = (1_u64 << power, 7, 0_u128, 0);
            for _ in 0..1_000_000 {
                let period = memoryless(&mut random, mean);
                sum += u128::from(period);
                short += u64::from(period <= mean);
            }
            let off = (sum / 1_000_000).abs_diff(u128::from(mean));
            assert!(off <= u128::from(mean) / 200 + 1, "{power}: {off}");
            if power > 9 {
                assert!((629_000..636_000).contains(&short), "{power}: {short}");
            }
        }
    }

    #[test]
    fn threads_and_seeds_have_sequences_of_their_own() {
        let of = |seed, number| {
            let mut period = PeriodState::new(drawn(1_000_000), seed, number);
            std::array::from_fn::<u64, 8, _>(|_| period.turn(drawn(1_000_000)))
        };
        assert_eq!(of(5, 6), of(5, 6));
        let others = [of(5, 6), of(5, 7), of(6, 6), of(6, 5)];
        for (at, one) in others.iter().enumerate() {
            let met = others[..at].iter().flatten().filter(|period| one.contains(period));
            assert_eq!(met.count(), 0, "{others:?}");
        }
    }
}
