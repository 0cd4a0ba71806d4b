//! A fresh directory in which a test runs its commands.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Outcome, Running, built};

/// A directory of its own, gone when the test ends; any user may read it.
#[derive(Debug)]
pub struct Scene {
    directory: TempDir,
}

impl Scene {
    /// An empty directory.
    #[allow(clippy::new_without_default, reason = "making one has an effect")]
    pub fn new() -> Scene {
        let directory = tempfile::Builder::new().prefix("hardmeter-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Scene { directory }
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The text of a file in it.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let bytes =
            fs::read(self.path(name)).unwrap_or_else(|error| panic!("reading {name}: {error}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A program to be run in it, with the commands under test first in PATH
    /// and an environment that does not depend on who runs the tests.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        command
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", built::directory().display()))
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C.UTF-8")
            .env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs a program with words of a line as its arguments, to its end.
    #[track_caller]
    pub fn run(&self, line: &str) -> Outcome {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap();
        Running::start(self.command(self.found(program)).args(words)).finish()
    }

    /// Runs a program with words as they are, to its end.
    #[track_caller]
    pub fn run_words(&self, words: &[&str]) -> Outcome {
        Running::start(self.command(self.found(words[0])).args(&words[1..])).finish()
    }

    /// Starts a program, arguments likewise.
    pub fn start(&self, line: &str) -> Running {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap();
        Running::start(self.command(self.found(program)).args(words))
    }

    /// Runs a script of the shell to its end.
    #[track_caller]
    pub fn shell(&self, script: &str) -> Outcome {
        Running::start(self.command("bash").args(["-o", "pipefail", "-euc", script])).finish()
    }

    /// Copies of the commands under test that any user may run.
    pub fn open_commands(&self) -> PathBuf {
        let directory = self.path("bin");
        fs::create_dir_all(&directory).unwrap();
        for name in ["ebs", "eip2r", "ebsd"] {
            fs::copy(built::directory().join(name), directory.join(name)).unwrap();
        }
        directory
    }

    fn found(&self, program: &str) -> PathBuf {
        match program {
            "ebs" | "eip2r" | "ebsd" => built::directory().join(program),
            local if local.starts_with("./") => self.directory.path().join(&local[2..]),
            other => Path::new(other).to_path_buf(),
        }
    }
}
