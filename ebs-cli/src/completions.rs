//! Completions for shells, from the grammar that parses.

use crate::{arguments, eip2r};
use analysis::Key;
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use daemon::catalogue::{EventKind, all};
use std::io::Write;

/// One of our commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Program {
    /// The profiler.
    Ebs,
    /// Instruction pointers to routines.
    Eip2r,
    /// The daemon.
    Ebsd,
}

/// Writes the completions of a program for a shell.
///
/// # Errors
///
/// Those of `out`.
pub fn completions(shell: Shell, program: Program, out: &mut dyn Write) -> Result<()> {
    let (mut grammar, name) = match program {
        Program::Ebs => (with_words(arguments::command()), "ebs"),
        Program::Eip2r => (eip2r::command(), "eip2r"),
        Program::Ebsd => (daemon::arguments::command(), "ebsd"),
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut grammar, name, &mut text);
    out.write_all(&text)?;
    Ok(())
}

/// The grammar with the words that a shell can offer. They are not all that
/// may be typed: breakpoints and tracepoints have no list.
fn with_words(grammar: clap::Command) -> clap::Command {
    let forms = [EventKind::Breakpoint, EventKind::Tracepoint];
    let types = all().filter(|entry| !forms.contains(&entry.kind)).map(|entry| entry.name);
    let types = PossibleValuesParser::new(types);
    let keys = PossibleValuesParser::new(Key::words());
    grammar
        .mut_arg("event", |event| event.value_parser(types.clone()))
        .mut_arg("types", |help| help.value_parser(types))
        .mut_subcommand("report", |report| report.mut_arg("by", |by| by.value_parser(keys)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    fn text(shell: Shell, program: Program) -> String {
        let mut text = Vec::new();
        completions(shell, program, &mut text).expect("memory takes all");
        String::from_utf8(text).expect("is text")
    }

    #[test]
    fn every_shell_has_every_command() {
        for shell in Shell::value_variants() {
            let ebs = text(*shell, Program::Ebs);
            assert!(ebs.contains("report") && ebs.contains("interval"), "{shell}");
            let eip2r = text(*shell, Program::Eip2r);
            assert!(eip2r.contains("eip2r") && eip2r.contains("kaslr-offset"), "{shell}");
            let ebsd = text(*shell, Program::Ebsd);
            assert!(ebsd.contains("check-config"), "{shell}");
        }
    }

    #[test]
    fn types_and_keys_are_offered_where_files_are_none() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let ebs = text(shell, Program::Ebs);
            for word in ["page_fault", "cpu_clock", "l1_cache_miss", "routine"] {
                assert!(ebs.contains(word), "{word} of {shell}");
            }
            assert!(!ebs.contains("SUBSYSTEM"), "a form is no word: {shell}");
        }
        let bash = text(Shell::Bash, Program::Ebs);
        for (option, offered) in [("-t", "page_fault"), ("--by", "routine")] {
            let case = bash.split(&format!("                {option})\n")).nth(1).expect(option);
            let line = case.lines().next().expect("a line");
            assert!(line.contains("compgen -W") && line.contains(offered), "{option}: {line}");
        }
    }
}
