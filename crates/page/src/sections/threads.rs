//! Which threads were sampled, most first.

use crate::content::PageContent;
use crate::html_text::HtmlText;
use crate::table::{PageCell, PageTable};
use analysis::Weighting;
use analysis::report::{Cell, EventReport, Report, Row};
use std::collections::BTreeMap;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(threads) = &content.threads else { return };
    for event in threads.events.iter().filter(|event| !event.rows.is_empty()) {
        table(event).write(out);
    }
}

fn table(event: &EventReport) -> PageTable {
    let has_periods = event.weighting == Weighting::Period;
    let mut titles = vec!["name", "thread", "#count"];
    titles.extend(has_periods.then_some("#period"));
    titles.push("#share");
    let mut table = PageTable::new(format!("Threads of {}", event.name), &titles);
    for row in &event.rows {
        let number = match thread(row) {
            Some(number) => PageCell::Name(number.to_string()),
            None => PageCell::Nothing,
        };
        let mut cells = vec![PageCell::Name(name(row)), number, PageCell::Number(row.count)];
        cells.extend(has_periods.then_some(PageCell::Number(row.period)));
        cells.push(PageCell::Share(row.share));
        table.row(cells);
    }
    if let Some(more) = event.rows_total.checked_sub(event.rows.len()).filter(|more| *more > 0) {
        table.rest(format!("{more} more threads: `ebs report --by comm,tid` has them"));
    }
    table
}

/// What each thread was called; of several names the one with most samples.
pub(crate) fn names(threads: &Report) -> BTreeMap<i64, String> {
    let mut names = BTreeMap::new();
    for row in threads.events.iter().flat_map(|event| &event.rows) {
        if let Some(number) = thread(row) {
            names.entry(number).or_insert_with(|| name(row));
        }
    }
    names
}

fn name(row: &Row) -> String {
    match row.cells.first() {
        Some(Cell::Text(name)) => name.to_string(),
        Some(Cell::Missing(missing)) => format!("[{missing}]"),
        _ => "-".to_owned(),
    }
}

fn thread(row: &Row) -> Option<i64> {
    match row.cells.get(1) {
        Some(Cell::Number(number)) => Some(*number),
        _ => None,
    }
}
