//! Rows of a report as a table, of which text, CSV and the page are forms.

use crate::print::table::facts;
use crate::query::Weighting;
use crate::query::time::seconds;
use crate::report::row_columns::ROW_COLUMNS;
use crate::report::{Cell as RowCell, EventReport, Report, ReportChains, Row, SiteCell};
use render::{Align, Cell, Column, Head, Table};

/// The columns of rows by their keys.
#[derive(Debug)]
pub(crate) struct RowTable<'r> {
    numbers: NumberColumns<'r>,
    keys: Vec<String>,
    has_facts: bool,
    chains: &'r ReportChains,
}

impl<'r> RowTable<'r> {
    /// Of all events: what one of them has.
    pub(crate) fn of_report(report: &'r Report) -> RowTable<'r> {
        let mut levels: Vec<&str> = Vec::new();
        for level in report.events.iter().flat_map(|event| &event.levels) {
            if !levels.contains(&level.as_str()) {
                levels.push(level);
            }
        }
        let mut rows = report.events.iter().flat_map(|event| &event.rows);
        let has_own = rows.any(|row| row.own.is_some());
        let is_there = |column: &&Column<Row>| match column.head.group {
            "self" => has_own,
            "latency" => report.query.mem,
            _ => true,
        };
        let columns = ROW_COLUMNS.iter().filter(is_there).collect();
        RowTable {
            numbers: NumberColumns { columns, levels },
            keys: report.query.by.clone(),
            has_facts: report.events.iter().any(|event| event.in_kernel.is_some()),
            chains: &report.chains,
        }
    }

    /// Some of one event, for people.
    pub(crate) fn of_event(
        rows: &'r [Row],
        event: &'r EventReport,
        chains: &'r ReportChains,
    ) -> Table<'r> {
        let keys = rows.iter().take(1).flat_map(|row| &*row.keys);
        let table = RowTable {
            numbers: NumberColumns::of_event(rows, event),
            keys: keys.map(ToString::to_string).collect(),
            has_facts: rows.iter().any(|row| row.facts.is_some()),
            chains,
        };
        let rows = rows.iter().map(|row| table.cells(row)).collect();
        Table { heads: table.heads(), rows, ..Table::default() }
    }

    pub(crate) fn heads(&self) -> Vec<Head> {
        let mut heads = self.numbers.heads();
        heads.extend(self.keys.iter().flat_map(|key| key_heads(key)));
        heads.extend(self.has_facts.then(facts::heads).into_iter().flatten());
        heads
    }

    pub(crate) fn cells<'c>(&self, row: &'c Row) -> Vec<Cell<'c>> {
        let mut cells = self.numbers.cells(row);
        // Beside its object a mark needs not say whose it is.
        let is_of_object = self.keys.iter().any(|key| key == "object");
        row.cells.iter().for_each(|it| push_key(it, is_of_object, self.chains, &mut cells));
        if self.has_facts {
            cells.extend(facts::cells(row.facts.as_ref()));
        }
        cells
    }
}

/// What was counted of the rows of an event, for people: whose each is, is another's matter.
pub fn number_table(event: &EventReport) -> Table<'_> {
    let columns = NumberColumns::of_event(&event.rows, event);
    let rows = event.rows.iter().map(|row| columns.cells(row)).collect();
    Table { heads: columns.heads(), rows, ..Table::default() }
}

#[derive(Debug)]
struct NumberColumns<'r> {
    columns: Vec<&'static Column<Row>>,
    levels: Vec<&'r str>,
}

impl<'r> NumberColumns<'r> {
    fn of_event(rows: &[Row], event: &'r EventReport) -> NumberColumns<'r> {
        let by_period = event.weighting == Weighting::Period;
        let has_levels =
            rows.iter().any(|row| row.served.as_ref().is_some_and(|it| !it.levels.is_empty()));
        let levels = event.levels.iter().filter(|_| has_levels);
        // A sum of periods says something where shares are of it.
        let columns = ROW_COLUMNS.iter().filter(|it| by_period || it.head.heading != "period");
        NumberColumns { columns: columns.collect(), levels: levels.map(String::as_str).collect() }
    }

    fn heads(&self) -> Vec<Head> {
        let heads = self.columns.iter().map(|column| column.head.clone());
        let of_level =
            |level: &&str| Head::number((*level).to_owned()).called(format!("level:{level}"));
        heads.chain(self.levels.iter().map(of_level)).collect()
    }

    fn cells<'c>(&self, row: &'c Row) -> Vec<Cell<'c>> {
        let none = Cell::Missing { mark: "-".into(), reason: "0.000000".into() };
        let of_level = |level: &&str| row.served.as_ref()?.levels.get(*level).copied();
        let levels =
            self.levels.iter().map(|it| of_level(it).map_or_else(|| none.clone(), Cell::Part));
        self.columns.iter().map(|column| column.cell(row)).chain(levels).collect()
    }
}

/// The columns of a key: a place has several.
pub(crate) fn key_heads(key: &str) -> Vec<Head> {
    let (routine, object, prefix) = match key {
        "site" => ("routine", "object", "site"),
        "data" => ("variable", "data object", "data"),
        _ => {
            let align = match key.split(':').next() {
                Some("pid" | "tid" | "cpu" | "time") => Align::Right,
                Some("ip" | "addr" | "line" | "page" | "addr-before" | "reg") => Align::Whole,
                _ => Align::Left,
            };
            return vec![Head::new(align, key.to_owned()).called(key.to_owned())];
        }
    };
    let name = |part: &str| format!("{prefix}_{part}");
    let address = if prefix == "site" { "address" } else { "data" };
    vec![
        Head::whole(address).called(name("address")),
        Head::left(routine),
        Head::program(name(routine)),
        Head::program(name("offset")),
        Head::left(object).called(name("object")),
    ]
}

/// Appends the cells of those columns.
pub(crate) fn push_key<'r>(
    value: &'r RowCell,
    is_of_object: bool,
    chains: &ReportChains,
    cells: &mut Vec<Cell<'r>>,
) {
    let missing = |mark: String, reason: &dyn std::fmt::Display| Cell::Missing {
        mark: mark.into(),
        reason: format!("[{reason}]").into(),
    };
    match value {
        RowCell::Number(number) => cells.push(Cell::Signed(*number)),
        RowCell::Time(nanoseconds) => cells.push(Cell::words(seconds(*nanoseconds))),
        RowCell::Address(address) => cells.push(Cell::Address(*address)),
        RowCell::Text(text) => cells.push(Cell::name(&**text)),
        RowCell::Chain(chain) => cells.push(Cell::name(chains.folded(*chain))),
        RowCell::Missing(it) => cells.push(missing(it.mark(is_of_object), it)),
        RowCell::Site(SiteCell { address, object, routine })
        | RowCell::Data(SiteCell { address, object, routine }) => {
            cells.push(Cell::Address(*address));
            match routine {
                Ok(routine) => cells.extend([
                    Cell::name(format!("{}+{:#x}", routine.name, routine.offset)),
                    Cell::name(&*routine.name),
                    Cell::Count(routine.offset),
                ]),
                Err(unresolved) => cells.extend([
                    Cell::name(unresolved.tag),
                    Cell::name(format!("[{}]", unresolved.reason)),
                    Cell::Nothing,
                ]),
            }
            cells.push(Cell::name(&**object));
        }
        RowCell::SiteMissing(it) => {
            let of_people = Cell::name(it.mark(true));
            let of_programs = Cell::name(format!("[{it}]"));
            cells.extend([Cell::Nothing, of_people, of_programs, Cell::Nothing, Cell::Nothing]);
        }
    }
}
