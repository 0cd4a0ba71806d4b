//! Several events in one table.

use super::columns::{Align, Columns};
use super::{NOTHING, Style, Text, add_keys, cell, head, number_of, percent};
use crate::collect::event::request;
use crate::query::key::Key;
use crate::report::{JoinedCount, JoinedReport, Report};

/// The table, below what holds for each event. `report` is what was joined.
pub fn render(joined: &JoinedReport, report: &Report, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    head::report(report, &mut out);
    for event in &report.events {
        head::event(event, &mut out);
    }
    let Some(first) = joined.rows.first() else { return out.text };
    let mut columns = Columns::new(style);
    for (index, event) in joined.events.iter().enumerate() {
        let name = request(&event.name);
        columns.add(name, Align::Right);
        columns.add("share", Align::Right);
        if index != joined.per {
            columns.add(&format!("per {}", per(joined)), Align::Right);
        }
    }
    add_keys(first.keys.iter(), &mut columns);
    let is_of_object = first.keys.contains(&Key::Object);
    for row in &joined.rows {
        let mut line = Vec::new();
        for (index, count) in row.events.iter().enumerate() {
            line.extend(counted(*count));
            if index != joined.per {
                line.push(count.ratio.map_or_else(|| NOTHING.to_owned(), told));
            }
        }
        row.cells.iter().for_each(|it| cell(it, is_of_object, &joined.chains, &mut line));
        columns.row(line);
    }
    columns.render(&mut out.text);
    let more = joined.rows_total.saturating_sub(joined.rows.len());
    if more > 0 {
        out.note(&number_of(u64::try_from(more).unwrap_or(u64::MAX), "more row"));
    }
    out.text
}

fn per(joined: &JoinedReport) -> &str {
    joined.events.get(joined.per).map_or("", |event| request(&event.name))
}

fn counted(count: JoinedCount) -> [String; 2] {
    match count.count {
        0 => [NOTHING, NOTHING].map(str::to_owned),
        _ => [count.period.to_string(), percent(count.share)],
    }
}

pub(super) fn told(ratio: f64) -> String {
    match ratio {
        0.0 => "0".to_owned(),
        100.0.. => format!("{ratio:.0}"),
        1.0.. => format!("{ratio:.2}"),
        0.001.. => format!("{ratio:.4}"),
        _ => format!("{ratio:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_keep_digits_that_tell() {
        let expected = ["0", "123457", "12.35", "1.00", "0.1235", "0.0012", "1.23e-5"];
        let ratios = [0.0, 123_456.7, 12.345_6, 1.0, 0.123_456, 0.001_234, 0.000_012_345];
        assert_eq!(ratios.map(told), expected);
    }
}
