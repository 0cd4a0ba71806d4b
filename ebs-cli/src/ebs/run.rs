//! From the words of a command line to an exit status.

use crate::ebs::exit_status::{FAILURE, USAGE, status_of};
use crate::ebs::started_ebs::follow_starter;
use crate::ebs::{command, selftest, usage};
use crate::terminal::signals;
use anyhow::Result;
use std::ffi::OsString;
use std::io::{self, Write};

pub fn run(words: Vec<OsString>) -> u8 {
    signals::fail_beyond_file_limit();
    let typed = words.len();
    let Some(words) = follow_starter(words) else { return FAILURE };
    // Words that another ebs made are for no user to try.
    let is_typed = words.len() == typed;
    if let Some(played) = selftest::part(&words) {
        return status_of(played);
    }
    match command::parse(words.clone()) {
        Ok(command) if is_typed => finished(command.run(), &words),
        Ok(command) => status_of(command.run()),
        Err(error) => print_clap_error(&error, &words),
    }
}

/// Reports an error with a command that works, where one is known.
fn finished(result: Result<u8>, words: &[OsString]) -> u8 {
    let remedy = result.as_ref().err().and_then(|error| usage::remedy(error, words));
    let status = status_of(result);
    if let Some(remedy) = remedy {
        let _closed = writeln!(io::stderr(), "{remedy}");
    }
    status
}

/// Help and version go to stdout as clap renders them, what is wrong to stderr.
fn print_clap_error(error: &clap::Error, words: &[OsString]) -> u8 {
    if error.use_stderr() {
        let _closed = io::stderr().write_all(usage::refused(error, words).as_bytes());
        return USAGE;
    }
    match error.print() {
        Err(io) if io.kind() != io::ErrorKind::BrokenPipe => FAILURE,
        Ok(()) | Err(_) => u8::try_from(error.exit_code()).unwrap_or(USAGE),
    }
}
