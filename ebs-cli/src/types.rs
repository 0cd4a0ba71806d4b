//! `ebs -h`: the event types, and what this machine has of them.

use daemon::catalogue::{
    Availability, EventKind, EventType, IntervalUnit, all, availability, find, help,
};
use daemon::event_spec::{Event, EventSpecError};
use daemon::{EventSpec, Facts};
use std::fmt::Write;

/// The list of types as text: first those that are to be had, then the
/// others under the reason why not.
pub fn list(facts: &Facts) -> String {
    let mut text = String::from("Event types of this machine (ebs -h TYPE says more):\n\n");
    let mut lacking: Vec<(String, String, Vec<String>)> = Vec::new();
    row(&mut text, "type", "interval", "what is counted");
    for entry in all() {
        match availability(entry, facts) {
            Availability::Available { default_interval } => {
                row(&mut text, entry.name, &interval(entry, default_interval), entry.meaning);
            }
            Availability::Unavailable { why, nearest, advice } => {
                let mut line = String::new();
                let meaning = if nearest.is_empty() {
                    entry.meaning.to_owned()
                } else {
                    format!("{} (nearest: {})", entry.meaning, nearest.join(", "))
                };
                row(&mut line, entry.name, &interval(entry, entry.default_interval), &meaning);
                match lacking.iter_mut().find(|(reason, way, _)| (reason, way) == (&why, &advice)) {
                    Some((_, _, lines)) => lines.push(line),
                    None => lacking.push((why, advice, vec![line])),
                }
            }
        }
    }
    for (why, advice, lines) in lacking {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nNot to be had here: {why}\n({advice})\n\n{}", lines.concat());
    }
    text
}

fn row(text: &mut String, name: &str, interval: &str, meaning: &str) {
    let width = all().map(|entry| entry.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "  {name:<width$} {interval:>9}  {meaning}");
}

fn interval(entry: &EventType, interval: u64) -> String {
    match entry.unit {
        IntervalUnit::Events => interval.to_string(),
        IntervalUnit::Nanoseconds => match (interval % 1_000_000, interval % 1_000) {
            (0, _) => format!("{} ms", interval / 1_000_000),
            (_, 0) => format!("{} us", interval / 1_000),
            _ => format!("{interval} ns"),
        },
    }
}

/// The help of one type, by any of its names or by an event of its form.
///
/// # Errors
///
/// An unknown name; the nearest known ones are in the text.
pub fn describe(typed: &str, facts: &Facts) -> Result<String, EventSpecError> {
    if let Some(entry) = find(typed) {
        return Ok(help(entry, facts));
    }
    let kind = match EventSpec::from(typed).resolve()? {
        Event::Type(entry) => return Ok(help(entry, facts)),
        Event::Breakpoint(_) => EventKind::Breakpoint,
        Event::Tracepoint(_) => EventKind::Tracepoint,
        Event::Pmu { .. } | Event::Raw { .. } | Event::Generic { .. } | Event::Named { .. } => {
            return Err(EventSpecError::unknown(typed, std::iter::empty()));
        }
    };
    let forms = all().filter(|entry| entry.kind == kind);
    Ok(forms.map(|entry| help(entry, facts)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_listed_with_its_reason() {
        let bare = list(&Facts::default());
        for entry in all() {
            assert!(bare.contains(&format!("\n  {} ", entry.name)), "{} in {bare}", entry.name);
        }
        assert!(bare.contains("\nNot to be had here: "), "{bare}");
        assert!(bare.contains("nearest: page_fault"), "{bare}");
    }

    #[test]
    fn intervals_end_in_one_column() {
        let bare = list(&Facts::default());
        let rows = bare.lines().filter(|line| line.starts_with("  "));
        let ends = rows.map(|line| {
            let name = line.trim_start();
            let interval = name[name.find(' ').expect("a name")..].trim_start();
            line.len() - interval[interval.find("  ").expect("an interval")..].len()
        });
        let ends: Vec<usize> = ends.collect();
        assert!(ends.len() > 10 && ends.iter().all(|end| *end == ends[0]), "{bare}");
    }

    #[test]
    fn types_are_described_by_name_and_by_form() {
        let facts = Facts::default();
        let said = |typed: &str| describe(typed, &facts).expect("is a type");
        assert!(said("page_fault").starts_with("page_fault: "));
        assert!(said("mem:0x1000:w").starts_with("mem:ADDR"));
        assert!(said("sched:sched_switch").starts_with("SUBSYSTEM:NAME"));
        let error = describe("page_fualt", &facts).expect_err("is none").to_string();
        assert!(error.contains("page_fault"), "{error}");
    }
}
