//! Layouts that were tried as text for a terminal.

use crate::causes::layout_trial::{EventTrial, LayoutTrial, TrialCount, TrialRow};
use crate::print::table::{Style, note, number_of, printable};
use render::{Cell, Head, Table};

/// What was tried, and `top` rows of each event: misses as the program is, and
/// after each change.
pub fn render_trial(trial: &LayoutTrial, top: usize, style: Style) -> String {
    let mut out = String::new();
    for (number, change) in (1..).zip(&trial.changes) {
        let text = format!("{number}: {}: {}", change.typed, change.layouts.join(", "));
        out.push_str(&note(&printable(&text), style));
    }
    for text in &trial.notes {
        out.push_str(&note(text, style));
    }
    for event in &trial.events {
        out.push('\n');
        out.push_str(&note(&event.event, style));
        table(event, top, style, &mut out);
    }
    out
}

fn table(event: &EventTrial, top: usize, style: Style, out: &mut String) {
    let mut heads = vec![Head::number("before"), Head::whole("cause")];
    for number in 1..=event.after.len() {
        heads.extend([Head::number(number.to_string()), Head::whole("cause")]);
    }
    heads.extend([Head::left("routine"), Head::left("on")]);
    let mut table = Table::new("", heads);
    let all = [event.before].into_iter().chain(event.after.iter().copied());
    let mut total: Vec<Cell<'_>> = all.flat_map(|it| [Cell::Count(it), Cell::words("")]).collect();
    total.extend(["[all]", ""].map(Cell::words));
    table.rows.push(total);
    table.rows.extend(event.rows.iter().take(top).map(cells));
    out.push_str(&table.text(style.width, style.color));
    if let Some(more) = event.rows.len().checked_sub(top).filter(|more| *more > 0) {
        out.push_str(&note(&number_of(more as u64, "more row"), style));
    }
}

fn cells(row: &TrialRow) -> Vec<Cell<'_>> {
    let of = |count: &TrialCount| {
        [Cell::Count(count.events), Cell::words(count.cause.unwrap_or_default())]
    };
    let counts = [&row.before].into_iter().chain(&row.after).flat_map(of);
    counts.chain([Cell::name(row.site.in_routine()), Cell::name(&*row.data)]).collect()
}
