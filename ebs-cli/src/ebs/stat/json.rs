//! Counts as JSON.

use super::PerUnit;
use super::row::{StatRow, StatTable};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Document<'t> {
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<f64>,
    runs: usize,
    emulated: Option<&'t str>,
    rows: Vec<Row<'t>>,
}

#[derive(Serialize)]
struct Row<'t> {
    pmu: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'t str>,
    name: &'t str,
    /// As `-t` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'t str>,
    unit: &'t str,
    value: Option<f64>,
    /// Null: no bound is known.
    low: Option<f64>,
    high: Option<f64>,
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deviation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples_agree: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    per: BTreeMap<&'t str, f64>,
}

/// One line.
pub(super) fn document(table: &StatTable<'_>) -> Result<String> {
    let row = |row| of_row(row, table);
    let document = Document {
        seconds: table.seconds,
        at: table.at.map(|at| at.as_secs_f64()),
        runs: table.runs,
        emulated: table.model.as_deref(),
        rows: table.rows.iter().map(row).collect(),
    };
    Ok(analysis::json::line(&document)? + "\n")
}

fn of_row<'t>(row: &'t StatRow, table: &'t StatTable<'_>) -> Row<'t> {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let of_unit = |unit: &'t PerUnit| Some((unit.name.as_str(), row.per(unit)?));
    Row {
        pmu: &row.pmu,
        group: row.group,
        name: &row.name,
        event: row.spec.as_deref(),
        unit: row.unit,
        value: row.figure.ok().and_then(|figure| finite(figure.value)),
        low: row.figure.ok().and_then(|figure| finite(figure.low)),
        high: row.figure.ok().and_then(|figure| finite(figure.high)),
        share: row.share,
        deviation: row.deviation,
        samples_agree: row.agrees,
        why: super::row::why(row),
        per: table.per.iter().filter_map(of_unit).collect(),
    }
}
