//! Spans of time as people write them: `10m`, `7d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no span of time, such as \"90s\", \"10m\", \"12h\" or \"7d\"")]
pub struct HumanDurationError {
    text: String,
}

/// Units, largest first, and their seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

impl FromStr for HumanDuration {
    type Err = HumanDurationError;

    fn from_str(text: &str) -> Result<HumanDuration, HumanDurationError> {
        let parsed = text.char_indices().next_back().and_then(|(at, last)| {
            let (_, seconds) = UNITS.into_iter().find(|(unit, _)| *unit == last)?;
            let number: u64 = text[..at].trim_end().parse().ok()?;
            number.checked_mul(seconds)
        });
        let error = || HumanDurationError { text: text.to_owned() };
        Ok(HumanDuration(Duration::from_secs(parsed.ok_or_else(error)?)))
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HumanDuration, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let fits = |(_, unit): &(char, u64)| seconds.is_multiple_of(*unit) && seconds >= *unit;
        let (name, unit) = UNITS.into_iter().find(fits).unwrap_or(('s', 1));
        write!(f, "{}{name}", seconds / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_numbers_with_a_unit() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("12 h", 43_200), ("7d", 604_800)] {
            let span: HumanDuration = text.parse().unwrap();
            assert_eq!(span, HumanDuration(Duration::from_secs(seconds)), "{text}");
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for text in ["", "m", "10", "-1m", "1.5h", "10 minutes", "99999999999999999999d", "1\u{b5}"]
        {
            let error = text.parse::<HumanDuration>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
