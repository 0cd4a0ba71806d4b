//! Who opens the events.

use clap::Args;
use recorder::remote::client::SOCKET;
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

pub(crate) const DAEMON: &str = "Daemon";

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serving {
    /// This process; where its rights do not suffice, the daemon that listens
    /// there, if one does.
    Auto(PathBuf),
    /// The daemon that listens there.
    Daemon(PathBuf),
    Own,
}

impl Serving {
    /// Whoever names a socket wants the daemon at it.
    pub(crate) fn new(arguments: &ServingArguments) -> Serving {
        let ServingArguments { daemon, no_daemon, socket } = arguments;
        let path = || socket.clone().unwrap_or_else(|| SOCKET.into());
        match (daemon, no_daemon) {
            (_, true) => Serving::Own,
            (true, _) => Serving::Daemon(path()),
            _ if socket.is_some() => Serving::Daemon(path()),
            _ => Serving::Auto(path()),
        }
    }
}
