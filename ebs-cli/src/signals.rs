//! SIGINT and SIGTERM: they end sampling, not the program.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Whether signals end the program after all.
static END: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on both signals end the program, or do not, if they are caught:
/// who waits for a server after sampling wants an end to that.
pub fn end_the_program(end: bool) {
    END.store(end, Ordering::Relaxed);
}

/// What was asked for by signals since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// SIGINT: end sampling and print. The command, in the same process
    /// group, got its own from the terminal.
    pub interrupt: bool,
    /// SIGTERM: end sampling, end the command, print.
    pub terminate: bool,
}

/// Catches both signals from now on. Made after the command is forked, so
/// that the command's own dispositions stay as they were given to us.
#[derive(Debug)]
pub struct Catcher {
    signals: Signals,
}

impl Catcher {
    /// Starts to catch.
    ///
    /// # Errors
    ///
    /// When no pipe can be made.
    pub fn new() -> io::Result<Catcher> {
        for signal in [SIGINT, SIGTERM] {
            register_conditional_default(signal, Arc::clone(&END))?;
        }
        Ok(Catcher { signals: Signals::new([SIGINT, SIGTERM])? })
    }

    /// Signals that came since the last call; never blocks.
    pub fn asked(&mut self) -> Asked {
        let mut asked = Asked::default();
        for signal in self.signals.pending() {
            asked.interrupt |= signal == SIGINT;
            asked.terminate |= signal == SIGTERM;
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;

    #[test]
    fn signals_are_seen_once() {
        let mut catcher = Catcher::new().expect("a pipe can be made");
        assert_eq!(catcher.asked(), Asked::default());
        raise(SIGINT).expect("we exist");
        assert_eq!(catcher.asked(), Asked { interrupt: true, terminate: false });
        assert_eq!(catcher.asked(), Asked::default());
        raise(SIGTERM).expect("we exist");
        assert_eq!(catcher.asked(), Asked { interrupt: false, terminate: true });
    }
}
