//! The table for people.

use super::row::{StatRow, StatTable};
use crate::terminal::grouped;
use perfdata::printable::printable;
use recorder::metrics::Estimate;
use std::fmt::Write;

pub(super) fn table(table: &StatTable<'_>) -> String {
    // Writing to a string cannot fail.
    let mut text = String::new();
    if let Some(at) = table.at {
        let _ = writeln!(text, "# {:.3} s", at.as_secs_f64());
    }
    if let Some(model) = &table.model {
        let _ = writeln!(text, "# emulated, not measured: {model}");
    }
    let mut pmu = "";
    for row in table.rows.iter().filter(|row| row.group.is_none()) {
        if row.pmu != pmu {
            pmu = &row.pmu;
            let _ = writeln!(text, "\ncounted by {pmu}");
        }
        let _ = writeln!(text, "{}", event(row, table));
    }
    let mut group = ("", "");
    for row in &table.rows {
        let Some(of) = row.group else { continue };
        if group != (row.pmu.as_str(), of) {
            group = (row.pmu.as_str(), of);
            let _ = writeln!(text, "\n{of}, by {}", row.pmu);
        }
        let _ = writeln!(text, "{}", metric(row));
    }
    let _ = match table.runs {
        1 => writeln!(text, "\n{:.6} seconds", table.seconds),
        runs => writeln!(text, "\n{:.6} seconds, the mean of {runs} runs", table.seconds),
    };
    text
}

fn event(row: &StatRow, table: &StatTable<'_>) -> String {
    let name = printable(&row.name);
    let Ok(figure) = row.figure else {
        let why = if row.told.is_empty() { String::new() } else { format!("  {}", row.told) };
        return format!("{:>20}  {:9}  {name}{why}", "not counted", "").trim_end().to_owned();
    };
    let share = row.share.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share));
    let mut line = format!("{:>20}  {share:>9}  {name}", whole(figure.value));
    if !row.unit.is_empty() {
        let _ = write!(line, " ({})", row.unit);
    }
    line.push_str(&bounds(figure, whole));
    line.push_str(&spread(row, figure));
    for unit in table.per {
        if let Some(value) = row.per(unit) {
            let _ = write!(line, "  {} per {}", short(value), unit.name);
        }
    }
    match row.agrees {
        Some(true) => line.push_str("  samples agree"),
        Some(false) => line.push_str("  SAMPLES DISAGREE"),
        None => {}
    }
    line
}

fn metric(row: &StatRow) -> String {
    let Ok(figure) = row.figure else {
        let why = row.figure.map_or_else(|why| why.to_string(), |_| String::new());
        return format!("{why:>20}  {:11}  {:22}  {}", row.unit, row.name, row.told);
    };
    let mut line =
        format!("{:>20}  {:11}  {:22}  {}", short(figure.value), row.unit, row.name, row.told);
    line.push_str(&bounds(figure, short));
    line.push_str(&spread(row, figure));
    line
}

/// Where the truth is, unless it is known.
fn bounds(figure: Estimate, in_words: fn(f64) -> String) -> String {
    if figure.is_exact() {
        return String::new();
    }
    let high = if figure.high.is_finite() { in_words(figure.high) } else { "?".to_owned() };
    let low = if figure.low.is_finite() { in_words(figure.low) } else { "?".to_owned() };
    format!("  [{low} .. {high}]")
}

fn spread(row: &StatRow, figure: Estimate) -> String {
    match row.deviation {
        Some(deviation) if figure.value != 0.0 => {
            format!("  +- {:.2} %", 100.0 * (deviation / figure.value).abs())
        }
        Some(_) => "  +- 0".to_owned(),
        None => String::new(),
    }
}

/// A whole number, its thousands apart.
fn whole(value: f64) -> String {
    let text = grouped(&format!("{:.0}", value.abs()));
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Four digits that say something.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => whole(value),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, text) in
            [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (-1234567.0, "-1,234,567")]
        {
            assert_eq!(whole(value), text);
        }
        for (value, text) in [
            (0.0, "0"),
            (12345.6, "12,346"),
            (123.45, "123.5"),
            (1.0, "1.000"),
            (0.01234, "0.0123"),
        ] {
            assert_eq!(short(value), text);
        }
        let open = Estimate { value: 5.0, low: 2.0, high: f64::INFINITY };
        assert_eq!(bounds(open, whole), "  [2 .. ?]");
        assert_eq!(bounds(Estimate::exact(5.0), whole), "");
    }
}
