//! Bursts: where a thread is between stretches whose events are counted and
//! stretches that run as they are.

use super::period::random_below;

/// What is counted of every thread: `on` instructions in each period of
/// `every`, from a place on that is drawn anew for each.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstSchedule {
    /// Instructions of a burst; at least 1, at most `every`.
    pub on: u64,
    /// Instructions of a period; 0: all is counted, always.
    pub every: u64,
    /// Instructions before a burst that the model sees and nobody counts, so
    /// that it begins with caches in use; fewer where the gap is shorter.
    pub warm: u64,
}

/// The gap between two bursts: nothing is modelled.
pub const GAP: u64 = 0;
/// The model sees it, nothing is counted.
pub const WARM: u64 = 1;
/// Counted.
pub const ON: u64 = 2;

/// The largest part of a stretch that BURST is given at once: translated code
/// looks at its upper half, which is all ones after the end.
const PART: u64 = 1 << 30;
pub const WORDS: usize = size_of::<BurstPhase>() / 8;
pub const NEVER: u64 = 1 << 62;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstPhase {
    /// GAP, WARM or ON.
    pub state: u64,
    /// Instructions of it that BURST was not given yet.
    pub left: u64,
    /// BURST as it was given last.
    pub given: u64,
    /// From the end of the burst that is next, or is on, to where the next
    /// period begins; below 0 when it ends behind.
    pub rest: i64,
    pub random: u64,
    /// Instructions that ran in GAP, WARM and ON.
    pub ran: [u64; 3],
    /// Bursts that came to their end.
    pub bursts: u64,
}

impl BurstPhase {
    /// A thread that begins at a random place of its periods.
    pub fn new(bursts: &BurstSchedule, seed: u64) -> BurstPhase {
        let mut burst_phase = BurstPhase { state: ON, random: seed, ..BurstPhase::default() };
        if bursts.every == 0 {
            return burst_phase;
        }
        // Through the whole period before, to be sure of bursts that reach
        // over its end.
        let mut skipped = bursts.every.wrapping_add(burst_phase.below(bursts.every));
        while skipped >= burst_phase.left {
            skipped -= burst_phase.left;
            burst_phase.turn(bursts);
        }
        burst_phase.left -= skipped;
        burst_phase
    }

    /// The same place for the child of a thread, with draws of its own.
    pub fn child(&self, seed: u64) -> BurstPhase {
        let BurstPhase { state, left, given, rest, .. } = *self;
        let random = self.random ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        BurstPhase { state, left, given, rest, random, ..BurstPhase::default() }
    }

    pub fn turn(&mut self, bursts: &BurstSchedule) {
        let BurstSchedule { on, every, .. } = *bursts;
        let warm = match self.state {
            ON => {
                // Where all is counted there is no gap.
                let drawn = if on < every { self.below(every) } else { 0 }.cast_signed();
                let gap = self.rest.saturating_add(drawn).max(0);
                let more = every.cast_signed().saturating_sub(on.cast_signed());
                self.rest = self.rest.saturating_add(more).saturating_sub(gap);
                let gap = gap.cast_unsigned();
                let warm = bursts.warm.min(gap);
                if gap > warm {
                    (self.state, self.left) = (GAP, gap - warm);
                    return;
                }
                warm
            }
            // Its own gap was longer than this.
            GAP => bursts.warm,
            _ => 0,
        };
        (self.state, self.left) = if warm > 0 { (WARM, warm) } else { (ON, on) };
    }

    pub fn words(&self) -> [u64; WORDS] {
        let [gap, warm, on] = self.ran;
        let BurstPhase { state, left, given, random, bursts, .. } = *self;
        [state, left, given, self.rest.cast_unsigned(), random, gap, warm, on, bursts]
    }

    pub fn of(words: [u64; WORDS]) -> BurstPhase {
        let [state, left, given, rest, random, gap, warm, on, bursts] = words;
        let (ran, rest) = ([gap, warm, on], rest.cast_signed());
        BurstPhase { state, left, given, rest, random, ran, bursts }
    }

    /// A part of the stretch for BURST, no more than `most`.
    pub fn part(&mut self, most: u64) -> u64 {
        let part = self.left.min(PART).min(most);
        self.left -= part;
        part
    }

    /// A number below `limit`, all as likely.
    fn below(&mut self, limit: u64) -> u64 {
        random_below(&mut self.random, limit)
    }
}

#[cfg(test)]
mod tests {
    //! The places of bursts, over many periods.

    use super::*;

    /// The stretches of a thread's first `limit` instructions: state and range.
    fn stretches(bursts: &BurstSchedule, seed: u64, limit: u64) -> Vec<(u64, u64, u64)> {
        let mut burst_phase = BurstPhase::new(bursts, seed);
        let mut found = Vec::new();
        let mut at = 0;
        while at < limit {
            let mut length = 0;
            while burst_phase.left > 0 {
                length += burst_phase.part(u64::MAX);
            }
            found.push((burst_phase.state, at, at + length));
            at += length;
            burst_phase.turn(bursts);
        }
        found
    }

    #[test]
    fn of_each_period_so_many_instructions_are_counted() {
        for (on, every) in [(1, 1), (1, 1000), (100, 1000), (999, 1000), (1_000_000, 1 << 40)] {
            let bursts = BurstSchedule { on, every, warm: on };
            let limit = 5000 * every;
            let all = stretches(&bursts, 7, limit);
            let counted: u64 =
                all.iter().filter(|(state, ..)| *state == ON).map(|(_, from, to)| to - from).sum();
            // The last period, and a burst that reaches over either end.
            let expected = 5000 * on;
            assert!(counted.abs_diff(expected) <= 2 * on, "{counted} of {limit}, {on}/{every}");
        }
    }

    /// Each place of a period is in a burst as often as any other: a program
    /// whose phases are as long as the period is sampled like all others.
    #[test]
    fn no_place_of_a_period_is_preferred() {
        let bursts = BurstSchedule { on: 50, every: 1000, warm: 50 };
        let periods = 40_000;
        for seed in 1..4 {
            let mut covered = [0_u64; 20];
            for (state, from, to) in stretches(&bursts, seed, periods * 1000) {
                if state != ON {
                    continue;
                }
                for at in from..to {
                    covered[usize::try_from(at % 1000 / 50).unwrap()] += 1;
                }
            }
            let expected = periods * 50 / 20;
            for (place, count) in covered.into_iter().enumerate() {
                // 5 standard deviations: 2000 of 40,000 periods have their burst
                // there.
                let off = count.abs_diff(expected);
                assert!(off < expected / 9, "seed {seed}, place {place}: {count} of {expected}");
            }
        }
    }

    /// The first instructions of a thread are as likely as all others to be
    /// counted.
    #[test]
    fn a_short_thread_has_its_share() {
        let bursts = BurstSchedule { on: 100, every: 1000, warm: 100 };
        let hit = (0..20_000).filter(|seed| BurstPhase::new(&bursts, *seed).state == ON).count();
        assert!((1850..2150).contains(&hit), "{hit} of 20,000");
    }

    #[test]
    fn bursts_have_a_warm_up_within_their_gap() {
        let bursts = BurstSchedule { on: 400, every: 1000, warm: 400 };
        let all = stretches(&bursts, 3, 1_000_000);
        let mut gaps = 0;
        for pair in all.windows(2) {
            let [(state, from, to), (next, ..)] = pair else { unreachable!() };
            match *state {
                GAP => {
                    assert_eq!(*next, WARM);
                    gaps += 1;
                }
                WARM => {
                    assert_eq!(*next, ON);
                    assert!(to - from <= 400);
                }
                _ => assert!(from == &0 || to - from == 400),
            }
        }
        assert!(gaps > 300, "{gaps}");
    }

    #[test]
    fn the_same_seed_gives_the_same_places() {
        let bursts = BurstSchedule { on: 10, every: 1000, warm: 10 };
        assert_eq!(stretches(&bursts, 5, 100_000), stretches(&bursts, 5, 100_000));
        assert_ne!(stretches(&bursts, 5, 100_000), stretches(&bursts, 6, 100_000));
        let parent = BurstPhase::new(&bursts, 5);
        let child = parent.child(1);
        assert_eq!((child.state, child.left, child.rest), (parent.state, parent.left, parent.rest));
        assert_ne!(child.random, parent.random);
    }

    #[test]
    fn words_are_those_in_memory() {
        let mut words = [0; WORDS];
        for (at, word) in (1_u64..).zip(&mut words) {
            *word = at;
        }
        let burst_phase = BurstPhase::of(words);
        assert_eq!(burst_phase.words(), words);
        let at = |offset: usize| words[offset / 8];
        assert_eq!(burst_phase.rest.cast_unsigned(), at(std::mem::offset_of!(BurstPhase, rest)));
        assert_eq!(burst_phase.ran[1], at(std::mem::offset_of!(BurstPhase, ran) + 8));
        assert_eq!(burst_phase.bursts, at(std::mem::offset_of!(BurstPhase, bursts)));
    }

    #[test]
    fn a_long_stretch_is_given_in_parts() {
        let bursts = BurstSchedule { on: 1 << 33, every: 1 << 33, warm: 0 };
        let mut burst_phase = BurstPhase::new(&bursts, 1);
        let mut sum = 0;
        while burst_phase.left > 0 {
            let part = burst_phase.part(u64::MAX);
            assert!(part <= 1 << 30);
            sum += part;
        }
        assert!(sum > 0 && sum <= 1 << 33);
    }
}
