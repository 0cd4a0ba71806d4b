//! The edge to the terminal, and the way back.

use crate::draw::draw;
use crate::key_bytes::KeyBytes;
use crate::raw_mode;
use crate::sys::faults;
use crate::top_backend::{self, TopBackend};
use crate::top_key::TopKey;
use crate::top_view::TopView;
use ratatui_core::layout::Size;
use ratatui_core::terminal::Terminal;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::{Errno, read};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::flag::register;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// Whether the terminal is ours now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook of panics is set once.
static HOOK: Once = Once::new();

/// The rest of a key comes in that time: an ESC behind which nothing comes is
/// the key of that name.
const REST: Duration = Duration::from_millis(50);
/// Bytes that are read at once.
const READ: usize = 1024;

/// Enters the alternate screen and hides the cursor, which
/// [`faults::GIVE_BACK`] undoes.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l";

/// What a terminal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    Key(TopKey),
    /// Another size, or all that was drawn is gone: draw anew.
    Redraw,
}

/// The terminal while it is ours: raw mode, the alternate screen, no cursor.
/// It is given back when this is dropped, when any thread panics or faults, and
/// while the program is stopped.
#[derive(Debug)]
pub struct TopScreen {
    terminal: Terminal<TopBackend>,
    /// SIGTSTP came, from elsewhere than our keys.
    is_told_to_stop: Arc<AtomicBool>,
    /// SIGCONT came: whoever had the terminal meanwhile may have changed it.
    goes_on: Arc<AtomicBool>,
    /// The size that was seen last.
    size: Option<Size>,
    /// What was read of keys.
    keys: KeyBytes,
    /// When that was.
    read_at: Instant,
}

impl TopScreen {
    /// Takes the terminal of stdin and stdout.
    ///
    /// # Errors
    ///
    /// There is none, or it has gone.
    pub fn take() -> io::Result<TopScreen> {
        HOOK.call_once(|| {
            let earlier = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                earlier(panic);
            }));
        });
        let is_told_to_stop = Arc::new(AtomicBool::new(false));
        let goes_on = Arc::new(AtomicBool::new(false));
        register(SIGTSTP, Arc::clone(&is_told_to_stop))?;
        register(SIGCONT, Arc::clone(&goes_on))?;
        // It ends the wait for keys, and the size is looked at then.
        register(SIGWINCH, Arc::default())?;
        let terminal = Terminal::new(TopBackend)?;
        take_it()?;
        let (keys, read_at) = (KeyBytes::default(), Instant::now());
        Ok(TopScreen { terminal, is_told_to_stop, goes_on, size: None, keys, read_at })
    }

    /// Draws the view.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or a thread has panicked and gave it back.
    pub fn draw(&mut self, view: &mut TopView) -> io::Result<()> {
        // A thread that panics gives the terminal back between two pictures,
        // not within one: it writes to the same stdout.
        let _whole = stdout().lock();
        check_taken()?;
        self.terminal.draw(|frame| draw(view, frame)).map(|_| ())
    }

    /// Waits for what the terminal tells, at most so long.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or a thread has panicked and gave it back.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Option<ScreenEvent>> {
        check_taken()?;
        if self.is_told_to_stop.swap(false, Ordering::Relaxed) {
            self.stop()?;
            return Ok(Some(ScreenEvent::Redraw));
        }
        if self.goes_on.swap(false, Ordering::Relaxed) {
            self.take_again()?;
            return Ok(Some(ScreenEvent::Redraw));
        }
        // Several keys may have been read at once.
        if let Some(key) = self.keys.key() {
            return Ok(Some(ScreenEvent::Key(key)));
        }
        let rest = match self.keys.has_part() {
            true => REST.saturating_sub(self.read_at.elapsed()),
            false => timeout,
        };
        if is_ready(timeout.min(rest))? {
            self.read()?;
            return Ok(self.keys.key().map(ScreenEvent::Key));
        }
        if self.read_at.elapsed() >= REST
            && let Some(key) = self.keys.give_up()
        {
            return Ok(Some(ScreenEvent::Key(key)));
        }
        let size = top_backend::size()?;
        let is_resized = self.size.replace(size).is_some_and(|known| known != size);
        Ok(is_resized.then_some(ScreenEvent::Redraw))
    }

    /// Reads what has come, which there is.
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; READ];
        match read(io::stdin(), &mut bytes) {
            Ok(0) => return Err(gone()),
            Ok(length) => {
                self.keys.add(&bytes[..length]);
                self.read_at = Instant::now();
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Gives the terminal back and stops, as Ctrl+Z does elsewhere; goes on
    /// from here once the shell says so.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub fn stop(&mut self) -> io::Result<()> {
        give_back();
        emulate_default_handler(SIGTSTP)?;
        self.goes_on.store(false, Ordering::Relaxed);
        self.take_again()
    }

    fn take_again(&mut self) -> io::Result<()> {
        IS_TAKEN.store(false, Ordering::SeqCst);
        take_it()?;
        self.terminal.clear()
    }
}

impl Drop for TopScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whether a key has come, in so long.
fn is_ready(timeout: Duration) -> io::Result<bool> {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let terminal = io::stdin();
    let mut fds = [PollFd::new(&terminal, PollFlags::IN)];
    match event::poll(&mut fds, Some(&timeout)) {
        Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => Err(gone()),
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the terminal has gone")
}

/// After a panic elsewhere nothing is drawn on what is no longer ours.
fn check_taken() -> io::Result<()> {
    match IS_TAKEN.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err(io::Error::other(
            "a thread has panicked, and gave the terminal back; what it said is above",
        )),
    }
}

fn take_it() -> io::Result<()> {
    faults::watch()?;
    faults::arm(true);
    IS_TAKEN.store(true, Ordering::SeqCst);
    raw_mode::enter()
        .and_then(|()| top_backend::send(&mut stdout().lock(), TAKE))
        .inspect_err(|_| give_back())
}

/// The terminal as it was; once only, whoever asks for it.
fn give_back() {
    let mut stdout = stdout().lock();
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // What cannot be given back has gone.
        let _gone = top_backend::send(&mut stdout, faults::GIVE_BACK);
        let _gone = raw_mode::leave();
        faults::arm(false);
    }
}

#[cfg(test)]
mod tests;
