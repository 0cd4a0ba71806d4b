//! The edge to the terminal, and the way back.

use crate::draw::draw;
use crate::key_bytes::{KeyBytes, TopKey};
use crate::sys;
use crate::top_backend::{self, TopBackend};
use crate::top_view::TopView;
use ratatui_core::layout::Size;
use ratatui_core::terminal::Terminal;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::{Errno, read};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::flag::register;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The rest of a key comes in that time: an ESC behind which nothing comes is
/// the key of that name.
const REST: Duration = Duration::from_millis(50);
const READ: usize = 1024;

/// Enters the alternate screen and hides the cursor, which
/// [`sys::GIVE_BACK`] undoes.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l";

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
    size: Option<Size>,
    keys: KeyBytes,
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
    sys::watch()?;
    sys::arm(true);
    IS_TAKEN.store(true, Ordering::SeqCst);
    enter_raw_mode()
        .and_then(|()| top_backend::send(&mut stdout().lock(), TAKE))
        .inspect_err(|_| give_back())
}

/// The terminal as it was; once only, whoever asks for it.
fn give_back() {
    let mut stdout = stdout().lock();
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // What cannot be given back has gone.
        let _gone = top_backend::send(&mut stdout, sys::GIVE_BACK);
        let _gone = leave_raw_mode();
        sys::arm(false);
    }
}

/// The settings before, while it is left off.
static BEFORE_RAW_MODE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys come one by one and unseen, and signals only from elsewhere; also where
/// another program has changed that meanwhile.
fn enter_raw_mode() -> io::Result<()> {
    let mut kept = BEFORE_RAW_MODE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match kept.take() {
        Some(before) => before,
        None => tcgetattr(stdin())?,
    };
    let mut raw = before.clone();
    raw.make_raw();
    // Kept first: what fails half-way is given back as well.
    *kept = Some(before);
    Ok(tcsetattr(stdin(), OptionalActions::Now, &raw)?)
}

fn leave_raw_mode() -> io::Result<()> {
    let before = BEFORE_RAW_MODE.lock().unwrap_or_else(PoisonError::into_inner).take();
    match before {
        Some(before) => Ok(tcsetattr(stdin(), OptionalActions::Now, &before)?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    //! The terminal after panics and faults: `script` of util-linux makes one, and writes
    //! down what came to it.

    use super::*;
    use signal_hook::low_level::raise;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    /// How the programs of the next test end, each in a terminal of its own.
    #[test]
    #[ignore = "a part of the_terminal_is_as_it_was_after_what_nobody_foresaw"]
    fn ending() {
        let mut screen = TopScreen::take().unwrap();
        let mut view = TopView::new("a test");
        screen.draw(&mut view).unwrap();
        match std::env::var("ENDING").unwrap().as_str() {
            "the end" => drop(screen),
            // This terminal does not answer where its cursor is.
            "it goes on" => {
                raise(SIGCONT).unwrap();
                assert_eq!(screen.wait(Duration::ZERO).unwrap(), Some(ScreenEvent::Redraw));
                screen.draw(&mut view).unwrap();
            }
            "a panic" => panic!("said by the one that draws"),
            "a panic of another thread" => {
                std::thread::spawn(|| panic!("said by another one")).join().unwrap_err();
                let error = screen.draw(&mut view).unwrap_err();
                assert!(screen.wait(Duration::ZERO).is_err());
                drop(screen);
                panic!("{error}");
            }
            "a stack that overflows" => {
                std::hint::black_box(overflow(1));
            }
            signal => {
                raise(signal.parse().unwrap()).unwrap();
                panic!("{signal} has not ended it");
            }
        }
    }

    /// Longer than any stack.
    fn overflow(depth: u64) -> u64 {
        let room = std::hint::black_box([depth; 512]);
        if depth == 0 { 0 } else { overflow(depth + 1) + room[7] }
    }

    /// What came to a terminal in which that ending came, and its settings before
    /// and after.
    fn ended(ending: &str, place: &Path) -> (String, String, String) {
        let test = std::env::current_exe().unwrap();
        let line = format!(
            "stty cols 80 rows 24; stty -g > before; \\
         '{}' --ignored --exact top_screen::tests::ending --nocapture; \
         echo status $?; stty -g > after",
            test.display()
        );
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &line, "seen"]).current_dir(place).env("ENDING", ending);
        let output = script.env("TERM", "xterm").env("RUST_BACKTRACE", "0").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let read =
            |name: &str| String::from_utf8_lossy(&fs::read(place.join(name)).unwrap()).into_owned();
        (read("seen"), read("before"), read("after"))
    }

    /// What comes once the alternate screen is left, and the cursor seen again, for
    /// good.
    #[track_caller]
    fn is_given_back(seen: &str) -> &str {
        let ends = [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")];
        let behind = ends.map(|(taken, given_back)| {
            let last = seen.rfind(taken).unwrap_or_else(|| panic!("{taken:?} in {seen:?}"));
            let back = seen[last..].find(given_back);
            last + back.unwrap_or_else(|| panic!("no {given_back:?} behind: {seen:?}"))
        });
        &seen[behind.into_iter().max().unwrap()..]
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "why nothing was checked")]
    fn the_terminal_is_as_it_was_after_what_nobody_foresaw() {
        if Command::new("script").arg("--version").output().is_err() {
            eprintln!(
                "skipped the_terminal_is_as_it_was_after_what_nobody_foresaw: no script(1) of util-linux"
            );
            return;
        }
        let place = tempfile::tempdir().unwrap();
        for (ending, said) in [
            ("the end", "1 passed"),
            ("it goes on", "1 passed"),
            ("a panic", "said by the one that draws"),
            ("a panic of another thread", "said by another one"),
        ] {
            let (seen, before, after) = ended(ending, place.path());
            assert_eq!(before, after, "{ending}: {seen:?}");
            // Before anything is said.
            assert!(is_given_back(&seen).contains(said), "{ending}: {seen:?}");
        }
        // Nobody else hears of these.
        let realtime = [libc::SIGRTMIN(), libc::SIGRTMAX()];
        let faults =
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        for signal in faults.into_iter().chain(realtime) {
            let (seen, before, after) = ended(&signal.to_string(), place.path());
            assert_eq!(before, after, "{signal}: {seen:?}");
            is_given_back(&seen);
            assert!(seen.contains(&format!("status {}", 128 + signal)), "{signal}: {seen:?}");
        }
        let (seen, before, after) = ended("a stack that overflows", place.path());
        assert_eq!(before, after, "{seen:?}");
        let rest = is_given_back(&seen);
        assert!(rest.contains("has overflowed its stack"), "{seen:?}");
        // What another thread's panic is to who draws.
        let (seen, ..) = ended("a panic of another thread", place.path());
        assert!(seen.contains("gave the terminal back"), "{seen:?}");
    }
}
