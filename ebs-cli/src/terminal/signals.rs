//! Signals that end a process: here they end the sampling, not the target.

use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag::{register, register_conditional_default};
use signal_hook::iterator::Signals;
use signal_hook::low_level::pipe;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether signals end the program after all.
static END: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on the signals that people send end the program, or do not, if
/// they are caught: who waits for a server after sampling wants an end to that.
pub fn end_the_program(end: bool) {
    END.store(end, Ordering::Relaxed);
}

/// Signals that people send. Others may come twice: a terminal that is lost
/// tells all of it, and so does the shell.
pub(crate) const BY_HAND: [i32; 3] = [SIGINT, SIGTERM, SIGQUIT];
/// Heard whatever their disposition was at the start: a shell starts what
/// runs in the background with SIGINT ignored.
const ALWAYS: [i32; 2] = [SIGINT, SIGTERM];
/// Heard unless they were ignored at the start, as nohup(1) has it. SIGPIPE is
/// not among them: the output says itself when its reader is gone. Nor are
/// those of faults, after which nothing can go on.
const UNLESS_IGNORED: [i32; 12] = [
    SIGHUP,
    SIGQUIT,
    SIGABRT,
    SIGUSR1,
    SIGUSR2,
    SIGALRM,
    SIGVTALRM,
    SIGPROF,
    SIGXCPU,
    SIGIO,
    libc::SIGSTKFLT,
    libc::SIGPWR,
];

/// All that end a process, and are heard here.
pub(crate) fn ending() -> Vec<i32> {
    let ignored = ignored();
    let heard = UNLESS_IGNORED.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    ALWAYS.into_iter().chain(heard).collect()
}

/// Signals that this process ignores, a bit for each: that of signal 1 is the
/// lowest (SigIgn in proc_pid_status(5)). None where there is no /proc.
fn ignored() -> u64 {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// What was asked for by signals since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedEnd {
    /// SIGINT: end sampling and print. The command, in the same process
    /// group, got its own from the terminal.
    pub interrupt: bool,
    /// Another signal that ends a process: end sampling, pass it on to the
    /// command, print.
    pub end: Option<i32>,
}

impl AskedEnd {
    pub fn signal(self) -> Option<i32> {
        self.end.or(self.interrupt.then_some(SIGINT))
    }
}

/// Catches them from now on. For a command it is made after that is forked, so
/// that the command's own dispositions stay as they were given to us.
#[derive(Debug)]
pub struct Catcher {
    signals: Signals,
    caught: Vec<i32>,
}

impl Catcher {
    /// Starts to catch.
    ///
    /// # Errors
    ///
    /// When no pipe can be made.
    pub fn new() -> io::Result<Catcher> {
        let caught = ending();
        // First: a signal that came with another handler alone in place would be lost.
        let signals = Signals::new(&caught)?;
        EndCounter::begin(&caught)?;
        for &signal in caught.iter().filter(|signal| BY_HAND.contains(signal)) {
            register_conditional_default(signal, Arc::clone(&END))?;
        }
        Ok(Catcher { signals, caught })
    }

    /// From now on each of them writes a byte to a pipe, too, whatever this
    /// program waits for at that time.
    ///
    /// # Errors
    ///
    /// No descriptor is left for a copy of the pipe.
    pub fn tell(&self, pipe: &OwnedFd) -> io::Result<()> {
        for &signal in &self.caught {
            pipe::register(signal, pipe.try_clone()?)?;
        }
        Ok(())
    }

    /// Signals that came since the last call; never blocks.
    pub fn asked(&mut self) -> AskedEnd {
        let mut asked = AskedEnd::default();
        for signal in self.signals.pending() {
            match signal {
                SIGINT => asked.interrupt = true,
                other => asked.end = asked.end.or(Some(other)),
            }
        }
        asked
    }
}

/// How often an end was asked for by signals since the first [`Catcher`] was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndsAsked {
    pub(crate) any: bool,
    /// By signals that people send, those that belong together counted once.
    pub(crate) by_hand: u32,
    pub(crate) interrupts: u32,
}

/// A signal that comes so soon after another is the same wish: timeout(1) sends it to the process,
/// then to its group.
const TOGETHER: Duration = Duration::from_millis(250);

/// Counts beside the catchers, for whoever waits for something else.
#[derive(Debug)]
struct EndCounter {
    signals: Signals,
    asked: EndsAsked,
    /// When the last one was seen that was counted.
    last: Option<Instant>,
}

static COUNTER: Mutex<Option<EndCounter>> = Mutex::new(None);

impl EndCounter {
    /// Begins to count, unless that was begun.
    fn begin(caught: &[i32]) -> io::Result<()> {
        let mut counter = COUNTER.lock().unwrap_or_else(PoisonError::into_inner);
        if counter.is_none() {
            let signals = Signals::new(caught)?;
            *counter = Some(EndCounter { signals, asked: EndsAsked::default(), last: None });
        }
        Ok(())
    }

    fn look(&mut self, now: Instant) -> EndsAsked {
        let seen: Vec<i32> = self.signals.pending().collect();
        self.asked.any |= !seen.is_empty();
        let by_hand = seen.iter().any(|signal| BY_HAND.contains(signal));
        let is_new = self.last.is_none_or(|last| now.duration_since(last) >= TOGETHER);
        if by_hand && is_new {
            self.last = Some(now);
            self.asked.by_hand += 1;
            self.asked.interrupts += u32::from(seen.contains(&SIGINT));
        }
        self.asked
    }
}

/// How often an end was asked for so far. Signals that come between two calls count once.
pub(crate) fn ends_asked() -> EndsAsked {
    let mut counter = COUNTER.lock().unwrap_or_else(PoisonError::into_inner);
    counter.as_mut().map(|counter| counter.look(Instant::now())).unwrap_or_default()
}

/// From now on a write beyond `ulimit -f` fails, as on a full disk. A command that is started gets
/// the signal as ever.
pub fn fail_beyond_file_limit() {
    // Where it cannot be caught, it ends the program as before.
    let _refused = register(SIGXFSZ, Arc::default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;
    use std::io::Read;

    #[test]
    fn signals_are_seen_once_and_told_at_once() {
        let mut catcher = Catcher::new().expect("a pipe can be made");
        assert_eq!(catcher.asked(), AskedEnd::default());
        let (mut told, pipe) = std::io::pipe().expect("a pipe can be made");
        catcher.tell(&pipe.into()).expect("there are descriptors");
        for signal in ending() {
            raise(signal).expect("we exist");
            assert_eq!(told.read(&mut [0; 8]).expect("it is open"), 1, "{signal}");
            let asked = match signal {
                SIGINT => AskedEnd { interrupt: true, end: None },
                other => AskedEnd { interrupt: false, end: Some(other) },
            };
            assert_eq!(catcher.asked(), asked, "{signal}");
            assert_eq!(catcher.asked(), AskedEnd::default(), "{signal}");
        }
    }

    #[test]
    fn wishes_for_an_end_are_counted() {
        let _catcher = Catcher::new().expect("a pipe can be made");
        let mut counter = COUNTER.lock().expect("no test before it").take().expect("it is begun");
        let start = Instant::now();
        let mut look = |after: Duration, signals: &[i32]| {
            signals.iter().for_each(|signal| raise(*signal).expect("we exist"));
            let EndsAsked { any, by_hand, interrupts } = counter.look(start + after);
            (any, by_hand, interrupts)
        };
        assert_eq!(look(Duration::ZERO, &[]), (false, 0, 0));
        assert_eq!(look(Duration::ZERO, &[SIGUSR1]), (true, 0, 0), "a program sends it");
        assert_eq!(look(Duration::ZERO, &[SIGINT, SIGINT]), (true, 1, 1));
        assert_eq!(look(TOGETHER / 2, &[SIGINT]), (true, 1, 1), "it comes from the same hand");
        assert_eq!(look(TOGETHER, &[]), (true, 1, 1));
        assert_eq!(look(2 * TOGETHER, &[SIGINT]), (true, 2, 2));
        assert_eq!(look(4 * TOGETHER, &[SIGTERM]), (true, 3, 2));
    }
}
