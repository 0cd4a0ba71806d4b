//! `ebsd`: the daemon's process.

use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use daemon::arguments::{CONFIG, DaemonArguments};
use daemon::log;
use daemon::supervisor::{ConfigSource, DaemonOptions, run};
use rustix::process::getuid;

fn main() -> ExitCode {
    let arguments = DaemonArguments::parse();
    log::start();
    let status = match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    };
    log::finish();
    status
}

fn serve(arguments: DaemonArguments) -> Result<()> {
    // The default file may be missing; one that was asked for may not.
    let optional = arguments.config == Path::new(CONFIG) && !arguments.check_config;
    let config = ConfigSource { path: arguments.config, optional };
    if arguments.check_config {
        let good = config.read(getuid().as_raw())?;
        let homeless = good.metrics.check()?;
        writeln!(stdout(), "{} is good:\n{good}", config.path.display())?;
        for path in homeless {
            writeln!(stdout(), "{}: its directory is not there yet", path.display())?;
        }
    } else {
        run(DaemonOptions { socket: arguments.socket, config })?;
    }
    Ok(())
}
