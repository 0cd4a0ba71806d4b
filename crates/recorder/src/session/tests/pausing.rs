//! Sampling that begins later, and stands still: of a program whose every
//! step has pages of its own, those of the steps that are to be counted are
//! recorded, each once, and no others.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;

use super::*;

const STEPS: &str = "../../../../tests/programs/steps.c";

/// tests/programs/steps.c, and what it was told.
struct Steps {
    child: Option<Child>,
    input: Option<Box<dyn Write>>,
    output: BufReader<Box<dyn std::io::Read>>,
    base: u64,
    page: u64,
    next: u64,
    counted: Vec<u64>,
}

impl Steps {
    fn side_time_of(input: Box<dyn Write>, output: Box<dyn std::io::Read>) -> Steps {
        let (output, page) = (BufReader::new(output), facts().page_bytes());
        let (child, input, counted) = (None, Some(input), Vec::new());
        Steps { child, input, output, base: 0, page, next: 0, counted }
    }

    fn spawn(binary: &Path) -> Steps {
        let mut child =
            StdCommand::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut steps = Steps::side_time_of(Box::new(input), Box::new(output));
        steps.child = Some(child);
        steps.hear_base();
        steps
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn hear_base(&mut self) {
        self.base = u64::from_str_radix(self.line().trim_start_matches("0x"), 16).unwrap();
    }

    fn step(&mut self, what: &str, pages: u64, session: &Session) {
        writeln!(self.input.as_mut().unwrap(), "{what} {pages}").unwrap();
        assert_eq!(self.line(), "done", "{what}");
        let touched: Range<u64> = self.next..self.next + pages;
        self.next = touched.end;
        if session.is_counting() {
            self.counted.extend(touched);
        }
    }

    fn all_steps(&mut self, session: &Session) {
        for (what, pages) in [("touch", 7), ("thread", 3), ("fork", 4), ("held", 5), ("touch", 1)] {
            self.step(what, pages, session);
        }
    }

    /// Pages of its own that were recorded, in order.
    fn recorded(&self, content: &Content) -> Vec<u64> {
        let own = self.base..self.base + self.next * self.page;
        let own = content.addresses.iter().filter(|address| own.contains(address));
        let mut pages: Vec<u64> = own.map(|address| (address - self.base) / self.page).collect();
        pages.sort_unstable();
        pages
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.input = None;
        if let Some(child) = &mut self.child {
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

fn on_and_off(mut steps: Steps, mut session: Session, mut sink: Vec<u8>) -> Content {
    for on in [false, true, false, true, true, false, false, true] {
        session.set_counting(on).unwrap();
        assert_eq!(session.is_counting(), on);
        steps.all_steps(&session);
        session.drain(&mut sink).unwrap();
    }
    steps.input = None;
    run_to_end(&mut session, &mut sink);
    let ledger = session.finish(&mut sink).unwrap();
    session.set_counting(true).unwrap();
    assert!(!session.is_counting(), "it is over");
    let content = decode(&sink);
    assert_eq!(steps.recorded(&content), steps.counted);
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
    assert!(!ledger.paused.is_zero() && ledger.paused < ledger.wall, "{ledger:?}");
    assert!(content.notes.iter().any(|note| note.contains("paused=")), "{:?}", content.notes);
    content
}

fn paused() -> SessionSettings {
    SessionSettings { begins_paused: true, ..SessionSettings::default() }
}

#[test]
fn a_process_is_sampled_while_it_is_to_be_alone() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program(STEPS, directory.path()) else { return };
    if events_refused() {
        return;
    }
    for settings in [paused(), SessionSettings::default()] {
        let steps = Steps::spawn(&binary);
        let pid = Pid(i32::try_from(steps.child.as_ref().unwrap().id()).unwrap());
        let mut sink = Vec::new();
        let session = started(plan_of(PAGE_FAULTS, Target::Process(pid), 64), settings, &mut sink);
        let content = on_and_off(steps, session, sink);
        let forks = content.sides.iter().filter(|side| side.starts_with("Fork")).count();
        assert_eq!(forks, 8 * 2, "in pauses too: {:?}", content.sides);
    }
}

#[test]
fn a_commands_exec_does_not_end_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = program(STEPS, directory.path()) else { return };
    if events_refused() {
        return;
    }
    let [input, output] = ["in", "out"].map(|name| directory.path().join(name));
    assert!(StdCommand::new("mkfifo").args([&input, &output]).status().unwrap().success());
    // Neither end waits for the other.
    let both_ways = |path| File::options().read(true).write(true).open(path).unwrap();
    let told = both_ways(&input);
    let mut steps = Steps::side_time_of(
        Box::new(File::options().write(true).open(&input).unwrap()),
        Box::new(both_ways(&output)),
    );
    let script = r#"exec "$0" <"$1" >"$2""#;
    let paths = [&binary, &input, &output].map(|path| path.to_str().unwrap());
    let words = ["sh", "-c", script, paths[0], paths[1], paths[2]];
    let settings = SessionSettings { begins_paused: true, ..command(&words, None) };
    let mut sink = Vec::new();
    let session = started(plan_of(PAGE_FAULTS, Target::Command, 64), settings, &mut sink);
    steps.hear_base();
    // From here on its input ends with ours.
    drop(told);
    let content = on_and_off(steps, session, sink);
    // Paths are bytes.
    let path = format!("{:?}", paths[0].as_bytes());
    let mapped = |side: &String| side.starts_with("Mmap2(") && side.contains(&path);
    assert!(content.sides.iter().any(mapped), "what the exec mapped: {:?}", content.sides);
}

#[test]
fn a_pause_that_never_ends_has_side_records_alone() {
    if events_refused() {
        return;
    }
    for target in [Target::Command, Target::System] {
        let settings = SessionSettings { begins_paused: true, ..command(&["true"], None) };
        let mut sink = Vec::new();
        let mut session = started(plan_of(PAGE_FAULTS, target, 64), settings, &mut sink);
        match target {
            Target::Command => run_to_end(&mut session, &mut sink),
            _ => assert!(StdCommand::new("true").status().unwrap().success()),
        }
        let ledger = session.finish(&mut sink).unwrap();
        assert_eq!((ledger.kernel, ledger.delivered, ledger.events), (Some(0), 0, 0), "{ledger:?}");
        assert_eq!(ledger.paused, ledger.wall, "{ledger:?}");
        let sides = decode(&sink).sides;
        assert!(sides.iter().any(|side| side.starts_with("Comm")), "{sides:?}");
    }
}
