//! The process that the user sees while another one emulates a process that
//! was there before: whatever ends this one, that process is let go.

use crate::ebs::exit_status::{FAILURE, status_of};
use crate::ebs::sample::{OutputChoice, OutputPlace};
use crate::terminal::{say, signals};
use anyhow::{Context, Result, bail};
use perfdata::Pid;
use recorder::CommandStatus;
use recorder::session::detached_tracer::{DetachedTracer, FrontProcess};
use rustix::fs::makedev;
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// So many signals of those that people send, and this process waits for the
/// other one no longer.
const IMPATIENT: u32 = 3;

/// Has the job done in a process of its own, which is told of signals and of
/// this one's end; gives its status. That one traces: to be stopped from the
/// terminal, hung up on or killed here leaves the target running.
///
/// # Errors
///
/// No process can be made.
pub(crate) fn stay(target: Pid, job: impl FnOnce(FrontProcess) -> Result<u8>) -> Result<u8> {
    let detached_tracer = DetachedTracer::start(|front| status_of(job(front)));
    let mut detached_tracer =
        detached_tracer.context("no process can be started for the emulation")?;
    let mut heard = signals::ending();
    heard.push(SIGCHLD);
    let mut signals = Signals::new(&heard).context("signals cannot be caught")?;
    // Until now a signal would end this process, and the other one with it.
    detached_tracer.begin().context("the process for the emulation")?;
    let (mut asked, mut passed) = (0, Vec::new());
    loop {
        if let Some(status) = detached_tracer.ended().context("waiting for the emulation")? {
            match status {
                // Until it catches it, what is passed on ends it, and no more.
                CommandStatus::Killed(signal) if !passed.contains(&signal) => {
                    tell_killed(target, signal);
                }
                CommandStatus::Killed(_) | CommandStatus::Exited(_) => {}
            }
            return Ok(u8::try_from(status.code()).unwrap_or(FAILURE));
        }
        for signal in signals.wait().filter(|signal| *signal != SIGCHLD) {
            detached_tracer.pass(signal);
            passed.push(signal);
            asked += u32::from(signals::BY_HAND.contains(&signal));
            if asked == IMPATIENT {
                let status = CommandStatus::Killed(signal).code();
                return Ok(u8::try_from(status).unwrap_or(FAILURE));
            }
        }
    }
}

/// /dev/tty is the terminal of whoever opens it, and who is in a session of
/// its own has none.
///
/// # Errors
///
/// The output is that.
pub(crate) fn refuse_own_terminal(output: &OutputChoice) -> Result<()> {
    let (OutputChoice::Stream(OutputPlace::File(path))
    | OutputChoice::Text(OutputPlace::File(path))) = output
    else {
        return Ok(());
    };
    let own = path
        .metadata()
        .is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == makedev(5, 0));
    if own {
        bail!(
            "cannot write to {}: a process is emulated by one without a terminal of its own; say \
             -o -, or -o with the terminal's name, which tty(1) prints",
            path.display()
        );
    }
    Ok(())
}

fn tell_killed(target: Pid, signal: i32) {
    let what = format!(
        "the process that emulated process {target} was ended by signal {signal}, and process \
         {target} with it unless that had been let go of before"
    );
    say("ebs", &what);
}
