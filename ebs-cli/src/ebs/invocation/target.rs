//! Whose samples: a command, a process, or the system.

use super::Misuse;
use crate::ebs::arguments::ServingArguments;
use perfdata::Pid;
use recorder::Target;
use recorder::remote::client::SOCKET;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The process that `-p` names, as other profilers take it.
pub(super) fn process(pid: &str, words: &[OsString]) -> Result<Target, Misuse> {
    if let Some(word) = words.first() {
        return Err(Misuse::PidAndProgram { pid: pid.to_owned(), word: word.clone() });
    }
    if pid.contains(',') {
        return Err(Misuse::ManyPids(pid.to_owned()));
    }
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    match pid.parse() {
        Ok(number) if is_number && number > 0 => Ok(Target::Process(Pid(number))),
        _ => Err(Misuse::NoPid(pid.to_owned())),
    }
}

/// A single number is a PID, any other word a program, no word the system.
pub(super) fn target(words: &[OsString]) -> Result<Target, Misuse> {
    let Some(first) = words.first() else {
        return Ok(Target::System);
    };
    if first.is_empty() {
        return Err(Misuse::EmptyProgram);
    }
    let Some(number) = digits(first) else {
        return Ok(Target::Command);
    };
    if let Some(argument) = words.get(1) {
        return Err(Misuse::PidArguments { pid: number.to_owned(), argument: argument.clone() });
    }
    match number.parse() {
        Ok(pid) if pid > 0 => Ok(Target::Process(Pid(pid))),
        _ => Err(Misuse::Pid(number.to_owned())),
    }
}

fn digits(word: &OsStr) -> Option<&str> {
    word.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serving {
    /// This process; where its rights do not suffice, the daemon that listens
    /// there, if one does.
    Auto(PathBuf),
    /// The daemon that listens there.
    Daemon(PathBuf),
    Own,
}

impl Serving {
    /// Whoever names a socket wants the daemon at it.
    pub(super) fn new(arguments: &ServingArguments) -> Serving {
        let ServingArguments { daemon, no_daemon, socket } = arguments;
        let path = || socket.clone().unwrap_or_else(|| SOCKET.into());
        match (daemon, no_daemon) {
            (_, true) => Serving::Own,
            (true, _) => Serving::Daemon(path()),
            _ if socket.is_some() => Serving::Daemon(path()),
            _ => Serving::Auto(path()),
        }
    }
}
