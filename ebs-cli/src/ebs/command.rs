//! The command line: `ebs` and its subcommands.
//!
//! `ebs` samples when its first word is an option or a program, and does
//! something else when its first word is the name of a subcommand. As
//! sampling needs `-t TYPE` before the program, no line that samples starts
//! with a program's name, and a program called `report` is never in the way.

use crate::ebs::annotate::AnnotateArguments;
use crate::ebs::archive::ArchiveArguments;
use crate::ebs::arguments::UsageError;
use crate::ebs::c2c::C2cArguments;
use crate::ebs::causes::CausesArguments;
use crate::ebs::compare::CompareArguments;
use crate::ebs::completions::CompletionsArguments;
use crate::ebs::convert::ConvertArguments;
use crate::ebs::diff::DiffArguments;
use crate::ebs::exit_status::SUCCESS;
use crate::ebs::export::ExportArguments;
use crate::ebs::html::HtmlArguments;
use crate::ebs::last_recording::{RECORDING, named_or_last};
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
    list, memlat, overview, pages, plan, report, sample, script, selftest, sessions, stat, top,
    types, usage, watch,
};
use crate::terminal::STYLES;
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use recorder::session::command::Command as Program;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::path::Path;

const USAGE: &str = "\
ebs PROGRAM [ARGS...]
       ebs [OPTIONS] -t TYPE,... PROGRAM|PID [ARGS...]
       ebs COMMAND [OPTIONS]";

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
    /// Lists the commands.
    #[command(skip)]
    Overview,
    /// Samples events, or prints a help.
    #[command(skip)]
    Sample(Box<SampleArguments>),
    /// Prints tables by routine, line, object, data, caller.
    Report(ReportArguments),
    /// Shows the instructions of a routine, or source lines, with counts.
    Annotate(AnnotateArguments),
    /// Shows the cache lines that threads share, byte by byte.
    C2c(C2cArguments),
    /// Says why a program misses, and what to change.
    Causes(CausesArguments),
    /// Compares two recordings, or two sets of them.
    Diff(DiffArguments),
    /// Runs two commands in turn, several times, and compares them.
    Compare(CompareArguments),
    /// Writes a recording as one page of HTML.
    Html(HtmlArguments),
    /// Prints the samples as text, in order of time.
    Script(ScriptArguments),
    /// Writes a recording in another form.
    Convert(ConvertArguments),
    /// Writes it for pprof, Firefox Profiler, speedscope, Parquet, CSV.
    Export(ExportArguments),
    /// Puts the files that names come from into a recording.
    Archive(ArchiveArguments),
    /// Shows types: members, holes, cache lines.
    Layout(LayoutArguments),
    /// Counts events of a command, a process or the system.
    Stat(StatArguments),
    /// Shows what an event would open, without opening it.
    Plan(PlanArguments),
    /// Lists the events that you can name on this machine.
    List(ListArguments),
    /// Checks what this machine samples right.
    Selftest(SelftestArguments),
    /// Measures this machine's memory: caches, TLBs, cores, nodes.
    Memlat(MemlatArguments),
    /// Lists the sessions of the daemon.
    Sessions(SessionsArguments),
    /// Shows where a program misses while it runs.
    Top(Box<TopArguments>),
    /// Shows what a session of the daemon samples now.
    Watch(WatchArguments),
    /// Prints the completions of a command for a shell.
    Completions(CompletionsArguments),
    /// Prints the manual page of ebs, or writes all pages.
    Man(ManArguments),
}

impl Command {
    /// Does what was typed, and gives the exit status.
    ///
    /// # Errors
    /// Whatever keeps the command from its end.
    pub fn run(mut self) -> Result<u8> {
        self.find_recording()?;
        match self {
            Command::Overview => buffered(|out| overview::run(out)),
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

impl Command {
    /// Gives a command that reads a recording, and got none, the last one of the folder.
    fn find_recording(&mut self) -> Result<(), UsageError> {
        let (file, standing) = match self {
            Command::Report(of) => (&mut of.file, &of.standing.standing),
            Command::Annotate(of) => {
                of.tell_file_from_routine();
                (&mut of.file, &of.standing.standing)
            }
            Command::C2c(of) => (&mut of.file, &of.accesses.standing.standing),
            Command::Causes(of) if of.command.is_empty() => {
                (&mut of.file, &of.accesses.standing.standing)
            }
            Command::Html(of) => (&mut of.file, &of.standing.standing),
            Command::Script(of) => (&mut of.file, &None),
            Command::Export(of) if of.segments.directory.is_none() => {
                (&mut of.file, &of.standing.standing)
            }
            Command::Sample(of) if of.types.is_none() && of.pid.is_none() => {
                return of.target.first().map_or(Ok(()), |word| check_program(word));
            }
            Command::Top(of) => {
                of.tell_recording_from_program();
                return Ok(());
            }
            _ => return Ok(()),
        };
        match standing {
            Some(_) => Ok(()),
            None => named_or_last(file),
        }
    }
}

/// A word that is no program, and like the name of a command.
fn check_program(word: &OsStr) -> Result<(), UsageError> {
    let is_there = Path::new(word).exists() || Program::look_up(word).is_some();
    let like = word.to_str().filter(|_| !is_there).and_then(usage::nearest_command);
    match like {
        Some(command) => Err(UsageError::CommandUnknown { word: word.to_owned(), command }),
        None => Ok(()),
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
    let mut words = with_help(words);
    if words.len() < 2 {
        return Ok(Command::Overview);
    }
    if names_subcommand(&words[1]) {
        return Ok(Subcommands::try_parse_from(words)?.command);
    }
    // As `perf record` does, which writes what the other commands read.
    let records = words[1] == "record";
    if records {
        words.remove(1);
    }
    let mut sample = Sampling::try_parse_from(words)?.sample;
    if records && sample.output.is_none() && sample.format.is_none() && sample.html.is_none() {
        sample.output = Some(RECORDING.into());
    }
    Ok(Command::Sample(Box::new(sample)))
}

/// Whether a word is the name of a command.
pub fn names_subcommand(word: &OsStr) -> bool {
    Subcommands::command().get_subcommands().any(|other| other.get_name() == word)
}

/// The commands, each with what it does in a few words.
pub fn summaries() -> Vec<(String, String)> {
    let commands = Subcommands::command();
    let summary = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        (command.get_name().to_owned(), about)
    };
    commands.get_subcommands().map(summary).collect()
}

/// `help`, `help WORD`, `-h SUBCOMMAND` and `version` as what they mean: a word that is no
/// subcommand is a type.
fn with_help(mut words: Vec<OsString>) -> Vec<OsString> {
    let typed: Vec<Option<String>> =
        words.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
    let typed: Vec<Option<&str>> = typed.iter().map(Option::as_deref).collect();
    let meant = match typed[..] {
        [Some("help")] => Vec::new(),
        [Some("help"), Some("help" | "ebs" | "record")] => vec!["--help".into()],
        [Some("version")] => vec!["--version".into()],
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

#[cfg(test)]
mod tests;
