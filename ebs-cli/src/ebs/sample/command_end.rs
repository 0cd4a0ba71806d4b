//! The end of a command that is sampled, or counted.

use crate::ebs::exit_status::FAILURE;
use crate::terminal::signals::Catcher;
use anyhow::{Context, Result};
use recorder::session::command::Command;
use rustix::process::{Signal, kill_process};
use std::time::Duration;

/// Signals are looked for at least so often.
const LOOK: Duration = Duration::from_millis(100);

/// A signal is passed on to a command that still runs.
pub(crate) fn end_command(command: Option<&mut Command>, signal: i32) {
    let Some(command) = command else { return };
    if let (Ok(None), Some(pid), Some(signal)) = (
        command.try_wait(),
        rustix::process::Pid::from_raw(command.pid().0),
        Signal::from_named_raw(signal),
    ) {
        // It may have ended since; there is nothing to do then.
        let _gone = kill_process(pid, signal);
    }
}

/// Waits for the command. The first SIGINT of all shows what there is, the
/// next one gives up the wait; other signals are passed on. The command's
/// status, or None when the wait was given up.
pub(crate) fn outlive(
    command: &mut Command,
    catcher: &mut Catcher,
    mut interrupts: u32,
    show: &mut dyn FnMut(),
) -> Result<Option<u8>> {
    loop {
        if let Some(status) = command.try_wait().context("waiting for the command")? {
            return Ok(Some(u8::try_from(status.code()).unwrap_or(FAILURE)));
        }
        if interrupts > 1 {
            return Ok(None);
        }
        let asked = catcher.asked();
        if let Some(signal) = asked.end {
            end_command(Some(command), signal);
        } else if asked.interrupt {
            interrupts += 1;
            if interrupts == 1 {
                show();
            }
            continue;
        }
        pause(command)?;
    }
}

/// Until the command has ended, a signal came, or a while is over.
fn pause(command: &Command) -> Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(command, PollFlags::IN)];
    let a_while = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut fds, Some(&a_while)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno).context("waiting for the command"),
    }
}
