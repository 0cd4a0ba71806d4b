//! What a change must not exceed: `l1_cache_miss > +5%`.

use super::exposure::plain;
use super::key_names::routine_part;
use super::{DiffCount, DiffError, DiffEvent, DiffReport, DiffRow};
use crate::query::glob::Glob;
use crate::query::key::Key;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// `EVENT[@ROUTINE] (>|<) CHANGE%`: too much where the rate of B, as a multiple of A's, is
/// beyond.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffLimit {
    text: String,
    event: String,
    /// None: all of the event.
    routine: Option<Glob>,
    is_most: bool,
    ratio: f64,
}

/// The text given to `--fail-on` is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--fail-on {0:?} is no EVENT > +N%, EVENT < -N% or EVENT@ROUTINE > +N%, such as \
     'l1_cache_miss > +5%'"
)]
pub struct DiffLimitError(String);

impl FromStr for DiffLimit {
    type Err = DiffLimitError;

    fn from_str(text: &str) -> Result<DiffLimit, DiffLimitError> {
        let wrong = || DiffLimitError(text.to_owned());
        let at = text.rfind(['<', '>']).ok_or_else(wrong)?;
        let (of, change) = (text[..at].trim(), text[at + 1..].trim());
        let percent = change.strip_suffix('%').ok_or_else(wrong)?.trim_end();
        let is_number = |c: char| c.is_ascii_digit() || ".+-".contains(c);
        let percent: f64 = match percent.chars().all(is_number) {
            true => percent.parse().map_err(|_| wrong())?,
            false => return Err(wrong()),
        };
        let (event, routine) = match of.split_once('@') {
            Some((event, routine)) => (event.trim(), Some(routine.trim())),
            None => (of, None),
        };
        if event.is_empty() || routine.is_some_and(str::is_empty) || percent < -100.0 {
            return Err(wrong());
        }
        Ok(DiffLimit {
            text: text.to_owned(),
            event: event.to_owned(),
            routine: routine.map(Glob::new),
            is_most: text[at..].starts_with('>'),
            ratio: 1.0 + percent / 100.0,
        })
    }
}

impl fmt::Display for DiffLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What became of a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitAnswer {
    /// As typed.
    pub limit: String,
    /// Whether it is exceeded.
    pub verdict: LimitVerdict,
    /// The ratio; None: A has none.
    pub ratio: Option<f64>,
    /// The least that agrees with both.
    pub low: Option<f64>,
    /// The largest; None: no bound.
    pub high: Option<f64>,
}

/// Whether a limit is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitVerdict {
    /// All of the interval is within it.
    Within,
    /// The interval holds it.
    Undetermined,
    /// All of the interval is beyond it.
    Exceeded,
}

impl fmt::Display for LimitAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            LimitVerdict::Within => "does not hold",
            LimitVerdict::Exceeded => "holds",
            LimitVerdict::Undetermined => "is undetermined",
        };
        let percent = |ratio: Option<f64>, none: &str| {
            ratio.map_or_else(|| none.to_owned(), |it| format!("{:+.1} %", (it - 1.0) * 100.0))
        };
        write!(
            f,
            "{} {verdict}: {}, 95 % from {} to {}",
            self.limit,
            percent(self.ratio, "A has none"),
            percent(self.low, "none"),
            percent(self.high, "any")
        )
    }
}

impl DiffLimit {
    /// Whether the changes of a diff exceed it.
    ///
    /// # Errors
    /// No event, or no row, is called so.
    pub fn answer(&self, diff: &DiffReport) -> Result<LimitAnswer, DiffError> {
        let Some(event) = diff.events.iter().find(|event| event.name == plain(&self.event)) else {
            return Err(DiffError::LimitEvent {
                limit: self.text.clone(),
                event: self.event.clone(),
                have: diff.events.iter().map(|event| event.name.clone()).collect(),
            });
        };
        let rows = match &self.routine {
            None => vec![&event.total],
            Some(routine) => self.rows(diff, event, routine)?,
        };
        // Of one run each samples say nothing of the next run. What each event was counted for
        // is a number, which is judged as it is.
        let is_judged = |row: &DiffRow| {
            let is_total = self.routine.is_none() && event.counted;
            let has_each = |count: &DiffCount| count.events == count.samples as f64;
            diff.repeated || is_total || (has_each(&row.a) && has_each(&row.b))
        };
        let answers = rows.into_iter().map(|row| match (self.of_row(row), is_judged(row)) {
            (answer, true) => answer,
            (answer, false) => LimitAnswer { verdict: LimitVerdict::Undetermined, ..answer },
        });
        let worst = answers.max_by_key(|answer| answer.verdict);
        worst.ok_or_else(|| self.no_row(event))
    }

    fn of_row(&self, row: &DiffRow) -> LimitAnswer {
        // Without any of it in A there is no bound above.
        let low = row.low.unwrap_or(if row.b.events > 0.0 { f64::INFINITY } else { 0.0 });
        let high = row.high.unwrap_or(f64::INFINITY);
        let verdict = match self.is_most {
            true if low > self.ratio => LimitVerdict::Exceeded,
            true if high <= self.ratio => LimitVerdict::Within,
            false if high < self.ratio => LimitVerdict::Exceeded,
            false if low >= self.ratio => LimitVerdict::Within,
            _ => LimitVerdict::Undetermined,
        };
        let (limit, ratio) = (self.text.clone(), row.ratio);
        LimitAnswer { limit, verdict, ratio, low: row.low, high: row.high }
    }

    fn rows<'e>(
        &self,
        diff: &DiffReport,
        event: &'e DiffEvent,
        routine: &Glob,
    ) -> Result<Vec<&'e DiffRow>, DiffError> {
        let mut keys = diff.by.iter().filter_map(|by| by.parse::<Key>().ok()).enumerate();
        let column = keys.find(|(_, key)| {
            matches!(key, Key::Routine | Key::Inlined | Key::RoutineLine | Key::Operands)
        });
        let is_called = |row: &&DiffRow| {
            let Some((column, key)) = &column else { return false };
            let all = [Some(&row.keys), row.was.as_ref()].into_iter().flatten();
            let mut names = all.filter_map(|keys| keys.get(*column)).map(|name| match key {
                Key::RoutineLine | Key::Operands => routine_part(key, name).0,
                _ => name,
            });
            names.any(|name| name.split(" <- ").any(|name| routine.matches_routine(name)))
        };
        let rows: Vec<&DiffRow> = event.rows.iter().filter(is_called).collect();
        if rows.is_empty() { Err(self.no_row(event)) } else { Ok(rows) }
    }

    fn no_row(&self, event: &DiffEvent) -> DiffError {
        DiffError::LimitRoutine {
            limit: self.text.clone(),
            event: event.name.clone(),
            routine: self.routine.as_ref().map(Glob::to_string).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_misread_ones_quoted() {
        let limit: DiffLimit = "l1_cache_miss > +5%".parse().unwrap();
        assert_eq!((limit.event.as_str(), limit.is_most), ("l1_cache_miss", true));
        assert!((limit.ratio - 1.05).abs() < 1e-12 && limit.routine.is_none());
        let limit: DiffLimit = "mem:0x40/8:w@walk* < -12.5 %".parse().unwrap();
        assert_eq!((limit.event.as_str(), limit.is_most), ("mem:0x40/8:w", false));
        assert!((limit.ratio - 0.875).abs() < 1e-12 && limit.routine.is_some());
        for wrong in
            ["", "x", "x > 5", "> 5%", "x@ > 5%", "x > 5x%", "x > %", "x < -101%", "x > inf%"]
        {
            assert!(wrong.parse::<DiffLimit>().unwrap_err().to_string().contains("is no EVENT"));
        }
    }
}
