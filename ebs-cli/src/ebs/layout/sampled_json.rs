//! Types with what was sampled of their members, for other programs.

use super::FoundType;
use super::json::{ShownType, shown};
use super::suggested::ShownOrder;
use crate::ebs::layout::LayoutArguments;
use analysis::Report;
use analysis::layout::{MemberUse, RowUse, SampledType, TypeReport, UseCount};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;

/// Counts up when a field changes its meaning or goes; new fields do not count.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct SampledTypes<'a> {
    hardmeter_layout: u32,
    line: u64,
    events: Vec<&'a str>,
    types: Vec<SampledShown<'a>>,
    untyped: &'a [UseCount],
    notes: &'a [String],
    report: &'a Report,
}

#[derive(Serialize)]
struct SampledShown<'a> {
    /// As reports have it.
    #[serde(rename = "type")]
    spelled: &'a str,
    object: &'a str,
    data: Vec<NamedCount<'a>>,
    #[serde(rename = "use")]
    sampled: &'a MemberUse,
    unplaced: &'a MemberUse,
    beyond: Vec<&'a MemberUse>,
    /// Null: none is better.
    order: Option<ShownOrder>,
    #[serde(flatten)]
    of: ShownType,
}

#[derive(Serialize)]
struct NamedCount<'a> {
    name: &'a str,
    count: u64,
}

pub(super) fn print(
    answer: &TypeReport,
    all: &[&SampledType],
    arguments: &LayoutArguments,
    out: &mut dyn Write,
) -> Result<()> {
    let rows: Vec<Vec<RowUse>> = all.iter().map(|of| rows(of, arguments.line)).collect();
    let types = all.iter().zip(&rows).map(|(of, rows)| {
        let id = of.program.alias(of.of).unwrap_or(of.of);
        let found = FoundType { id, units: vec![of.program.types.unit(of.of).name.clone()] };
        let beyond = rows.iter().filter(|row| row.row.is_none()).map(|row| &row.whole);
        SampledShown {
            spelled: &of.name,
            object: &of.object,
            data: of
                .variables
                .iter()
                .map(|(name, count)| NamedCount { name, count: *count })
                .collect(),
            sampled: &of.whole,
            unplaced: &of.unplaced,
            beyond: beyond.collect(),
            order: ShownOrder::new(of, arguments.line),
            of: shown(&of.program.types, &found, arguments.line, rows),
        }
    });
    let whole = SampledTypes {
        hardmeter_layout: VERSION,
        line: arguments.line,
        events: answer.report.events.iter().map(|event| event.name.as_str()).collect(),
        types: types.collect(),
        untyped: &answer.untyped,
        notes: &answer.notes,
        report: &answer.report,
    };
    analysis::json::write_pretty(&whole, &mut *out)?;
    writeln!(out)?;
    Ok(())
}

fn rows(of: &SampledType, line: u64) -> Vec<RowUse> {
    let layout = of.program.types.layout(of.of, line);
    layout.map(|layout| of.rows(&layout)).unwrap_or_default()
}
