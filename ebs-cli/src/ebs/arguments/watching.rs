//! Options of the subcommands that ask the daemon.

use super::{SymbolArguments, TableArguments};
use crate::terminal::number;
use clap::Args;
use recorder::Span;
#[cfg(feature = "top")]
use std::ffi::OsString;
use std::path::PathBuf;

/// `ebs watch`.
#[derive(Clone, Debug, Args)]
pub struct WatchArguments {
    /// The standing session; `ebs sessions` lists them.
    pub name: String,
    /// A table of each so long span.
    #[arg(long, value_name = "SPAN", default_value = "2s")]
    pub every: Span,
    /// Ends after so many tables.
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub times: Option<u64>,
    /// Keys of a row, as of `ebs report`.
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Counts only records that match, as of `ebs report`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Rows of a table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<usize>)]
    pub top: usize,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Prints JSON, a document for each span.
    #[arg(long)]
    pub json: bool,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// `ebs sessions`.
#[derive(Clone, Debug, Default, Args)]
pub struct SessionsArguments {
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// The daemon's options.
#[derive(Clone, Debug, Default, Args)]
pub struct ServingArguments {
    /// The daemon samples, or nobody; otherwise it does where the rights of the user do not
    /// suffice and it runs.
    #[arg(long, help_heading = DAEMON, conflicts_with = "no_daemon")]
    pub daemon: bool,
    /// No daemon samples: the rights of the user are all there is.
    #[arg(long, help_heading = DAEMON)]
    pub no_daemon: bool,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH", help_heading = DAEMON, conflicts_with = "no_daemon")]
    pub socket: Option<PathBuf>,
}

pub(super) const DAEMON: &str = "Daemon";

impl ServingArguments {
    /// The words that say the same to another `ebs`.
    #[cfg(feature = "top")]
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (is_set, word) in [(self.daemon, "--daemon"), (self.no_daemon, "--no-daemon")] {
            words.extend(is_set.then(|| word.into()));
        }
        words.extend(self.socket.iter().flat_map(|path| ["--socket".into(), path.into()]));
        words
    }
}
