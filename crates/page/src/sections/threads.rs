//! Which threads were sampled, most first.

use crate::content::PageContent;
use analysis::report::{Cell as KeyValue, EventReport, Report, Row};
use analysis::table::number_table;
use render::{Cell, Head, HtmlText, Table};
use std::collections::BTreeMap;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(threads) = &content.threads else { return };
    for event in threads.events.iter().filter(|event| !event.rows.is_empty()) {
        table(event).html(out);
    }
}

fn table(event: &EventReport) -> Table<'_> {
    let mut table = number_table(event);
    table.caption = format!("Threads of {}", event.name);
    table.heads.splice(0..0, ["name", "thread"].map(Head::left));
    for (cells, row) in table.rows.iter_mut().zip(&event.rows) {
        let number = thread(row).map_or(Cell::Nothing, |number| Cell::name(number.to_string()));
        cells.splice(0..0, [Cell::name(name(row)), number]);
    }
    if let Some(more) = event.rows_total.checked_sub(event.rows.len()).filter(|more| *more > 0) {
        table.foot = Some(format!("{more} more threads: `ebs report --by comm,tid` has them"));
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

pub(crate) fn name(row: &Row) -> String {
    match row.cells.first() {
        Some(KeyValue::Text(name)) => name.to_string(),
        Some(KeyValue::Missing(missing)) => format!("[{missing}]"),
        _ => "-".to_owned(),
    }
}

fn thread(row: &Row) -> Option<i64> {
    match row.cells.get(1) {
        Some(KeyValue::Number(number)) => Some(*number),
        _ => None,
    }
}
