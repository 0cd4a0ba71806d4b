//! `ebs memlat`: how long this machine's memory takes.
//!
//! The crate `latency` measures. `text` prints a study with the curves of
//! `plot`, `html` writes a page with a `chart`, and `as_cache` says it in the
//! words of the emulated PMU.

mod arguments;
mod as_cache;
mod chart;
mod html;
mod rows;
mod text;

pub use arguments::{CpuList, MemlatArguments};

use crate::ebs::html as page;
use crate::ebs::place::Place;
use crate::terminal::progress::ProgressLine;
use crate::terminal::say;
use anyhow::{Context, Result};
use as_cache::as_cache;
use emulator::Geometry;
use latency::{LatencyPart, LatencyStudy, MeasuringEffort, StudyRequest, measure};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_default};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'s> {
    schema: &'static str,
    /// What `--as-cache` would print.
    as_cache: Option<String>,
    #[serde(flatten)]
    study: &'s LatencyStudy,
}

/// Measures and prints.
///
/// # Errors
/// What keeps it from measuring; a page that cannot be written; those of `out`.
pub fn run(arguments: &MemlatArguments, out: &mut dyn Write) -> Result<()> {
    if let Some(file) = &arguments.html {
        page::check(file)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the program at once.
        register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| register(signal, Arc::clone(&stop)))
            .context("signals cannot be caught")?;
    }
    let line = Mutex::new(ProgressLine::new());
    let progress = |text: &str| {
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        line.show(|| format!("ebs memlat: {text}"));
    };
    let study = measure(&request(arguments), &stop, &progress)?;
    drop(line);
    let described = Geometry::of_machine(Path::new("/"));
    let cache = as_cache(&study, &described);
    if let Some(file) = &arguments.html {
        let place = Place::at_once(file)?;
        let goal = || format!("cannot write to {}", file.display());
        place.file()?.write_all(html::page(&study).as_bytes()).with_context(goal)?;
        place.keep()?;
    }
    if arguments.as_cache {
        for note in &study.notes {
            say("ebs memlat", note);
        }
        writeln!(out, "{}", cache?)?;
    } else if arguments.json {
        let schema = "hardmeter-memlat/1";
        let document = Document { schema, as_cache: cache.ok(), study: &study };
        analysis::json::write_pretty(&document, &mut *out)?;
        writeln!(out)?;
    } else {
        out.write_all(text::render(&study).as_bytes())?;
        if let Ok(cache) = cache {
            writeln!(out, "\n--cache \"{cache}\"")?;
        }
    }
    Ok(())
}

fn request(arguments: &MemlatArguments) -> StudyRequest {
    let effort = if arguments.quick { MeasuringEffort::QUICK } else { MeasuringEffort::WHOLE };
    let parts = match (arguments.only.is_empty(), arguments.as_cache) {
        (true, false) => LatencyPart::ALL.to_vec(),
        (true, true) => as_cache::PARTS.to_vec(),
        (false, _) => {
            let named = |part: &LatencyPart| arguments.only.contains(part);
            LatencyPart::ALL.into_iter().filter(named).collect()
        }
    };
    let matrix = arguments.cpus.clone().unwrap_or_default().0;
    StudyRequest { parts, effort, largest: arguments.largest, cpu: arguments.cpu, matrix }
}
