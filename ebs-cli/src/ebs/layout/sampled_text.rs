//! A type with what was sampled of its members beside it.

use super::suggested;
use super::text::Printer;
use crate::ebs::layout::LayoutArguments;
use analysis::layout::{MemberUse, RowUse, SampledType, TypeReport, UseCount};
use analysis::table::{self, Style};
use anyhow::Result;
use perfdata::printable::printable;
use render::percent;
use std::collections::BTreeMap;
use std::io::Write;

/// Types of a table unless it is said how many.
const ROWS: usize = 20;
/// Digits of a count.
const COUNT: usize = 7;

/// Part of a type's samples from which on a member is hot.
const HOT: f64 = 0.05;

struct UseColumns {
    /// A pair of columns an event: its name, or nothing where there is one.
    events: Vec<String>,
    has_latency: bool,
    color: bool,
}

impl UseColumns {
    fn new(answer: &TypeReport, shown: &[&SampledType], style: Style) -> UseColumns {
        let names = answer.report.events.iter().map(|event| event.name.clone());
        UseColumns {
            events: names.collect(),
            has_latency: shown.iter().any(|of| of.whole.latency.is_some()),
            color: style.color,
        }
    }

    /// What the columns are; with the events above them where there are several.
    fn head(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.events.len() > 1 {
            let names = self.events.iter().map(|name| {
                let name: String = name.chars().take(COUNT + 9).collect();
                format!("{name:>width$}", width = COUNT + 9)
            });
            lines.push(names.collect::<Vec<_>>().join("  "));
        }
        let pair = format!("{:>COUNT$}  {:>7}", "count", "share");
        let mut line = vec![pair; self.events.len()].join("  ");
        line.push_str("    reads   writes  readers  writers");
        if self.has_latency {
            line.push_str("   cycles");
        }
        lines.push(line);
        match self.color {
            true => lines.into_iter().map(|line| format!("\x1b[1m{line}\x1b[0m")).collect(),
            false => lines,
        }
    }

    /// In red where many of the samples are.
    fn of_member(&self, sampled: &MemberUse, whole: &MemberUse) -> String {
        let is_hot = part(sampled.samples(), whole.samples()) >= HOT;
        match self.color && is_hot {
            true => format!("\x1b[31m{}\x1b[0m", self.of(sampled)),
            false => self.of(sampled),
        }
    }

    fn of(&self, sampled: &MemberUse) -> String {
        let pair = |count: &UseCount| match count.count {
            0 => format!("{:>COUNT$}  {:>7}", ".", "."),
            count_of => format!("{count_of:>COUNT$}  {:>7}", percent(count.share)),
        };
        let mut line = sampled.counts.iter().map(pair).collect::<Vec<_>>().join("  ");
        let number = |number: u64| if number == 0 { ".".to_owned() } else { number.to_string() };
        let threads = |threads: usize| number(threads as u64);
        line.push_str(&format!(
            "  {:>7}  {:>7}  {:>7}  {:>7}",
            number(sampled.reads),
            number(sampled.writes),
            threads(sampled.readers),
            threads(sampled.writers)
        ));
        if self.has_latency {
            let cycles = sampled.latency.map_or_else(|| ".".to_owned(), |it| format!("{it:.1}"));
            line.push_str(&format!("  {cycles:>7}"));
        }
        line
    }

    fn margin(&self) -> String {
        " ".repeat(self.of(&self.none()).chars().count())
    }

    fn none(&self) -> MemberUse {
        MemberUse { counts: vec![UseCount::default(); self.events.len()], ..MemberUse::default() }
    }
}

pub(super) fn print(
    answer: &TypeReport,
    shown: &[&SampledType],
    arguments: &LayoutArguments,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(table::head(&answer.report, arguments.table.style()).as_bytes())?;
    for note in &answer.notes {
        out.write_all(table::note(note, arguments.table.style()).as_bytes())?;
    }
    let columns = UseColumns::new(answer, shown, arguments.table.style());
    for (number, of) in shown.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        one(of, &columns, arguments, out)?;
        suggested::print(answer, of, arguments.line, out)?;
    }
    Ok(())
}

fn one(
    of: &SampledType,
    columns: &UseColumns,
    arguments: &LayoutArguments,
    out: &mut dyn Write,
) -> Result<()> {
    let types = &of.program.types;
    let variables: Vec<String> =
        of.variables.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    writeln!(out, "# {} of {}", printable(&of.name), printable(&of.object))?;
    if !variables.is_empty() {
        writeln!(out, "# data in {}", printable(&variables.join(", ")))?;
    }
    let margin = columns.margin();
    columns.head().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let printer = Printer { table: types, language: types.unit(of.of).language };
    let Some(layout) = types.layout(of.of, arguments.line) else {
        let size = types.size_of(of.of).map_or_else(|| "?".to_owned(), |size| size.to_string());
        let line = format!("{}  {}; /* size: {size} */", columns.of(&of.whole), of.name);
        writeln!(out, "{}", printable(&line))?;
        return Ok(());
    };
    let rows = of.rows(&layout);
    let by_row: BTreeMap<usize, &RowUse> =
        rows.iter().filter_map(|row| Some((row.row?, row))).collect();
    let named = of.program.alias(of.of).unwrap_or(of.of);
    let head = printer.head(named, of.of);
    writeln!(out, "{}  {} {{", columns.of(&of.whole), printable(&head))?;
    for (number, row) in layout.rows.iter().enumerate() {
        let mut text = Vec::new();
        printer.row(row, layout.sums.line, &mut text)?;
        let used = by_row.get(&number);
        for line in String::from_utf8_lossy(&text).lines() {
            match used {
                Some(used) if !line.is_empty() => {
                    writeln!(
                        out,
                        "{}  {}",
                        columns.of_member(&used.whole, &of.whole),
                        printable(line)
                    )?;
                }
                _ => writeln!(out, "{}", printable(&format!("{margin}  {line}")).trim_end())?,
            }
        }
        for part in used.map(|used| used.parts.as_slice()).unwrap_or_default() {
            let text = format!("                .. {}", part.name);
            let place = format!("{text:64} /* {:5}       */", part.offset);
            writeln!(
                out,
                "{}  {}",
                columns.of_member(&part.sampled, &of.whole),
                printable(&place)
            )?;
        }
    }
    for beyond in rows.iter().filter(|row| row.row.is_none()) {
        let text = "        /* padding, or behind the end */";
        writeln!(out, "{}  {text}", columns.of(&beyond.whole))?;
    }
    if of.unplaced.samples() > 0 {
        writeln!(out, "{}          /* some member */", columns.of(&of.unplaced))?;
    }
    let mut text = Vec::new();
    printer.end(&layout, &mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        writeln!(out, "{}", printable(&format!("{margin}  {line}")).trim_end())?;
    }
    Ok(())
}

pub(super) fn table(
    answer: &TypeReport,
    arguments: &LayoutArguments,
    out: &mut dyn Write,
) -> Result<()> {
    out.write_all(table::head(&answer.report, arguments.table.style()).as_bytes())?;
    for note in &answer.notes {
        out.write_all(table::note(note, arguments.table.style()).as_bytes())?;
    }
    let all: Vec<&SampledType> = answer.types.iter().collect();
    let columns = UseColumns::new(answer, &all, arguments.table.style());
    let mut heads = columns.head();
    if let Some(last) = heads.last_mut() {
        last.push_str("     size  lines  holes     lost  type");
    }
    heads.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let top = arguments.top.unwrap_or(ROWS);
    for of in all.iter().take(top) {
        let types = &of.program.types;
        let facts = match (types.layout(of.of, arguments.line), types.size_of(of.of)) {
            (Some(layout), _) => {
                let sums = layout.sums;
                let lost = sums.sum_holes.saturating_add(sums.padding);
                format!("{:>7}  {:>5}  {:>5}  {lost:>7}", sums.size, sums.lines(), sums.holes)
            }
            (None, Some(size)) => format!("{size:>7}  {:>5}  {:>5}  {:>7}", "", "", ""),
            (None, None) => format!("{:>7}  {:>5}  {:>5}  {:>7}", "?", "", "", ""),
        };
        writeln!(out, "{}  {facts}  {}", columns.of(&of.whole), printable(&of.name))?;
    }
    let untyped = MemberUse { counts: answer.untyped.clone(), ..MemberUse::default() };
    if untyped.samples() > 0 {
        let line = format!("{}  {:>31}  [no type]", columns.of(&untyped), "");
        writeln!(out, "{line}")?;
    }
    if let Some(more) = all.len().checked_sub(top).filter(|more| *more > 0) {
        let rest = all.iter().skip(top).map(|of| of.whole.samples()).sum::<u64>();
        writeln!(out, "# {more} more types, {rest} samples: --top N shows them")?;
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn part(of: u64, whole: u64) -> f64 {
    of as f64 / whole.max(1) as f64
}
