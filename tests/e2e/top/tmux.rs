//! A terminal that a test types into and looks at.

use rustix::process::Pid;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::Scene;

/// What does not come in that time does not come.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
/// Terminals of this test by now.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Tells the status, and whether the terminal is as it was.
const AFTER: &str =
    "after() { s=$?; stty -g > after; cmp before after && echo status=$s as-before; }";

/// A shell in a terminal of 120 columns and 40 lines; ends when dropped.
pub(super) struct Tmux {
    socket: PathBuf,
    command: Box<dyn Fn() -> Command>,
}

impl Tmux {
    pub(super) fn start(scene: &Scene) -> Tmux {
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
    pub(super) fn enter(&self, line: &str) {
        self.run(&["send-keys", "-R"]);
        self.run(&["clear-history"]);
        self.press(&format!("clear; {line}; after\n"));
    }

    /// Presses a key of tmux's names, or types a text; its end of line is Enter.
    pub(super) fn press(&self, keys: &str) {
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

    pub(super) fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    fn seen(&self) -> String {
        let output = self.run(&["capture-pane", "-p"]);
        format!("\n{}", String::from_utf8_lossy(&output.stdout))
    }

    /// The screen, once it has these words.
    #[track_caller]
    pub(super) fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |seen| seen.contains(words))
    }

    /// The screen, once that holds.
    #[track_caller]
    pub(super) fn wait_until(&self, what: &str, mut holds: impl FnMut(&str) -> bool) -> String {
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
    pub(super) fn in_front(&self) -> Pid {
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
