//! `/etc/ebsd.toml`: who may what, how much, and what is always recorded.

mod display;
mod error;
mod file;
mod standing;
mod words;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::directory::{DirectoryError, TrustedDirectory};
use crate::guard::Limits;
use crate::policy::{Group, Permission, Policy};
use error::not_understood;
pub use error::{ConfigError, TextPosition};
pub use file::FileError;
pub use standing::Standing;
use standing::{StandingText, StoreText};
use words::GroupName;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub policy: Policy,
    pub limits: Limits,
    pub metrics: MetricsConfig,
    pub standing: Vec<Standing>,
    /// Who records it; None: `ebsd` where there is such a user, else
    /// `nobody`.
    pub store_user: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ConfigSource {
    pub path: PathBuf,
    pub optional: bool,
}

impl ConfigSource {
    /// Reads it as a file of `owner` or the superuser.
    ///
    /// # Errors
    /// As [`Config::read`]. That a file does not exist is none where it is
    /// optional.
    pub fn read(&self, owner: u32) -> Result<Config, ConfigError> {
        match Config::read(&self.path, owner) {
            Err(ConfigError::File(FileError::Io { error, .. }))
                if self.optional && error.kind() == ErrorKind::NotFound =>
            {
                Ok(Config::default())
            }
            result => result,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    pub socket: Option<PathBuf>,
    /// Whose members may connect, beside the daemon's user.
    pub gid: Option<u32>,
    /// Written every 15 s.
    pub textfile: Option<PathBuf>,
}

impl MetricsConfig {
    /// Whether there is a place for each that nobody else can take. Gives those
    /// whose directory is missing, which is no fault: the service manager makes
    /// its own when the daemon starts (RuntimeDirectory=).
    ///
    /// # Errors
    /// The first that is not to be used.
    pub fn check(&self) -> Result<Vec<&Path>, DirectoryError> {
        let mut homeless = Vec::new();
        let places = [(&self.socket, "a socket"), (&self.textfile, "a file")];
        for (path, what) in places {
            let Some(path) = path else { continue };
            match TrustedDirectory::of(path, what) {
                Err(DirectoryError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                    homeless.push(path.as_path());
                }
                found => _ = found?,
            }
        }
        Ok(homeless)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfigText {
    limits: Limits,
    allow: Vec<Allow>,
    store: StoreText,
    standing: Vec<StandingText>,
    metrics: MetricsText,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MetricsText {
    socket: Option<PathBuf>,
    group: Option<GroupName>,
    textfile: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    group: GroupName,
    permissions: Vec<Permission>,
}

impl Config {
    /// Reads a file. Owned by `owner` or the superuser, or it is refused:
    /// who can write it can give himself any right.
    ///
    /// # Errors
    /// What is wrong with the file, with its line.
    pub fn read(path: &Path, owner: u32) -> Result<Config, ConfigError> {
        let text = file::read(path, owner)?;
        Config::parse(&text, path, &|name| uzers::get_group_by_name(name).map(|group| group.gid()))
    }

    fn parse(
        text: &str,
        path: &Path,
        gid_of: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<Config, ConfigError> {
        let text: ConfigText =
            toml::from_str(text).map_err(|error| not_understood(&error, text, path))?;
        let MetricsText { socket, group, textfile } = text.metrics;
        let gid = group.map(|group| group.gid(path, gid_of)).transpose()?;
        let metrics = MetricsConfig { socket, gid, textfile };
        let mut groups = Vec::new();
        for Allow { group, permissions } in text.allow {
            groups.push(Group { gid: group.gid(path, gid_of)?, permissions });
        }
        let limits = text.limits;
        let least: [(&'static str, u64, u64); 12] = [
            ("limits.connections_per_user", limits.connections_per_user.into(), 1),
            ("limits.connections", limits.connections.into(), 1),
            ("limits.sessions_per_user", limits.sessions_per_user.into(), 1),
            ("limits.memory_per_user", limits.memory_per_user.0, 1 << 20),
            ("limits.memory", limits.memory.0, 1 << 20),
            ("limits.queue", limits.queue.0, 64 << 10),
            ("limits.least_interval", limits.least_interval, 1),
            ("limits.cpu_percent", limits.cpu_percent.into(), 1),
            ("limits.overhead", limits.overhead.0, 16 << 20),
            ("limits.guard_seconds", limits.guard_seconds.into(), 1),
            ("limits.attach_seconds", limits.attach_seconds.into(), 1),
            ("limits.events_per_session", limits.events_per_session.into(), 16),
        ];
        match least.into_iter().find(|(_, value, least)| value < least) {
            Some((what, value, least)) => {
                Err(ConfigError::Limit { path: path.to_owned(), what, value, least })
            }
            None => {
                let standing = standing::parse(text.standing, &text.store, path, gid_of)?;
                let store_user = text.store.user;
                Ok(Config { policy: Policy { groups }, limits, metrics, standing, store_user })
            }
        }
    }
}

#[cfg(test)]
mod tests;
