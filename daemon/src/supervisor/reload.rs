//! The configuration while the daemon runs: read anew on SIGHUP, and taken
//! only if all of it is good.

use std::path::PathBuf;

use super::Supervisor;
use super::config::{Config, ConfigError, FileError};

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
                if self.optional && error.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(Config::default())
            }
            result => result,
        }
    }
}

impl Supervisor {
    /// Reads the configuration, and takes it if it is good; else all stays
    /// as it was, and is said to be so.
    pub(super) fn reload(&mut self) {
        match self.source.read(self.own.uid) {
            Ok(config) => {
                self.reload_failed = false;
                self.take(config);
            }
            Err(error) => {
                self.reload_failed = true;
                tracing::error!(%error, "the configuration is not taken; the old one holds");
            }
        }
    }

    /// A configuration holds from here on: at once for what is asked from
    /// now on, and at once for whom it takes permissions from. Who gets more
    /// keeps his sessions; his next connection has the new permissions.
    fn take(&mut self, config: Config) {
        if config == self.config {
            tracing::info!("the configuration is read anew, and says what it said");
            return;
        }
        if let Err(error) = self.standing_sessions.set(&config, &self.own) {
            self.reload_failed = true;
            tracing::error!(%error, "the configuration is not taken; the old one holds");
            return;
        }
        let listens = |config: &Config| (config.metrics.socket.clone(), config.metrics.gid);
        if listens(&config) != listens(&self.config) {
            tracing::warn!("metrics.socket and metrics.group hold from the next start on");
        }
        self.config = config;
        let (mut revoked, mut widened) = (0, 0);
        for worker in self.workers.iter_mut().filter(|worker| !worker.outdated) {
            let now = self.config.policy.permissions(&worker.user);
            if now == worker.permissions {
                continue;
            }
            worker.outdated = true;
            if now.contains(worker.permissions) {
                widened += 1;
            } else {
                revoked += 1;
                worker.revoke();
            }
        }
        tracing::info!(revoked, widened, "a new configuration holds");
    }
}
