//! Whose samples: a command, a process, or the system.

use crate::ebs::arguments::UsageError;
use perfdata::Pid;
use recorder::Target;
use std::ffi::{OsStr, OsString};

/// Whose samples: `-p PID`, or the words at the end of the line.
///
/// # Errors
/// A word that is neither a process nor a program.
pub(crate) fn target(pid: Option<&str>, words: &[OsString]) -> Result<Target, UsageError> {
    match pid {
        Some(pid) => process(pid, words),
        None => named_target(words),
    }
}

/// The process that `-p` names, as other profilers take it.
fn process(pid: &str, words: &[OsString]) -> Result<Target, UsageError> {
    if let Some(word) = words.first() {
        return Err(UsageError::PidAndProgram { pid: pid.to_owned(), word: word.clone() });
    }
    if pid.contains(',') {
        return Err(UsageError::ManyPids(pid.to_owned()));
    }
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    match pid.parse() {
        Ok(number) if is_number && number > 0 => Ok(Target::Process(Pid(number))),
        _ => Err(UsageError::NoPid(pid.to_owned())),
    }
}

/// A single number is a PID, any other word a program, no word the system.
fn named_target(words: &[OsString]) -> Result<Target, UsageError> {
    let Some(first) = words.first() else {
        return Ok(Target::System);
    };
    if first.is_empty() {
        return Err(UsageError::EmptyProgram);
    }
    let Some(number) = digits(first) else {
        return Ok(Target::Command);
    };
    if let Some(argument) = words.get(1) {
        return Err(UsageError::PidArguments {
            pid: number.to_owned(),
            argument: argument.clone(),
        });
    }
    match number.parse() {
        Ok(pid) if pid > 0 => Ok(Target::Process(Pid(pid))),
        _ => Err(UsageError::Pid(number.to_owned())),
    }
}

fn digits(word: &OsStr) -> Option<&str> {
    word.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
}
