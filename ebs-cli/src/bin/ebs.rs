//! `ebs`: samples events, and prints what was sampled.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ebs_cli::ebs::run::run(std::env::args_os().collect()))
}
