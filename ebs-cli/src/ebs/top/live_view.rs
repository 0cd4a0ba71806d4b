//! The loop of `ebs top`: what comes, what is typed, what is drawn.

use super::source::{Opened, TopSource};
use crate::ebs::arguments::UsageError;
use crate::ebs::exit_status::SUCCESS;
use crate::ebs::top::TopArguments;
use crate::terminal::say;
use crate::terminal::signals::{AskedEnd, Catcher};
use analysis::Report;
use anyhow::{Context, Result, ensure};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use top::{ScreenEvent, TopAction, TopScreen, TopView};

/// Keys are seen at once, all else after so long.
const LOOK: Duration = Duration::from_millis(100);

/// Who counts tells each interval, and may take so long for it.
const LATE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopEnding {
    /// A key, or the end of what was shown.
    Left,
    Signalled(i32),
}

/// Shows it until a key, a signal or `--exit` ends it; gives the status to
/// exit with.
///
/// # Errors
///
/// No terminal; a question without meaning; what cannot be sampled or read.
pub fn run(arguments: &TopArguments) -> Result<u8> {
    let is_recorded = arguments.replay.is_some() || arguments.session.is_some();
    if !is_recorded && arguments.event.event.is_empty() {
        return Err(UsageError::TypeMissing.into());
    }
    check_terminal()?;
    let mut catcher = Catcher::new().context("signals cannot be caught; raise `ulimit -n`")?;
    let mut source = match TopSource::open(arguments, &mut catcher)? {
        Opened::Source(source) => source,
        Opened::Nothing(status) => return Ok(status),
    };
    let ending = watch(arguments, &mut source, &mut catcher);
    // The terminal is given back by now.
    let status = source.close(&mut catcher)?;
    for note in source.notes() {
        say("ebs", &note);
    }
    Ok(match ending? {
        TopEnding::Left => status.unwrap_or(SUCCESS),
        TopEnding::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
    })
}

fn check_terminal() -> Result<()> {
    ensure!(
        std::io::stdout().is_terminal(),
        "stdout is no terminal, and ebs top draws on one: for a table of the same, record with \
         `ebs -o FILE.data` and say `ebs report FILE.data`"
    );
    ensure!(
        std::io::stdin().is_terminal(),
        "stdin is no terminal, and ebs top takes its keys from one: a recording is named with \
         --replay FILE"
    );
    let term = std::env::var("TERM").unwrap_or_default();
    ensure!(
        !term.is_empty() && term != "dumb",
        "TERM is {term:?}, a terminal on which nothing can be drawn: say `ebs report`, or set TERM"
    );
    Ok(())
}

fn title(arguments: &TopArguments) -> String {
    let target: Vec<_> = arguments.target.iter().map(|word| word.to_string_lossy()).collect();
    match (&arguments.replay, &arguments.session, &arguments.pid) {
        (Some(file), ..) => file.display().to_string(),
        (_, Some(name), _) => format!("session {name}"),
        (.., Some(pid)) => format!("process {pid}"),
        _ if target.is_empty() => "the system".to_owned(),
        _ => target.join(" "),
    }
}

fn watch(
    arguments: &TopArguments,
    source: &mut TopSource,
    catcher: &mut Catcher,
) -> Result<TopEnding> {
    let mut view = TopView::new(&title(arguments));
    let mut screen = TopScreen::take().context("the terminal cannot be taken")?;
    let mut is_stale = true;
    let mut has_ended = false;
    let mut heard = Instant::now();
    let late = arguments.every.0 + LATE;
    loop {
        match catcher.asked() {
            AskedEnd { end: Some(signal), .. } => return Ok(TopEnding::Signalled(signal)),
            AskedEnd { interrupt: true, .. } => return Ok(TopEnding::Signalled(libc::SIGINT)),
            AskedEnd { .. } => {}
        }
        while let Some(news) = source.news() {
            is_stale = true;
            heard = Instant::now();
            match news {
                TopNews::Nothing => {}
                TopNews::Interval(report, seconds) => view.add(&report, seconds),
                TopNews::Routine(text) => view.zoomed(&text),
                TopNews::End(why) => {
                    has_ended = true;
                    view.end(why.as_deref().unwrap_or("no more comes"));
                    if arguments.exit {
                        return Ok(TopEnding::Left);
                    }
                }
            }
        }
        let behind = if has_ended { Duration::ZERO } else { heard.elapsed().saturating_sub(late) };
        is_stale |= view.fall_behind(behind.as_secs());
        if std::mem::take(&mut is_stale) {
            screen.draw(&mut view).context("drawing")?;
        }
        // Keys that have come by now are one drawing.
        let mut timeout = LOOK;
        while let Some(event) = screen.wait(timeout).context("reading keys")? {
            is_stale = true;
            timeout = Duration::ZERO;
            let ScreenEvent::Key(key) = event else { continue };
            match view.press(key) {
                TopAction::None if view.wants_lines() => source.look_up_lines(),
                TopAction::None => {}
                TopAction::Quit => return Ok(TopEnding::Left),
                TopAction::Suspend => screen.stop().context("taking the terminal again")?,
                TopAction::Zoom(target) => source.zoom(target),
            }
        }
    }
}

#[derive(Debug)]
pub(super) enum StreamPart {
    Bytes(Vec<u8>),
    /// No more comes, for this reason; None: it has ended as it should.
    End(Option<String>),
}

#[derive(Debug)]
pub(super) enum TopNews {
    /// What was counted since the last time, and in how many seconds.
    Interval(Box<Report>, f64),
    /// An interval in which nothing could be counted: there is no event yet.
    Nothing,
    /// All that there was has been counted; what was wrong with it.
    End(Option<String>),
    /// The text of a routine, or why there is none.
    Routine(String),
}
