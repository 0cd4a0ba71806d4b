//! Counts as CSV.

use super::row::{StatTable, why};
use crate::ebs::stat::PerUnit;

pub(super) fn head(per: &[PerUnit]) -> String {
    let fields =
        ["at", "pmu", "group", "name", "unit", "value", "low", "high", "share", "deviation", "why"];
    let units = per.iter().map(|unit| format!("per_{}", unit.name));
    let mut text = String::new();
    line(fields.into_iter().map(str::to_owned).chain(units), &mut text);
    text
}

/// A line of each row, with -I behind the end of its span.
pub(super) fn lines(table: &StatTable<'_>) -> String {
    let mut text = String::new();
    for row in &table.rows {
        let number = |value: Option<f64>| {
            value
                .filter(|value| value.is_finite())
                .map_or_else(String::new, |value| value.to_string())
        };
        let figure = row.figure.ok();
        let fields = [
            number(table.at.map(|at| at.as_secs_f64())),
            row.pmu.clone(),
            row.group.unwrap_or("events").to_owned(),
            row.name.clone(),
            row.unit.to_owned(),
            number(figure.map(|figure| figure.value)),
            number(figure.map(|figure| figure.low)),
            number(figure.map(|figure| figure.high)),
            number(row.share),
            number(row.deviation),
            why(row).unwrap_or_default(),
        ];
        let units = table.per.iter().map(|unit| number(row.per(unit)));
        line(fields.into_iter().chain(units), &mut text);
    }
    text
}

/// A field with a comma, a quote or a line's end stands in quotes (RFC 4180).
fn line(fields: impl Iterator<Item = String>, text: &mut String) {
    let quoted = |field: String| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    let fields: Vec<String> = fields.map(quoted).collect();
    text.push_str(&fields.join(","));
    text.push('\n');
}
