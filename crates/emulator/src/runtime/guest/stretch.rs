//! Bursts: where a thread is between stretches whose events are counted and
//! stretches that run as they are.

use super::random::below;

/// What is counted of every thread: `on` instructions in each period of
/// `every`, from a place on that is drawn anew for each.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
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
/// Words of a [`Stretch`].
pub const WORDS: usize = size_of::<Stretch>() / 8;
/// A countdown that does not end.
pub const NEVER: u64 = 1 << 62;

/// Where a thread is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// GAP, WARM or ON.
    pub state: u64,
    /// Instructions of it that BURST was not given yet.
    pub left: u64,
    /// BURST as it was given last.
    pub given: u64,
    /// From the end of the burst that is next, or is on, to where the next
    /// period begins; below 0 when it ends behind.
    pub rest: i64,
    /// State of the generator of random places.
    pub random: u64,
    /// Instructions that ran in GAP, WARM and ON.
    pub ran: [u64; 3],
    /// Bursts that came to their end.
    pub bursts: u64,
}

impl Stretch {
    /// A thread that begins at a random place of its periods.
    pub fn new(bursts: &Bursts, seed: u64) -> Stretch {
        let mut stretch = Stretch { state: ON, random: seed, ..Stretch::default() };
        if bursts.every == 0 {
            return stretch;
        }
        // Through the whole period before, to be sure of bursts that reach
        // over its end.
        let mut skipped = bursts.every.wrapping_add(stretch.below(bursts.every));
        while skipped >= stretch.left {
            skipped -= stretch.left;
            stretch.turn(bursts);
        }
        stretch.left -= skipped;
        stretch
    }

    /// The same place for the child of a thread, with draws of its own.
    pub fn child(&self, seed: u64) -> Stretch {
        let Stretch { state, left, given, rest, .. } = *self;
        let random = self.random ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stretch { state, left, given, rest, random, ..Stretch::default() }
    }

    /// The next stretch.
    pub fn turn(&mut self, bursts: &Bursts) {
        let Bursts { on, every, .. } = *bursts;
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

    /// As its words lie in memory.
    pub fn words(&self) -> [u64; WORDS] {
        let [gap, warm, on] = self.ran;
        let Stretch { state, left, given, random, bursts, .. } = *self;
        [state, left, given, self.rest.cast_unsigned(), random, gap, warm, on, bursts]
    }

    /// From its words.
    pub fn of(words: [u64; WORDS]) -> Stretch {
        let [state, left, given, rest, random, gap, warm, on, bursts] = words;
        let (ran, rest) = ([gap, warm, on], rest.cast_signed());
        Stretch { state, left, given, rest, random, ran, bursts }
    }

    /// A part of the stretch for BURST, no more than `most`.
    pub fn part(&mut self, most: u64) -> u64 {
        let part = self.left.min(PART).min(most);
        self.left -= part;
        part
    }

    /// A number below `limit`, all as likely.
    fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.random, limit)
    }
}

#[cfg(test)]
mod tests;
