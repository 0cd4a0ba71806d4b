//! What stands in for systemd: a socket that hears what ebsd tells.

use std::{
    os::unix::net::UnixDatagram,
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use tests::Scene;

/// A service manager that only listens, but always does: whoever tells it
/// something waits until there is room.
#[derive(Debug)]
pub(in super::super) struct ServiceManager {
    heard: Receiver<String>,
}

impl ServiceManager {
    pub(in super::super) fn new(scene: &Scene) -> ServiceManager {
        let socket = UnixDatagram::bind(scene.path("notify")).unwrap();
        let (tell, heard) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = socket.recv(&mut bytes) {
                let message = String::from_utf8(bytes[..length].to_vec()).unwrap();
                if tell.send(message).is_err() {
                    break;
                }
            }
        });
        ServiceManager { heard }
    }

    /// Has a command tell it how it goes.
    pub(in super::super) fn manage(
        scene: &Scene,
        command: &mut Command,
        watchdog: Option<Duration>,
    ) {
        command.env("NOTIFY_SOCKET", scene.path("notify"));
        if let Some(watchdog) = watchdog {
            command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
        }
    }

    /// The next message, or None after a while.
    pub(in super::super) fn hear(&self, wait: Duration) -> Option<String> {
        self.heard.recv_timeout(wait).ok()
    }

    /// Waits for a message with this line.
    #[track_caller]
    pub(in super::super) fn wait_for(&self, line: &str) -> String {
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
