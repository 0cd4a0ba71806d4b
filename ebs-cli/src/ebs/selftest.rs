//! `ebs selftest`: what this machine samples, and whether it is right.
//!
//! `cases` says which programs excite a type, `extents` how much of them
//! is run. A program is a process of `ebs` itself (`child`), which says
//! what is true of it (`truth`); `recording` samples it by the session
//! that any command is sampled by, `samples` reads the stream, `judge`
//! compares, and `text` and `json` show the `row`s.

mod arguments;
mod cases;
mod child;
mod cpus;
mod extents;
mod job;
mod json;
mod judge;
mod observed;
mod pipes;
#[cfg(target_arch = "x86_64")]
mod prepared;
mod program;
mod recording;
mod row;
mod samples;
#[allow(unsafe_code, reason = "loops in assembly, and memory mapped for them")]
mod sys {
    //! Loops of which the address of each instruction is known, and the memory
    //! that they run on.

    #[cfg(target_arch = "x86_64")]
    mod circle;
    #[cfg(target_arch = "x86_64")]
    mod loops;
    #[cfg(target_arch = "x86_64")]
    mod region;

    #[cfg(target_arch = "x86_64")]
    pub(super) use circle::{Circle, LINK};
    #[cfg(target_arch = "x86_64")]
    pub(super) use loops::{
        BLOCKED, BRANCHES, CALLS, CHASE, COLUMNS, COMPUTE, Label, Loop, Path, STORES, TURNS, WALK,
    };
    #[cfg(target_arch = "x86_64")]
    pub(super) use region::Region;
}
mod tester;
mod text;
mod truth;

pub use arguments::SelftestArguments;
pub use job::SelftestJob;

use crate::ebs::exit_status::{FAILURE, SUCCESS};
use crate::terminal::progress::ProgressLine;
use crate::terminal::signals::Catcher;
use anyhow::{Context, Result};
use recorder::Facts;
use row::{Outcome, Row, Verdict};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tester::Tester;

/// Why there is no program for other machines.
const NO_LOOPS: &str = "the programs of known truth are written for x86-64, which this machine is \
                        not; ebs itself samples here what `ebs -h` lists";

#[derive(Debug)]
struct Tested {
    rows: Vec<Row>,
    took: Duration,
    is_interrupted: bool,
}

/// What the words of a command line play, if that is a part in a test: looked
/// at before anything is parsed, as this process is sampled already.
pub(crate) fn part(words: &[OsString]) -> Option<Result<u8>> {
    let (first, rest) = words.get(1..)?.split_first()?;
    if first != child::WORD {
        return None;
    }
    let rest: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Some(child::play(&rest))
}

/// Samples what was asked for; gives 0 when nothing FAILs.
///
/// # Errors
/// Facts that make no sense; those of `out`.
pub fn run(arguments: &SelftestArguments, out: &mut dyn Write) -> Result<u8> {
    let job = &SelftestJob::new(arguments)?;
    let facts = Facts::read(Path::new("/"))?;
    let tested = test(job, &facts)?;
    let has_failed = tested.rows.iter().any(|row| row.verdict() == Verdict::Fail);
    match job.json {
        true => {
            analysis::json::write_pretty(&json::Document::new(&tested, &facts), &mut *out)?;
            writeln!(out)?;
        }
        false => out.write_all(text::render(&tested).as_bytes())?,
    }
    Ok(if has_failed { FAILURE } else { SUCCESS })
}

fn test(job: &SelftestJob, facts: &Facts) -> Result<Tested> {
    let began = Instant::now();
    let mut rows = Vec::new();
    let mut asked = Vec::new();
    for &entry in &job.types {
        match cases::cases(entry) {
            Ok(cases) => asked.extend(cases.into_iter().map(|case| (entry, case))),
            Err(why) => {
                rows.push(Row { entry, on: None, outcome: Outcome::WhyNot(why.to_owned()) });
            }
        }
    }
    let catcher = Catcher::new().context("signals cannot be caught; raise `ulimit -n`")?;
    let mut tester = Tester::new(job, facts, catcher);
    let (mut line, all) = (ProgressLine::new(), asked.len());
    let slice = slice(job.limit, asked.len());
    let mut is_interrupted = false;
    for (number, (entry, case)) in asked.into_iter().enumerate() {
        let on = Some((case.program, case.modes));
        let outcome = if is_interrupted {
            Some(Outcome::WhyNot("interrupted before it was begun; run it again".to_owned()))
        } else if began.elapsed() >= job.limit {
            let seconds = job.limit.as_secs_f64();
            Some(Outcome::WhyNot(format!(
                "{seconds} seconds were over before it was begun; --seconds gives more, -t TYPE \
                 takes one type"
            )))
        } else {
            line.show_now(&format!(
                "ebs selftest: {number} of {all}: {} on {}",
                entry.name, case.program
            ));
            tester.outcome(entry, &case, slice)
        };
        is_interrupted |= outcome.is_none();
        let interrupted = || Outcome::WhyNot("interrupted; run it again".to_owned());
        rows.push(Row { entry, on, outcome: outcome.unwrap_or_else(interrupted) });
    }
    drop(line);
    Ok(Tested { rows, took: began.elapsed(), is_interrupted })
}

/// How long one run may take where that is free: a third of its row's time,
/// as it is run without sampling, too, and started.
fn slice(limit: Duration, rows: usize) -> Duration {
    const LONGEST: Duration = Duration::from_millis(150);
    let rows = u32::try_from(rows.max(1)).unwrap_or(u32::MAX);
    (limit / rows / 4).min(LONGEST)
}
