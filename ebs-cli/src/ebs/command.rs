//! The command line: `ebs` and its subcommands.
//!
//! `ebs` samples when its first word is an option or a program, and does
//! something else when its first word is the name of a subcommand. As
//! sampling needs `-t TYPE` before the program, no line that samples starts
//! with a program's name, and a program called `report` is never in the way.

use crate::ebs::annotate::AnnotateArguments;
use crate::ebs::archive::ArchiveArguments;
use crate::ebs::c2c::C2cArguments;
use crate::ebs::causes::CausesArguments;
use crate::ebs::compare::CompareArguments;
use crate::ebs::completions::CompletionsArguments;
use crate::ebs::convert::ConvertArguments;
use crate::ebs::diff::DiffArguments;
use crate::ebs::exit_status::SUCCESS;
use crate::ebs::export::ExportArguments;
use crate::ebs::html::HtmlArguments;
use crate::ebs::layout::LayoutArguments;
use crate::ebs::list::ListArguments;
use crate::ebs::memlat::MemlatArguments;
use crate::ebs::pages::ManArguments;
use crate::ebs::plan::PlanArguments;
use crate::ebs::report::ReportArguments;
use crate::ebs::sample::SampleArguments;
use crate::ebs::script::ScriptArguments;
use crate::ebs::selftest::SelftestArguments;
use crate::ebs::sessions::SessionsArguments;
use crate::ebs::stat::StatArguments;
use crate::ebs::top::TopArguments;
use crate::ebs::watch::WatchArguments;
use crate::ebs::{
    annotate, archive, c2c, causes, compare, completions, convert, diff, export, html, layout,
    list, memlat, pages, plan, report, sample, script, selftest, sessions, stat, top, types, watch,
};
use crate::terminal::STYLES;
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};

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
    command: Command,
}

/// A command and its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Samples events, or prints a help.
    #[command(skip)]
    Sample(Box<SampleArguments>),
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
    Completions(CompletionsArguments),
    /// Prints the manual page of ebs, or writes all pages to a directory.
    Man(ManArguments),
}

impl Command {
    /// Does what was typed, and gives the exit status.
    ///
    /// # Errors
    /// Whatever keeps the command from its end.
    pub fn run(self) -> Result<u8> {
        match self {
            Command::Sample(arguments) => match &arguments.types {
                Some(name) => buffered(|out| types::run(name.as_deref(), out)),
                None => sample::run(*arguments),
            },
            Command::Report(arguments) => buffered(|out| report::run(&arguments, out)),
            Command::Annotate(arguments) => buffered(|out| annotate::run(&arguments, out)),
            Command::C2c(arguments) => buffered(|out| c2c::run(&arguments, out)),
            Command::Causes(arguments) => with_status(|out| causes::run(&arguments, out)),
            Command::Diff(arguments) => with_status(|out| diff::run(&arguments, out)),
            Command::Compare(arguments) => compare::run(&arguments, &mut io::stdout()),
            Command::Html(arguments) => buffered(|_| html::run(&arguments)),
            Command::Script(arguments) => buffered(|out| script::run(&arguments, out)),
            Command::Convert(arguments) => buffered(|_| convert::run(&arguments)),
            Command::Export(arguments) => buffered(|_| export::run(&arguments)),
            Command::Archive(arguments) => buffered(|_| archive::run(&arguments)),
            Command::Layout(arguments) => buffered(|out| layout::run(&arguments, out)),
            Command::Stat(arguments) => stat::run(&arguments),
            Command::Plan(arguments) => with_status(|out| plan::run(&arguments, out)),
            Command::List(arguments) => buffered(|out| list::run(&arguments, out)),
            Command::Selftest(arguments) => with_status(|out| selftest::run(&arguments, out)),
            Command::Memlat(arguments) => buffered(|out| memlat::run(&arguments, out)),
            Command::Sessions(arguments) => buffered(|out| sessions::run(&arguments, out)),
            Command::Top(arguments) => top::run(&arguments),
            Command::Watch(arguments) => buffered(|out| watch::run(&arguments, out)),
            Command::Completions(arguments) => buffered(|out| completions::run(&arguments, out)),
            Command::Man(arguments) => buffered(|out| pages::run(&arguments, out)),
        }
    }
}

type Out<'a> = BufWriter<io::StdoutLock<'a>>;

/// Gives a command stdout, in large pieces.
fn with_status(print: impl FnOnce(&mut Out<'_>) -> Result<u8>) -> Result<u8> {
    let mut out = BufWriter::new(io::stdout().lock());
    let status = print(&mut out)?;
    out.flush().context("cannot write to stdout")?;
    Ok(status)
}

fn buffered(print: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<u8> {
    with_status(|out| print(out).map(|()| SUCCESS))
}

/// Parses a command line, its program name included.
///
/// # Errors
///
/// What clap says: also for `--help` and `--version`, whose text it holds.
pub fn parse(words: Vec<OsString>) -> Result<Command, clap::Error> {
    let words = with_help(words);
    if words.get(1).is_some_and(|word| names_subcommand(word)) {
        Ok(Subcommands::try_parse_from(words)?.command)
    } else {
        Ok(Command::Sample(Box::new(Sampling::try_parse_from(words)?.sample)))
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

#[cfg(test)]
mod tests;
