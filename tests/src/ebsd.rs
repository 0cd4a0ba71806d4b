//! A daemon for one test.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use rustix::process::Signal;

use crate::{Outcome, Running, Scene, built};

/// A daemon that runs, with a socket that any user may connect to.
#[derive(Debug)]
pub struct Ebsd {
    running: Running,
    /// Where it listens.
    pub socket: PathBuf,
}

impl Ebsd {
    /// Starts one in the scene with this configuration, and waits until it
    /// listens.
    pub fn start(scene: &Scene, config: &str) -> Ebsd {
        let config = scene.write("ebsd.toml", config);
        std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o644)).unwrap();
        let socket = scene.path("ebsd.sock");
        let mut command = scene.command(built::directory().join("ebsd"));
        command.arg("--socket").arg(&socket).arg("--config").arg(&config);
        let mut running = Running::start(&mut command);
        let listening = socket.clone();
        running.wait_until("it listens", |_| {
            std::os::unix::net::UnixStream::connect(&listening).is_ok()
        });
        Ebsd { running, socket }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Ends it by SIGTERM.
    #[track_caller]
    pub fn end(self) -> Outcome {
        self.running.signal(Signal::TERM);
        self.running.finish().success()
    }
}
