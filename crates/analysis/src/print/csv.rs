//! Reports as CSV (RFC 4180): a header line, then a line a row.

use crate::query::key::Key;
use crate::query::time::seconds;
use crate::report::{
    AccessReport, Cell, CommonBits, EventReport, Latencies, Report, ReportChains, RowFacts, Stride,
    hex,
};
use perfdata::printable::printable;
use std::borrow::Cow;
use std::io::{self, Write};

const DATA_COLUMNS: [&str; 4] = ["data_address", "data_variable", "data_offset", "data_object"];
const SITE_COLUMNS: [&str; 4] = ["site_address", "site_routine", "site_offset", "site_object"];
const FACTS_COLUMNS: [&str; 6] =
    ["address_min", "address_max", "stride_from", "stride_to", "stride_share", "low_bits"];
const OWN_COLUMNS: [&str; 3] = ["self_count", "self_period", "self_share"];
const LATENCY_COLUMNS: [&str; 6] = [
    "latency_samples",
    "latency_cycles",
    "latency_share",
    "latency_mean",
    "latency_median",
    "latency_p95",
];

/// How names are written, which their owners chose. A spreadsheet would take some of them for
/// formulas: these have an apostrophe before them, and so have names that begin with one, so that a
/// program gets each name back where it takes one apostrophe off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvNames {
    /// For files and programs: all else is as it is.
    Exact,
    /// For a terminal, and what is copied from there: nothing commands it.
    Printable,
}

impl CsvNames {
    /// A name as it is written.
    pub fn shown(self, name: &str) -> Cow<'_, str> {
        let shown = match self {
            CsvNames::Exact => Cow::Borrowed(name),
            CsvNames::Printable => printable(name),
        };
        let is_guarded = name.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
        // A number is no formula, nor is a sign alone.
        let is_harmless = name == "-" || name == "+" || name.parse::<f64>().is_ok();
        match is_guarded && !is_harmless {
            true => Cow::Owned(format!("'{shown}")),
            false => shown,
        }
    }
}

/// Writes the rows of all events into one table; a report without keys gives
/// its registers instead. Shares are fractions, addresses hex with 0x.
pub fn write(report: &Report, names: CsvNames, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let written = if report.query.by.is_empty() {
        registers(report, names, &mut csv)
    } else {
        rows(report, names, &mut csv)
    };
    written.map_err(as_io)?;
    csv.flush()
}

/// The error of `out` as it was: `csv` itself would make it one of kind
/// `Other`, and a closed pipe would be a failure.
pub(super) fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// What [`write()`] writes for programs.
pub fn render(report: &Report) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(report, CsvNames::Exact, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn rows<W: Write>(report: &Report, names: CsvNames, csv: &mut csv::Writer<W>) -> csv::Result<()> {
    for column in ["event", "count", "period", "share", "exact_ip"] {
        csv.write_field(column)?;
    }
    let has_own = report.events.iter().flat_map(|event| &event.rows).any(|row| row.own.is_some());
    if has_own {
        OWN_COLUMNS.iter().try_for_each(|it| csv.write_field(it))?;
    }
    let levels = levels(report);
    if report.query.mem {
        for column in LATENCY_COLUMNS {
            csv.write_field(column)?;
        }
        for level in &levels {
            csv.write_field(format!("level:{level}"))?;
        }
    }
    let (site, data) = (Key::Site.to_string(), Key::Data.to_string());
    for key in &report.query.by {
        match key {
            key if *key == site => SITE_COLUMNS.iter().try_for_each(|it| csv.write_field(it))?,
            key if *key == data => DATA_COLUMNS.iter().try_for_each(|it| csv.write_field(it))?,
            key => csv.write_field(key)?,
        }
    }
    let has_facts = report.events.iter().any(|event| event.in_kernel.is_some());
    if has_facts {
        FACTS_COLUMNS.iter().try_for_each(|it| csv.write_field(it))?;
    }
    csv.write_record(None::<&[u8]>)?;
    for event in &report.events {
        for row in &event.rows {
            csv.write_field(&*names.shown(&event.name))?;
            csv.write_field(row.count.to_string())?;
            csv.write_field(row.period.to_string())?;
            csv.write_field(format!("{:.6}", row.share))?;
            csv.write_field(row.exact_ip.to_string())?;
            if let Some(own) = &row.own {
                csv.write_field(own.count.to_string())?;
                csv.write_field(own.period.to_string())?;
                csv.write_field(format!("{:.6}", own.share))?;
            }
            if let Some(served) = &row.served {
                write_served(served, &levels, csv)?;
            }
            for cell in &row.cells {
                write_cell(cell, &report.chains, names, csv)?;
            }
            if has_facts {
                write_facts(row.facts.as_ref(), csv)?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
    }
    Ok(())
}

/// The levels of all events, each from the core outwards.
fn levels(report: &Report) -> Vec<&str> {
    let mut levels: Vec<&str> = Vec::new();
    for level in report.events.iter().flat_map(|event| &event.levels) {
        if !levels.contains(&level.as_str()) {
            levels.push(level);
        }
    }
    levels
}

fn write_served<W: Write>(
    served: &AccessReport,
    levels: &[&str],
    csv: &mut csv::Writer<W>,
) -> csv::Result<()> {
    match served.latency {
        Some(Latencies { samples, cycles, share, mean, median, p95 }) => {
            csv.write_field(samples.to_string())?;
            csv.write_field(cycles.to_string())?;
            csv.write_field(format!("{share:.6}"))?;
            csv.write_field(format!("{mean:.3}"))?;
            csv.write_field(median.to_string())?;
            csv.write_field(p95.to_string())?;
        }
        None => {
            csv.write_field("0")?;
            for _ in 1..LATENCY_COLUMNS.len() {
                csv.write_field("")?;
            }
        }
    }
    for level in levels {
        csv.write_field(format!("{:.6}", served.levels.get(*level).unwrap_or(&0.0)))?;
    }
    Ok(())
}

fn write_facts<W: Write>(facts: Option<&RowFacts>, csv: &mut csv::Writer<W>) -> csv::Result<()> {
    let range = facts.and_then(|facts| facts.address.as_ref()?.range);
    let (min, max) = range.map_or_else(Default::default, |(min, max)| (hex(min), hex(max)));
    csv.write_field(min)?;
    csv.write_field(max)?;
    match facts.and_then(RowFacts::stride) {
        Some((Stride { from, to, .. }, share)) => {
            csv.write_field(from.to_string())?;
            csv.write_field(to.to_string())?;
            csv.write_field(format!("{share:.6}"))?;
        }
        None => (0..3).try_for_each(|_| csv.write_field(""))?,
    }
    let structures = facts.map(RowFacts::structures).unwrap_or_default();
    let structures: Vec<_> = structures.into_iter().map(CommonBits::brief).collect();
    csv.write_field(structures.join("; "))
}

fn write_cell<W: Write>(
    cell: &Cell,
    chains: &ReportChains,
    names: CsvNames,
    csv: &mut csv::Writer<W>,
) -> csv::Result<()> {
    let text = |text: &str, csv: &mut csv::Writer<W>| csv.write_field(&*names.shown(text));
    match cell {
        Cell::Number(number) => csv.write_field(number.to_string())?,
        Cell::Time(nanoseconds) => csv.write_field(seconds(*nanoseconds))?,
        Cell::Address(address) => csv.write_field(hex(*address))?,
        Cell::Text(name) => text(name, csv)?,
        Cell::Chain(number) => text(&chains.folded(*number), csv)?,
        Cell::Missing(missing) => text(&format!("[{missing}]"), csv)?,
        Cell::Site(site) | Cell::Data(site) => {
            csv.write_field(hex(site.address))?;
            match &site.routine {
                Ok(routine) => {
                    text(&routine.name, csv)?;
                    csv.write_field(routine.offset.to_string())?;
                }
                Err(unresolved) => {
                    text(&format!("[{}]", unresolved.reason), csv)?;
                    csv.write_field("")?;
                }
            }
            text(&site.object, csv)?;
        }
        Cell::SiteMissing(missing) => {
            csv.write_field("")?;
            text(&format!("[{missing}]"), csv)?;
            csv.write_field("")?;
            csv.write_field("")?;
        }
    }
    Ok(())
}

fn registers<W: Write>(
    report: &Report,
    names: CsvNames,
    csv: &mut csv::Writer<W>,
) -> csv::Result<()> {
    csv.write_record([
        "event",
        "register",
        "samples",
        "distinct",
        "distinct_exact",
        "min",
        "max",
        "low_bits",
        "low_value",
        "stride",
        "finding",
    ])?;
    for EventReport { name, registers, in_kernel, .. } in &report.events {
        if let Some(facts) = in_kernel.as_ref().and_then(|it| it.at_site.as_ref()) {
            for common in facts.registers.iter().chain(&facts.address) {
                write_common(&names.shown(name), common, csv)?;
            }
        }
        for register in registers {
            csv.write_record([
                &*names.shown(name),
                register.name.as_str(),
                &register.samples.to_string(),
                &register.distinct.to_string(),
                &register.distinct_exact.to_string(),
                &hex(register.min),
                &hex(register.max),
                &register.low_bits().to_string(),
                &hex(register.low_value()),
                &register.known_stride().map(|it| it.to_string()).unwrap_or_default(),
                &register.finding(),
            ])?;
        }
    }
    Ok(())
}

/// A register of hits that the kernel counted: single values nobody kept.
fn write_common<W: Write>(
    event: &str,
    common: &CommonBits,
    csv: &mut csv::Writer<W>,
) -> csv::Result<()> {
    let range = common.range.map(|(min, max)| (hex(min), hex(max)));
    let (min, max) = range.unwrap_or_default();
    let (bits, low) = (common.low_bits().to_string(), hex(common.low_value()));
    csv.write_record([
        event,
        common.name.as_str(),
        "",
        "",
        "false",
        &min,
        &max,
        &bits,
        &low,
        "",
        &common.finding(),
    ])
}
