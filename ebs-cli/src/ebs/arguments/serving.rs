//! Whether a daemon samples.

use clap::Args;
#[cfg(feature = "top")]
use std::ffi::OsString;
use std::path::PathBuf;

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
