//! Messages to the service manager (sd_notify(3)); none are sent where none
//! listens, which NOTIFY_SOCKET says.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager.
#[derive(Debug)]
pub(super) struct ServiceManager {
    /// Without a sign of life for so long, it restarts the daemon.
    watchdog: Option<Duration>,
    last_ping: Instant,
}

impl ServiceManager {
    pub(super) fn of_environment() -> ServiceManager {
        ServiceManager { watchdog: sd_notify::watchdog_enabled(), last_ping: Instant::now() }
    }

    pub(super) fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    /// The configuration is being read; [`ready`](ServiceManager::ready) ends it.
    pub(super) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => notify(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!(%error, "no time"),
        }
    }

    pub(super) fn stopping(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// Three signs of life come in each interval of the watchdog. To be
    /// called at least so often, and only when all is well.
    pub(super) fn ping_watchdog(&mut self) {
        let Some(watchdog) = self.watchdog else { return };
        if self.last_ping.elapsed() >= watchdog / 3 {
            self.last_ping = Instant::now();
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// So long something may be amiss before it is to be ended, so that the
    /// watchdog does not end everything.
    pub(super) fn hang_timeout(&self) -> Option<Duration> {
        self.watchdog.map(|watchdog| watchdog * 2 / 3)
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
