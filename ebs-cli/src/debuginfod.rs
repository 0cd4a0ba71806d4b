//! The servers of debug files that the environment names, and what is said
//! while a file comes.

use crate::said::say;
use crate::signals;
use indicatif::{ProgressBar, ProgressStyle};
use std::env;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use symbolizer::{Debuginfod, DebuginfodError, Downloads};

/// A download that is over sooner is not worth a bar.
const SOON: Duration = Duration::from_secs(1);

/// Servers, if any are named; downloads show on stderr.
///
/// # Errors
/// A variable that cannot be followed.
pub fn servers() -> Result<Option<Debuginfod>, DebuginfodError> {
    let servers = Debuginfod::from_environment(|name| env::var_os(name))?;
    let shown = match env::var_os("DEBUGINFOD_PROGRESS").is_some_and(|word| !word.is_empty()) {
        true => Shown::Lines,
        false if io::stderr().is_terminal() => Shown::Bar,
        false => Shown::Nothing,
    };
    Ok(servers.map(|servers| servers.heard_by(Arc::new(Listener { shown, now: Mutex::default() }))))
}

/// What is seen of downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// For a download that takes its time, gone when it is over.
    Bar,
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
    bar: Option<ProgressBar>,
}

impl Downloads for Listener {
    fn asked(&self, url: &str) {
        // Whoever waits for a server must be able to end it.
        signals::end_the_program(true);
        if self.shown == Shown::Lines {
            say("debuginfod", url);
        }
        let download = Download { url: url.to_owned(), since: Instant::now(), bytes: 0, bar: None };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(download);
    }

    fn came(&self, so_many: u64, of: Option<u64>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Download { url, since, bytes, bar }) = &mut *now else { return };
        *bytes = so_many;
        if self.shown == Shown::Bar && since.elapsed() >= SOON {
            bar.get_or_insert_with(|| drawn(url, of)).set_position(so_many);
        }
    }

    fn ended(&self, failure: Option<&str>) {
        signals::end_the_program(false);
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Download { url, bytes, bar, .. }) = now else { return };
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        match failure {
            _ if self.shown != Shown::Lines => {}
            None => say("debuginfod", &format!("{url}: {bytes} bytes")),
            Some(why) => say("debuginfod", &format!("{url}: {why}")),
        }
    }
}

fn drawn(url: &str, of: Option<u64>) -> ProgressBar {
    let (bar, template) = match of {
        Some(of) => (ProgressBar::new(of), "{bytes} of {total_bytes}: {wide_msg}"),
        None => (ProgressBar::new_spinner(), "{bytes}: {wide_msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(url.to_owned())
}
