//! `ebs diff`: two recordings, or two sets of them, side by side.

use crate::ebs::arguments::{ComparingArguments, SymbolArguments};
use crate::ebs::exit_status::{BEYOND, SUCCESS};
use crate::ebs::input::{End, Input};
use crate::ebs::report::{CountedRecording, filters, run_times_of, symbols_of};
use analysis::diff::{self, DiffPer, DiffQuery, DiffReport, DiffRun, DiffSides, LimitVerdict};
use analysis::{Glob, Key, Pipeline, Query, Report, csv};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use symbolizer::Symbolizer;

const EXAMPLES: &str = "\
Examples:
  ebs diff old.data new.data                       by routine
  ebs diff --per requests=10000,12000 old.data new.data
  ebs diff --by inlined,srcline --same server-1=server-2 old.data new.data
  ebs diff --runs old-*.data -- new-*.data         runs of A, then of B
  ebs diff old/ new/                               all FILE.data there are runs
  ebs diff --fail-on 'l1_cache_miss > +5%' --fail-on 'page_fault@parse* > +0%' old/ new/

Exit status: 0; 1 when a recording cannot be read or compared; 2 for a wrong command line; 3 when
what --fail-on says holds.";

/// `ebs diff`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct DiffArguments {
    /// Two recordings, what was and what is; or two directories, whose files *.data are repeated
    /// runs. With --runs and -- recordings of A.
    #[arg(required = true, value_name = "A_B")]
    pub files: Vec<PathBuf>,
    /// With --runs: recordings of B.
    #[arg(last = true, value_name = "B", requires = "runs")]
    pub others: Vec<PathBuf>,
    /// Takes several recordings of each side, those of B behind --: how runs vary is then part of
    /// the intervals.
    #[arg(long)]
    pub runs: bool,
    /// How sides are compared, and shown.
    #[command(flatten)]
    pub comparing: ComparingArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// Rows of a table when nothing is said.
const ROWS: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffUsageError {
    #[error(
        "--by {0}: that is another in each build or run, and no row of A would be one of B; say \
         routine, routine-line, operands, object, inlined, srcline, variable, level or another name"
    )]
    Key(Key),
    #[error(
        "--by line: that is the cache line of the data, another in each run; a line of source is routine-line, \
         counted from the first of its routine, or srcline, from the first of its file"
    )]
    Line,
    #[error(
        "{0} recordings: say `ebs diff A B`, or `ebs diff --runs A... -- B...` for several runs of each"
    )]
    Files(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffFiles {
    pub(crate) a: Vec<NamedFile>,
    pub(crate) b: Vec<NamedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl NamedFile {
    fn new(path: PathBuf) -> NamedFile {
        NamedFile { name: path.display().to_string(), path }
    }
}

/// Compares, prints, and gives the status to exit with.
///
/// # Errors
/// A question without meaning; recordings that cannot be read or compared; those of `out`.
pub fn run(arguments: &DiffArguments, out: &mut dyn Write) -> Result<u8> {
    let files = files(arguments)?;
    show(&files, &arguments.comparing, &arguments.symbols, None, out)
}

/// Compares recordings and prints what came out; `usual_per` is what counts are divided by
/// where nothing else is known.
pub(crate) fn show(
    files: &DiffFiles,
    comparing: &ComparingArguments,
    symbols: &SymbolArguments,
    usual_per: Option<DiffPer>,
    out: &mut dyn Write,
) -> Result<u8> {
    let query = Query {
        keys: keys(&comparing.by)?,
        filters: filters(&comparing.filter)?,
        class: comparing.class,
        ..Query::default()
    };
    query.check()?;
    let mut read = ReadRuns::new(&query, symbols);
    let (a, b) = (read.all(&files.a)?, read.all(&files.b)?);
    let asked = DiffQuery {
        keys: query.keys.clone(),
        per: comparing.per.clone(),
        usual_per,
        event: comparing.event.as_deref().map(Glob::new),
        same: comparing.same.clone(),
    };
    let mut diff = DiffReport::of(DiffSides { a: &a, b: &b }, &asked)?;
    diff.notes.extend(damage(&a).chain(damage(&b)));
    let answers = comparing.fail_on.iter().map(|limit| limit.answer(&diff));
    diff.limits = answers.collect::<Result<_, _>>()?;
    print(&diff, comparing, out)?;
    read.into_result().context("the table shows what could be read")?;
    let fails = diff.limits.iter().any(|answer| match answer.verdict {
        LimitVerdict::Exceeded => true,
        LimitVerdict::Undetermined => comparing.strict,
        LimitVerdict::Within => false,
    });
    Ok(if fails { BEYOND } else { SUCCESS })
}

fn damage(runs: &[DiffRun]) -> impl Iterator<Item = String> {
    runs.iter().filter(|run| run.report.events.iter().any(|event| event.not_kept.is_some())).map(
        |run| format!("{}: not all of its rows were kept; what is missing looks gone", run.name),
    )
}

fn print(diff: &DiffReport, comparing: &ComparingArguments, out: &mut dyn Write) -> Result<()> {
    if comparing.json {
        let mut shown = diff.clone();
        for event in &mut shown.events {
            event.rows.truncate(comparing.top.unwrap_or(usize::MAX));
        }
        analysis::json::write_pretty(&shown, &mut *out)?;
        writeln!(out)?;
    } else if comparing.csv {
        let names = match std::io::stdout().is_terminal() {
            true => csv::CsvNames::Printable,
            false => csv::CsvNames::Exact,
        };
        diff::write_csv(diff, names, &mut *out)?;
    } else {
        let top = comparing.top.unwrap_or(ROWS);
        let text = diff::render(diff, Some(top), comparing.table.style());
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// What makes a row: what a build gives names to, the same in the next.
fn keys(words: &[String]) -> Result<Vec<Key>> {
    let usual = ["routine".to_owned()];
    let words = if words.is_empty() { &usual[..] } else { words };
    let mut keys = Vec::new();
    for word in words {
        match word.as_str() {
            "routine" => keys.extend([Key::Object, Key::Routine]),
            "routine-line" => keys.extend([Key::Object, Key::RoutineLine]),
            "operands" => keys.extend([Key::Object, Key::Operands]),
            word => keys.extend(Key::parse_list(word)?),
        }
    }
    let mut known = Vec::new();
    keys.retain(|key| {
        let is_new = !known.contains(key);
        known.push(key.clone());
        is_new
    });
    let of_run = |key: &&Key| {
        matches!(
            key,
            Key::Site
                | Key::Ip
                | Key::Pid
                | Key::Tid
                | Key::Cpu
                | Key::Addr
                | Key::Line
                | Key::Page
                | Key::AddrBefore
                | Key::Data
                | Key::Block
                | Key::Alloc
                | Key::Stack
                | Key::Time(_)
                | Key::Register(_)
        )
    };
    match keys.iter().find(of_run) {
        Some(Key::Line) => Err(DiffUsageError::Line.into()),
        Some(key) => Err(DiffUsageError::Key(key.clone()).into()),
        None => Ok(keys),
    }
}

fn files(arguments: &DiffArguments) -> Result<DiffFiles> {
    if !arguments.others.is_empty() {
        let (a, b) = (in_folders(&arguments.files)?, in_folders(&arguments.others)?);
        return Ok(DiffFiles { a, b });
    }
    match &arguments.files[..] {
        [a, b] => Ok(DiffFiles { a: in_folder(a)?, b: in_folder(b)? }),
        files => Err(DiffUsageError::Files(files.len()).into()),
    }
}

fn in_folders(paths: &[PathBuf]) -> Result<Vec<NamedFile>> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(in_folder(path)?);
    }
    Ok(files)
}

/// The recordings in a folder, by name; what is none is one itself.
fn in_folder(path: &Path) -> Result<Vec<NamedFile>> {
    if !path.is_dir() {
        return Ok(vec![NamedFile::new(path.to_owned())]);
    }
    let about = || format!("cannot read the directory {}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(about)? {
        let file = entry.with_context(about)?.path();
        if file.extension().is_some_and(|extension| extension == "data") && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("{}: no file there is called *.data", path.display());
    }
    Ok(files.into_iter().map(NamedFile::new).collect())
}

/// Reads recordings, and keeps what is wrong with the first damaged one.
#[derive(Debug)]
struct ReadRuns<'q> {
    query: &'q Query,
    symbols: &'q SymbolArguments,
    damage: Option<anyhow::Error>,
}

impl<'q> ReadRuns<'q> {
    fn new(query: &'q Query, symbols: &'q SymbolArguments) -> ReadRuns<'q> {
        ReadRuns { query, symbols, damage: None }
    }

    fn all(&mut self, files: &[NamedFile]) -> Result<Vec<DiffRun>> {
        files.iter().map(|file| self.one(file)).collect()
    }

    fn one(&mut self, file: &NamedFile) -> Result<DiffRun> {
        let NamedFile { name, path } = file.clone();
        let about = || format!("in {name}");
        let mut input = Input::open(&path)?;
        let options = symbols_of(&input, self.symbols)?;
        let symbolizer = Symbolizer::new(options);
        let counted = CountedRecording::read(&mut input, self.query.clone(), symbolizer);
        let (report, end) =
            counted.with_context(about)?.answer(Pipeline::finish).with_context(about)?;
        if let End::Damaged(error) = end {
            self.damage.get_or_insert(error.context(name.clone()));
        }
        let seconds = if tells_seconds(&report) { None } else { seconds(&path) };
        Ok(DiffRun { name, report, seconds })
    }

    /// The damage of the first recording that has some.
    fn into_result(self) -> Result<()> {
        self.damage.map_or(Ok(()), Err)
    }
}

fn tells_seconds(report: &Report) -> bool {
    let mut ledgers = report.events.iter().filter_map(|event| event.ledger.as_ref());
    ledgers.any(|ledger| ledger.seconds.is_some())
}

/// From the first sample to the last, of another recorder's.
fn seconds(file: &Path) -> Option<f64> {
    let times = run_times_of(Some(file)).ok()?;
    let nanoseconds = times.last.0.saturating_sub(times.first.0);
    Some(std::time::Duration::from_nanos(nanoseconds).as_secs_f64())
}
