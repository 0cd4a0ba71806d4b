//! Reports as JSON: one object, fields as docs/report.md lists them.

use crate::report::Report;
use std::io::{self, Write};

/// Writes one JSON object, indented, with a line end.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")
}

/// What [`write()`] writes.
pub fn render(report: &Report) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
