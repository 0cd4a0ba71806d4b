//! The edge to the terminal, and the way back.

use crate::draw::draw;
use crate::sys::faults;
use crate::top_backend::TopBackend;
use crate::top_view::TopView;
use ratatui::Terminal;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind, poll, read};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::flag::register;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

/// Whether the terminal is ours now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook of panics is set once.
static HOOK: Once = Once::new();

/// The rest of a key comes in that time.
const REST: Duration = Duration::from_millis(10);

/// What a terminal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// A key.
    Key(KeyEvent),
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
    /// Keys may have been read that nobody was told of.
    may_hold_keys: bool,
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
        let terminal = Terminal::new(TopBackend::new())?;
        take_it()?;
        Ok(TopScreen { terminal, is_told_to_stop, goes_on, size: None, may_hold_keys: false })
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
        let was_read = std::mem::take(&mut self.may_hold_keys) && poll(Duration::ZERO)?;
        if !was_read && !self.is_read(timeout)? {
            let size = self.terminal.size()?;
            let is_resized = self.size.replace(size).is_some_and(|known| known != size);
            // crossterm tells of it, too, and would forget a key that comes at
            // the same time: that is asked for before one does.
            self.may_hold_keys = is_resized;
            return Ok(is_resized.then_some(ScreenEvent::Redraw));
        }
        self.may_hold_keys = true;
        Ok(match read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(ScreenEvent::Key(key)),
            _ => Some(ScreenEvent::Redraw),
        })
    }

    /// Whether an event has been read, in so long.
    fn is_read(&mut self, timeout: Duration) -> io::Result<bool> {
        let is_ready = is_ready(timeout)?;
        if is_ready && !poll(Duration::ZERO)? {
            // A part of a key: the rest is on its way.
            std::thread::sleep(REST);
            return Ok(false);
        }
        Ok(is_ready)
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

/// Whether a key has come, in so long. It is not crossterm that waits: of a
/// terminal that has gone it would read on and on.
fn is_ready(timeout: Duration) -> io::Result<bool> {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let terminal = io::stdin();
    let mut fds = [PollFd::new(&terminal, PollFlags::IN)];
    match event::poll(&mut fds, Some(&timeout)) {
        Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => {
            Err(io::Error::new(io::ErrorKind::BrokenPipe, "the terminal has gone"))
        }
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
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
    enable_raw_mode()
        .and_then(|()| execute!(stdout(), EnterAlternateScreen, Hide))
        .inspect_err(|_| give_back())
}

/// The terminal as it was; once only, whoever asks for it.
fn give_back() {
    let mut stdout = stdout().lock();
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // What cannot be given back has gone.
        let _gone = execute!(stdout, LeaveAlternateScreen, Show);
        let _gone = disable_raw_mode();
        faults::arm(false);
    }
}

#[cfg(test)]
mod tests;
