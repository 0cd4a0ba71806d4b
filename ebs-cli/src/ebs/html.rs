//! `ebs html`: a recording as one page.

mod page_questions;
mod page_routines;
mod shared_reading;

use crate::ebs::arguments::HtmlArguments;
use crate::ebs::place::Place;
use crate::ebs::report;
use anyhow::{Context, Result, ensure};
use page_questions::PageQuestions;
use shared_reading::SharedReading;
use std::io::Write;
use std::path::Path;

/// Reads the recording, and writes its page even when it is damaged.
///
/// # Errors
///
/// A filter without meaning, a page that would be written over its recording,
/// damage of the recording, those of writing.
pub fn run(arguments: &HtmlArguments) -> Result<()> {
    let (file, output) = (arguments.file.as_deref(), arguments.output.as_path());
    ensure!(
        !is_same(file, output),
        "{} is the recording that is read: name another file for the page",
        output.display()
    );
    let questions = PageQuestions::new(arguments)?;
    let (mut input, ended) = report::open(file, &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let reading = SharedReading::of(&mut input, questions.queries()?, &options)?;
    report::tell_ending(ended);
    let (mut content, end) = questions.content(input.name(), reading)?;
    content.routines = page_routines::of(arguments, &questions, &content.sites);
    let page = page::render(&content);
    write(output, file, page.as_bytes())?;
    end.into_result().context("the page shows what could be read")
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
    let place = Place::open(output, recording.unwrap_or(Path::new("-")))?;
    let goal = || format!("cannot write {}", output.display());
    place.file()?.write_all(page).with_context(goal)?;
    place.keep().map(|_| ())
}
