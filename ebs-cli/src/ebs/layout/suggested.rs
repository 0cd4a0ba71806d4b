//! Another order of a type's members, and what it would spare.

use super::text::Printer;
use analysis::layout::{NoOrder, OrderedMember, SampledType, SuggestedOrder, TypeReport};
use analysis::report::EventReport;
use anyhow::Result;
use perfdata::printable::printable;
use serde::Serialize;
use std::io::Write;
use types::{BitPlace, LayoutRow, MemberRow, TypeLanguage};

/// What is missed when no event says.
const MISS: &str = "l1_cache_miss";

pub(super) fn print(
    answer: &TypeReport,
    of: &SampledType,
    line: u64,
    out: &mut dyn Write,
) -> Result<()> {
    let order = match of.order(line) {
        Ok(order) => order,
        Err(NoOrder::Kind) => return Ok(()),
        Err(why) => {
            writeln!(out, "# no other order is suggested: {why}")?;
            return Ok(());
        }
    };
    writeln!(out, "\n# another order:")?;
    let types = &of.program.types;
    let language = types.unit(of.of).language;
    let printer = Printer { table: types, language };
    let named = of.program.alias(of.of).unwrap_or(of.of);
    writeln!(out, "{} {{", printable(&printer.head(named, of.of)))?;
    for one in &order.members {
        member(&printer, *one, out)?;
    }
    let align = order.align.map_or(String::new(), |align| format!(", aligned to {align}"));
    writeln!(out, "\n        /* size: {}{align} */", order.size[1])?;
    writeln!(out, "}}{}", if language == TypeLanguage::Rust { "" } else { ";" })?;
    told(&order, out)?;
    if language == TypeLanguage::Rust {
        writeln!(out, "# rustc keeps an order only of #[repr(C)]")?;
    }
    if let Some(change) = &order.change {
        let object = of.variables.first().map_or("START+SIZE", |(name, _)| name.as_str());
        let command =
            format!("ebs causes -t {} --try '{change}@{object}' -- COMMAND", event(answer));
        writeln!(out, "# to try it as it is: {}", printable(&command))?;
    }
    Ok(())
}

fn member(printer: &Printer<'_>, one: OrderedMember, out: &mut dyn Write) -> Result<()> {
    let entry = printer.table.member(one.member);
    let bits = entry.bits.zip(entry.bit).map(|(count, bit)| BitPlace { first: bit % 8, count });
    let size = printer.table.size_of(entry.of);
    let row = MemberRow { depth: 1, member: one.member, offset: Some(one.offset), size, bits };
    let mut text = Vec::new();
    printer.row(&LayoutRow::Member(row), u64::MAX, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    let line = text.trim_end();
    let told = match (line.strip_suffix(" */"), one.was == one.offset) {
        (Some(line), false) => format!("{line}, was {} */", one.was),
        _ => line.to_owned(),
    };
    writeln!(out, "{}", printable(&told))?;
    Ok(())
}

fn told(order: &SuggestedOrder, out: &mut dyn Write) -> Result<()> {
    let [before, after] = order.size;
    if before != after {
        writeln!(out, "# {after} bytes rather than {before}")?;
    }
    let [before, after] = order.lines;
    writeln!(
        out,
        "# of {} visits (accesses of a thread to one object, soon after each other) each touches {after:.2} \
         lines on average rather than {before:.2}",
        order.visits
    )?;
    if let Some([before, after]) = order.misses
        && after < before
    {
        writeln!(
            out,
            "# expected: {after:.0} sampled misses rather than {before:.0}, if each stands for a line of a visit"
        )?;
    }
    if let Some([before, after]) = order.touched {
        writeln!(
            out,
            "# by the recording's own addresses the samples touch {after} distinct lines so, {before} as it is"
        )?;
    }
    let [before, after] = order.shared;
    if before > 0.0 {
        writeln!(
            out,
            "# samples on members in a line with what another thread writes: {after:.0} rather than {before:.0}"
        )?;
    }
    writeln!(
        out,
        "# members without samples count as never accessed, and what hits was not sampled by misses"
    )?;
    Ok(())
}

/// What to count again: the first event that is about misses.
fn event(answer: &TypeReport) -> &str {
    let mut requests = answer.report.events.iter().map(EventReport::type_name);
    requests.find(|name| name.contains("miss")).unwrap_or(MISS)
}

#[derive(Serialize)]
pub(super) struct ShownOrder {
    members: Vec<ShownPlace>,
    size: [u64; 2],
    align: Option<u64>,
    visits: u64,
    lines: [f64; 2],
    touched: Option<[u64; 2]>,
    shared: [f64; 2],
    misses: Option<[f64; 2]>,
    change: Option<String>,
}

#[derive(Serialize)]
struct ShownPlace {
    name: Option<String>,
    #[serde(flatten)]
    place: OrderedMember,
}

impl ShownOrder {
    /// None: no better one is known.
    pub(super) fn new(of: &SampledType, line: u64) -> Option<ShownOrder> {
        let types = &of.program.types;
        let SuggestedOrder { members, size, align, visits, lines, touched, shared, misses, change } =
            of.order(line).ok()?;
        let shown = members.into_iter().map(|place| ShownPlace {
            name: types.member(place.member).name.map(|name| types.text(name).to_owned()),
            place,
        });
        let members = shown.collect();
        Some(ShownOrder { members, size, align, visits, lines, touched, shared, misses, change })
    }
}
