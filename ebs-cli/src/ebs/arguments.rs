//! What was typed: the grammar of the command line, with no meaning yet.
//!
//! `ebs` samples when its first word is an option or a program, and does
//! something else when its first word is the name of a subcommand. As
//! sampling needs `-t TYPE` before the program, no line that samples starts
//! with a program's name, and a program called `report` is never in the way.

mod accesses;
mod annotating;
mod comparing;
mod converting;
mod counting;
mod emulation;
mod exporting;
mod in_kernel;
mod laying_out;
mod live;
mod planning;
mod reading;
mod selftesting;
mod timing;
mod watching;

pub use accesses::{AccessArguments, C2cArguments, CausesArguments};
pub use annotating::{AnnotateArguments, AnnotationFormat, Context, PrefixMap, SyntaxName};
pub use comparing::{CompareArguments, ComparingArguments, DiffArguments};
pub use converting::{ArchiveArguments, ConvertArguments};
pub use counting::StatArguments;
pub use emulation::EmulationArguments;
pub use exporting::{ExportArguments, ExportForm, SegmentArguments};
pub use in_kernel::{InKernelArguments, InKernelMode};
pub use laying_out::LayoutArguments;
pub use live::{ReplaySpeed, ReplaySpeedError, TopArguments};
pub use planning::{EventArguments, PlanArguments};
pub use reading::{
    HtmlArguments, PlotForm, ReportArguments, ScriptArguments, ScriptFormat, StandingArguments,
    SymbolArguments, TableArguments, TreeDirection,
};
pub use selftesting::SelftestArguments;
pub use timing::{CpuList, MemlatArguments};
pub use watching::{ServingArguments, SessionsArguments, WatchArguments};

use crate::terminal::{STYLES, number};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const USAGE: &str = "\
ebs (-u | -k) [-o OUTFILE] [-i INTERVAL,...] [-c COUNT] -t TYPE,... [-m NAME,...] EXE_OR_PID [ARGS...]
       ebs report|script|causes|c2c [OPTIONS] FILE | ebs annotate [OPTIONS] ROUTINE FILE
       ebs html -o PAGE FILE | ebs export --to FORM [-o OUT] FILE | ebs convert [OPTIONS] IN OUT
       ebs diff [OPTIONS] A B | ebs compare -t TYPE [OPTIONS] -- A [ARGS...] --- B [ARGS...]
       ebs stat [-m METRIC,...] [-t TYPE,...] [OPTIONS] EXE_OR_PID [ARGS...] | ebs plan -t TYPE [OPTIONS]
       ebs list [PATTERN] | ebs selftest [-t TYPE] | ebs memlat | ebs sessions | ebs watch NAME
       ebs top [OPTIONS] EXE_OR_PID | ebs layout [TYPE] FILE | ebs -h [TYPE] | ebs help [SUBCOMMAND]";

const EXAMPLES: &str = "\
Examples:
  ebs -k -t page_fault -c 50000 -- make -j     where the kernel faults while make runs
  ebs -uk -t page_fault ./server               user and kernel code
  ebs -u -t cpu_clock 1234                     process 1234 and the children it makes
  ebs -u -t mem:counter:w ./server             every write to a variable
  ebs -k -t page_fault -o fault.1 -c 50000 &   the whole system, as text, until SIGINT
  grep -v '#' fault.1 | awk '{print $2}' | eip2r | sort | uniq -c | sort -nr | head
  ebs -u -t page_fault -o fault.data ./server  the stream, for `ebs report` and perf
  ebs report --by routine,page fault.data
  ebs annotate copy_page fault.data            its instructions, each with its faults
  ebs causes miss.data                         why it misses, and what to change
  ebs html miss.data -o miss.html              all of that as one page
  ebs top -u -t l1_cache_miss ./server         the same while it runs, in the terminal
  ebs -u -t l1_cache_miss --html miss.html ./server    the page at once, without a recording
  ebs diff old.data new.data                   what changed, and whether that is chance
  ebs compare -n 10 -u -t page_fault -- ./old --- ./new    both in turn, and their diff
  ebs script fault.data | less                 its records, as `perf script` prints them
  ebs export --to pprof fault.data -o fault.pb.gz    for go tool pprof, and other forms
  ebs -uk -t page_fault --in-kernel ./server   counted in the kernel, however long it runs
  ebs -u -t page_fault -D 5000 ./server        without its first five seconds
  ebs -u -t page_fault -D -1 --control fifo:ctl ./server &   from `echo enable >ctl` on
  ebs report --daemon web --since 10m          what the daemon recorded of a standing session
  ebs stat -m cache ./server                   how often each cache misses, without samples
  ebs selftest                                 what this machine samples, and whether it is right
  ebs memlat                                   how long this machine's memory takes
  ebs completions bash, ebs man                for the shell, for man(1)

A number is a PID; a program named by a number is ./NUMBER. With neither, the whole system is
sampled until SIGINT comes, or a count is reached (-c; text records: 2000). What follows the program belongs to it.

The table, or what -o names, is the output. Notes and the last line (records, losses by cause,
records with exact IP, seconds, who served, what a count left unseen) go to stderr.

Environment:
  DEBUGINFOD_URLS  servers that are asked, by build id, for debug files that are not here; unset,
                   nobody is. The others of debuginfod-client-config(7) are followed, too.

Exit status: that of the program, 128 + N when signal N killed it; 1 when sampling failed, also
when the program could not be started; 2 for a wrong command line.";

/// Shows which instruction faulted, missed or was hit, at which data
/// address, with which register values.
#[derive(Debug, Parser)]
#[command(name = "ebs", version, override_usage = USAGE, after_long_help = EXAMPLES)]
#[command(disable_help_flag = true, styles = STYLES, max_term_width = 100)]
struct Sampling {
    #[command(flatten)]
    sample: SampleArguments,
}

/// `ebs` when its first word names a subcommand.
#[derive(Debug, Parser)]
#[command(name = "ebs", version, styles = STYLES, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
struct Subcommands {
    #[command(subcommand)]
    other: Other,
}

#[derive(Debug)]
pub enum Typed {
    /// Sampling, or one of the helps.
    Sample(SampleArguments),
    Other(Other),
}

impl Typed {
    /// The same with a seed, for when none was typed and one is needed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Typed {
        if let Typed::Sample(arguments) = &mut self {
            arguments.event.fresh_seed = seed;
        }
        self
    }
}

/// What `ebs` does besides sampling.
#[derive(Debug, Subcommand)]
pub enum Other {
    /// Prints tables from a recording.
    Report(ReportArguments),
    /// Prints the instructions of a routine with their records, operands and source lines.
    Annotate(AnnotateArguments),
    /// Shows lines that threads share, byte by byte, and who waits for whom.
    C2c(C2cArguments),
    /// Tells why a recording's misses came about, and what to change.
    Causes(CausesArguments),
    /// Compares two recordings, or two sets of them: which rates differ, and by how much.
    Diff(DiffArguments),
    /// Records two commands in turn, several times, and compares them.
    Compare(CompareArguments),
    /// Writes a recording as one page of HTML: tables and pictures, no network, no script needed.
    Html(HtmlArguments),
    /// Prints the records of a recording as text, in order of time.
    Script(ScriptArguments),
    /// Writes a recording in another form.
    Convert(ConvertArguments),
    /// Writes a recording in the form of another tool: pprof, Firefox Profiler, speedscope, folded
    /// stacks, CSV, Parquet.
    Export(ExportArguments),
    /// Puts the files that a recording's names come from into it, for other machines and times.
    Archive(ArchiveArguments),
    /// Shows types of a program: members with their places, holes, lines.
    Layout(LayoutArguments),
    /// Counts events of a command, a process or the system, and what is derived from them.
    Stat(StatArguments),
    /// Prints what would be opened for an event, without opening it.
    Plan(PlanArguments),
    /// Lists every event that can be named on this machine.
    List(ListArguments),
    /// Samples programs of which everything is known, and says what this machine gets right.
    Selftest(SelftestArguments),
    /// Times this machine's memory: caches, TLBs, cores, nodes, under load.
    Memlat(MemlatArguments),
    /// Lists your sessions of the daemon, and the standing ones that you may read.
    Sessions(SessionsArguments),
    /// Shows where a program misses while it runs: a live view in the terminal.
    Top(Box<TopArguments>),
    /// Shows what a standing session of the daemon samples now.
    Watch(WatchArguments),
    /// Prints the completions of a command for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
        /// Of which command.
        #[arg(default_value = "ebs")]
        program: CommandName,
    },
    /// Prints the manual page of ebs, or writes all pages to a directory.
    Man {
        /// Where to write ebs.1, ebs-report.1, ebs-script.1, eip2r.1 and the rest.
        directory: Option<PathBuf>,
    },
}

/// What to list, and of which machine.
#[derive(Clone, Debug, Default, Args)]
pub struct ListArguments {
    /// Names that hold this text; a pattern with `*` or `?` has to match the whole name.
    pub pattern: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Another machine: DIR/devices is its /sys/bus/event_source/devices, DIR/cpuinfo its
    /// /proc/cpuinfo.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// The original's options, and a long name for each.
#[derive(Clone, Debug, Default, Args)]
pub struct SampleArguments {
    /// Lists the event types of this machine, or describes one.
    #[arg(short = 'h', value_name = "TYPE", num_args = 0..=1, help_heading = "Help")]
    pub types: Option<Option<String>>,
    /// Prints all of this help.
    #[arg(long, action = clap::ArgAction::HelpLong, help_heading = "Help")]
    pub help: Option<bool>,
    /// Samples user code.
    #[arg(short, long)]
    pub user: bool,
    /// Samples kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// The event.
    #[command(flatten)]
    pub event: EventArguments,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Who opens the events.
    #[command(flatten)]
    pub serving: ServingArguments,
    /// What the kernel does itself.
    #[command(flatten)]
    pub in_kernel: InKernelArguments,
    /// When sampling is on.
    #[command(flatten)]
    pub steering: SteeringArguments,
    /// Records where the heap, stacks and files lie, too, for reports --by variable or data.
    #[arg(short, long)]
    pub data: bool,
    /// Records which regions that the program names its threads are in, for reports --by region: it
    /// is linked with libhardmeter, or that is preloaded. Emulated, regions are always recorded.
    #[arg(long)]
    pub regions: bool,
    /// Keeps the kernel's symbols out of the stream that -o FILE.data writes, where they name the
    /// kernel's addresses on other boots and machines.
    #[arg(long)]
    pub no_kallsyms: bool,
    /// Keeps out of FILE.data the programs that names come from: those of containers, deleted ones,
    /// and those that lie where no package puts any.
    #[arg(long)]
    pub no_files: bool,
    /// Keeps copied stacks in FILE.data as they are, some 18 times as large at 8 KiB, where frames
    /// would take their place: for readers with other unwind tables than there are here.
    #[arg(long)]
    pub keep_stacks: bool,
    /// Stops sampling after so many records, such as 50k; `all` never does [default: 2000 of text
    /// records, all of tables and streams].
    #[arg(short, long, value_name = "COUNT", allow_negative_numbers = true)]
    pub count: Option<String>,
    /// Writes records instead of a table: text, or the perf.data stream when the name ends in
    /// .data; `-` is stdout.
    #[arg(short, long, value_name = "OUTFILE")]
    pub output: Option<PathBuf>,
    /// Form of the records, whatever the name of OUTFILE; without -o they go to stdout.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Writes a page of HTML when sampling has ended, as `ebs html` does: instead of the table, or
    /// with -o FILE.data besides.
    #[arg(long, value_name = "PAGE")]
    pub html: Option<PathBuf>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    pub top: usize,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Ring buffer per CPU, in pages, a power of two [default: as the machine allows].
    #[arg(long, value_name = "PAGES", value_parser = number::<u32>)]
    pub ring: Option<u32>,
    /// Samples this process, as EXE_OR_PID with a number does.
    #[arg(short, long, value_name = "PID", allow_negative_numbers = true)]
    pub pid: Option<String>,
    /// Program to sample with its arguments, or the PID of a process.
    #[arg(value_name = "EXE_OR_PID", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub target: Vec<OsString>,
}

/// One of our commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CommandName {
    /// The profiler.
    Ebs,
    /// Instruction pointers to routines.
    Eip2r,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One record a line, instruction pointer in column 2.
    Text,
    /// The perf.data stream: file form with -o FILE, else pipe form.
    Perf,
}

/// Parses a command line, its program name included.
///
/// # Errors
///
/// What clap says: also for `--help` and `--version`, whose text it holds.
pub fn parse(words: Vec<OsString>) -> Result<Typed, clap::Error> {
    let words = with_help(words);
    if words.get(1).is_some_and(|word| names_subcommand(word)) {
        Ok(Typed::Other(Subcommands::try_parse_from(words)?.other))
    } else {
        Ok(Typed::Sample(Sampling::try_parse_from(words)?.sample))
    }
}

fn names_subcommand(word: &OsStr) -> bool {
    Subcommands::command().get_subcommands().any(|other| other.get_name() == word)
}

/// `help`, `help WORD` and `-h SUBCOMMAND` as the options that they mean: a
/// word that is no subcommand is a type.
fn with_help(mut words: Vec<OsString>) -> Vec<OsString> {
    let typed: Vec<Option<String>> =
        words.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
    let typed: Vec<Option<&str>> = typed.iter().map(Option::as_deref).collect();
    let meant = match typed[..] {
        [Some("help")] | [Some("help"), Some("help" | "ebs")] => vec!["--help".into()],
        [Some("help"), Some(word), ..] | [Some("-h"), Some(word)]
            if names_subcommand(OsStr::new(word)) =>
        {
            let mut rest = words.split_off(2);
            rest.push("--help".into());
            rest
        }
        [Some("help"), Some(word)] => vec!["-h".into(), word.into()],
        _ => return words,
    };
    words.truncate(1);
    words.extend(meant);
    words
}

/// The whole grammar in one tree, for manual pages and completions only:
/// as a parser it would take a program for a subcommand.
pub fn command() -> clap::Command {
    let help = || {
        clap::Arg::new("help")
            .short('h')
            .long("help")
            .help("Prints help.")
            .action(clap::ArgAction::Help)
    };
    let others = Subcommands::command();
    let others = others.get_subcommands().map(|other| other.clone().arg(help()));
    Sampling::command().disable_help_subcommand(true).subcommands(others)
}

/// The error that ends the program with a usage message and status 2.
pub fn usage_error(message: impl std::fmt::Display) -> clap::Error {
    Sampling::command().error(clap::error::ErrorKind::ValueValidation, message)
}

/// The options of steering.
#[derive(Clone, Debug, Default, Args)]
pub struct SteeringArguments {
    /// Begins to sample so many milliseconds after the start; -1: when --control says so.
    #[arg(short = 'D', long, value_name = "MS", help_heading = STEERING)]
    #[arg(allow_negative_numbers = true)]
    pub delay: Option<String>,
    /// Takes commands there, a line each, and answers `ack`, as `perf record` does: enable, disable,
    /// ping, stop, evlist. N and M are descriptors that are open already; FILE and ACKS are FIFOs.
    #[arg(long, value_name = "fd:N[,M]|fifo:FILE[,ACKS]", help_heading = STEERING)]
    pub control: Option<OsString>,
    /// Ends sampling so long after the start, such as 500ms, 30s or 10m; the program runs on.
    #[arg(long, value_name = "TIME", help_heading = STEERING)]
    pub until: Option<String>,
}

const STEERING: &str = "Steering";

#[cfg(test)]
mod tests;
