//! Completions for shells, from the grammar that parses.

use crate::ebs::command;
use crate::ebs::script::field_names;
use crate::eip2r;
use analysis::{Key, Sort};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, Str};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use latency::LatencyPart;
use perfdata::InstructionClass;
use recorder::SourceChoice;
use recorder::catalogue::{EventKind, all};
use std::any::TypeId;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArguments {
    /// Which shell.
    pub shell: Shell,
    /// Of which command.
    #[arg(default_value = "ebs")]
    pub program: CommandName,
}

/// One of our commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CommandName {
    /// The profiler.
    Ebs,
    /// Instruction pointers to routines.
    Eip2r,
}

/// Writes the completions of a program for a shell.
///
/// # Errors
///
/// Those of `out`.
pub fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<()> {
    completions_of(arguments.shell, grammar(arguments.program), out)
}

/// Writes the completions of any grammar.
///
/// # Errors
///
/// Those of `out`.
pub fn completions_of(shell: Shell, grammar: Command, out: &mut dyn Write) -> Result<()> {
    let mut offered = offering(grammar);
    let name = offered.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut offered, name, &mut text);
    out.write_all(&text)?;
    Ok(())
}

fn grammar(program: CommandName) -> Command {
    match program {
        CommandName::Ebs => command::command(),
        CommandName::Eip2r => eip2r::command(),
    }
}

/// A grammar with what a shell can offer: words where words are wanted, files where a path is, and nothing else.
fn offering(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let offered = command.mut_args(|argument| {
        if !argument.get_action().takes_values() {
            return argument;
        }
        let words = words(&name, argument.get_id().as_str());
        let is_open = argument.get_possible_values().is_empty();
        match words {
            words if !words.is_empty() => argument.value_parser(PossibleValuesParser::new(words)),
            // Any path is what clap says of each path itself.
            _ if is_open
                && matches!(argument.get_value_hint(), ValueHint::Unknown | ValueHint::AnyPath) =>
            {
                let hint = hint(&argument);
                argument.value_hint(hint)
            }
            _ => argument,
        }
    });
    offered.mut_subcommands(offering)
}

/// The words that may stand for an argument, as far as they can be listed.
/// They are not all that may be typed: breakpoints, tracepoints and registers
/// have no list.
fn words(command: &str, argument: &str) -> Vec<&'static str> {
    let forms = [EventKind::Breakpoint, EventKind::Tracepoint];
    match (command, argument) {
        ("ebs" | "plan", "event") | ("ebs", "types") | ("selftest" | "compare", "types") => {
            all().filter(|entry| !forms.contains(&entry.kind)).map(|entry| entry.name).collect()
        }
        ("ebs" | "plan" | "selftest" | "compare", "source") => SourceChoice::WORDS.to_vec(),
        ("report" | "watch" | "diff" | "compare", "by") => Key::words().collect(),
        ("report", "sort") => Sort::words().collect(),
        ("report" | "script" | "annotate" | "diff" | "compare", "class") => {
            InstructionClass::ALL.map(InstructionClass::name).to_vec()
        }
        ("memlat", "only") => LatencyPart::ALL.map(LatencyPart::name).to_vec(),
        ("script", "fields") => field_names().collect(),
        _ => Vec::new(),
    }
}

/// What a path may be; whatever is no path is not completed.
fn hint(argument: &Arg) -> ValueHint {
    let kind = argument.get_value_parser().type_id();
    if kind != TypeId::of::<PathBuf>() && kind != TypeId::of::<OsString>() {
        return ValueHint::Other;
    }
    let names: Vec<&str> =
        argument.get_value_names().into_iter().flatten().map(Str::as_str).collect();
    match names[..] {
        ["DIR" | "DIRECTORY"] => ValueHint::DirPath,
        _ => ValueHint::FilePath,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    fn text(shell: Shell, program: CommandName) -> String {
        let mut text = Vec::new();
        completions_of(shell, grammar(program), &mut text).expect("memory takes all");
        String::from_utf8(text).expect("is text")
    }

    #[test]
    fn every_shell_has_every_command() {
        for shell in Shell::value_variants() {
            let ebs = text(*shell, CommandName::Ebs);
            assert!(ebs.contains("report") && ebs.contains("interval"), "{shell}");
            let eip2r = text(*shell, CommandName::Eip2r);
            assert!(eip2r.contains("eip2r") && eip2r.contains("kaslr-offset"), "{shell}");
        }
    }

    #[test]
    fn types_and_keys_are_offered_where_files_are_none() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let ebs = text(shell, CommandName::Ebs);
            for word in ["page_fault", "cpu_clock", "l1_cache_miss", "routine"] {
                assert!(ebs.contains(word), "{word} of {shell}");
            }
            assert!(!ebs.contains("SUBSYSTEM"), "a form is no word: {shell}");
        }
        let bash = text(Shell::Bash, CommandName::Ebs);
        for (option, offered) in [
            ("-t", "page_fault"),
            ("--by", "routine"),
            ("--source", "emulated"),
            ("--sort", "latency"),
            ("--class", "packed_sp"),
            ("--fields", "srcline"),
        ] {
            let case = bash.split(&format!("                {option})\n")).nth(1).expect(option);
            let line = case.lines().next().expect("a line");
            assert!(line.contains("compgen -W") && line.contains(offered), "{option}: {line}");
        }
    }

    /// Of every argument of every command: a shell that is not told what one
    /// takes offers files.
    #[test]
    fn files_are_offered_for_paths_alone() {
        fn check(command: &Command, seen: &mut Vec<(String, ValueHint)>) {
            for argument in command.get_arguments().filter(|it| it.get_action().takes_values()) {
                let name = format!("{} {}", command.get_name(), argument.get_id());
                let kind = argument.get_value_parser().type_id();
                let is_path = kind == TypeId::of::<PathBuf>() || kind == TypeId::of::<OsString>();
                let hint = argument.get_value_hint();
                assert_ne!(hint, ValueHint::AnyPath, "{name}");
                match argument.get_possible_values().is_empty() {
                    true => assert_eq!(hint == ValueHint::Other, !is_path, "{name}: {hint:?}"),
                    false => assert!(!is_path, "{name}"),
                }
                assert!(hint != ValueHint::Unknown || !is_path, "{name}");
                seen.push((name, hint));
            }
            command.get_subcommands().for_each(|command| check(command, seen));
        }
        let mut seen = Vec::new();
        for program in [CommandName::Ebs, CommandName::Eip2r] {
            check(&offering(grammar(program)), &mut seen);
        }
        assert!(seen.len() > 80, "{seen:?}");
        for (name, hint) in [
            ("ebs interval", ValueHint::Other),
            ("ebs output", ValueHint::FilePath),
            ("ebs target", ValueHint::CommandWithArguments),
            ("annotate routine", ValueHint::Other),
            ("annotate source", ValueHint::FilePath),
            ("man directory", ValueHint::DirPath),
            ("eip2r maps", ValueHint::FilePath),
        ] {
            assert!(seen.contains(&(name.to_owned(), hint)), "{name}: {seen:?}");
        }
    }
}
