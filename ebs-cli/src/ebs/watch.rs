//! `ebs watch`: a table of each span of what a standing session samples.

use crate::ebs::arguments::{SymbolArguments, TableArguments};
use crate::ebs::report::{ReportArguments, query, symbols};
use crate::terminal::number;
use analysis::{Pipeline, json, table};
use anyhow::{Result, bail};
use clap::Args;
use perfdata::stream::{StreamDecoder, StreamStep};
use recorder::HumanDuration;
use recorder::remote::client::{Client, RecordedStream, SOCKET};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use symbolizer::Symbolizer;

/// `ebs watch`.
#[derive(Clone, Debug, Args)]
pub struct WatchArguments {
    /// The standing session; `ebs sessions` lists them.
    pub name: String,
    /// A table of each so long span.
    #[arg(long, value_name = "SPAN", default_value = "2s")]
    pub every: HumanDuration,
    /// Ends after so many tables.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub times: Option<u64>,
    /// Keys of a row, as of `ebs report`.
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Counts only records that match, as of `ebs report`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Rows of a table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    pub top: usize,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Prints JSON, a document for each span.
    #[arg(long)]
    pub json: bool,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

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
    let mut live = RecordedStream::open(client, &arguments.name, None, true)?;
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
    fn take(&mut self, live: &mut RecordedStream, until: Instant) -> Result<bool> {
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
