//! Manual pages and completions, from the grammar that parses.

use crate::arguments;
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Completions of `ebs` for a shell.
///
/// # Errors
///
/// Those of `out`.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "ebs", &mut text);
    out.write_all(&text)?;
    Ok(())
}

/// The page ebs(1).
///
/// # Errors
///
/// Those of `out`.
pub fn page(out: &mut dyn Write) -> Result<()> {
    clap_mangen::Man::new(arguments::command()).render(out)?;
    Ok(())
}

/// Writes the pages of commands and their subcommands to a directory, which
/// is made when it is not there.
///
/// # Errors
///
/// A directory that cannot be made or written to.
pub fn pages(directory: &Path, commands: impl IntoIterator<Item = clap::Command>) -> Result<()> {
    let place = directory.display();
    fs::create_dir_all(directory).with_context(|| format!("cannot make {place}"))?;
    for command in commands {
        clap_mangen::generate_to(command, directory)
            .with_context(|| format!("cannot write pages to {place}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn the_page_tells_of_every_option() {
        let mut page_text = Vec::new();
        page(&mut page_text).expect("memory takes all");
        let text = String::from_utf8(page_text).expect("is text");
        for word in ["interval", "count", "type", "mask", "output", "format", "ring", "Examples"] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn pages_are_written_for_all_commands() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let place = directory.path().join("man1");
        pages(&place, [arguments::command(), clap::Command::new("eip2r")])
            .expect("pages are written");
        for name in ["ebs.1", "ebs-report.1", "ebs-script.1", "eip2r.1"] {
            let text = fs::read_to_string(place.join(name)).expect(name);
            assert!(text.contains(".TH"), "{name}");
        }
    }

    #[test]
    fn every_shell_has_completions() {
        for shell in Shell::value_variants() {
            let mut text = Vec::new();
            completions(*shell, &mut text).expect("memory takes all");
            let text = String::from_utf8(text).expect("is text");
            assert!(text.contains("report") && text.contains("interval"), "{shell}");
        }
    }
}
