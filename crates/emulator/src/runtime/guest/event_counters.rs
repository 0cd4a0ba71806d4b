//! The books of one event of a thread.

use super::period::PeriodState;

/// Where an event is among its records, and what bursts saw of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounters {
    pub period: PeriodState,
    /// Events that the pending record stands for.
    pub ended: u64,
    pub records: u64,
    /// Records that were due when as many as were asked for had been written.
    pub beyond: u64,
    /// The countdown as it is to be when counting goes on after a warm-up.
    pub countdown: u64,
    pub bursts: BurstEvents,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstEvents {
    /// Sum of the squares of each burst's: low and high half.
    pub squares: [u64; 2],
    pub events: u64,
    /// The thread's at the begin of this burst.
    pub before: u64,
}

impl BurstEvents {
    /// Books those of a burst, at whose end the thread has had so many.
    pub fn end(&mut self, events: u64) {
        let events = events.wrapping_sub(self.before);
        self.events = self.events.wrapping_add(events);
        let [low, high] = self.squares;
        let sum = u128::from(high) << 64 | u128::from(low);
        let sum = sum.wrapping_add(u128::from(events) * u128::from(events));
        let half = |sum: u128| u64::try_from(sum & u128::from(u64::MAX)).unwrap_or(0);
        self.squares = [half(sum), half(sum >> 64)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_do_not_overflow() {
        let mut bursts = BurstEvents { before: 5, ..BurstEvents::default() };
        bursts.end(5 + (1 << 40));
        bursts.before = 7;
        bursts.end(7 + 3);
        assert_eq!((bursts.events, bursts.squares), ((1 << 40) + 3, [9, 1 << 16]));
    }
}
