//! Users that need no entry anywhere: numbers that `setpriv` takes.

use std::process::Command;

use crate::Scene;

/// A user of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User and group id.
    pub id: u32,
    /// A supplementary group.
    pub group: Option<u32>,
    /// In a user namespace of its own, as root there.
    pub in_namespace: bool,
}

impl User {
    /// A plain user.
    pub fn new(id: u32) -> User {
        User { id, group: None, in_namespace: false }
    }

    /// A command that runs as this user.
    pub fn command(self, scene: &Scene, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = scene.command("setpriv");
        command.args([format!("--reuid={0}", self.id), format!("--regid={}", self.id)]);
        match self.group {
            Some(group) => command.arg(format!("--groups={group}")),
            None => command.arg("--clear-groups"),
        };
        if self.id != 0 {
            command.arg("--inh-caps=-all");
        }
        if self.in_namespace {
            command.args(["unshare", "--user", "--map-root-user"]);
        }
        command.arg(program);
        command
    }
}
