//! The daemon's log: lines on stderr.
//!
//! Where stderr is the journal's (JOURNAL_STREAM, systemd.exec(5)), lines
//! begin with their priority, as sd-daemon(3) has it, and bear no time: the
//! journal has both. A socket of the journal's own would not do: workers are
//! forked, and keep stderr and nothing else.
//!
//! Of lines of one kind there are few in a second, and a count of the rest.

mod non_blocking_writer;
mod throttle;

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use perfdata::printable::printable;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, Subscriber as Log};
use tracing_subscriber::registry::LookupSpan;

use non_blocking_writer::NonBlockingWriter;
use throttle::{Decision, LineKind, LogSubject, Suppressed, Throttle};

/// Lines that stderr did not take.
static DROPPED: AtomicU64 = AtomicU64::new(0);
static THROTTLE: LazyLock<Mutex<Throttle>> = LazyLock::new(Mutex::default);
/// Of lines that tell of others, which are bounded already.
const SUMMARY: &str = "ebsd::left_out";

fn throttle() -> MutexGuard<'static, Throttle> {
    // A thread that panicked with it left counts that are right.
    THROTTLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what was left out and may be written by now. To be called once a
/// second.
pub(crate) fn flush_suppressed() {
    let due = throttle().due(Instant::now(), false);
    due.into_iter().for_each(summarize);
}

/// Writes all that was left out: the process ends.
pub fn finish() {
    let due = throttle().due(Instant::now(), true);
    due.into_iter().for_each(summarize);
}

/// What was left out is another process's, which forked this one and tells it.
pub(crate) fn reset_after_fork() {
    *throttle() = Throttle::default();
}

fn summarize(Suppressed { level, text, lines }: Suppressed) {
    let more = lines - 1;
    let text = match more {
        0 => text,
        _ => format!("{text} (and {more} lines like it, left out)"),
    };
    match level {
        Level::ERROR => tracing::error!(target: SUMMARY, "{text}"),
        Level::WARN => tracing::warn!(target: SUMMARY, "{text}"),
        _ => tracing::info!(target: SUMMARY, "{text}"),
    }
}

/// Logs to stderr from here on. Nobody ever waits for it: what it does not
/// take at once is dropped and counted.
pub fn start() {
    let journal = is_journal();
    let lines = LogFormat { journal, colour: stderr().is_terminal() };
    // Fails for a terminal of another user's, which is written to as it is.
    let _as_it_is = non_blocking_writer::set_nonblocking();
    let warning = if journal { "<4>" } else { "" };
    let file = rustix::stdio::stderr();
    let writer = move || NonBlockingWriter { file, dropped: &DROPPED, warning };
    let log = Log::builder().with_writer(writer).event_format(lines).finish();
    // Fails where somebody logs already: then that is the log.
    let _already = tracing::subscriber::set_global_default(log);
}

/// Whether stderr is the socket that JOURNAL_STREAM names: `device:inode`.
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stat) = rustix::fs::fstat(stderr().as_fd()) else { return false };
    stream == format!("{}:{}", stat.st_dev, stat.st_ino)
}

#[derive(Clone, Copy, Debug)]
struct LogFormat {
    journal: bool,
    colour: bool,
}

impl<S, N> FormatEvent<S, N> for LogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        let mut text = String::new();
        context.field_format().format_fields(Writer::new(&mut text), event)?;
        let text = printable(&text).into_owned();
        let mut subject = LogSubject::default();
        event.record(&mut subject);
        let kind = LineKind { place: event.metadata().callsite(), subject };
        if event.metadata().target() != SUMMARY
            && throttle().admit(kind, level, &text, Instant::now()) == Decision::Suppressed
        {
            return Ok(());
        }
        if self.journal {
            write!(writer, "<{}>", priority(level))?;
        } else {
            SystemTime.format_time(&mut writer)?;
            match self.colour.then(|| colour(level)) {
                Some(code) => write!(writer, " \x1b[{code}m{level:>5}\x1b[0m ")?,
                None => write!(writer, " {level:>5} ")?,
            }
        }
        writeln!(writer, "{text}")
    }
}

/// Of syslog(3).
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// Of ECMA-48.
fn colour(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        _ => 32,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn logged(journal: bool, log: impl FnOnce()) -> String {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&bytes);
        let writer = move || Sink(Arc::clone(&sink));
        let lines = LogFormat { journal, colour: false };
        let subscriber = Log::builder().with_writer(writer).event_format(lines).finish();
        tracing::subscriber::with_default(subscriber, log);
        let bytes = bytes.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_journal_gets_priorities_and_no_time() {
        let text = logged(true, || {
            tracing::error!(pid = 3, "broken");
            tracing::info!("fine");
        });
        assert_eq!(text, "<3>broken pid=3\n<6>fine\n");
    }

    #[test]
    fn one_users_lines_hide_no_other_users() {
        let text = logged(true, || {
            for uid in [7u32; 50].into_iter().chain([8]) {
                tracing::warn!(uid, "broken off");
            }
            for (uid, name) in [(0u32, None::<&str>); 50].into_iter().chain([(0, Some("web"))]) {
                tracing::warn!(uid, name, "ended");
            }
        });
        assert_eq!(text.matches("uid=7").count(), 5, "{text}");
        assert_eq!((text.matches("uid=8").count(), text.matches("web").count()), (1, 1), "{text}");
    }

    #[test]
    fn words_of_others_stay_in_their_line() {
        let evil = "x\n<0>all is lost\x1b[2J";
        let text = logged(true, || tracing::warn!(client = evil, error = %evil, "a client"));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains('\x1b') && text.starts_with("<4>a client"), "{text}");
        let text = logged(false, || tracing::info!("fine"));
        assert!(text.ends_with("  INFO fine\n") && text.starts_with("20"), "{text}");
    }
}
