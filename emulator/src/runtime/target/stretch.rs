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
    /// COUNTDOWN as it is to be when counting goes on.
    pub countdown: u64,
    /// Instructions that ran in GAP, WARM and ON.
    pub ran: [u64; 3],
    /// Bursts that came to their end.
    pub bursts: u64,
    /// Sum of the squares of their events: low and high half.
    pub squares: [u64; 2],
    /// Their events.
    pub events: u64,
    /// The thread's events at the begin of this burst.
    pub before: u64,
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
        let Stretch { state, left, given, rest, countdown, .. } = *self;
        let random = self.random ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stretch { state, left, given, rest, random, countdown, ..Stretch::default() }
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
        let [low, high] = self.squares;
        let place = [self.state, self.left, self.given, self.rest.cast_unsigned(), self.random];
        let [state, left, given, rest, random] = place;
        let (countdown, bursts, events) = (self.countdown, self.bursts, self.events);
        [
            state,
            left,
            given,
            rest,
            random,
            countdown,
            gap,
            warm,
            on,
            bursts,
            low,
            high,
            events,
            self.before,
        ]
    }

    /// From its words.
    pub fn of(words: [u64; WORDS]) -> Stretch {
        let [state, left, given, rest, random, countdown, rest_of @ ..] = words;
        let [gap, warm, on, bursts, low, high, events, before] = rest_of;
        let (ran, squares) = ([gap, warm, on], [low, high]);
        let rest = rest.cast_signed();
        Stretch {
            state,
            left,
            given,
            rest,
            random,
            countdown,
            ran,
            bursts,
            squares,
            events,
            before,
        }
    }

    /// A part of the stretch for BURST, no more than `most`.
    pub fn part(&mut self, most: u64) -> u64 {
        let part = self.left.min(PART).min(most);
        self.left -= part;
        part
    }

    /// Books the burst's events, which the thread has had so many of by now.
    pub fn end(&mut self, events: u64) {
        let events = events.wrapping_sub(self.before);
        self.bursts += 1;
        self.events = self.events.wrapping_add(events);
        let [low, high] = self.squares;
        let sum = u128::from(high) << 64 | u128::from(low);
        let sum = sum.wrapping_add(u128::from(events) * u128::from(events));
        let half = |sum: u128| u64::try_from(sum & u128::from(u64::MAX)).unwrap_or(0);
        self.squares = [half(sum), half(sum >> 64)];
    }

    /// A number below `limit`, all as likely.
    fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.random, limit)
    }
}

#[cfg(test)]
mod tests;
