//! Leaves no half-written file behind when a signal ends the program.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fs;
use std::thread;

/// From now on calls `remove` when SIGINT, SIGTERM or SIGHUP ends the
/// program. Those that it was started to ignore (`nohup`, a shell's
/// background) stay ignored.
///
/// # Errors
///
/// No pipe can be made, or no thread started.
pub(in crate::ebs) fn remove_when_ended(remove: impl Fn() + Send + 'static) -> Result<()> {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&String::from_utf8_lossy(&status));
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let mut signals = Signals::new(ends.filter(|signal| ignored >> (signal - 1) & 1 == 0))
        .context("signals cannot be caught; with too many open files raise `ulimit -n`")?;
    let watch = move || {
        for signal in signals.forever() {
            remove();
            // Whoever waits sees the signal. It cannot fail for these three.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().spawn(watch).context("no thread can be started")?;
    Ok(())
}

/// The mask of ignored signals in a /proc/PID/status.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = "Name:\tebs\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
