//! Writes the manual pages and the completions of `ebs`, `eip2r` and `ebsd`
//! into a directory: `man/`, and one for each shell. For packages; `ebs`
//! knows its own, and nothing of the daemon's grammar.

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::Shell;
use ebs_cli::ebs::{command, completions::completions_of, pages::pages};
use ebs_cli::eip2r;

fn main() -> Result<ExitCode> {
    let Some(directory) = std::env::args_os().nth(1) else {
        bail!("command-pages: no directory: say where the pages are to go");
    };
    write_all(Path::new(&directory))?;
    Ok(ExitCode::SUCCESS)
}

fn write_all(directory: &Path) -> Result<()> {
    pages(&directory.join("man"), grammars())?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let folder = directory.join(shell.to_string());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for grammar in grammars() {
            let path = folder.join(file_name(shell, grammar.get_name()));
            let mut file =
                File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
            completions_of(shell, grammar, &mut file)?;
        }
    }
    Ok(())
}

fn grammars() -> [Command; 3] {
    [command::command(), eip2r::command(), daemon::arguments::command()]
}

/// As the shell looks for it.
fn file_name(shell: Shell, command: &str) -> String {
    match shell {
        Shell::Zsh => format!("_{command}"),
        Shell::Fish => format!("{command}.fish"),
        _ => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page_and_its_completions() {
        let directory = tempfile::tempdir().unwrap();
        write_all(directory.path()).unwrap();
        let text = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        for page in ["man/ebs.1", "man/ebs-report.1", "man/eip2r.1", "man/ebsd.8"] {
            let text = text(page);
            assert!(text.contains(".TH") && text.contains(".SH OPTIONS"), "{page}");
        }
        for (shell, option) in [("bash", "check-config"), ("fish", "check-config")] {
            let name = if shell == "fish" { "ebsd.fish" } else { "ebsd" };
            assert!(text(&format!("{shell}/{name}")).contains(option), "{shell}");
        }
        assert!(text("zsh/_ebsd").contains("check-config"));
    }
}
