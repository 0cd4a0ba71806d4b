//! Options of `ebs top`.

use crate::ebs::arguments::{
    EmulationArguments, EventArguments, ServingArguments, SymbolArguments,
};
use crate::ebs::input::is_recording;
use clap::Args;
use recorder::HumanDuration;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  ebs top -u -t page_fault ./server            a command, from its start
  ebs top -u -t l1_cache_miss -g -p 1234       a process that runs, with its callers
  ebs top -uk -t page_fault                    the whole system
  ebs top --session web                        what the daemon samples now
  ebs top --replay fault.data                  a recording, as fast as it was recorded
  ebs top --replay fault.data --speed max      and all of it at once

Keys: q quits, p stops the screen and goes on, arrows and PgUp, PgDn, Home, End scroll, Tab and 1 to
6 look at sites, callers, objects, lines, latency, data, s and S sort, / filters, Enter shows the
routine by instruction, t tells threads apart, e goes to the next event, Ctrl+Z stops, h helps.

A command has an empty input, and what it prints is thrown away, or goes to the file of -o. When top
ends, a command that it started is sent SIGTERM; a process of -p runs on.

Exit status: 0; that of a command that has ended; 1 when nothing could be sampled; 2 for a wrong
command line; 128 + N after signal N.";

/// `ebs top`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct TopArguments {
    /// Plays a recording instead: what `ebs -o FILE.data` or `perf record` wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["session", "pid", "target"])]
    pub replay: Option<PathBuf>,
    /// So many times as fast as it was recorded, such as 10 or 0.5; max: all at once [default: 1].
    #[arg(long, value_name = "N|max", requires = "replay")]
    pub speed: Option<ReplaySpeed>,
    /// Shows what a standing session of the daemon samples; `ebs sessions` lists them.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "target"])]
    pub session: Option<String>,
    /// Counts anew after each such span.
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    pub every: HumanDuration,
    /// Ends when the program does, or the recording; else what was counted stays to be looked at.
    #[arg(long)]
    pub exit: bool,
    /// Where what a command prints goes [default: it is thrown away].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Samples user code.
    #[arg(short, long)]
    pub user: bool,
    /// Samples kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// The event.
    #[command(flatten)]
    pub event: EventArguments,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Who opens the events.
    #[command(flatten)]
    pub serving: ServingArguments,
    /// Records where the heap, stacks and files lie, too, for the view of data.
    #[arg(short, long)]
    pub data: bool,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
    /// Samples this process, as EXE_OR_PID with a number does.
    #[arg(short, long, value_name = "PID", allow_negative_numbers = true)]
    pub pid: Option<String>,
    /// Program to sample with its arguments, or the PID of a process; neither: the whole system.
    #[arg(value_name = "EXE_OR_PID", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub target: Vec<OsString>,
}

impl TopArguments {
    /// One word that is a recording is played.
    pub(in crate::ebs) fn tell_recording_from_program(&mut self) {
        let is_program =
            self.pid.is_some() || self.session.is_some() || !self.event.event.is_empty();
        if let ([word], false) = (&self.target[..], is_program)
            && is_recording(Path::new(word))
        {
            self.replay = self.target.pop().map(PathBuf::from);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplaySpeed {
    /// So many times as fast as it was recorded.
    Times(f64),
    /// As fast as it can be read.
    Max,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("speed {0:?} is neither a number above 0, such as 10 or 0.5, nor max")]
pub struct ReplaySpeedError(String);

impl FromStr for ReplaySpeed {
    type Err = ReplaySpeedError;

    fn from_str(word: &str) -> Result<ReplaySpeed, ReplaySpeedError> {
        if word == "max" {
            return Ok(ReplaySpeed::Max);
        }
        let times = word.parse().ok().filter(|times: &f64| times.is_finite() && *times > 0.0);
        times.map(ReplaySpeed::Times).ok_or_else(|| ReplaySpeedError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_numbers_above_0_or_max() {
        assert_eq!("max".parse(), Ok(ReplaySpeed::Max));
        assert_eq!("0.5".parse(), Ok(ReplaySpeed::Times(0.5)));
        for word in ["", "0", "-1", "inf", "nan", "fast"] {
            let said = word.parse::<ReplaySpeed>().unwrap_err().to_string();
            assert!(said.contains(&format!("{word:?}")), "{said}");
        }
    }
}
