//! Several events in one table.

use super::{Style, Text, head, number_of};
use crate::collect::event::request;
use crate::print::row_table::{key_heads, push_key};
use crate::query::key::Key;
use crate::report::{JoinedCount, JoinedReport, Report};
use render::{Cell, Head, Table};

/// The table, below what holds for each event. `report` is what was joined.
pub fn render(joined: &JoinedReport, report: &Report, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    head::report(report, &mut out);
    for event in &report.events {
        head::event(event, &mut out);
    }
    let Some(first) = joined.rows.first() else { return out.text };
    let mut heads = Vec::new();
    for (index, event) in joined.events.iter().enumerate() {
        heads.extend([Head::number(request(&event.name).to_owned()), Head::number("share")]);
        if index != joined.per {
            heads.push(Head::number(format!("per {}", per(joined))));
        }
    }
    heads.extend(first.keys.iter().flat_map(|key| key_heads(&key.to_string())));
    let is_of_object = first.keys.contains(&Key::Object);
    let mut table = Table::new("", heads);
    for row in &joined.rows {
        let mut cells = Vec::new();
        for (index, count) in row.events.iter().enumerate() {
            cells.extend(counted(*count));
            if index != joined.per {
                cells.push(count.ratio.map_or(Cell::Nothing, |it| Cell::Rounded(it, told(it))));
            }
        }
        row.cells.iter().for_each(|it| push_key(it, is_of_object, &joined.chains, &mut cells));
        table.rows.push(cells);
    }
    out.table(&table);
    let more = joined.rows_total.saturating_sub(joined.rows.len());
    if more > 0 {
        out.note(&number_of(u64::try_from(more).unwrap_or(u64::MAX), "more row"));
    }
    out.text
}

fn per(joined: &JoinedReport) -> &str {
    joined.events.get(joined.per).map_or("", |event| request(&event.name))
}

fn counted(count: JoinedCount) -> [Cell<'static>; 2] {
    match count.count {
        0 => [Cell::Nothing, Cell::Nothing],
        _ => [Cell::Count(count.period), Cell::Share(count.share)],
    }
}

pub(crate) fn told(ratio: f64) -> String {
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
