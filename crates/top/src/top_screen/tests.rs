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
