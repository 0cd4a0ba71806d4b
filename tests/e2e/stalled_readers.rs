//! Outputs whose reader is there and does not read: the second SIGINT ends that, and what was lost
//! is said.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::thread::{sleep, spawn};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use rustix::process::Signal;
use tests::{Outcome, Running, Scene, Workload, rights};

/// Page faults whose records fill a pipe many times over.
const FAULTS: u64 = 60_000;
/// As many as are printed soon, several times over as well.
const FEW_FAULTS: u64 = 4_000;
/// Two signals in less than a quarter of a second are one wish.
const AGAIN: Duration = Duration::from_millis(400);

/// `fifo`, and a reader that does not read.
fn fifo(scene: &Scene) -> File {
    scene.shell("mkfifo fifo").success();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let reader = open(scene.path("fifo"), flags, Mode::empty()).unwrap();
    // Only the opening must not wait.
    ioctl_fionbio(&reader, false).unwrap();
    reader.into()
}

/// What comes until the writer has ended.
fn rest(mut reader: File) -> Vec<u8> {
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    read
}

/// Records in a text: all lines but headers.
fn lines(text: &str) -> u64 {
    text.lines().filter(|line| !line.starts_with('#')).count() as u64
}

/// Interrupts, as one does who gets no answer.
#[track_caller]
fn interrupt(ebs: &mut Running) {
    for _ in 0..100 {
        if ebs.ended() {
            return;
        }
        ebs.signal(Signal::INT);
        sleep(AGAIN);
    }
    panic!("it hears no SIGINT");
}

/// Whether its writes wait for the reader: the pipe is full.
fn is_full(reader: &File) -> bool {
    ioctl_fionread(reader).unwrap() >= 60 << 10
}

/// The numbers before ` records, ` and ` lost` in the last line.
#[track_caller]
fn counts(outcome: &Outcome) -> [u64; 2] {
    let said = outcome.last_line();
    let mut words = said.trim_start_matches("ebs: ").split(' ');
    [0, 1].map(|at| words.nth(at).unwrap().parse().unwrap())
}

#[test]
fn the_second_interrupt_gives_up_the_reader_of_a_fifo() {
    let test = "the_second_interrupt_gives_up_the_reader_of_a_fifo";
    if !rights::sampling(test) {
        return;
    }
    for form in ["perf", "text"] {
        let scene = Scene::new();
        Workload::Storm.build(&scene);
        let reader = fifo(&scene);
        let ebs = "ebs -u -t page_fault -i 1 -c all --no-daemon";
        let mut ebs =
            scene.start(&format!("{ebs} --format {form} -o fifo ./storm {FAULTS} 1 wait"));
        assert_eq!(ebs.hear(), "ready");
        ebs.tell("go");
        ebs.wait_until("the pipe is full", |_| is_full(&reader));
        interrupt(&mut ebs);
        let outcome = ebs.finish().sane();
        assert_eq!(outcome.code(), 1, "{outcome}");
        let why = "because the reader of fifo does not read";
        assert!(outcome.err.contains(&format!("records were not written, {why}")), "{outcome}");
        let last = outcome.last_line();
        assert!(last.contains("sink ") && !last.contains("unaccounted"), "{outcome}");
        assert!(last.ends_with("the output took no more: the reader of fifo does not read"));
        let [written, lost] = counts(&outcome);
        assert!(written > 0 && lost > 0, "{outcome}");
        // The last record may be cut.
        let taken = rest(reader);
        let whole = if form == "text" {
            let end = taken.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            lines(&String::from_utf8_lossy(&taken[..end]))
        } else {
            scene.write("taken.data", taken);
            lines(&scene.run("ebs script -F ip taken.data").sane().out)
        };
        assert_eq!(whole, written, "what was taken is no loss: {outcome}");
    }
}

/// Nothing is lost to a reader that takes its time.
#[test]
fn a_reader_that_reads_gets_all_of_it_after_an_interrupt() {
    let test = "a_reader_that_reads_gets_all_of_it_after_an_interrupt";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let reader = fifo(&scene);
    let ebs = "ebs -u -t page_fault -i 1 -c all --no-daemon --format text -o fifo";
    let mut ebs = scene.start(&format!("{ebs} ./storm {FEW_FAULTS} 1 wait"));
    assert_eq!(ebs.hear(), "ready");
    ebs.tell("go");
    ebs.wait_until("the pipe is full", |_| is_full(&reader));
    ebs.signal(Signal::INT);
    sleep(AGAIN);
    assert!(!ebs.ended(), "it waits for the reader");
    let text = rest(reader);
    let outcome = ebs.finish().success();
    assert!(!outcome.err.contains("not written"), "{outcome}");
    assert!(!outcome.last_line().contains("sink "), "{outcome}");
    assert_eq!(lines(&String::from_utf8_lossy(&text)), counts(&outcome)[0], "{outcome}");
}

/// The pipe is full of what the command wrote.
#[test]
fn the_second_interrupt_gives_up_the_reader_of_a_table() {
    let test = "the_second_interrupt_gives_up_the_reader_of_a_table";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    let reader = fifo(&scene);
    for ebs in ["ebs -u -t page_fault --no-daemon", "ebs stat -u -t page_fault"] {
        let script = format!("exec {ebs} -- head -c 1000000 /dev/zero > fifo");
        let mut command = scene.command("bash");
        command.args(["-c", &script]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut ebs = Running::start_as_is(&mut command);
        ebs.wait_until("the pipe is full", |_| is_full(&reader));
        interrupt(&mut ebs);
        // The command waits for the reader still.
        let gone = reader.try_clone().unwrap();
        let drained = spawn(move || rest(gone));
        let outcome = ebs.finish().sane();
        drained.join().unwrap();
        assert_eq!(outcome.code(), 1, "{outcome}");
        assert!(outcome.err.contains("the reader of stdout does not read"), "{outcome}");
    }
}

/// It is the process behind that writes.
#[test]
fn the_second_interrupt_gives_up_the_reader_of_an_emulated_process() {
    let test = "the_second_interrupt_gives_up_the_reader_of_an_emulated_process";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let mut server = Running::start(&mut scene.command(Workload::Server.build(&scene)));
    assert_eq!(server.hear(), "ready");
    let reader = fifo(&scene);
    // A record for each load.
    let ebs = "ebs -u --source emulated -t memory_loads -i 1 -c all --format perf -o fifo";
    let mut ebs = scene.start(&format!("{ebs} {}", server.pid()));
    ebs.wait_until("the pipe is full", |_| is_full(&reader));
    ebs.signal(Signal::INT);
    sleep(AGAIN);
    // A third one would end the process in front at once.
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().sane();
    assert_eq!(outcome.code(), 1, "{outcome}");
    assert!(outcome.err.contains("because the reader of fifo does not read"), "{outcome}");
    server.tell("50");
    assert_eq!(server.hear(), "right");
    server.finish().success();
}
