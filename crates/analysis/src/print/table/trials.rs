//! Layouts that were tried as text for a terminal.

use super::columns::{Align, Columns};
use super::{Style, note, number_of, printable};
use crate::print::causes::routine_of;
use crate::report::{EventTrial, LayoutTrial, TrialCount, TrialRow};

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
    let mut columns = Columns::new(style);
    columns.add("before", Align::Right);
    columns.add("cause", Align::Whole);
    for number in 1..=event.after.len() {
        columns.add(&number.to_string(), Align::Right);
        columns.add("cause", Align::Whole);
    }
    columns.add("routine", Align::Left);
    columns.add("on", Align::Left);
    let all = [event.before].into_iter().chain(event.after.iter().copied());
    let mut total: Vec<String> = all.flat_map(|it| [it.to_string(), String::new()]).collect();
    total.extend(["[all]".to_owned(), String::new()]);
    columns.row(total);
    event.rows.iter().take(top).for_each(|row| columns.row(cells(row)));
    columns.render(out);
    if let Some(more) = event.rows.len().checked_sub(top).filter(|more| *more > 0) {
        out.push_str(&note(&number_of(more as u64, "more row"), style));
    }
}

fn cells(row: &TrialRow) -> Vec<String> {
    let of =
        |count: &TrialCount| [count.events.to_string(), count.cause.unwrap_or_default().to_owned()];
    let counts = [&row.before].into_iter().chain(&row.after).flat_map(of);
    counts.chain([routine_of(&row.site), row.data.clone()]).collect()
}
