//! The live view, in a terminal of tmux: what is seen, what keys do, and a
//! terminal that is as it was after every end.

use crate::daemon::standing::{config, storm};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::{Ebsd, Scene, Workload, rights};

/// Two routines, one of which misses more, on and on; or for a few rounds.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile char big[1 << 20], small[1 << 16];
__attribute__((noipa)) void much(void) { for (int i = 0; i < 1 << 20; i += 64) big[i]++; }
__attribute__((noipa)) void little(void) { for (int i = 0; i < 1 << 16; i += 64) small[i]++; }
__attribute__((noipa)) void outer(void) { much(); little(); }
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1 << 30;
    FILE *pid = fopen("pid", "w");
    fprintf(pid, "%d\n", getpid());
    fclose(pid);
    while (rounds--) {
        outer();
        if (argc == 1) {
            puts("printed by the program");
            fflush(stdout);
            usleep(1000);
        }
    }
}
"#;

/// What is sampled of it, where there is no PMU as well.
const SAMPLED: &str = "-u --source emulated -t memory_loads -i =64 -g";

/// A scene with the program, and a recording of it.
fn scene(test: &str) -> Option<Scene> {
    let can = rights::program(test, "tmux") && rights::program(test, "gcc");
    if !can || !rights::emulated_pmu(test) {
        return None;
    }
    let scene = Scene::new();
    scene.write("prog.c", PROGRAM);
    scene.shell("gcc -O1 -g -fno-omit-frame-pointer -o prog prog.c").success();
    Some(scene)
}

fn recorded(test: &str) -> Option<Scene> {
    let scene = scene(test)?;
    scene.run(&format!("ebs {SAMPLED} -c all -o x.data ./prog 20")).success();
    Some(scene)
}

/// Whether the program that wrote its number has gone.
fn has_gone(scene: &Scene) -> bool {
    let pid = scene.read("pid").trim().parse().ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid).is_err())
}

#[test]
fn a_recording_is_played_and_each_key_does_what_it_says() {
    let Some(scene) = recorded("a_recording_is_played_and_each_key_does_what_it_says") else {
        return;
    };
    let tmux = Tmux::start(&scene);
    tmux.enter("ebs top --replay x.data --speed max");
    let seen = tmux.wait_for("ended:");
    for words in ["x.data", "memory_loads", "every 64 events", "delivered + 0 lost", "much+0x"] {
        assert!(seen.contains(words), "{words} in {seen}");
    }
    assert!(seen.contains("kernel "), "the recorder's own account: {seen}");
    // Most samples first.
    let at = |text: &str, word: &str| text.find(word).unwrap_or(usize::MAX);
    assert!(at(&seen, " much+") < at(&seen, " little+"), "{seen}");
    for (key, words) in [
        ("2", "  outer"),
        ("3", "/prog"),
        ("4", "prog.c:6"),
        ("5", "level"),
        ("6", "variable"),
        ("Tab", "much+0x"),
        ("BTab", "variable"),
        ("1", "much+0x"),
        ("s", "by total"),
        ("s", "by latency"),
        ("s", "by name"),
        ("S", "by name, reversed"),
        ("S", "by name"),
        ("s", "by now"),
        ("t", "each thread"),
        ("e", "memory_loads"),
        ("h", "Ctrl+Z"),
        ("q", "q quit  p pause"),
        ("p", "PAUSED"),
        ("Space", "  ended:"),
        ("End", "q quit  p pause"),
        ("Up", "q quit"),
        ("Home", "1/"),
        ("Down", "2/"),
        ("PgDn", "q quit"),
        ("PgUp", "2/"),
        ("/", "only rows with:"),
    ] {
        tmux.press(key);
        tmux.wait_for(words);
    }
    tmux.press("LITT");
    tmux.wait_until("only rows that hold it", |seen| {
        seen.contains("little+") && !seen.contains("much+")
    });
    tmux.press("Enter");
    tmux.wait_for("only litt");
    tmux.press("Enter");
    let seen = tmux.wait_for("little");
    assert!(!seen.contains("PANIC"), "{seen}");
    tmux.wait_for("# little");
    tmux.press("r");
    tmux.press("Down");
    tmux.press("End");
    tmux.press("Home");
    tmux.wait_for("# little");
    tmux.press("Escape");
    tmux.wait_for("q quit  p pause");
    // A part of a key, as Alt+[ sends it, keeps none from being seen.
    tmux.press("M-[");
    tmux.wait_until("keys behind a part", |seen| {
        tmux.press("/");
        seen.contains("only rows with:")
    });
    tmux.press("Escape");
    tmux.wait_for("q quit  p pause");
    for (columns, lines, words) in
        [(60, 12, "ebs top  x.data"), (30, 5, "ebs top needs 40x7"), (140, 45, "little+")]
    {
        tmux.resize(columns, lines);
        tmux.wait_for(words);
    }
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
}

#[test]
fn a_command_is_seen_while_it_runs_and_ends_with_the_view() {
    let Some(scene) = scene("a_command_is_seen_while_it_runs_and_ends_with_the_view") else {
        return;
    };
    let tmux = Tmux::start(&scene);
    tmux.enter(&format!("ebs top {SAMPLED} -o printed ./prog"));
    let seen = tmux.wait_for("much+0x");
    assert!(seen.contains("running") && !seen.contains("printed by"), "{seen}");
    tmux.press("p");
    let stopped = delivered(&tmux.wait_for("PAUSED: sampling goes on"));
    tmux.wait_until("counting goes on", |seen| delivered(seen) > stopped);
    tmux.press("p");
    tmux.wait_for("running");
    tmux.press("Enter");
    let seen = tmux.wait_for("# much");
    assert!(!seen.contains("has no end"), "it goes on: {seen}");
    tmux.press("q");
    tmux.press("C-z");
    tmux.wait_for("Stopped");
    assert!(!has_gone(&scene), "the program runs on");
    tmux.press("stty -g > stopped; cmp before stopped && echo same-while-stopped\n");
    tmux.wait_for("\nsame-while-stopped");
    tmux.press("clear; fg; after\n");
    tmux.wait_for("much+0x");
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
    assert!(has_gone(&scene), "it was started by the view");
    assert!(scene.read("printed").contains("printed by the program"));
}

/// Samples of the line with the account.
fn delivered(seen: &str) -> u64 {
    let number = seen.split(" delivered").next().and_then(|before| before.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn the_terminal_is_as_it_was_after_every_end() {
    let Some(scene) = recorded("the_terminal_is_as_it_was_after_every_end") else { return };
    let tmux = Tmux::start(&scene);
    let replay = "ebs top --replay x.data --speed max";
    for key in ["q", "Escape", "C-c"] {
        tmux.enter(replay);
        tmux.wait_for("ended:");
        tmux.press(key);
        tmux.wait_for("status=0 as-before");
    }
    for (signal, status) in
        [(Signal::INT, "status=130"), (Signal::TERM, "status=143"), (Signal::HUP, "status=129")]
    {
        tmux.enter(replay);
        tmux.wait_for("ended:");
        kill_process(tmux.in_front(), signal).unwrap();
        tmux.wait_for(&format!("{status} as-before"));
    }
    tmux.enter(&format!("{replay} --exit"));
    tmux.wait_for("status=0 as-before");
    tmux.enter(&format!("ebs top {SAMPLED} --exit ./prog 3"));
    tmux.wait_for("status=0 as-before");
    // A program's end is told; what was counted stays.
    tmux.enter(&format!("ebs top {SAMPLED} ./prog 3"));
    let seen = tmux.wait_for("ended: status 0");
    assert!(seen.contains("much+0x"), "{seen}");
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
}

/// What reads keys of a terminal that has gone must not read on and on.
#[test]
fn a_terminal_that_goes_takes_the_view_along() {
    let Some(scene) = recorded("a_terminal_that_goes_takes_the_view_along") else { return };
    let tmux = Tmux::start(&scene);
    tmux.enter("ebs top --replay x.data --speed max");
    tmux.wait_for("ended:");
    let view = tmux.in_front();
    drop(tmux);
    let until = Instant::now() + Duration::from_secs(60);
    while test_kill_process(view).is_ok() {
        assert!(Instant::now() < until, "it goes on without its terminal");
        sleep(Duration::from_millis(50));
    }
}

/// Neither the program nor who samples it is left alone, whatever happens to the view.
#[test]
fn a_program_does_not_outlive_the_view() {
    let Some(scene) = scene("a_program_does_not_outlive_the_view") else { return };
    let is_gone = |pid: Pid| test_kill_process(pid).is_err();
    for ending in ["its terminal goes", "it goes while stopped", "SIGKILL", "SIGABRT"] {
        let tmux = Tmux::start(&scene);
        tmux.enter(&format!("mkdir -p tmp; TMPDIR=tmp ebs top {SAMPLED} ./prog"));
        tmux.wait_for("much+0x");
        // Nor would its pipe be.
        let there = scene.path("tmp").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(there.collect::<Vec<_>>(), [] as [std::ffi::OsString; 0]);
        let view = tmux.in_front();
        let children = format!("/proc/{0}/task/{0}/children", view.as_raw_pid());
        let children = std::fs::read_to_string(children).unwrap();
        let sampler = children.split_whitespace().next().unwrap().parse().unwrap();
        let sampler = Pid::from_raw(sampler).unwrap();
        match ending {
            "SIGKILL" => kill_process(view, Signal::KILL).unwrap(),
            "SIGABRT" => kill_process(view, Signal::ABORT).unwrap(),
            "its terminal goes" => drop(tmux),
            _ => {
                tmux.press("C-z");
                tmux.wait_for("Stopped");
                drop(tmux);
            }
        }
        let until = Instant::now() + Duration::from_secs(60);
        while !(is_gone(view) && is_gone(sampler) && has_gone(&scene)) {
            let left = [is_gone(view), is_gone(sampler), has_gone(&scene)];
            assert!(Instant::now() < until, "{ending}: view, sampler, program gone: {left:?}");
            sleep(Duration::from_millis(50));
        }
        std::fs::remove_file(scene.path("pid")).unwrap();
    }
}

#[test]
fn a_process_runs_on_when_the_view_ends() {
    let Some(scene) = scene("a_process_runs_on_when_the_view_ends") else { return };
    let program = scene.start("./prog");
    let tmux = Tmux::start(&scene);
    tmux.enter(&format!("ebs top {SAMPLED} -p {}", program.pid()));
    tmux.wait_for("much+0x");
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
    assert!(!has_gone(&scene));
    program.signal(Signal::KILL);
}

#[test]
fn a_standing_session_is_seen_live() {
    let test = "a_standing_session_is_seen_live";
    if !rights::root(test) || !rights::program(test, "tmux") {
        return;
    }
    let scene = Scene::new();
    let mut storm = storm(&scene, &Workload::Storm.build(&scene), "1000000 1 wait 2000");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    let tmux = Tmux::start(&scene);
    tmux.enter(&format!("ebs top --session web --socket {}", ebsd.socket.display()));
    tmux.wait_for("session web  running");
    storm.tell("go");
    let seen = tmux.wait_until("samples", |seen| delivered(seen) > 0);
    assert!(seen.contains("page_fault"), "{seen}");
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
    ebsd.end();
    storm.signal(Signal::KILL);
    let _killed = storm.finish();
}

#[test]
fn what_cannot_be_shown_is_said_before_the_screen_is_taken() {
    let scene = Scene::new();
    let told =
        scene.run("ebs top -u -t page_fault true").refused(1, &["no terminal", "ebs report"]);
    assert!(told.out.is_empty(), "{}", told.out);
    scene.run("ebs top").refused(2, &["no event type"]);
    scene.run("ebs top --replay x.data --speed 0").refused(2, &["\"0\"", "max"]);
    scene.run("ebs top --replay x.data -p 1").refused(2, &["--replay", "exclude each other"]);
    if !rights::program("what_cannot_be_shown_is_said_before_the_screen_is_taken", "tmux") {
        return;
    }
    let tmux = Tmux::start(&scene);
    for (line, words) in [
        ("ebs top --replay none.data", "cannot open none.data"),
        ("ebs top --replay /dev/null", "name a file"),
        ("TERM=dumb ebs top --replay none.data", "TERM is \"dumb\""),
        ("ebs top -u -t page_fault ./none", "./none"),
        ("ebs top --session none --socket ./none", "./none"),
        ("ebs top -u -t page_fualt true", "page_fault"),
    ] {
        tmux.enter(line);
        let seen = tmux.wait_for("as-before");
        assert!(seen.contains(words) && !seen.contains("status=0"), "{line}: {seen}");
    }
}

/// Of all that runs, by whoever runs it; names come from all programs there are.
#[test]
fn the_whole_system_is_seen_live() {
    let test = "the_whole_system_is_seen_live";
    if !rights::root(test) || !rights::program(test, "tmux") {
        return;
    }
    let scene = Scene::new();
    let mut storm = storm(&scene, &Workload::Storm.build(&scene), "1000000 1 wait 2000");
    let tmux = Tmux::start(&scene);
    tmux.enter("ebs top -u -k -t page_fault -i =1 --no-daemon");
    tmux.wait_for("the system  running");
    storm.tell("go");
    // However much else there is: rows that hold it alone.
    tmux.press("/");
    tmux.press("storm");
    tmux.press("Enter");
    tmux.press("3");
    let seen = tmux.wait_until("rows of the program", |seen| {
        seen.lines().any(|line| line.contains("/storm") && !line.contains("only"))
    });
    assert!(seen.contains("only storm") && seen.contains("page_fault"), "{seen}");
    assert!(delivered(&seen) > 0, "{seen}");
    tmux.press("q");
    tmux.wait_for("status=0 as-before");
    storm.signal(Signal::KILL);
    let _killed = storm.finish();
}

/// What does not come in that time does not come.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
/// Terminals of this test by now.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Tells the status, and whether the terminal is as it was.
const AFTER: &str =
    "after() { s=$?; stty -g > after; cmp before after && echo status=$s as-before; }";

/// A shell in a terminal of 120 columns and 40 lines; ends when dropped.
struct Tmux {
    socket: PathBuf,
    command: Box<dyn Fn() -> Command>,
}

impl Tmux {
    fn start(scene: &Scene) -> Tmux {
        // A server that ends leaves its socket behind for a moment.
        let socket = scene.path(&format!("tmux{}", STARTED.fetch_add(1, Ordering::Relaxed)));
        let (path, home) = (scene.command("x"), scene.path(""));
        let environment: Vec<_> = path
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let command = move || {
            let mut command = Command::new("tmux");
            // The shell of who has no login ends at once.
            let environment = environment.clone();
            command.env_clear().envs(environment).env("SHELL", "/bin/sh").current_dir(&home);
            command
        };
        let tmux = Tmux { socket, command: Box::new(command) };
        let size = ["new-session", "-d", "-x", "120", "-y", "40"];
        tmux.run(&[&size[..], &["exec bash --norc --noprofile"]].concat());
        tmux.press(&format!("PS1='$ '; {AFTER}; stty -g > before; echo is-ready\n"));
        tmux.wait_for("\nis-ready");
        tmux
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut tmux = (self.command)();
        tmux.args(["-f", "/dev/null", "-S"]).arg(&self.socket).args(words);
        let output = tmux.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {said}");
        output
    }

    /// Types a command on an empty screen.
    fn enter(&self, line: &str) {
        self.run(&["send-keys", "-R"]);
        self.run(&["clear-history"]);
        self.press(&format!("clear; {line}; after\n"));
    }

    /// Presses a key of tmux's names, or types a text; its end of line is Enter.
    fn press(&self, keys: &str) {
        match keys.strip_suffix('\n') {
            Some(line) => {
                self.run(&["send-keys", "-l", line]);
                self.run(&["send-keys", "Enter"]);
            }
            None => {
                self.run(&["send-keys", keys]);
            }
        }
    }

    fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    fn seen(&self) -> String {
        let output = self.run(&["capture-pane", "-p"]);
        format!("\n{}", String::from_utf8_lossy(&output.stdout))
    }

    /// The screen, once it has these words.
    #[track_caller]
    fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |seen| seen.contains(words))
    }

    /// The screen, once that holds.
    #[track_caller]
    fn wait_until(&self, what: &str, mut holds: impl FnMut(&str) -> bool) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let seen = self.seen();
            if holds(&seen) {
                return seen;
            }
            assert!(Instant::now() < until, "{what:?} has not come: {seen}");
            sleep(LOOK);
        }
    }

    /// The `ebs` that the shell waits for.
    fn in_front(&self) -> Pid {
        let output = self.run(&["list-panes", "-F", "#{pane_pid}"]);
        let shell = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).unwrap();
        children.split(' ').next().and_then(|pid| Pid::from_raw(pid.parse().ok()?)).unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut tmux = (self.command)();
        let _gone = tmux.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
