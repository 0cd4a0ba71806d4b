//! Reports as text for a terminal: `#` lines that say what was counted, a
//! header, a line a row, columns aligned.

mod call_tree;
pub(crate) mod facts;
mod head;
mod joined;
mod listing;

use crate::print::row_table::RowTable;
pub use crate::print::row_table::number_table;
use crate::print::short_rows::short_rows;
pub use crate::print::text::{Style, note};
pub(crate) use crate::print::text::{Text, number_of};
use crate::report::{EventReport, Report, ReportChains, Row};
use crate::share_interval::ratio;
pub use joined::render as render_joined;
pub(crate) use joined::told;
pub use listing::render_listing;
pub(crate) use listing::tidy;
pub(crate) use perfdata::printable::printable;
pub(crate) use render::percent;
use render::{Cell, Head, Table};
use std::borrow::Cow;

/// The whole report.
pub fn render(report: &Report, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    head::report(report, &mut out);
    let mut first = true;
    for event in &report.events {
        if !first {
            out.text.push('\n');
        }
        first = false;
        head::event(event, &mut out);
        if !event.accesses.is_empty() {
            rows(&event.accesses, event, &report.chains, &mut out);
            if !event.rows.is_empty() {
                out.text.push('\n');
            }
        }
        if let Some(tree) = &event.tree {
            call_tree::render(tree, event, &report.chains, &mut out);
        }
        if !event.rows.is_empty() {
            rows(&event.rows, event, &report.chains, &mut out);
            rest(event, &mut out);
        }
        if let Some(at_site) = event.totals.at_site {
            registers(event, at_site, report, &mut out);
        }
    }
    out.text
}

/// The lines above the tables: of all events, and of each.
pub(crate) fn heads(report: &Report, style: Style) -> (String, Vec<String>) {
    let of = |write: &dyn Fn(&mut Text)| {
        let mut out = Text { text: String::new(), style };
        write(&mut out);
        out.text
    };
    let all = of(&|out| head::report(report, out));
    (all, report.events.iter().map(|event| of(&|out| head::event(event, out))).collect())
}

/// The lines above all tables, one after the other.
pub fn head(report: &Report, style: Style) -> String {
    let (all, heads) = heads(report, style);
    heads.iter().fold(all, |text, head| text + head)
}

fn rows(rows: &[Row], event: &EventReport, chains: &ReportChains, out: &mut Text) {
    let rows = if out.style.full_names { Cow::Borrowed(rows) } else { short_rows(rows) };
    out.table(&RowTable::of_event(&rows, event, chains));
}

fn rest(event: &EventReport, out: &mut Text) {
    let shown = event.rows.len();
    if shown < event.rows_total {
        let samples = event.rows.iter().map(|row| row.count).fold(0, u64::saturating_add);
        let rest = event.totals.counted.saturating_sub(samples);
        let rows = u64::try_from(event.rows_total - shown).unwrap_or(u64::MAX);
        let what = if event.in_kernel.is_some() { "hit" } else { "sample" };
        let (rows, rest) = (number_of(rows, "more row"), number_of(rest, what));
        // Inclusive rows have samples in common.
        let is_inclusive = event.rows.iter().any(|row| row.own.is_some());
        out.note(&if is_inclusive { rows } else { format!("{rows}, {rest}") });
    }
}

fn registers(event: &EventReport, at_site: u64, report: &Report, out: &mut Text) {
    if !event.rows.is_empty() {
        out.text.push('\n');
    }
    let site = report.query.site.as_deref().unwrap_or("all sites");
    let in_kernel = event.in_kernel.as_ref().and_then(|it| it.at_site.as_ref());
    let what = if in_kernel.is_some() { "hit" } else { "sample" };
    out.note(&format!("registers at {site}: {}", number_of(at_site, what)));
    if let Some(facts) = in_kernel {
        facts::registers(facts, out);
    }
    if event.registers.is_empty() {
        return;
    }
    for register in &event.registers {
        out.text.push_str(&register.finding());
        out.text.push('\n');
    }
    let heads = [
        Head::left("register"),
        Head::number("count"),
        Head::number("share"),
        Head::whole("value"),
    ];
    let mut table = Table::new("", heads);
    // One value, or each value once: the finding said it all.
    let repeats = event.registers.iter().filter(|register| {
        register.distinct > 1 && register.top.first().is_some_and(|value| value.count > 1)
    });
    for register in repeats {
        table.rows.extend(register.top.iter().map(|value| {
            let share = Cell::Share(ratio(value.count, register.samples));
            let name = Cell::name(register.name.as_str());
            vec![name, Cell::Count(value.count), share, Cell::Address(value.value)]
        }));
    }
    if !table.rows.is_empty() {
        out.text.push('\n');
        out.table(&table);
    }
}

/// Sentences about the numbers of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportRemarks {
    /// Of all events.
    pub all: Vec<String>,
    /// Of each event, in the report's order.
    pub events: Vec<Vec<String>>,
}

/// The lines above a report's tables, without their signs; reasons are all there.
pub fn remarks(report: &Report) -> ReportRemarks {
    let (all, events) = heads(report, Style { reasons: true, ..Style::default() });
    let lines = |text: &str| {
        let line = |line: &str| line.strip_prefix("# ").unwrap_or(line).trim().to_owned();
        text.lines().map(line).collect()
    };
    ReportRemarks { all: lines(&all), events: events.iter().map(|text| lines(text)).collect() }
}
