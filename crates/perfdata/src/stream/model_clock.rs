//! How the times of a stream relate to the machine's clock when they are of
//! a clock of the recorder's own, such as that of the emulated PMU: by notes,
//! each of which holds for the records before it.

use std::fmt;

use super::note;
use crate::units::Time;

/// Between which times of CLOCK_MONOTONIC all records so far were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelClock {
    /// Nothing that records tell of happened before, but for what was there
    /// already.
    pub began: Time,
    /// Nor after that: when the note was written.
    pub now: Time,
}

const KIND: &str = "clock";
const MODEL: &str = "model";
const BEGAN: &str = "clock.began";
const NOW: &str = "clock.now";
/// Bytes of a note, at most: a longer one is none.
const LONGEST: usize = 128;

impl ModelClock {
    /// What a note says; None: it is about something else.
    pub fn parse(text: &str) -> Option<ModelClock> {
        if text.len() > LONGEST || note::value(text, KIND) != Some(MODEL) {
            return None;
        }
        let time = |key| note::value(text, key)?.parse().ok().map(Time);
        let (began, now) = (time(BEGAN)?, time(NOW)?);
        (began <= now).then_some(ModelClock { began, now })
    }
}

impl fmt::Display for ModelClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelClock { began, now } = self;
        write!(f, "{KIND}={MODEL};{BEGAN}={};{NOW}={}", began.0, now.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_others_are_none() {
        let clock = ModelClock { began: Time(5), now: Time(u64::MAX) };
        assert_eq!(ModelClock::parse(&clock.to_string()), Some(clock));
        let longest = ModelClock { began: Time(u64::MAX), now: Time(u64::MAX) };
        assert!(longest.to_string().len() <= LONGEST);
        for other in [
            "source=emulated;clock=other",
            "clock=model;clock.began=1",
            "clock=model;clock.began=2;clock.now=1",
            "clock=model;clock.began=-2;clock.now=1",
        ] {
            assert_eq!(ModelClock::parse(other), None, "{other}");
        }
    }
}
