//! From the words of a command line to an exit status.

use crate::ebs::arguments::UsageError;
use crate::ebs::exit_status::{FAILURE, USAGE, status_of};
use crate::ebs::started_ebs::follow_starter;
use crate::ebs::{command, selftest};
use crate::terminal::signals;
use std::ffi::OsString;
use std::io;

pub fn run(words: Vec<OsString>) -> u8 {
    signals::fail_beyond_file_limit();
    let Some(words) = follow_starter(words) else { return FAILURE };
    if let Some(played) = selftest::part(&words) {
        return status_of(played);
    }
    let result = match command::parse(words) {
        Ok(command) => command.run(),
        Err(error) => return print_clap_error(&error),
    };
    let missing = result.as_ref().err().and_then(|error| error.downcast_ref());
    match missing {
        Some(error @ (UsageError::TypeMissing | UsageError::ModeMissing)) => {
            print_clap_error(&command::usage_error(error))
        }
        _ => status_of(result),
    }
}

/// Help and version go to stdout, usage errors to stderr, each as clap renders it.
fn print_clap_error(error: &clap::Error) -> u8 {
    match error.print() {
        Err(io) if io.kind() != io::ErrorKind::BrokenPipe => FAILURE,
        Ok(()) | Err(_) => u8::try_from(error.exit_code()).unwrap_or(USAGE),
    }
}
