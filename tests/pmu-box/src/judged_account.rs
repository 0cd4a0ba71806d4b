//! What `ebs` said of a run's events and records, beside what the model
//! counted and wrote.

use anyhow::{Context, Result, bail, ensure};

use crate::truth_log::{self, Happening};

/// `key value` lines that an assertion left.
#[derive(Clone, Copy, Debug)]
pub struct JudgedAccount<'a> {
    text: &'a str,
}

/// What the model did between two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    /// Events of the sampled kind, in user mode.
    events: u64,
    records: u64,
    dropped: u64,
    hidden: u64,
}

impl<'a> JudgedAccount<'a> {
    /// One of that text.
    #[must_use]
    pub fn new(text: &'a str) -> JudgedAccount<'a> {
        JudgedAccount { text }
    }

    fn get(&self, key: &str) -> Result<u64> {
        let pairs = || self.text.lines().filter_map(|line| line.split_once(' '));
        let value = pairs().find_map(|(name, value)| (name == key).then_some(value));
        value.and_then(|value| value.parse().ok()).with_context(|| format!("no {key}"))
    }

    /// Compares it with the model's log between the marks of this name; gives
    /// the figures.
    ///
    /// # Errors
    /// They differ, or the log has not what is needed.
    pub fn judge(&self, log: &str, name: &str) -> Result<String> {
        let model = Counted::read(log, name)?;
        let (events, interval) = (self.get("events")?, self.get("interval")?);
        let records = self.get("delivered")? + self.get("lost")?;
        ensure!(events == model.events, "{events} events, {} of the model", model.events);
        ensure!(records == model.records, "{records} records, {} of the model", model.records);
        let rest = model.events.saturating_sub(model.records * interval + interval - 1);
        let uncovered = self.get("uncovered")?;
        ensure!(uncovered == rest, "{uncovered} events told that no record stands for, of {rest}");
        let Counted { dropped, hidden, .. } = model;
        Ok(format!(
            "{events} events every {interval}: {records} records, {dropped} dropped, {hidden} kept \
             back; {uncovered} told without a record"
        ))
    }
}

impl Counted {
    fn read(log: &str, name: &str) -> Result<Counted> {
        let of = |kind: &str| {
            let found = truth_log::between(log, name, kind);
            found.with_context(|| format!("the log has not both marks of {name}"))
        };
        let (records, dropped, hidden) = (of("record")?, of("dropped")?, of("hidden")?);
        let place = |record: &Happening<'_>| (record.decimal("counter"), record.hex("select"));
        let Some(first) = records.first().map(place) else { bail!("the model wrote no record") };
        ensure!(records.iter().all(|record| place(record) == first), "records of several counters");
        let total = |mark: String| {
            let totals = truth_log::totals(log, &mark);
            let own = totals.iter().find(|total| place(total) == first);
            own.map_or(0, |total| total.decimal("user"))
        };
        let count = |happenings: &[Happening<'_>]| happenings.len() as u64;
        Ok(Counted {
            events: total(format!("end {name}")) - total(format!("begin {name}")),
            records: count(&records),
            dropped: count(&dropped),
            hidden: count(&hidden),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const LOG: &str = "mark begin a\ntotal cpu=0 counter=0 select=5381d0 user=10 kernel=9\n\
        record cpu=0 counter=0 select=5381d0\nrecord cpu=0 counter=0 select=5381d0\n\
        dropped cpu=0 counter=0 select=5381d0\nmark end a\n\
        total cpu=0 counter=0 select=5381d0 user=41 kernel=9\n\
        total cpu=0 counter=1 select=5381d0 user=99 kernel=9\nmark begin b\n";

    fn told(events: u64, delivered: u64, uncovered: u64) -> Result<String> {
        let text = format!(
            "interval 10\nevents {events}\ndelivered {delivered}\nlost 0\nuncovered {uncovered}\n"
        );
        JudgedAccount::new(&text).judge(LOG, "a")
    }

    #[test]
    fn what_is_told_must_be_what_the_model_counted() {
        let figures = told(31, 2, 2).unwrap();
        assert!(figures.starts_with("31 events every 10: 2 records, 1 dropped"), "{figures}");
        for (events, delivered, uncovered) in [(30, 2, 2), (31, 3, 2), (31, 2, 0)] {
            assert!(told(events, delivered, uncovered).is_err(), "{events} {delivered}");
        }
        assert!(JudgedAccount::new("interval 10\n").judge(LOG, "b").is_err(), "no end");
    }
}
