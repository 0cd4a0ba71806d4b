//! `ebsd`: the command line of the daemon.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use daemon::supervisor::{Options, Source, run};
use rustix::process::getuid;

/// Where the configuration is.
const CONFIG: &str = "/etc/ebsd.toml";

/// Samples memory events for users who may not do so themselves.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where clients connect.
    #[arg(long, value_name = "PATH", default_value = "/run/ebsd.sock")]
    socket: PathBuf,

    /// Who may what; without the file of that name, the kernel's rules alone
    /// decide.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,

    /// Reads the configuration, says what is wrong with it, and ends.
    #[arg(long)]
    check_config: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_writer(stderr).with_ansi(stderr().is_terminal()).init();
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: Arguments) -> Result<()> {
    // The default file may be missing; one that was asked for may not.
    let optional = arguments.config == Path::new(CONFIG) && !arguments.check_config;
    let config = Source { path: arguments.config, optional };
    if arguments.check_config {
        config.read(getuid().as_raw())?;
    } else {
        run(Options { socket: arguments.socket, config })?;
    }
    Ok(())
}
