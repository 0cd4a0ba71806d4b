//! The truth of `programs/phases.S`: its events, by its numbers.

/// Rounds of ten instructions: a quarter of a second where a second has a
/// hundred million.
const ROUNDS: u32 = 2_500_000;

/// How its spans are drawn, in rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phases {
    pub(crate) shortest: u32,
    pub(crate) longest: u32,
    pub(crate) divisor: u32,
}

/// What it does from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PhaseCounts {
    pub(crate) loads: u32,
    pub(crate) stores: u32,
    pub(crate) branches: u32,
    pub(crate) taken: u32,
}

impl PhaseCounts {
    /// A call and its return.
    fn call(&mut self) {
        self.stores += 1;
        self.loads += 1;
        self.branch(2, 2);
    }

    fn branch(&mut self, branches: u32, taken: u32) {
        self.branches += branches;
        self.taken += taken;
    }
}

impl Phases {
    /// As the program takes them.
    pub(crate) fn arguments(self, seed: u32) -> String {
        format!("{seed} {} {} {} {ROUNDS}", self.shortest, self.longest, self.divisor)
    }

    /// Each line is some of the program's, in their order.
    pub(crate) fn counts(self, seed: u32) -> PhaseCounts {
        let mut counts = PhaseCounts { loads: 1, branches: 1, ..PhaseCounts::default() };
        for number in self.arguments(seed).split(' ') {
            let digits = u32::try_from(number.len()).unwrap();
            counts.loads += 1 + digits + 1;
            counts.call();
            counts.branch(2 * digits + 1, digits + 1);
        }
        let mut draws = u64::from(seed);
        for _ in 0..16 {
            draw(&mut draws);
            counts.call();
        }
        counts.branch(16, 15);
        let mut left = ROUNDS;
        while left > 0 {
            let drawn = draw(&mut draws);
            counts.call();
            let lengths = u64::from(self.longest - self.shortest + 1);
            let rounds = u32::try_from((drawn >> 11) % lengths).unwrap() + self.shortest;
            let kind = drawn >> 5 & 3;
            let rounds = if kind == 3 { rounds } else { rounds / self.divisor + 1 }.min(left);
            left -= rounds;
            // To its kind: one of these is taken.
            counts.branch(2 + u32::from(kind >= 1) + u32::from(kind >= 2), 1);
            counts.branch(rounds, rounds - 1);
            match kind {
                0 => counts.loads += 8 * rounds,
                1 => counts.stores += 8 * rounds,
                2 => counts.branch(8 * rounds, 8 * rounds),
                _ => {}
            }
            counts.branch(u32::from(kind != 2), u32::from(kind != 2));
            counts.branch(1, u32::from(left > 0));
        }
        // The system call.
        counts.branch(1, 1);
        counts
    }
}

/// Marsaglia's xorshift.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
