//! An `ebs` that another one starts, and that does not outlive it.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The first word of one: the process that started it follows.
const WORD: &str = "started-by";

/// A command that runs this program anew. However this process ends, that one gets a SIGTERM, and
/// passes it on to what it samples. The thread that spawns it must be the main one: the kernel
/// sends the signal when that thread ends (PR_SET_PDEATHSIG(2const)).
///
/// # Errors
///
/// Where this program is cannot be read from /proc.
pub(super) fn started_ebs() -> Result<Command> {
    let ebs = std::env::current_exe().context("cannot find the program file of ebs")?;
    let mut command = Command::new(ebs);
    command.arg(WORD).arg(std::process::id().to_string());
    Ok(command)
}

/// Takes those words out of a command line; None: whoever started this process has ended already.
pub(super) fn follow_starter(mut words: Vec<OsString>) -> Option<Vec<OsString>> {
    if !is_started(&words) {
        return Some(words);
    }
    let starter = words.drain(1..3).next_back()?;
    // Where the kernel refuses, this process ends as its work ends.
    let _refused = set_parent_process_death_signal(Some(Signal::TERM));
    let now = getppid().map(Pid::as_raw_pid).map(|pid| pid.to_string());
    (now.as_deref().map(OsStr::new) == Some(&*starter)).then_some(words)
}

/// The command line without those words, as a recording tells of it.
pub(super) fn command_line() -> Vec<String> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if is_started(&words) {
        words.drain(1..3);
    }
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn is_started(words: &[OsString]) -> bool {
    words.len() > 2 && words[1] == WORD
}
