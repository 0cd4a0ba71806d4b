//! Reports as CSV (RFC 4180): a header line, then a line a row.

use crate::print::row_table::RowTable;
use crate::report::{CommonBits, EventReport, Report};
pub use render::CsvNames;
use render::{Cell, CsvTable, Head};
use std::io::{self, Write};

/// Writes the rows of all events into one table; a report without keys gives
/// its registers instead. Shares are fractions, addresses hex with 0x.
pub fn write(report: &Report, names: CsvNames, out: impl Write) -> io::Result<()> {
    match report.query.by.is_empty() {
        true => registers(report, names, out),
        false => rows(report, names, out),
    }
}

/// What [`write()`] writes for programs.
pub fn render(report: &Report) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(report, CsvNames::Exact, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn rows(report: &Report, names: CsvNames, out: impl Write) -> io::Result<()> {
    let table = RowTable::of_report(report);
    let mut heads = vec![Head::program("event")];
    heads.extend(table.heads());
    let mut csv = CsvTable::new(heads, names, out);
    csv.head()?;
    for event in &report.events {
        for row in &event.rows {
            csv.row([Cell::name(&*event.name)].into_iter().chain(table.cells(row)))?;
        }
    }
    csv.flush()
}

fn registers(report: &Report, names: CsvNames, out: impl Write) -> io::Result<()> {
    let heads = [
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
    ];
    let mut csv = CsvTable::new(heads.map(Head::program).to_vec(), names, out);
    csv.head()?;
    for EventReport { name, registers, in_kernel, .. } in &report.events {
        if let Some(facts) = in_kernel.as_ref().and_then(|it| it.at_site.as_ref()) {
            for common in facts.registers.iter().chain(&facts.address) {
                csv.row(common_bits(name, common))?;
            }
        }
        for register in registers {
            csv.row([
                Cell::name(&**name),
                Cell::words(&*register.name),
                Cell::Count(register.samples),
                Cell::Count(register.distinct),
                Cell::Flag(register.distinct_exact),
                Cell::Address(register.min),
                Cell::Address(register.max),
                Cell::Count(register.low_bits().into()),
                Cell::Address(register.low_value()),
                register.known_stride().map_or(Cell::Nothing, Cell::Count),
                Cell::words(register.finding()),
            ])?;
        }
    }
    csv.flush()
}

/// A register of hits that the kernel counted: single values nobody kept.
fn common_bits<'r>(event: &'r str, common: &'r CommonBits) -> [Cell<'r>; 11] {
    let [min, max] = common
        .range
        .map_or([Cell::Nothing, Cell::Nothing], |(min, max)| [min, max].map(Cell::Address));
    [
        Cell::name(event),
        Cell::words(&*common.name),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Flag(false),
        min,
        max,
        Cell::Count(common.low_bits().into()),
        Cell::Address(common.low_value()),
        Cell::Nothing,
        Cell::words(common.finding()),
    ]
}
