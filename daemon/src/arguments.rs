//! The command line of `ebsd`: what it parses, its manual page and its
//! completions come from here.

use std::path::PathBuf;

use clap::{CommandFactory, Parser};

pub const CONFIG: &str = "/etc/ebsd.toml";

const AFTER: &str = "\
A daemon that root starts serves every user, each by a process with that user's rights. One that an \
ordinary user starts serves that user. What the kernel refuses a user, it opens where the configuration \
permits it to a group of that user's.

Under systemd it takes its socket from ebsd.socket, and says when it is ready. SIGHUP has it read the \
configuration anew; a bad one is not taken. SIGTERM ends it, and all sessions with it.

Exit status: 0 when it was asked to end, or the configuration is good; 1 otherwise; 2 for a wrong \
command line.

Examples:
  ebsd --check-config                            is /etc/ebsd.toml good?
  ebsd --socket ~/ebsd.sock --config ~/ebsd.toml for yourself alone
  ebs --socket ~/ebsd.sock -u -t page_fault ls / and its client";

/// Samples memory events for users who may not do so themselves.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "ebsd", version, after_long_help = AFTER, max_term_width = 100)]
pub struct DaemonArguments {
    /// Where clients connect. A socket that the service manager passes is
    /// taken instead.
    #[arg(long, value_name = "PATH", default_value = "/run/ebsd.sock", value_hint = clap::ValueHint::FilePath)]
    pub socket: PathBuf,

    /// Who may what, and how much. Without a file of the default name, the
    /// kernel's rules alone decide.
    #[arg(long, value_name = "FILE", default_value = CONFIG, value_hint = clap::ValueHint::FilePath)]
    pub config: PathBuf,

    /// Reads the configuration, says what it means or what is wrong with it,
    /// and ends.
    #[arg(long)]
    pub check_config: bool,
}

pub fn command() -> clap::Command {
    DaemonArguments::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
        let arguments = DaemonArguments::parse_from(["ebsd"]);
        assert_eq!(arguments.config, PathBuf::from(CONFIG));
        assert!(DaemonArguments::try_parse_from(["ebsd", "x"]).is_err());
    }
}
