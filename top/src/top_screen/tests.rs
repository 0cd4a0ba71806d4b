//! The terminal after panics: `script` of util-linux makes one, and writes
//! down what came to it.

use super::*;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How the programs of the next test end, each in a terminal of its own.
#[test]
#[ignore = "a part of the_terminal_is_as_it_was_after_a_panic"]
fn ending() {
    let mut screen = TopScreen::take().unwrap();
    let mut view = TopView::new("a test");
    screen.draw(&mut view).unwrap();
    match std::env::var("ENDING").unwrap().as_str() {
        "the end" => drop(screen),
        "a panic" => panic!("said by the one that draws"),
        "a panic of another thread" => {
            std::thread::spawn(|| panic!("said by another one")).join().unwrap_err();
            let error = screen.draw(&mut view).unwrap_err();
            assert!(screen.wait(Duration::ZERO).is_err());
            drop(screen);
            panic!("{error}");
        }
        other => panic!("{other}"),
    }
}

/// What came to a terminal in which that ending came, and its settings before
/// and after.
fn ended(ending: &str, place: &Path) -> (String, String, String) {
    let test = std::env::current_exe().unwrap();
    let line = format!(
        "stty cols 80 rows 24; stty -g > before; \\
         '{}' --ignored --exact top_screen::tests::ending --nocapture; stty -g > after",
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

#[test]
#[expect(clippy::print_stderr, reason = "why nothing was checked")]
fn the_terminal_is_as_it_was_after_a_panic() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped the_terminal_is_as_it_was_after_a_panic: no script(1) of util-linux");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (ending, said) in [
        ("the end", "1 passed"),
        ("a panic", "said by the one that draws"),
        ("a panic of another thread", "said by another one"),
    ] {
        let (seen, before, after) = ended(ending, place.path());
        assert_eq!(before, after, "{ending}: {seen:?}");
        // The alternate screen is left, and the cursor seen again, before
        // anything is said.
        for (taken, given_back) in [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")] {
            let last = seen.rfind(taken).unwrap_or_else(|| panic!("{taken:?} in {seen:?}"));
            let rest = &seen[last..];
            let back = rest.find(given_back).unwrap_or(usize::MAX);
            let words = rest.find(said).unwrap_or(0);
            assert!(back < words, "{ending}: {seen:?}");
        }
    }
    // What another thread's panic is to who draws.
    let (seen, ..) = ended("a panic of another thread", place.path());
    assert!(seen.contains("gave the terminal back"), "{seen:?}");
}
