//! Two sides in one table: as text, and as CSV.

use crate::diff::{DiffEvent, DiffReport, DiffRow, DiffRunFacts, DiffVerdict};
use crate::print::csv::CsvNames;
use crate::print::table::{Style, Text, number_of, told};
use render::{Cell, Column, CsvTable, Head, Table};
use std::io::{self, Write};

/// The numbers of a row, in their order: one that is added here is in both.
static DIFF_COLUMNS: [Column<DiffRow>; 12] = [
    Column::program("a_samples", |row| Some(Cell::Count(row.a.samples))),
    Column::program("a_events", |row| Some(rate(row.a.events))),
    Column::number("a_rate", "A", |row| Some(rate(row.a.rate))),
    Column::program("b_samples", |row| Some(Cell::Count(row.b.samples))),
    Column::program("b_events", |row| Some(rate(row.b.events))),
    Column::number("b_rate", "B", |row| Some(rate(row.b.rate))),
    Column::number("ratio", "ratio", |row| bound(row, row.ratio)),
    Column::number("low", "from", |row| bound(row, row.low)),
    Column::number("high", "to", |row| bound(row, row.high)),
    Column::program("p", |row| Some(likelihood(row.p?))),
    Column::number("q", "q", |row| Some(likelihood(row.q?))),
    Column::whole("told", "told", |row| Some(Cell::words(row.verdict.word()))),
];

fn rate(rate: f64) -> Cell<'static> {
    Cell::Rounded(rate, told(rate))
}

/// Without a bound a row is so many times nothing.
fn bound(row: &DiffRow, bound: Option<f64>) -> Option<Cell<'static>> {
    let has_any = row.a.events + row.b.events > 0.0;
    let none = Cell::Missing { mark: if has_any { "inf" } else { "-" }.into(), reason: "".into() };
    Some(bound.map_or(none, rate))
}

/// Small ones by their size alone.
fn likelihood(value: f64) -> Cell<'static> {
    let text = match value {
        0.0 => "0".to_owned(),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    };
    Cell::Rounded(value, text)
}

/// In the place of keys of a row that is all of an event.
const ALL: &str = "[all]";

/// A table for each event, of so many rows.
pub fn render(diff: &DiffReport, top: Option<usize>, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    for (side, runs) in [("A", &diff.a), ("B", &diff.b)] {
        out.note(&format!("{side}: {} {}", told_runs(runs), diff.per));
    }
    out.note(&format!("rates are by {}: {}", diff.per, diff.per_because));
    out.note(&intervals(diff));
    diff.notes.iter().for_each(|note| out.note(note));
    for event in &diff.events {
        out.text.push('\n');
        out.note(&head(event, diff));
        rows(event, diff, top, &mut out);
    }
    if !diff.limits.is_empty() {
        out.text.push('\n');
        diff.limits.iter().for_each(|answer| out.note(&answer.to_string()));
    }
    out.text
}

fn told_runs(runs: &[DiffRunFacts]) -> String {
    let exposure = told(runs.iter().map(|run| run.exposure).sum());
    match runs {
        [one] => format!("{}: {exposure} x", one.name),
        [first, rest @ ..] => {
            let more = u64::try_from(rest.len()).unwrap_or(u64::MAX);
            format!("{} and {}: {exposure} x", first.name, number_of(more, "more run"))
        }
        [] => exposure,
    }
}

fn intervals(diff: &DiffReport) -> String {
    let percent = diff.level * 100.0;
    match diff.repeated {
        true => {
            format!("intervals of {percent:.0} %: sampling error, and what repeated runs vary by")
        }
        false => format!(
            "intervals of {percent:.0} %: sampling error only; what runs of one program vary by is not \
             known of one run each, and no row is told apart (ebs compare -n 5, --runs)"
        ),
    }
}

fn head(event: &DiffEvent, diff: &DiffReport) -> String {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let rows = number_of(number(event.rows_total), "row");
    let rate = diff.false_discovery_rate * 100.0;
    let varied = event.dispersion.map_or_else(String::new, |factor| {
        format!("; runs vary by {factor:.2} times the variance of chance")
    });
    if !diff.repeated {
        let differ = event.rows.iter().filter(|row| row.verdict == DiffVerdict::Unrepeated).count();
        return format!("{}: {rows}, {differ} beyond sampling error", event.name);
    }
    format!(
        "{}: {rows}, {} with samples enough to be told apart, {} told apart (at a false discovery \
         rate of {rate:.0} %){varied}",
        event.name, event.tested, event.told_apart
    )
}

fn rows(event: &DiffEvent, diff: &DiffReport, top: Option<usize>, out: &mut Text) {
    let heads = DIFF_COLUMNS.iter().map(|column| column.head.clone());
    let mut table = Table { heads: heads.collect(), ..Table::default() };
    table.heads.extend(diff.by.iter().map(|key| Head::left(key.clone())));
    let mut total = numbers(&event.total);
    if let (true, false, Some(told)) = (event.counted, diff.repeated, total.last_mut()) {
        // Whether it is the same is not asked of what was counted once.
        *told = Cell::words("counted");
    }
    total.push(Cell::words(ALL));
    total.resize(table.heads.len(), Cell::words(""));
    table.rows.push(total);
    let shown = top.unwrap_or(usize::MAX).min(event.rows.len());
    for row in event.rows.iter().take(shown) {
        let mut cells = numbers(row);
        cells.extend(row.keys.iter().map(|key| Cell::name(&**key)));
        if let (Some(was), Some(last)) = (&row.was, cells.last_mut()) {
            *last = Cell::name(format!("{} (was {})", last.text(), was.join(" ")));
        }
        table.rows.push(cells);
    }
    out.table(&table);
    let more = event.rows_total.saturating_sub(shown);
    if more > 0 {
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        out.note(&number_of(more, "more row"));
    }
}

fn numbers(row: &DiffRow) -> Vec<Cell<'_>> {
    DIFF_COLUMNS.iter().map(|column| column.cell(row)).collect()
}

/// Writes all rows of all events. Of a total the keys are empty; a bound that there is not
/// is empty, too.
pub fn write_csv(diff: &DiffReport, names: CsvNames, out: impl Write) -> io::Result<()> {
    let mut heads = vec![Head::program("event")];
    heads.extend(DIFF_COLUMNS.iter().map(|column| column.head.clone()));
    heads.extend(diff.by.iter().cloned().map(Head::program));
    heads.push(Head::program("was"));
    let mut csv = CsvTable::new(heads, names, out);
    csv.head()?;
    for event in &diff.events {
        for row in std::iter::once(&event.total).chain(&event.rows) {
            let numbers = DIFF_COLUMNS.iter().map(|column| column.cell(row));
            let key = |index| Cell::name(row.keys.get(index).map_or("", String::as_str));
            let was = row.was.as_ref().map_or_else(String::new, |was| was.join(" "));
            let name = [Cell::name(&*event.name)].into_iter();
            csv.row(
                name.chain(numbers).chain((0..diff.by.len()).map(key)).chain([Cell::name(was)]),
            )?;
        }
    }
    csv.flush()
}
