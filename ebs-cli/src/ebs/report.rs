//! `ebs report`: tables from a recording.

use crate::ebs::arguments::{StandingArguments, SymbolArguments, TableArguments};
use crate::ebs::causes::caches;
use crate::ebs::input::{End, Input};
use crate::terminal::style::is_utf8;
use crate::terminal::{debuginfod, number, percent, say};
use analysis::filter::FilterCondition;
use analysis::plots::PlotGlyphs;
use analysis::plots::{EventPlots, PlotReport};
use analysis::report::JoinedReport;
use analysis::{
    ChainView, Filter, FrameCut, Glob, Key, Pipeline, Query, RegisterQuery, Report, RunPart,
    RunTimes, Sort, TreeOrder, TreeQuery, View, csv, folded, json, plots, table,
};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use perfdata::InstructionClass;
use perfdata::recording::RecordingDecoder;
use perfdata::stream::{StreamDecoder, StreamRecord};
use recorder::remote::client::{Client, RecordedStream, RecordedStreamEnd, SOCKET};
use recorder::remote::protocol::WHOLE;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use symbolizer::{KernelOffset, KernelSource, Symbolizer, SymbolizerOptions, load_file};

/// `ebs report`.
#[derive(Clone, Debug, Default, Args)]
pub struct ReportArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Keys of a row: site, ip, routine, inlined, srcline, routine-line, operands, caller, callee, stack,
    /// object, comm, pid, tid, cpu, addr, line, page, data, variable, type, member, alloc, alloc-line,
    /// block, holder, level, op, tlb, snoop, lock, blk, time:SPAN (time:100ms), reg:NAME [default: site,
    /// which is address, routine and object].
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Tells what was inlined: the key routine becomes inlined, OUTER <- INNER.
    #[arg(long)]
    pub inline: bool,
    /// Order of the rows: share, count, address, name, a key of --by, or with --mem cycles or
    /// latency [default: share].
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<String>,
    /// Who called this routine (or any of an object): counts only records with such a frame on their
    /// call chain, and looks at the chain from the innermost such frame outwards [--by caller,
    /// unless something else is asked for].
    #[arg(long, value_name = "GLOB", conflicts_with = "regs")]
    pub callers: Option<String>,
    /// What this routine (or any of an object) called: counts only records with such a frame on
    /// their call chain, and looks at the chain from the outermost such frame inwards [--by callee,
    /// unless something else is asked for].
    #[arg(long, value_name = "GLOB", conflicts_with = "regs")]
    pub callees: Option<String>,
    /// Whose instruction a row is: the first on the call chain that is in none of these routines or
    /// objects, such as libc.so*,ld-linux*,std::*.
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',', conflicts_with = "regs")]
    pub outside: Vec<String>,
    /// Counts only records that match: routine=GLOB, object!=GLOB, frame=GLOB, comm=GLOB, variable=GLOB, pid=N,
    /// tid=N, cpu=N, addr=FROM-TO, ip=FROM-TO, mode=kernel, level=L3, op=load, tlb=*miss*,
    /// snoop=hitm, lock=locked, blk=GLOB, weight=FROM-TO. Several must all match.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Counts only records of a part of the run: seconds from its first record on, or percent, such
    /// as 1.5-3, 10%-20%, 2-.
    #[arg(long, value_name = "FROM-TO", allow_hyphen_values = true)]
    pub time: Option<String>,
    /// Counts only records of instructions of this class: packed_sp, packed_dp, scalar_sp,
    /// scalar_dp, mmx64, mmx128, x87, x87_simd_moves, reads_memory, writes_memory,
    /// accesses_memory, split_load.
    #[arg(long, value_name = "CLASS")]
    pub class: Option<InstructionClass>,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Rows to print [default: 20 on a table, all otherwise].
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub top: Option<usize>,
    /// One table of all events: a row a site (or --by), a column an event, each count per one of
    /// another event too.
    #[arg(long, conflicts_with_all = ["csv", "mem", "regs"])]
    pub join: bool,
    /// The event that --join tells the others per [default: instr_retired, else the first].
    #[arg(long, value_name = "GLOB", requires = "join")]
    pub per: Option<String>,
    /// Rows that are counted apart, some 50 bytes of memory a key and row; of more, those with the
    /// least records are counted together, and the table says so [default: 917504].
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub most_rows: Option<usize>,
    /// Prints JSON.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints comma-separated values.
    #[arg(long)]
    pub csv: bool,
    /// Prints call chains with their counts, one a line, for flame graphs: COMM;main;parse;memcpy 12.
    #[arg(long, conflicts_with_all = ["csv", "json", "join", "by", "regs"])]
    pub folded: bool,
    /// Inclusive counts: a row a routine, with all records that it is on the call chain of, each
    /// once, and beside them (self) those taken in the routine itself.
    #[arg(long, conflicts_with_all = ["by", "folded", "join", "regs", "tree", "inline"])]
    pub children: bool,
    /// A tree of call chains, from the outermost routine down to what it called, or from the sampled
    /// routine on to its callers.
    #[arg(long, value_name = "DIRECTION", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "callees")]
    #[arg(conflicts_with_all = ["by", "csv", "folded", "inline", "join", "mem", "regs", "sort", "top"])]
    pub tree: Option<TreeDirection>,
    /// Tells branches of --tree with a smaller part of the records together [default: 1; JSON: 0].
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "tree")]
    pub min_percent: Option<f64>,
    /// Instruction to look at with --regs: an address, a routine, or ROUTINE+OFFSET.
    #[arg(long, value_name = "ADDR_OR_ROUTINE", requires = "regs")]
    pub site: Option<String>,
    /// Prints what each register held, at the site or in all records, instead of rows; with --by
    /// beside them.
    #[arg(long)]
    pub regs: bool,
    /// Prints what served the accesses to memory (level, operation, TLB, snoop) and their
    /// latencies, of all records and of each row.
    #[arg(long)]
    pub mem: bool,
    /// Draws behind the tables how many records fall into each set of the first data cache, and how
    /// many have which latency, by powers of two. Lines are as long as the terminal's, else 80.
    #[arg(long, value_name = "GLYPHS", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "auto")]
    #[arg(conflicts_with_all = ["csv", "json", "folded", "join", "regs"])]
    pub plot: Option<PlotForm>,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Bytes of a cache line, for --by line and --plot [default: as the recorded machine had].
    #[arg(long, value_name = "BYTES", value_parser = number::<u64>)]
    pub line_size: Option<u64>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// What bars of --plot are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PlotForm {
    /// Blocks where the locale is UTF-8, else ASCII.
    #[default]
    Auto,
    /// Unicode's blocks, by eighths.
    Blocks,
    /// `#` alone.
    Ascii,
}

/// Where a tree of call chains begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TreeDirection {
    /// At the outermost routine.
    #[default]
    Callees,
    /// At the sampled routine.
    Callers,
}

/// Rows of a table when nothing is said.
const ROWS: usize = 20;
/// Branches of a tree that are told apart, of all samples.
const LEAST_PERCENT: f64 = 1.0;

/// The question that was typed.
///
/// # Errors
///
/// Words that are no key, filter, order or site; each error quotes the word.
pub fn query(arguments: &ReportArguments) -> Result<Query> {
    let filters = filters(&arguments.filter)?;
    let keys = match (arguments.by.is_empty(), arguments.regs) {
        _ if arguments.folded => vec![Key::Comm, Key::Stack],
        _ if arguments.children || arguments.tree.is_some() => vec![Key::Stack],
        (true, true) => Vec::new(),
        (true, false) => usual_keys(arguments),
        (false, _) => Key::parse_list(&arguments.by.join(","))?,
    };
    let keys = if arguments.inline { with_inlined(keys)? } else { keys };
    let plots = arguments.plot.is_some().then(|| caches(&[])).transpose()?;
    let site = arguments.site.as_deref().map(str::parse).transpose()?;
    let sort = match &arguments.sort {
        Some(sort) => sort.parse()?,
        None => usual_order(&keys),
    };
    let query = Query {
        keys,
        sort,
        filters,
        frames: FrameCut {
            callees: arguments.callees.as_deref().map(Glob::new),
            ..cut_inwards(arguments.callers.as_deref(), &arguments.outside)
        },
        chains: chains(arguments),
        class: arguments.class,
        // Joined rows are cut once they are joined.
        top: if arguments.join { None } else { top(arguments) },
        cache_line: arguments.line_size,
        event: arguments.event.as_deref().map(Glob::new),
        accesses: arguments.mem,
        views: plots.map(View::Plots).into_iter().collect(),
        most_rows: arguments.most_rows.unwrap_or(Query::MOST_ROWS).max(1),
        registers: arguments.regs.then(|| RegisterQuery { site, ..RegisterQuery::default() }),
        ..Query::default()
    };
    query.check()?;
    Ok(query)
}

/// Chains without their inner frames: from `--callers` and from `--outside` on.
pub(crate) fn cut_inwards(callers: Option<&str>, outside: &[String]) -> FrameCut {
    FrameCut {
        callers: callers.map(Glob::new),
        callees: None,
        outside: outside.iter().map(Glob::new).collect(),
    }
}

fn chains(arguments: &ReportArguments) -> ChainView {
    let Some(direction) = arguments.tree else {
        return if arguments.children { ChainView::Inclusive } else { ChainView::Rows };
    };
    let order = match direction {
        TreeDirection::Callees => TreeOrder::Callees,
        TreeDirection::Callers => TreeOrder::Callers,
    };
    let least = arguments.min_percent.unwrap_or(if arguments.json { 0.0 } else { LEAST_PERCENT });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100 per cent are 0 to a million millionths"
    )]
    let least_millionths = (least * 10_000.0).round() as u32;
    ChainView::Tree(TreeQuery { order, least_millionths })
}

fn usual_keys(arguments: &ReportArguments) -> Vec<Key> {
    vec![match (&arguments.callers, &arguments.callees) {
        (None, None) => Key::Site,
        (Some(_), None) => Key::Caller,
        (None, Some(_)) => Key::Callee,
        (Some(_), Some(_)) => Key::Stack,
    }]
}

/// What `--filter` says, each time that it was given.
///
/// # Errors
///
/// Words that are no filter; the error quotes them.
pub fn filters(texts: &[String]) -> Result<Vec<Filter>> {
    let mut filters = Vec::new();
    for text in texts {
        filters.extend(Filter::parse_all(text)?);
    }
    Ok(filters)
}

/// Parts of the run as they came, all else by share.
fn usual_order(keys: &[Key]) -> Sort {
    match keys.first() {
        Some(time @ Key::Time(_)) => Sort::Key(time.clone()),
        _ => Sort::default(),
    }
}

/// Rows of a table: all for programs.
fn top(arguments: &ReportArguments) -> Option<usize> {
    let machine_read = arguments.json || arguments.csv || arguments.folded;
    arguments.top.or((!machine_read).then_some(ROWS))
}

/// The routines of the rows with what was inlined into them.
fn with_inlined(keys: Vec<Key>) -> Result<Vec<Key>> {
    anyhow::ensure!(
        keys.iter().any(|key| matches!(key, Key::Routine | Key::Inlined)),
        "--inline tells what was inlined into routines, and none is among the keys of a row: add \
         routine to --by"
    );
    let inlined = |key| if key == Key::Routine { Key::Inlined } else { key };
    let mut keys: Vec<Key> = keys.into_iter().map(inlined).collect();
    let mut seen = false;
    keys.retain(|key| *key != Key::Inlined || !std::mem::replace(&mut seen, true));
    Ok(keys)
}

/// Where names of a recording come from: as typed, and from what it carries.
///
/// # Errors
///
/// Those of [`symbols`].
pub fn symbols_of(input: &Input, arguments: &SymbolArguments) -> Result<SymbolizerOptions> {
    let carried = input.carried_files().map(Arc::new);
    Ok(SymbolizerOptions { carried, ..symbols(arguments)? })
}

/// Where names come from, as typed.
///
/// # Errors
///
/// A list of kernel symbols that cannot be read or is none: who names one
/// does not want a table without names. Whether it is the recorded kernel's
/// only the recording can tell.
pub fn symbols(arguments: &SymbolArguments) -> Result<SymbolizerOptions> {
    let root = arguments.root.clone();
    let vmlinux = arguments.vmlinux.clone();
    let kernel = match arguments.system_map.as_ref().or(vmlinux.as_ref()) {
        Some(path) => {
            // The text of the error ends with that of its source.
            load_file(&root, path, KernelOffset::Given(0)).map_err(|error| anyhow!("{error}"))?;
            KernelSource::File { path: path.clone(), offset: KernelOffset::Detect }
        }
        None => KernelSource::Running,
    };
    let symfs = arguments.symfs.clone();
    let debuginfod = debuginfod::servers()?;
    Ok(SymbolizerOptions {
        root,
        kernel,
        vmlinux,
        symfs,
        debuginfod,
        ..SymbolizerOptions::default()
    })
}

#[derive(Debug)]
pub struct CountedRecording {
    pipeline: Pipeline,
    decoder: RecordingDecoder,
    end: End,
}

impl CountedRecording {
    /// Reads a recording to its end, or up to where it is damaged.
    ///
    /// # Errors
    ///
    /// A query that no recording can answer, records that it cannot take, a
    /// recording that describes no event.
    pub fn read(
        input: &mut Input,
        query: Query,
        symbolizer: Symbolizer,
    ) -> Result<CountedRecording> {
        CountedRecording::of(input, Pipeline::new(query, symbolizer)?)
    }

    /// The same with a pipeline that is there.
    ///
    /// # Errors
    ///
    /// As of [`CountedRecording::read`].
    pub fn of(input: &mut Input, mut pipeline: Pipeline) -> Result<CountedRecording> {
        let mut decoder = input.decoder();
        let end = input.read(&mut decoder, |decoder, record| {
            pipeline.record(decoder, record)?;
            Ok(())
        })?;
        // Nothing was described: the damage says more than an empty table.
        if decoder.stream().events().is_empty() {
            end.into_result()?;
            anyhow::bail!("{}: the recording describes no event", input.name());
        }
        Ok(CountedRecording { pipeline, decoder, end })
    }

    /// What `finish` makes of the pipeline, and how the recording ended.
    ///
    /// # Errors
    ///
    /// A query that this recording cannot answer.
    pub fn answer<A>(
        self,
        finish: impl FnOnce(Pipeline, &StreamDecoder) -> Result<A, analysis::Error>,
    ) -> Result<(A, End)> {
        match (finish(self.pipeline, self.decoder.stream()), self.end) {
            // What is not there may have been in the part that is missing.
            (Err(error), End::Damaged(damage)) => Err(damage.context(error)),
            (answer, end) => Ok((answer?, end)),
        }
    }
}

/// The recording that was named: a file, or what the daemon recorded of a
/// standing session, with what it says at the end.
///
/// # Errors
///
/// None was named; those of opening it.
pub fn open(
    file: Option<&Path>,
    standing: &StandingArguments,
) -> Result<(Input, Option<RecordedStreamEnd>)> {
    match (&standing.standing, file) {
        (Some(name), _) => recorded(name, standing),
        (None, Some(file)) => Ok((Input::open(file)?, None)),
        (None, None) => Err(crate::ebs::arguments::UsageError::RecordingMissing.into()),
    }
}

/// Prints what the daemon says of a recording: gaps that are in no record. What it could not read
/// of a segment is damage, as of a file.
pub fn with_ending(end: End, ended: Option<RecordedStreamEnd>) -> End {
    let Some(ended) = ended else { return end };
    if let Some(said) = ended.take().filter(|said| said != WHOLE) {
        say("ebs", &said);
    }
    match (end, ended.damage()) {
        (End::Whole, damage) if !damage.is_empty() => {
            End::Damaged(anyhow::anyhow!("{}", damage.join("; ")))
        }
        (end, _) => end,
    }
}

fn recorded(
    name: &str,
    arguments: &StandingArguments,
) -> Result<(Input, Option<RecordedStreamEnd>)> {
    let socket = arguments.socket.as_deref().unwrap_or(Path::new(SOCKET));
    let since = arguments.since.map(|span| span.0);
    let recorded = RecordedStream::open(Client::connect(socket)?, name, since, false)?;
    let ended = recorded.ending();
    Ok((Input::new(Box::new(recorded), name), Some(ended)))
}

/// Reads, counts, and prints what can be counted even when the recording is
/// damaged.
///
/// # Errors
///
/// A question without meaning, damage of the recording, those of `out`.
pub fn run(arguments: &ReportArguments, out: &mut dyn Write) -> Result<()> {
    let query = in_time(query(arguments)?, arguments.time.as_deref(), arguments.file.as_deref())?;
    let (mut input, ended) = open(arguments.file.as_deref(), &arguments.standing)?;
    let options = symbols_of(&input, &arguments.symbols)?;
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (PlotReport { report, plots }, end) =
        recording.answer(|pipeline, decoder| match arguments.plot {
            Some(_) => pipeline.plots(decoder),
            None => Ok(PlotReport { report: pipeline.finish(decoder)?, plots: Vec::new() }),
        })?;
    let end = with_ending(end, ended);
    if arguments.join {
        join(arguments, &report, out)?;
    } else if arguments.json {
        json::write(&report, &mut *out)?;
    } else if arguments.folded {
        folded::write(&report, &mut *out)?;
    } else if arguments.csv {
        let names = match std::io::stdout().is_terminal() {
            true => csv::CsvNames::Printable,
            false => csv::CsvNames::Exact,
        };
        csv::write(&report, names, &mut *out)?;
        // Tables and JSON say it themselves.
        for event in &report.events {
            if let Some(not_kept) = &event.not_kept {
                say("ebs", &not_kept.told(&event.name));
            }
        }
    } else {
        out.write_all(table::render(&report, arguments.table.style()).as_bytes())?;
        draw(arguments, &plots, out)?;
    }
    out.flush()?;
    end.into_result().context("the table shows what could be read")
}

fn draw(arguments: &ReportArguments, drawn: &[EventPlots], out: &mut dyn Write) -> Result<()> {
    let Some(form) = arguments.plot else { return Ok(()) };
    let glyphs = match form {
        PlotForm::Auto if is_utf8() => PlotGlyphs::Blocks,
        PlotForm::Blocks => PlotGlyphs::Blocks,
        PlotForm::Auto | PlotForm::Ascii => PlotGlyphs::Ascii,
    };
    let text = plots::render(drawn, glyphs, arguments.table.style());
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The query with the times of the run that it is about, where it is about any.
///
/// # Errors
///
/// Words that are no part of a run; a recording that can be read but once, or
/// whose samples have no times.
pub fn in_time(mut query: Query, time: Option<&str>, file: Option<&Path>) -> Result<Query> {
    let is_key = query.keys.iter().any(|key| matches!(key, Key::Time(_)));
    if time.is_none() && !is_key {
        return Ok(query);
    }
    let part: Option<RunPart> = time.map(str::parse).transpose()?;
    let run = run_times_of(file)?;
    query.run = Some(run);
    if let Some(part) = part {
        let condition = FilterCondition::Time(part.within(run)?);
        query.filters.push(Filter { condition, negated: false });
    }
    Ok(query)
}

fn join(arguments: &ReportArguments, report: &Report, out: &mut dyn Write) -> Result<()> {
    let per = arguments.per.as_deref().map(Glob::new);
    let joined = JoinedReport::of(report, per.as_ref(), top(arguments))?;
    if arguments.json {
        analysis::json::write_pretty(&joined, &mut *out)?;
        writeln!(out)?;
    } else {
        let style = arguments.table.style();
        out.write_all(table::render_joined(&joined, report, style).as_bytes())?;
    }
    Ok(())
}

/// The first and the last sample's, of all events.
///
/// # Errors
///
/// What can be read but once; a recording without samples that have a time.
pub(crate) fn run_times_of(file: Option<&Path>) -> Result<RunTimes> {
    let Some(file) = file.filter(|file| file.metadata().is_ok_and(|it| it.is_file())) else {
        bail!(
            "times of a run are counted from its first sample to its last, for which it is read \
             twice: name a file, not a pipe or what a daemon keeps"
        );
    };
    let mut input = Input::open(file)?;
    let mut decoder = input.decoder();
    let mut times: Option<RunTimes> = None;
    // What is wrong with it is said when it is counted.
    let _: End = input.read(&mut decoder, |stream, record| {
        let StreamRecord::Sample(sample) = record else { return Ok(()) };
        if let Some(time) = sample.time(stream) {
            let known = times.get_or_insert(RunTimes { first: time, last: time });
            known.first = known.first.min(time);
            known.last = known.last.max(time);
        }
        Ok(())
    })?;
    match times {
        Some(times) => Ok(times),
        None => bail!("{}: none of its samples has a time: leave --time out", file.display()),
    }
}
