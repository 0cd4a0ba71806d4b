//! When sampling is on.

use clap::Args;
use std::ffi::OsString;

/// The options of steering.
#[derive(Clone, Debug, Default, Args)]
pub struct SteeringArguments {
    /// Begins to sample so many milliseconds after the start; -1: when --control says so.
    #[arg(short = 'D', long, value_name = "MS", help_heading = STEERING)]
    #[arg(allow_negative_numbers = true)]
    pub delay: Option<String>,
    /// Takes commands there, a line each, and answers `ack`, as `perf record` does: enable, disable,
    /// ping, stop, evlist. N and M are descriptors that are open already; FILE and ACKS are FIFOs.
    #[arg(long, value_name = "fd:N[,M]|fifo:FILE[,ACKS]", help_heading = STEERING)]
    pub control: Option<OsString>,
    /// Ends sampling so long after the start, such as 500ms, 30s or 10m; the program runs on.
    #[arg(long, value_name = "TIME", help_heading = STEERING)]
    pub until: Option<String>,
}

const STEERING: &str = "Steering";
