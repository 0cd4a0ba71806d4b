//! Whose samples: a command, a process, or the system.

use super::Misuse;
use perfdata::Pid;
use recorder::Target;
use std::ffi::{OsStr, OsString};

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
