//! `ebs compare`: two commands recorded in turn, and their diff.

use crate::ebs::arguments::{ComparingArguments, EmulationArguments, SymbolArguments, split};
use crate::ebs::diff::{DiffFiles, NamedFile, show};
use crate::ebs::exit_status::{FAILURE, SUCCESS};
use crate::ebs::recorder::{Recorder, RunPlace};
use crate::outputs;
use crate::terminal::{number, say};
use analysis::diff::DiffPer;
use anyhow::{Context, Result, bail};
use clap::Args;
use recorder::catalogue;
use rustix::fs::CWD;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

const COMPARISONS: &str = "\
Examples:
  ebs compare -n 10 -u -t page_fault -- ./old FILE --- ./new FILE
  ebs compare -u -t l1_cache_miss,instr_retired -i 1000 -o kept -- ./old --- ./new
  ebs diff kept/a kept/b                           the same once more, by other keys

A begins the first, third, ... pair of runs, B the others. Both get an empty input, and what they
write to stdout is thrown away. SIGINT ends it; what is shown is of the pairs that were whole.

Exit status: 0; 1 when a run failed or nothing can be compared; 2 for a wrong command line; 3 when
what --fail-on says holds; 128 + N after signal N.";

/// `ebs compare`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = COMPARISONS)]
pub struct CompareArguments {
    /// Runs of each command.
    #[arg(short = 'n', long = "runs", value_name = "RUNS", default_value_t = 5)]
    #[arg(value_parser = number::<u32>)]
    pub repeat: u32,
    /// Samples user code.
    #[arg(short, long)]
    pub user: bool,
    /// Samples kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// Event type, as for `ebs -t`; several with commas or several -t.
    #[arg(short = 't', long = "type", value_name = "TYPE,...")]
    pub types: Vec<String>,
    /// Events from one record to the next, as for `ebs -i`.
    #[arg(short, long, value_name = "INTERVAL,...", allow_negative_numbers = true)]
    pub interval: Vec<String>,
    /// Masks of a type, as for `ebs -m`.
    #[arg(short, long = "mask", value_name = "NAME,...")]
    pub masks: Vec<String>,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Keeps the recordings in DIR/a and DIR/b [default: they are removed].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How sides are compared, and shown.
    #[command(flatten)]
    pub comparing: ComparingArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
    /// Two commands with their arguments, and --- between them.
    #[arg(value_name = "A --- B", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub commands: Vec<OsString>,
}

const BETWEEN: &str = "---";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareUsageError {
    #[error("say two commands: ebs compare -t TYPE -- A [ARGS...] --- B [ARGS...]")]
    Commands,
    #[error("-n 0: say how often each command is to run, such as 10")]
    Runs,
    #[error("no event type: say -t TYPE (`ebs -h` lists the types)")]
    Type,
    #[error("no mode: say -u (user code), -k (kernel code), or both")]
    Mode,
}

/// Two commands; neither is empty.
#[derive(Debug)]
struct TwoCommands<'w> {
    a: &'w [OsString],
    b: &'w [OsString],
}

impl TwoCommands<'_> {
    fn new(words: &[OsString]) -> Result<TwoCommands<'_>, CompareUsageError> {
        let at =
            words.iter().position(|word| word == BETWEEN).ok_or(CompareUsageError::Commands)?;
        match words.split_at(at) {
            (a, [_, b @ ..]) if !a.is_empty() && !b.is_empty() => Ok(TwoCommands { a, b }),
            _ => Err(CompareUsageError::Commands),
        }
    }
}

/// Where recordings go; a directory of ours goes when this does.
#[derive(Debug)]
enum RunsDirectory {
    Kept(PathBuf),
    Ours(tempfile::TempDir),
}

impl RunsDirectory {
    fn new(output: Option<&Path>) -> Result<RunsDirectory> {
        let place = match output {
            Some(path) => RunsDirectory::Kept(path.to_owned()),
            None => RunsDirectory::Ours(
                outputs::private_folder("ebs-compare-")
                    .context("no directory for recordings; set TMPDIR, or say -o DIR")?,
            ),
        };
        for side in ["a", "b"] {
            let path = place.path().join(side);
            outputs::create_folder(CWD, &path)
                .with_context(|| format!("cannot make the directory {}", path.display()))?;
            let mut there = std::fs::read_dir(&path)
                .with_context(|| format!("cannot read the directory {}", path.display()))?;
            if there.any(|entry| {
                entry.is_ok_and(|it| it.path().extension() == Some(OsStr::new("data")))
            }) {
                bail!(
                    "{}: there are recordings of other runs; name another directory, or remove them",
                    path.display()
                );
            }
        }
        Ok(place)
    }

    fn path(&self) -> &Path {
        match self {
            RunsDirectory::Kept(path) => path,
            RunsDirectory::Ours(directory) => directory.path(),
        }
    }
}

/// Runs both commands in turn, compares, and gives the status to exit with.
///
/// # Errors
/// A question without meaning; what cannot be recorded or compared; those of `out`.
pub fn run(arguments: &CompareArguments, out: &mut dyn Write) -> Result<u8> {
    let commands = TwoCommands::new(&arguments.commands)?;
    let words = words(arguments)?;
    let place = RunsDirectory::new(arguments.output.as_deref())?;
    let mut recorder = Recorder::new(&words, RunPlace::Behind)?;
    let mut files = DiffFiles { a: Vec::new(), b: Vec::new() };
    let mut status = SUCCESS;
    for run in 1..=arguments.repeat {
        let file = |side: &str| place.path().join(side).join(format!("{run:03}.data"));
        let (a, b) = (file("a"), file("b"));
        // The one that begins alternates: what changes with time is in both.
        let mut order = [("A", commands.a, &a), ("B", commands.b, &b)];
        if run % 2 == 0 {
            order.reverse();
        }
        let mut is_whole = true;
        for (side, command, file) in order {
            let ended = recorder.record(command, file)?;
            if ended.is_stopped {
                is_whole = false;
                break;
            }
            if !file.exists() {
                bail!("nothing was recorded: what ebs said above is why");
            }
            if ended.status != SUCCESS {
                say("ebs", &format!("run {run} of {side} ended with status {}", ended.status));
                status = FAILURE;
            }
        }
        if !is_whole {
            say(
                "ebs",
                &format!("stopped in run {run}: what is shown is of the {} before", run - 1),
            );
            break;
        }
        let named = |command: &[OsString], path| NamedFile { name: told(command), path };
        files.a.push(named(commands.a, a));
        files.b.push(named(commands.b, b));
    }
    if files.a.is_empty() {
        bail!("stopped before both commands had run once: there is nothing to compare");
    }
    let usual = Some(DiffPer::Run);
    let shown = show(&files, &arguments.comparing, &arguments.symbols, usual, out)?;
    Ok(recorder.status().unwrap_or(if shown == SUCCESS { status } else { shown }))
}

/// The intervals that types have by themselves; None: one is no type.
fn usual_intervals(types: &[String]) -> Option<String> {
    let usual = |name: &String| Some(catalogue::find(name)?.default_interval.to_string());
    let all: Option<Vec<String>> =
        types.iter().flat_map(|it| split(it)).map(|it| usual(&it.to_owned())).collect();
    Some(all?.join(","))
}

fn told(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn words(arguments: &CompareArguments) -> Result<Vec<OsString>> {
    if arguments.repeat == 0 {
        return Err(CompareUsageError::Runs.into());
    }
    if arguments.types.is_empty() {
        return Err(CompareUsageError::Type.into());
    }
    if !arguments.user && !arguments.kernel {
        return Err(CompareUsageError::Mode.into());
    }
    let mut words: Vec<OsString> = Vec::new();
    for (is_set, word) in [(arguments.user, "-u"), (arguments.kernel, "-k")] {
        if is_set {
            words.push(word.into());
        }
    }
    let mut add = |option: &str, value: &str| words.extend([option.into(), value.into()]);
    arguments.types.iter().for_each(|it| add("-t", it));
    arguments.interval.iter().for_each(|it| add("-i", it));
    if arguments.interval.is_empty()
        && let Some(usual) = usual_intervals(&arguments.types)
    {
        // Runs of one interval are compared by their counts.
        add("-i", &usual);
    }
    arguments.masks.iter().for_each(|it| add("-m", it));
    words.extend(arguments.emulation.words());
    Ok(words)
}
