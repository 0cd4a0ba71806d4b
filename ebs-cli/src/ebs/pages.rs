//! Manual pages, from the grammar that parses: what precedes the options in
//! clap's help stands in clap_mangen's sections, what follows them in ours.

use crate::ebs::command;
use crate::{eip2r, outputs};
use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;
use rustix::fs::CWD;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Args)]
pub struct ManArguments {
    /// Where to write ebs.1, ebs-report.1, ebs-script.1, eip2r.1 and the rest.
    pub directory: Option<PathBuf>,
}

/// Writes the page of ebs, or those of all commands to a directory.
///
/// # Errors
///
/// Those of `out`; a directory that cannot be made or written to.
pub fn run(arguments: &ManArguments, out: &mut dyn Write) -> Result<()> {
    match &arguments.directory {
        None => page(command::command(), out),
        Some(directory) => pages(directory, [command::command(), eip2r::command()]),
    }
}

/// Writes the page of one command.
///
/// # Errors
///
/// Those of `out`.
pub fn page(mut command: Command, out: &mut dyn Write) -> Result<()> {
    command.build();
    write_page(&command, out)?;
    Ok(())
}

/// Writes the pages of commands and their subcommands to a directory, which
/// is made when it is not there.
///
/// # Errors
///
/// A directory that cannot be made or written to.
pub fn pages(directory: &Path, commands: impl IntoIterator<Item = Command>) -> Result<()> {
    let place = directory.display();
    outputs::create_folder(CWD, directory).with_context(|| format!("cannot make {place}"))?;
    for command in commands {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        write_tree(&command, directory)
            .with_context(|| format!("cannot write pages to {place}"))?;
    }
    Ok(())
}

fn write_tree(command: &Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands() {
        write_tree(subcommand, directory)?;
    }
    let mut text = Vec::new();
    write_page(command, &mut text)?;
    outputs::create(&directory.join(man(command).get_filename()))?.write_all(&text)
}

/// In the section of its kind: daemons are of section 8.
fn man(command: &Command) -> Man {
    let section = if command.get_name() == "ebsd" { "8" } else { "1" };
    Man::new(command.clone()).section(section)
}

fn write_page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = man(command);
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let tail = command.get_after_long_help().or(command.get_after_help());
    let tail = tail.map(ToString::to_string).unwrap_or_default();
    out.write_all(sections(&tail).as_bytes())?;
    if command.get_version().is_some() {
        man.render_version_section(out)?;
    }
    Ok(())
}

/// The paragraphs after the options as sections: one that starts with
/// `Exit status:`, those whose first line is a heading with examples, or
/// variables, indented below, and the others, which are notes.
fn sections(tail: &str) -> String {
    let (mut notes, mut status, mut examples) = (String::new(), String::new(), String::new());
    let mut environment = String::new();
    for paragraph in tail.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        if let Some(text) = paragraph.strip_prefix("Exit status: ") {
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            status = format!(".SH EXIT STATUS\n{}", lines(&(first.to_uppercase() + rest)));
        } else if let Some(text) = paragraph.strip_prefix("Environment:\n") {
            environment = format!(".SH ENVIRONMENT\n.nf\n{}.fi\n", lines(text));
        } else if let Some(text) = paragraph.strip_prefix("Examples:\n") {
            examples = format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines(text));
        } else {
            let start = if notes.is_empty() { ".SH NOTES\n" } else { ".PP\n" };
            notes.push_str(start);
            notes.push_str(&lines(paragraph));
        }
    }
    notes + &environment + &status + &examples
}

/// Text for roff: nothing in it is a command, and the signs that a shell
/// knows stay what they are, to be copied.
fn lines(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with(['.', '\'']) {
            out.push_str("\\&");
        }
        for character in line.chars() {
            match character {
                '\\' => out.push_str("\\e"),
                '-' => out.push_str("\\-"),
                '\'' => out.push_str("\\(aq"),
                '`' => out.push_str("\\(ga"),
                '^' => out.push_str("\\(ha"),
                '~' => out.push_str("\\(ti"),
                other => out.push(other),
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::command;
    use crate::eip2r;
    use std::fs;

    fn text(command: Command) -> String {
        let mut text = Vec::new();
        page(command, &mut text).expect("memory takes all");
        String::from_utf8(text).expect("is text")
    }

    #[test]
    fn the_page_tells_of_every_option() {
        let text = text(command::command());
        for word in ["interval", "count", "type", "mask", "output", "format", "ring"] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn examples_stand_as_they_are_typed() {
        for (command, line) in [
            (command::command(), "grep \\-v \\(aq#\\(aq fault.1 | awk"),
            (eip2r::command(), "eip2r \\-p 2 fault.1 "),
        ] {
            let text = text(command);
            let (_, after) = text.split_once(".SH EXAMPLES\n.nf\n").expect("examples");
            let (examples, _) = after.split_once(".fi\n").expect("their end");
            assert!(examples.lines().count() > 5 && examples.contains(line), "{examples}");
            let (_, status) = text.split_once(".SH EXIT STATUS\n").expect("a status");
            assert!(status.contains("wrong command line"), "{status}");
            assert!(!text.contains("EXTRA") && text.contains(".SH VERSION"), "{text}");
        }
    }

    /// What stands after both forms of a command's help does so in its page.
    #[test]
    fn pages_of_subcommands_have_the_examples_of_their_help() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        pages(directory.path(), [command::command()]).expect("pages are written");
        for name in ["stat", "memlat", "selftest", "plan"] {
            let text = fs::read_to_string(directory.path().join(format!("ebs-{name}.1")));
            let text = text.expect(name);
            let (_, after) = text.split_once(".SH EXAMPLES\n.nf\n").expect(name);
            assert!(after.starts_with(&format!("  ebs {name}")), "{name}: {after}");
        }
    }

    #[test]
    fn paragraphs_become_sections() {
        assert_eq!(
            sections("Examples:\n  a 'b'\n  .c\n\nOne\n.two\n\nThree\n\nExit status: one \\"),
            ".SH NOTES\nOne\n\\&.two\n.PP\nThree\n.SH EXIT STATUS\nOne \\e\n\
             .SH EXAMPLES\n.nf\n  a \\(aqb\\(aq\n  .c\n.fi\n"
        );
        assert_eq!(sections(""), "");
    }

    #[test]
    fn pages_are_written_for_all_commands() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let place = directory.path().join("man1");
        let commands = [command::command(), eip2r::command()];
        pages(&place, commands).expect("pages are written");
        for name in ["ebs.1", "ebs-report.1", "ebs-script.1", "eip2r.1"] {
            let text = fs::read_to_string(place.join(name)).expect(name);
            assert!(text.contains(".TH") && text.contains(".SH OPTIONS"), "{name}");
        }
    }
}
