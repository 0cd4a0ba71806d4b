//! Reports as text for a terminal: `#` lines that say what was counted, a
//! header, a line a row, columns aligned.

mod call_tree;
mod columns;
mod diff;
mod facts;
mod head;
mod joined;
mod listing;
mod trials;

use crate::causes::share_interval::ratio;
use crate::query::Weighting;
use crate::query::key::Key;
use crate::query::time::seconds;
use crate::report::{AccessReport, Cell, EventReport, Latencies, Report, ReportChains, Row, hex};
use columns::{Align, Columns};
pub use diff::render as render_diff;
pub use joined::render as render_joined;
pub use listing::render_listing;
pub(crate) use listing::tidy;
pub(crate) use perfdata::printable::printable;
pub use trials::render_trial;

/// How text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Terminal colours: bold headers, dim notes.
    pub color: bool,
    /// Lines are cut to so many columns of the terminal; long names lose
    /// their middle. Without it nothing is ever cut.
    pub width: Option<usize>,
    /// Every reason why samples have no name is listed, not only the
    /// commonest.
    pub reasons: bool,
}

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

/// A line about the numbers.
pub fn note(line: &str, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    out.note(line);
    out.text
}

struct Text {
    text: String,
    style: Style,
}

impl Text {
    /// A line about the numbers, not of them.
    fn note(&mut self, line: &str) {
        let (dim, plain) = if self.style.color { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        self.text.push_str(dim);
        self.text.push_str("# ");
        self.text.push_str(&printable(line));
        self.text.push_str(plain);
        self.text.push('\n');
    }
}

pub(crate) fn number_of(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn rows(rows: &[Row], event: &EventReport, chains: &ReportChains, out: &mut Text) {
    let by_period = event.weighting == Weighting::Period;
    let has = |any: fn(&AccessReport) -> bool| {
        rows.iter().any(|row| row.served.as_ref().is_some_and(any))
    };
    let has_latency = has(|served| served.latency.is_some());
    let levels = match has(|served| !served.levels.is_empty()) {
        true => event.levels.as_slice(),
        false => &[],
    };
    let mut columns = Columns::new(out.style);
    columns.add("count", Align::Right);
    if by_period {
        columns.add("period", Align::Right);
    }
    columns.add("share", Align::Right);
    let has_own = rows.iter().any(|row| row.own.is_some());
    if has_own {
        columns.add("self", Align::Right);
    }
    if has_latency {
        for column in ["cycles", "mean", "median", "p95"] {
            columns.add(column, Align::Right);
        }
    }
    for level in levels {
        columns.add(level, Align::Right);
    }
    add_keys(rows.iter().take(1).flat_map(|row| row.keys.iter()), &mut columns);
    // Beside its object a mark needs not say whose it is.
    let is_of_object = rows.first().is_some_and(|row| row.keys.contains(&Key::Object));
    let facts = facts::Columns::of(rows);
    facts.add(&mut columns);
    for row in rows {
        let mut line = vec![row.count.to_string()];
        if by_period {
            line.push(row.period.to_string());
        }
        line.push(percent(row.share));
        if has_own {
            line.push(row.own.map_or_else(|| NOTHING.to_owned(), |own| percent(own.share)));
        }
        let served = row.served.as_ref();
        if has_latency {
            line.extend(latency(served.and_then(|served| served.latency)));
        }
        let share = |level| served.and_then(|served| served.levels.get(level));
        line.extend(
            levels.iter().map(|level| {
                share(level).map_or_else(|| NOTHING.to_owned(), |share| percent(*share))
            }),
        );
        row.cells.iter().for_each(|it| cell(it, is_of_object, chains, &mut line));
        facts.row(row, &mut line);
        columns.row(line);
    }
    columns.render(&mut out.text);
}

fn add_keys<'k>(keys: impl Iterator<Item = &'k Key>, columns: &mut Columns) {
    for key in keys {
        match key {
            Key::Site => {
                columns.add("address", Align::Whole);
                columns.add("routine", Align::Left);
                columns.add("object", Align::Left);
            }
            Key::Data => {
                columns.add("data", Align::Whole);
                columns.add("variable", Align::Left);
                columns.add("data object", Align::Left);
            }
            Key::Pid | Key::Tid | Key::Cpu | Key::Time(_) => {
                columns.add(&key.to_string(), Align::Right);
            }
            Key::Routine
            | Key::Inlined
            | Key::Srcline
            | Key::RoutineLine
            | Key::Operands
            | Key::Caller
            | Key::Callee
            | Key::Stack
            | Key::Object
            | Key::Comm
            | Key::Region
            | Key::Miss
            | Key::Variable
            | Key::Alloc
            | Key::AllocLine
            | Key::Block
            | Key::Holder
            | Key::Type
            | Key::Member
            | Key::Access(_) => columns.add(&key.to_string(), Align::Left),
            key => columns.add(&key.to_string(), Align::Whole),
        }
    }
}

const NOTHING: &str = "-";

/// Part of all cycles, mean, median, and what 95 of 100 do not exceed.
fn latency(latency: Option<Latencies>) -> [String; 4] {
    latency.map_or_else(
        || [(); 4].map(|()| NOTHING.to_owned()),
        |Latencies { share, mean, median, p95, .. }| {
            [percent(share), format!("{mean:.1}"), median.to_string(), p95.to_string()]
        },
    )
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

fn cell(cell: &Cell, is_of_object: bool, chains: &ReportChains, line: &mut Vec<String>) {
    match cell {
        Cell::Number(number) => line.push(number.to_string()),
        Cell::Time(nanoseconds) => line.push(seconds(*nanoseconds)),
        Cell::Address(address) => line.push(hex(*address)),
        Cell::Text(text) => line.push(text.to_string()),
        Cell::Chain(chain) => line.push(chains.folded(*chain)),
        Cell::Missing(missing) => line.push(missing.mark(is_of_object)),
        Cell::Site(site) | Cell::Data(site) => {
            line.push(hex(site.address));
            line.push(match &site.routine {
                Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
                Err(unresolved) => unresolved.tag.to_owned(),
            });
            line.push(site.object.to_string());
        }
        Cell::SiteMissing(missing) => {
            line.push(NOTHING.to_owned());
            line.push(missing.mark(true));
            line.push(NOTHING.to_owned());
        }
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
    let mut columns = Columns::new(out.style);
    columns.add("register", Align::Left);
    columns.add("count", Align::Right);
    columns.add("share", Align::Right);
    columns.add("value", Align::Whole);
    // One value, or each value once: the finding said it all.
    let repeats = event.registers.iter().filter(|register| {
        register.distinct > 1 && register.top.first().is_some_and(|value| value.count > 1)
    });
    for register in repeats {
        for value in &register.top {
            columns.row(vec![
                register.name.clone(),
                value.count.to_string(),
                percent(ratio(value.count, register.samples)),
                hex(value.value),
            ]);
        }
    }
    if !columns.is_empty() {
        out.text.push('\n');
        columns.render(&mut out.text);
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
