//! The servers of debug files that the environment names, and what is said
//! while a file comes.

use crate::terminal::progress::{ProgressLine, in_bytes};
use crate::terminal::{say, signals};
use std::env;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use symbolizer::{Debuginfod, DebuginfodError, Downloads};

/// A download that is over sooner is not worth a line.
const SOON: Duration = Duration::from_secs(1);

/// Servers, if any are named; downloads show on stderr.
///
/// # Errors
/// A variable that cannot be followed.
pub fn servers() -> Result<Option<Debuginfod>, DebuginfodError> {
    let servers = Debuginfod::from_environment(|name| env::var_os(name))?;
    let shown = match env::var_os("DEBUGINFOD_PROGRESS").is_some_and(|word| !word.is_empty()) {
        true => Shown::Lines,
        false if io::stderr().is_terminal() => Shown::Line,
        false => Shown::Nothing,
    };
    Ok(servers.map(|servers| servers.heard_by(Arc::new(Listener { shown, now: Mutex::default() }))))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// For a download that takes its time, gone when it is over.
    Line,
    /// For each request and its end: DEBUGINFOD_PROGRESS.
    Lines,
}

#[derive(Debug)]
struct Listener {
    shown: Shown,
    now: Mutex<Option<Download>>,
}

#[derive(Debug)]
struct Download {
    url: String,
    since: Instant,
    bytes: u64,
    line: ProgressLine,
}

impl Downloads for Listener {
    fn asked(&self, url: &str) {
        // Whoever waits for a server must be able to end it.
        signals::end_the_program(true);
        if self.shown == Shown::Lines {
            say("debuginfod", url);
        }
        let download = Download {
            url: url.to_owned(),
            since: Instant::now(),
            bytes: 0,
            line: ProgressLine::new(),
        };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(download);
    }

    fn came(&self, so_many: u64, of: Option<u64>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Download { url, since, bytes, line }) = &mut *now else { return };
        *bytes = so_many;
        if self.shown == Shown::Line && since.elapsed() >= SOON {
            line.show(|| drawn(url, so_many, of));
        }
    }

    fn ended(&self, failure: Option<&str>) {
        signals::end_the_program(false);
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Download { url, bytes, line, .. }) = now else { return };
        drop(line);
        match failure {
            _ if self.shown != Shown::Lines => {}
            None => say("debuginfod", &format!("{url}: {bytes} bytes")),
            Some(why) => say("debuginfod", &format!("{url}: {why}")),
        }
    }
}

fn drawn(url: &str, bytes: u64, of: Option<u64>) -> String {
    match of {
        Some(of) => format!("{} of {}: {url}", in_bytes(bytes), in_bytes(of)),
        None => format!("{}: {url}", in_bytes(bytes)),
    }
}
