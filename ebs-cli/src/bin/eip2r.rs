//! `eip2r`: turns instruction pointers into routines.

use std::process::ExitCode;

fn main() -> ExitCode {
    ebs_cli::eip2r::main(std::env::args_os())
}
