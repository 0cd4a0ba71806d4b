//! `ebs watch`: a table of each span of what a standing session samples.

use crate::ebs::arguments::{ReportArguments, WatchArguments};
use crate::ebs::report::{query, symbols};
use analysis::{Pipeline, json, table};
use anyhow::{Result, bail};
use perfdata::stream::{StreamDecoder, StreamStep};
use recorder::remote::client::{Client, Recorded, SOCKET};
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::time::{Duration, Instant};
use symbolizer::Symbolizer;

/// Where the cursor is at the top left of an empty screen.
const CLEARED: &str = "\x1b[H\x1b[2J";

/// Prints until the daemon ends, or so many tables.
///
/// # Errors
///
/// No daemon, no such session; those of `out`.
pub fn run(arguments: &WatchArguments, out: &mut dyn Write) -> Result<()> {
    if arguments.every.0 < Duration::from_secs(1) {
        bail!("a table of each {}: give at least 1s", arguments.every);
    }
    let question = ReportArguments {
        by: arguments.by.clone(),
        filter: arguments.filter.clone(),
        top: Some(arguments.top),
        ..ReportArguments::default()
    };
    let symbolizer = Symbolizer::new(symbols(&arguments.symbols)?);
    let mut viewer = Viewer {
        pipeline: Pipeline::new(query(&question)?, symbolizer)?,
        decoder: StreamDecoder::new(),
        left: Vec::new(),
    };
    let client = Client::connect(arguments.socket.as_deref().unwrap_or(Path::new(SOCKET)))?;
    let mut live = Recorded::open(client, &arguments.name, None, true)?;
    for _ in 0..arguments.times.unwrap_or(u64::MAX) {
        let until = Instant::now() + arguments.every.0;
        let goes_on = viewer.take(&mut live, until)?;
        viewer.show(arguments, out)?;
        if !goes_on {
            bail!("the daemon has ended the stream: {}", live.ending().take().unwrap_or_default());
        }
    }
    Ok(())
}

struct Viewer {
    pipeline: Pipeline,
    decoder: StreamDecoder,
    /// Bytes that are no whole record yet.
    left: Vec<u8>,
}

impl Viewer {
    /// Counts what comes until then; false: nothing more will.
    fn take(&mut self, live: &mut Recorded, until: Instant) -> Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let goes_on = live.wait(left, &mut |bytes| self.left.extend_from_slice(bytes))?;
            let mut rest = self.left.as_slice();
            while let StreamStep::Record { consumed, record } = self.decoder.step(rest)? {
                self.pipeline.record(&self.decoder, &record)?;
                rest = &rest[consumed..];
            }
            self.left = rest.to_vec();
            if !goes_on || left.is_zero() {
                return Ok(goes_on);
            }
        }
    }

    fn show(&mut self, arguments: &WatchArguments, out: &mut dyn Write) -> Result<()> {
        // There is no event before the target was found for the first time.
        if self.decoder.events().is_empty() {
            if !arguments.json {
                writeln!(out, "# {}: nothing is sampled yet", arguments.name)?;
            }
            return Ok(out.flush()?);
        }
        let report = self.pipeline.answer(&self.decoder)?;
        if arguments.json {
            json::write(&report, &mut *out)?;
        } else {
            if stdout().is_terminal() {
                out.write_all(CLEARED.as_bytes())?;
            }
            writeln!(out, "# {}, the last {}", arguments.name, arguments.every)?;
            out.write_all(table::render(&report, arguments.table.style()).as_bytes())?;
        }
        Ok(out.flush()?)
    }
}
