//! What the options of the daemon mean.

use crate::ebs::arguments::ServingArguments;
use recorder::remote::client::SOCKET;
use std::path::PathBuf;

/// Who opens the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serving {
    /// This process; where its rights do not suffice, the daemon that listens
    /// there, if one does.
    Auto(PathBuf),
    /// The daemon that listens there.
    Daemon(PathBuf),
    /// This process.
    Own,
}

impl Serving {
    /// Whoever names a socket wants the daemon at it.
    pub(super) fn new(arguments: &ServingArguments) -> Serving {
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
