//! `/etc/ebsd.toml`: who may what, how much, and what is always recorded.

mod display;
mod file;
mod mode;
mod standing;
mod text_position;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::metrics::MetricsConfig;
use crate::guard::Limits;
use crate::policy::{Group, Permission, Policy};
pub use file::FileError;
pub use standing::Standing;
use standing::{StandingText, StoreText};
pub use text_position::TextPosition;

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
#[serde(untagged)]
enum GroupName {
    Number(u32),
    Name(String),
}

impl GroupName {
    fn gid(self, path: &Path, gid_of: &dyn Fn(&str) -> Option<u32>) -> Result<u32, ConfigError> {
        match self {
            GroupName::Number(gid) => Ok(gid),
            GroupName::Name(group) => {
                gid_of(&group).ok_or_else(|| ConfigError::Group { path: path.to_owned(), group })
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    group: GroupName,
    permissions: Vec<Permission>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: line {}, column {}: {what}: {:?}", .path.display(), .place.line, .place.column, .place.text)]
    Text { path: PathBuf, place: TextPosition, what: String },
    #[error(
        "{}: there is no group {group:?}; create it (groupadd --system {group}) or take it out",
        .path.display()
    )]
    Group { path: PathBuf, group: String },
    #[error("{}: standing session {name:?}: {what}", .path.display())]
    Standing { path: PathBuf, name: String, what: String },
    #[error("{}: {what} is {value}: give at least {least}", .path.display())]
    Limit { path: PathBuf, what: &'static str, value: u64, least: u64 },
}

fn not_understood(error: &toml::de::Error, text: &str, path: &Path) -> ConfigError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    ConfigError::Text {
        path: path.to_owned(),
        place: TextPosition::of(text, at),
        what: lines.join("; "),
    }
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
