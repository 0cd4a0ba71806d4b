//! Counts for programs. A column that is added here is in CSV and in JSON.

use super::PerUnit;
use super::row::{StatRow, StatTable, why};
use anyhow::Result;
use recorder::metrics::Estimate;
use render::{Cell, Column, CsvNames, CsvTable, Head, row_entries};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::io::Write;

/// Behind who counted.
static STAT_COLUMNS: [Column<StatRow>; 10] = [
    Column::program("name", |row| Some(Cell::words(&*row.name))),
    // As `-t` takes it.
    Column::in_json("event", |row| Some(Cell::words(row.spec.as_deref()?))),
    Column::program("unit", |row| Some(Cell::words(row.unit))),
    Column::program("value", |row| Some(figure(row, |it| it.value))),
    // Null: no bound is known.
    Column::program("low", |row| Some(figure(row, |it| it.low))),
    Column::program("high", |row| Some(figure(row, |it| it.high))),
    Column::program("share", |row| Some(number(row.share))),
    Column::program("deviation", |row| Some(number(Some(row.deviation?)))),
    Column::in_json("samples_agree", |row| Some(Cell::Flag(row.agrees?))),
    Column::program("why", |row| Some(Cell::words(why(row)?))),
];

fn figure(row: &StatRow, of: fn(Estimate) -> f64) -> Cell<'static> {
    number(row.figure.ok().map(of))
}

fn number(value: Option<f64>) -> Cell<'static> {
    let value = value.filter(|value| value.is_finite());
    value.map_or(Cell::Nothing, |value| Cell::Rounded(value, value.to_string()))
}

/// The line of names.
pub(super) fn csv_head(per: &[PerUnit], out: &mut dyn Write) -> Result<()> {
    Ok(csv(per, out).head()?)
}

/// A line of each row, with -I behind the end of its span.
pub(super) fn csv_lines(table: &StatTable<'_>, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv(table.per, out);
    for row in &table.rows {
        let group = Cell::words(row.group.unwrap_or("events"));
        let at = number(table.at.map(|at| at.as_secs_f64()));
        let cells = STAT_COLUMNS.iter().map(|column| column.cell(row));
        let units = table.per.iter().map(|unit| number(row.per(unit)));
        csv.row([at, Cell::words(&*row.pmu), group].into_iter().chain(cells).chain(units))?;
    }
    Ok(csv.flush()?)
}

fn csv<'o>(per: &[PerUnit], out: &'o mut dyn Write) -> CsvTable<'static, &'o mut dyn Write> {
    let mut heads = ["at", "pmu", "group"].map(Head::program).to_vec();
    heads.extend(STAT_COLUMNS.iter().map(|column| column.head.clone()));
    heads.extend(per.iter().map(|unit| Head::program(format!("per_{}", unit.name))));
    CsvTable::new(heads, CsvNames::Exact, out)
}

#[derive(serde::Serialize)]
struct Document<'t> {
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<f64>,
    runs: usize,
    emulated: Option<&'t str>,
    rows: Vec<RowObject<'t>>,
}

struct RowObject<'t> {
    row: &'t StatRow,
    per: &'t [PerUnit],
}

/// One line of JSON.
pub(super) fn json(table: &StatTable<'_>, out: &mut dyn Write) -> Result<()> {
    let document = Document {
        seconds: table.seconds,
        at: table.at.map(|at| at.as_secs_f64()),
        runs: table.runs,
        emulated: table.model.as_deref(),
        rows: table.rows.iter().map(|row| RowObject { row, per: table.per }).collect(),
    };
    analysis::json::write_line(&document, &mut *out)?;
    Ok(out.write_all(b"\n")?)
}

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RowObject { row, per } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pmu", &row.pmu)?;
        if let Some(group) = row.group {
            map.serialize_entry("group", group)?;
        }
        row_entries(&STAT_COLUMNS, *row, &mut map)?;
        let of_unit = |unit: &PerUnit| Some((unit.name.clone(), row.per(unit)?));
        let per: BTreeMap<String, f64> = per.iter().filter_map(of_unit).collect();
        if !per.is_empty() {
            map.serialize_entry("per", &per)?;
        }
        map.end()
    }
}
