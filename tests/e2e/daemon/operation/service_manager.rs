//! What stands in for systemd: a socket that hears what ebsd tells.

use std::{
    os::unix::net::UnixDatagram,
    process::Command,
    time::{Duration, Instant},
};

use hardmeter_tests::Scene;

/// A service manager that only listens.
#[derive(Debug)]
pub(super) struct ServiceManager {
    socket: UnixDatagram,
}

impl ServiceManager {
    pub(super) fn new(scene: &Scene) -> ServiceManager {
        ServiceManager { socket: UnixDatagram::bind(scene.path("notify")).unwrap() }
    }

    /// Has a command tell it how it goes.
    pub(super) fn manage(scene: &Scene, command: &mut Command, watchdog: Option<Duration>) {
        command.env("NOTIFY_SOCKET", scene.path("notify"));
        if let Some(watchdog) = watchdog {
            command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        }
    }

    /// The next message, or None after a while.
    pub(super) fn hear(&self, wait: Duration) -> Option<String> {
        let mut bytes = [0; 4096];
        self.socket.set_read_timeout(Some(wait)).unwrap();
        let length = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8(bytes[..length].to_vec()).unwrap())
    }

    /// Waits for a message with this line.
    #[track_caller]
    pub(super) fn wait_for(&self, line: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.hear(left) {
                Some(message) if message.lines().any(|one| one == line) => return message,
                _ => {}
            }
        }
        panic!("never {line}");
    }
}
