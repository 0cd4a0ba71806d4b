//! `ebs html`: a recording as one page.

mod page_questions;
mod page_routines;

use crate::ebs::arguments::{StandingArguments, SymbolArguments};
use crate::ebs::input::End;
use crate::ebs::place::{OutputReaders, Place};
use crate::ebs::report;
use crate::ebs::shared_reading::SharedReading;
use crate::terminal::say;
use anyhow::{Context, Result, ensure};
use clap::Args;
use page_questions::PageQuestions;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `ebs html`.
#[derive(Clone, Debug, Default, Args)]
pub struct HtmlArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// Where to write the page; `-` is stdout [default: beside the recording, as FILE.html].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

impl HtmlArguments {
    /// Where the page goes.
    fn output(&self) -> Cow<'_, Path> {
        let of = |name: &Path| name.with_extension("html").into();
        match (&self.output, &self.file, &self.standing.standing) {
            (Some(output), ..) => output.into(),
            (None, Some(file), _) if file != Path::new("-") => of(file),
            (None, _, Some(name)) => of(Path::new(name)),
            (None, ..) => Path::new("-").into(),
        }
    }
}

/// Reads the recording, and writes its page even when it is damaged.
///
/// # Errors
///
/// A filter without meaning, a page that would be written over its recording,
/// damage of the recording, those of writing.
pub fn run(arguments: &HtmlArguments) -> Result<()> {
    let (file, output) = (arguments.file.as_deref(), &*arguments.output());
    ensure!(
        !is_same(file, output),
        "{} is the recording that is read: name another file for the page",
        output.display()
    );
    let (page, end) = page(arguments, None)?;
    write(output, file, page.as_bytes())?;
    if arguments.output.is_none() {
        say("ebs", &format!("wrote {}", output.display()));
    }
    end.into_result().context("the page shows what could be read")
}

/// The page of a recording that was just made, under the name of what was sampled.
///
/// # Errors
///
/// Those of [`run`].
pub(super) fn write_sampled(recording: &Path, output: &Path, name: &str) -> Result<()> {
    let arguments = HtmlArguments {
        file: Some(recording.to_owned()),
        output: Some(output.to_owned()),
        symbols: SymbolArguments::of_this_machine(),
        ..HtmlArguments::default()
    };
    let (page, end) = page(&arguments, Some(name))?;
    if output == Path::new("-") {
        write(output, None, page.as_bytes())?;
    } else {
        let place = Place::at_once(output)?;
        let goal = || format!("cannot write {}", output.display());
        place.file()?.write_all(page.as_bytes()).with_context(goal)?;
        place.keep()?;
    }
    end.into_result().context("the page shows what could be read")
}

/// Whether a page can be written there later.
///
/// # Errors
///
/// A directory, no right to write there.
pub(super) fn check(output: &Path) -> Result<()> {
    Place::check(output).with_context(|| format!("--html {}", output.display()))
}

fn page(arguments: &HtmlArguments, name: Option<&str>) -> Result<(String, End)> {
    let questions = PageQuestions::new(arguments)?;
    let (mut input, ended) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let reading = SharedReading::of(&mut input, questions.queries()?, &options)?;
    let (mut content, end) = questions.content(name.unwrap_or(input.name()), reading)?;
    let end = report::with_ending(end, ended);
    content.routines = page_routines::of(arguments, &questions, &content.sites);
    Ok((page::render(&content), end))
}

fn is_same(file: Option<&Path>, output: &Path) -> bool {
    let same = |file: &Path| Some(file.canonicalize().ok()? == output.canonicalize().ok()?);
    file.and_then(same).unwrap_or(false)
}

/// Writes the page of a recording, on a terminal, too.
fn write(output: &Path, recording: Option<&Path>, page: &[u8]) -> Result<()> {
    if output == Path::new("-") {
        let mut out = std::io::stdout().lock();
        return out.write_all(page).and_then(|()| out.flush()).context("cannot write to stdout");
    }
    let place = Place::open(output, recording.unwrap_or(Path::new("-")), OutputReaders::All)?;
    let goal = || format!("cannot write {}", output.display());
    place.file()?.write_all(page).with_context(goal)?;
    place.keep().map(|_| ())
}
