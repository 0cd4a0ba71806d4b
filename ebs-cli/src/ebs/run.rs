//! From the words of a command line to an exit status.

use crate::ebs::arguments::{self, ScriptArguments, ScriptFormat, TopArguments};
use crate::ebs::completions::completions;
use crate::ebs::exit_status::{FAILURE, SUCCESS, USAGE, status_of};
use crate::ebs::input::Input;
use crate::ebs::invocation::{Invocation, Misuse};
use crate::ebs::script::{
    Chains, PerfPrinter, Printer, ScriptLines, Selection, Sifter, TextPrinter, script,
};
use crate::ebs::started_ebs::follow_starter;
use crate::ebs::{
    annotate, archive, c2c, causes, compare, convert, diff, export, html, layout, list, memlat,
    pages, plan, report, sample, selftest, sessions, stat, types, watch,
};
use crate::eip2r;
use crate::terminal::signals;
use anyhow::{Context, Result};
use recorder::Facts;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub fn run(words: Vec<OsString>) -> u8 {
    signals::fail_beyond_file_limit();
    let Some(words) = follow_starter(words) else { return FAILURE };
    if let Some(played) = selftest::part(&words) {
        return status_of(played);
    }
    let invocation = match arguments::parse(words) {
        Ok(typed) => Invocation::new(typed.with_seed(fresh_seed())),
        Err(error) => return clap_says(&error),
    };
    let result = match invocation {
        Ok(invocation) => perform(invocation),
        Err(misuse @ (Misuse::TypeMissing | Misuse::ModeMissing)) => {
            return clap_says(&arguments::usage_error(misuse));
        }
        Err(misuse) => Err(misuse.into()),
    };
    status_of(result)
}

/// Short enough to be typed again.
fn fresh_seed() -> u64 {
    u64::from(fastrand::u32(..))
}

/// Help and version go to stdout, misuse to stderr, each as clap renders it.
fn clap_says(error: &clap::Error) -> u8 {
    match error.print() {
        Err(io) if io.kind() != io::ErrorKind::BrokenPipe => FAILURE,
        Ok(()) | Err(_) => u8::try_from(error.exit_code()).unwrap_or(USAGE),
    }
}

fn perform(invocation: Invocation) -> Result<u8> {
    match invocation {
        Invocation::Sample(job) => return sample::sample(&job),
        Invocation::Stat(job) => return stat::run(&job),
        Invocation::Compare(arguments) => return compare::run(&arguments, &mut io::stdout()),
        Invocation::Top(arguments) => return live(&arguments),
        _ => {}
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let here = Path::new("/");
    let mut status = SUCCESS;
    match invocation {
        Invocation::Types => out.write_all(types::list(&Facts::read(here)?).as_bytes())?,
        Invocation::TypeHelp(name) => {
            out.write_all(types::describe(&name, &Facts::read(here)?)?.as_bytes())?;
        }
        Invocation::Report(arguments) => report::run(&arguments, &mut out)?,
        Invocation::Annotate(arguments) => annotate::run(&arguments, &mut out)?,
        Invocation::C2c(arguments) => c2c::run(&arguments, &mut out)?,
        Invocation::Causes(arguments) => status = causes::run(&arguments, &mut out)?,
        Invocation::Diff(arguments) => status = diff::run(&arguments, &mut out)?,
        Invocation::Html(arguments) => html::run(&arguments)?,
        Invocation::Script(arguments) => print_records(&arguments, &mut out)?,
        Invocation::Convert(arguments) => convert::run(&arguments)?,
        Invocation::Export(arguments) => export::run(&arguments)?,
        Invocation::Archive(arguments) => archive::run(&arguments)?,
        Invocation::Layout(arguments) => layout::run(&arguments, &mut out)?,
        Invocation::Plan(job) => status = plan::run(&job, &mut out)?,
        Invocation::List(arguments) => list::run(&arguments, &mut out)?,
        Invocation::Selftest(job) => status = selftest::run(&job, &mut out)?,
        Invocation::Memlat(arguments) => memlat::run(&arguments, &mut out)?,
        Invocation::Sessions(arguments) => sessions::run(&arguments, &mut out)?,
        Invocation::Watch(arguments) => watch::run(&arguments, &mut out)?,
        Invocation::Completions(shell, of) => completions(shell, of, &mut out)?,
        Invocation::Man(None) => pages::page(arguments::command(), &mut out)?,
        Invocation::Man(Some(directory)) => {
            pages::pages(&directory, [arguments::command(), eip2r::command()])?
        }
        Invocation::Sample(_)
        | Invocation::Stat(_)
        | Invocation::Compare(_)
        | Invocation::Top(_) => {}
    }
    out.flush().context("cannot write to stdout")?;
    Ok(status)
}

#[cfg(feature = "top")]
fn live(arguments: &TopArguments) -> Result<u8> {
    crate::ebs::top::run(arguments)
}

#[cfg(not(feature = "top"))]
fn live(_: &TopArguments) -> Result<u8> {
    anyhow::bail!("this ebs was built without `ebs top`: its feature top makes it part of a build")
}

fn print_records(arguments: &ScriptArguments, out: &mut dyn Write) -> Result<()> {
    let selection = Selection::parse(&arguments.fields)?;
    let mut input = Input::open(&arguments.file)?;
    let symbols = report::symbols_of(&input, &arguments.symbols)?;
    let sifter = (!arguments.all_samples).then(|| Sifter::new(arguments.class));
    match arguments.format {
        ScriptFormat::Perf => {
            let chains = match arguments.hide_call_graph {
                true => Chains::Hidden,
                false => Chains::Frames(arguments.max_stack),
            };
            let printer = PerfPrinter::new(selection, chains);
            print_lines(arguments, &mut input, ScriptLines::new(printer, sifter, symbols), out)
        }
        ScriptFormat::Text => {
            let printer = TextPrinter::default();
            print_lines(arguments, &mut input, ScriptLines::new(printer, sifter, symbols), out)
        }
    }
}

fn print_lines(
    arguments: &ScriptArguments,
    input: &mut Input,
    lines: ScriptLines<impl Printer>,
    out: &mut dyn Write,
) -> Result<()> {
    let lines = if arguments.guest { lines } else { lines.without_guests() };
    script(input, lines, out)
}
