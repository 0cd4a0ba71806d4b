//! Parts of a run by time: `--time FROM-TO`, and the key `time:SPAN`.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use perfdata::Time;

/// From the first sample of a recording to the last, whatever their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// Of the first.
    pub first: Time,
    /// Of the last.
    pub last: Time,
}

/// A part of a run as it is typed, `FROM-TO`: seconds from its first sample on, or percent
/// of the time to its last. The end is not part of it, unless it is that of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPart {
    from: Option<Moment>,
    to: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// From the run's begin.
    Nanoseconds(u64),
    /// Of the run, 0 to 1.
    Share(f64),
}

/// Times of a run's samples, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// When the run began, for showing the others.
    pub begin: Time,
    /// The first.
    pub first: Time,
    /// The last.
    pub last: Time,
}

/// A length of time of a table's rows: `100ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimeStep(pub NonZeroU64);

/// A text that is no part of a run, or no step of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// `--time`.
    #[error(
        "{0:?} is no part of a run: say FROM-TO in seconds, such as 1.5-3, or in percent, such as \
         10%-20%; either may be left out"
    )]
    Part(String),
    /// An end that is no later than the begin.
    #[error("{0:?} ends before it begins: say the earlier time first")]
    Backwards(String),
    /// `time:`.
    #[error("{0:?} is no step of time, such as time:100ms (ns, us, ms, s)")]
    Step(String),
}

const SECOND: u64 = 1_000_000_000;
/// Units, largest first.
const UNITS: [(&str, u64); 4] = [("ms", 1_000_000), ("us", 1000), ("ns", 1), ("s", SECOND)];

impl FromStr for RunPart {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<RunPart, TimeError> {
        let bad = || TimeError::Part(text.to_owned());
        let (from, to) = text.split_once('-').ok_or_else(bad)?;
        let read = |word: &str| match word.trim() {
            "" => Ok(None),
            word => moment(word).map(Some).ok_or_else(bad),
        };
        let part = RunPart { from: read(from)?, to: read(to)? };
        let backwards = match (part.from, part.to) {
            (None, None) => return Err(bad()),
            (Some(Moment::Nanoseconds(from)), Some(Moment::Nanoseconds(to))) => from >= to,
            (Some(Moment::Share(from)), Some(Moment::Share(to))) => from >= to,
            _ => false,
        };
        if backwards { Err(TimeError::Backwards(text.to_owned())) } else { Ok(part) }
    }
}

fn moment(word: &str) -> Option<Moment> {
    if let Some(percent) = word.strip_suffix('%') {
        let share = percent.parse::<f64>().ok()? / 100.0;
        return (0.0..=1.0).contains(&share).then_some(Moment::Share(share));
    }
    nanoseconds(word.strip_suffix('s').unwrap_or(word)).map(Moment::Nanoseconds)
}

/// Decimal seconds, to the nanosecond.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || part.len() > 9 || text.trim_matches('.').is_empty()
    {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    whole.checked_mul(SECOND)?.checked_add(part)
}

impl RunPart {
    /// When that is, in a run.
    ///
    /// # Errors
    /// It ends before it begins: seconds beside percent.
    pub fn within(self, run: RunTimes) -> Result<TimeRange, TimeError> {
        let length = run.last.0.saturating_sub(run.first.0);
        let at = |moment: Moment| match moment {
            Moment::Nanoseconds(nanoseconds) => nanoseconds,
            Moment::Share(share) => share_of(length, share),
        };
        let from = self.from.map_or(0, at);
        let to = match self.to {
            None | Some(Moment::Share(1.0)) => u64::MAX,
            Some(to) => at(to),
        };
        if from >= to {
            return Err(TimeError::Backwards(format!("{}-{}", seconds(from), seconds(to))));
        }
        let time = |offset: u64| Time(run.first.0.saturating_add(offset));
        Ok(TimeRange { begin: run.first, first: time(from), last: time(to - 1) })
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentage of a run needs no more than 53 bits, and is not negative"
)]
fn share_of(length: u64, share: f64) -> u64 {
    (length as f64 * share) as u64
}

/// Nanoseconds as seconds, to the microsecond.
pub(crate) fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:06}", nanoseconds / SECOND, nanoseconds % SECOND / 1000)
}

impl TimeRange {
    pub(crate) fn contains(&self, time: Time) -> bool {
        (self.first..=self.last).contains(&time)
    }
}

impl fmt::Display for TimeRange {
    /// Seconds of the run, as they can be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |time: Time| time.0.saturating_sub(self.begin.0);
        write!(f, "{}-", seconds(of(self.first)))?;
        match self.last.0 {
            u64::MAX => Ok(()),
            last => write!(f, "{}", seconds(last.saturating_sub(self.begin.0).saturating_add(1))),
        }
    }
}

impl TimeStep {
    /// The begin of the step that a time is in, nanoseconds from the run's begin.
    pub(crate) fn begin_of(self, time: Time, run: Time) -> u64 {
        let passed = time.0.saturating_sub(run.0);
        passed - passed % self.0
    }
}

impl FromStr for TimeStep {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<TimeStep, TimeError> {
        let of_unit = |(unit, length): &(&str, u64)| {
            let digits = text.strip_suffix(unit)?;
            let number: u64 = digits.parse().ok()?;
            NonZeroU64::new(number.checked_mul(*length)?)
        };
        let step = UNITS.iter().find_map(of_unit).map(TimeStep);
        step.ok_or_else(|| TimeError::Step(text.to_owned()))
    }
}

impl fmt::Display for TimeStep {
    /// As it can be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let largest = [UNITS[3], UNITS[0], UNITS[1], UNITS[2]];
        let fits = |(_, length): &(&str, u64)| self.0.get().is_multiple_of(*length);
        let (unit, length) = largest.into_iter().find(fits).unwrap_or(("ns", 1));
        write!(f, "{}{unit}", self.0.get() / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunTimes = RunTimes { first: Time(1_000), last: Time(1_000 + 10 * SECOND) };

    fn range(text: &str) -> TimeRange {
        text.parse::<RunPart>().unwrap().within(RUN).unwrap()
    }

    #[test]
    fn parts_of_a_run_are_seconds_or_percent() {
        for (text, first, last) in [
            ("1-2", SECOND, 2 * SECOND - 1),
            ("1.5-2.000000001", 3 * SECOND / 2, 2 * SECOND),
            ("0s-.5s", 0, SECOND / 2 - 1),
            ("10%-20%", SECOND, 2 * SECOND - 1),
            ("9-", 9 * SECOND, u64::MAX - 1_000),
            ("-50%", 0, 5 * SECOND - 1),
            ("50%-100%", 5 * SECOND, u64::MAX - 1_000),
            ("5-60%", 5 * SECOND, 6 * SECOND - 1),
        ] {
            let range = range(text);
            assert_eq!((range.first.0 - 1_000, range.last.0 - 1_000), (first, last), "{text}");
        }
        assert_eq!(range("1.5-2").to_string(), "1.500000-2.000000");
        assert_eq!(range("9-").to_string(), "9.000000-");
        assert!(range("9-").contains(RUN.last) && !range("-9").contains(RUN.last));
    }

    #[test]
    fn what_is_no_part_is_quoted() {
        for text in
            ["", "-", "1", "a-b", "1-2-3", "-1--2", "1e3-", "101%-", "5%%-", ".-1", "0.1234567891-"]
        {
            let error = text.parse::<RunPart>().unwrap_err();
            assert_eq!(error, TimeError::Part(text.to_owned()));
            assert!(error.to_string().contains("FROM-TO"));
        }
        for text in ["2-1", "1-1", "20%-10%"] {
            assert_eq!(text.parse::<RunPart>(), Err(TimeError::Backwards(text.to_owned())));
        }
        let mixed: RunPart = "5-10%".parse().unwrap();
        assert!(mixed.within(RUN).unwrap_err().to_string().contains("ends before"));
    }

    #[test]
    fn steps_have_units() {
        for (text, length) in [("100ms", 100_000_000), ("1s", SECOND), ("7us", 7000), ("3ns", 3)] {
            let step: TimeStep = text.parse().unwrap();
            assert_eq!(step.0.get(), length);
            assert_eq!(step.to_string(), text);
        }
        assert_eq!("1000ms".parse::<TimeStep>().unwrap().to_string(), "1s");
        let step: TimeStep = "3ns".parse().unwrap();
        assert_eq!([100, 101, 102, 103].map(|at| step.begin_of(Time(at), Time(100))), [0, 0, 0, 3]);
        for text in ["", "0ms", "ms", "1", "1.5s", "-1s", "1h", "99999999999999999999s"] {
            assert!(text.parse::<TimeStep>().unwrap_err().to_string().contains("time:100ms"));
        }
    }
}
