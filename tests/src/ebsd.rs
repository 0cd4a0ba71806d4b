//! A daemon for one test.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

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
        Ebsd::prepared(scene, config, |_| {})
    }

    /// Likewise, its command prepared by the caller.
    pub fn prepared(scene: &Scene, config: &str, prepare: impl FnOnce(&mut Command)) -> Ebsd {
        let config = scene.write("ebsd.toml", config);
        fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
        let socket = scene.path("ebsd.sock");
        let mut command = scene.command(built::directory().join("ebsd"));
        command.arg("--socket").arg(&socket).arg("--config").arg(&config);
        prepare(&mut command);
        let mut running = Running::start(&mut command);
        running.wait_until_listening(&socket);
        Ebsd { running, socket }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    pub fn workers(&self) -> Vec<u32> {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = fs::read_to_string(children).unwrap_or_default();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// Waits until a condition holds, while it runs.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        self.running.wait_until(what, |_| holds());
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Kills it by SIGKILL.
    pub fn kill(self) {
        self.signal(Signal::KILL);
        let _killed = self.running.finish();
    }

    /// Ends it by SIGTERM.
    #[track_caller]
    pub fn end(self) -> Outcome {
        self.running.signal(Signal::TERM);
        self.running.finish().success()
    }
}
