//! Numbers for a monitor: on a socket of their own, and in a file.

use std::fmt::{Display, Write as _};
use std::fs;
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Supervisor;
use super::directory::{DirectoryError, TrustedDirectory};
use super::socket::{SocketError, bind_with_mode};
use super::turned_away::TurnedAway;
use crate::control::{DRAIN_BOUNDS, FILL_BOUNDS, Stored, Word, WorkerReport};

const EVERY: Duration = Duration::from_secs(15);
/// Who has been answered has so long to take it.
const LEAVE: Duration = Duration::from_secs(1);
const MOST: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub socket: Option<PathBuf>,
    /// Whose members may connect, beside the daemon's user.
    pub gid: Option<u32>,
    /// Written every 15 s.
    pub textfile: Option<PathBuf>,
}

impl Places {
    /// Whether there is a place for each that nobody else can take. Gives those
    /// whose directory is missing, which is no fault: the service manager makes
    /// its own when the daemon starts (RuntimeDirectory=).
    ///
    /// # Errors
    /// The first that is not to be used.
    pub fn check(&self) -> Result<Vec<&Path>, DirectoryError> {
        let mut homeless = Vec::new();
        let places = [(&self.socket, "a socket"), (&self.textfile, "a file")];
        for (path, what) in places {
            let Some(path) = path else { continue };
            match TrustedDirectory::of(path, what) {
                Err(DirectoryError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                    homeless.push(path.as_path());
                }
                found => _ = found?,
            }
        }
        Ok(homeless)
    }
}

#[derive(Debug, Default)]
pub(super) struct Metrics {
    listener: Option<(UnixListener, PathBuf)>,
    leaving: Vec<(UnixStream, Instant)>,
    turned_away: TurnedAway,
    written: Option<Instant>,
}

impl Metrics {
    /// Listens, where that is wanted. Before capabilities are dropped: the
    /// socket may be for a group that is not the daemon's.
    pub(super) fn listen(places: &Places) -> Result<Metrics, SocketError> {
        let Some(path) = &places.socket else { return Ok(Metrics::default()) };
        let io = |error| SocketError::Io { path: path.clone(), error };
        let mode = if places.gid.is_some() { 0o660 } else { 0o600 };
        let listener = bind_with_mode(path, mode)?;
        if let Some(gid) = places.gid {
            std::os::unix::fs::chown(path, None, Some(gid)).map_err(io)?;
        }
        listener.set_nonblocking(true).map_err(io)?;
        let listener = Some((listener, path.clone()));
        Ok(Metrics { listener, ..Metrics::default() })
    }

    /// Readable when somebody asks.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(|(listener, _)| listener.as_fd())
    }

    /// Answers who asks, whatever they ask; nothing of it is read.
    fn answer(&mut self, text: &str) {
        let Some((listener, _)) = &self.listener else { return };
        let Ok((mut stream, _)) = listener.accept() else { return };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{text}",
            text.len()
        );
        // It fits into the socket; who does not take it asks again.
        let _deaf = stream.set_nonblocking(true).and_then(|()| stream.write_all(answer.as_bytes()));
        let _gone = stream.shutdown(Shutdown::Write);
        // Closed now, with a request unread, it would be reset.
        self.leaving.push((stream, Instant::now()));
        if self.leaving.len() > MOST {
            self.turned_away.close(self.leaving.remove(0).0);
        }
    }

    fn forget(&mut self) {
        for (stream, _) in self.leaving.extract_if(.., |(_, since)| since.elapsed() >= LEAVE) {
            self.turned_away.close(stream);
        }
        self.turned_away.reap();
    }

    pub(super) fn unlink(self) -> Metrics {
        if let Some((_, path)) = &self.listener {
            // Somebody may have been quicker.
            let _gone = fs::remove_file(path);
        }
        self
    }
}

impl Supervisor {
    pub(super) fn tell_numbers(&mut self) {
        let text = text(&self.numbers());
        self.metrics.answer(&text);
    }

    /// What is done once a second.
    pub(super) fn write_numbers(&mut self) {
        self.metrics.forget();
        let Some(path) = &self.config.metrics.textfile else { return };
        if self.metrics.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.metrics.written = Some(Instant::now());
        let directory = TrustedDirectory::of(path, "a file");
        let written = directory.and_then(|it| it.replace(text(&self.numbers()).as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "the metrics cannot be written");
        }
    }

    fn numbers(&self) -> Numbers {
        let mut report = self.gone.clone();
        let pages = rustix::param::page_size() as u64;
        let own = usage("self");
        let (mut ticks, mut resident) = (own.own_ticks + own.children_ticks, own.pages * pages);
        for worker in self.workers.iter().chain(self.desk.workers()) {
            report.add(&worker.report);
            let used = usage(&worker.pid().to_string());
            ticks += used.own_ticks;
            resident += used.pages * pages;
        }
        let hundredths = ticks * 100 / rustix::param::clock_ticks_per_second();
        Numbers {
            report,
            workers: self.workers.len() as u64,
            killed: self.killed,
            stored: self.desk.stored(),
            reload_failed: self.reload_failed,
            cpu_seconds: Duration::from_millis(hundredths * 10).as_secs_f64(),
            resident_bytes: resident,
        }
    }
}

/// Of /proc/PID/stat; all 0 where the process has gone.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    own_ticks: u64,
    /// Of children that were waited for.
    children_ticks: u64,
    pages: u64,
}

fn usage(process: &str) -> Usage {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the last parenthesis may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return Usage::default() };
    let fields: Vec<u64> =
        fields.split(' ').map(|field| field.trim().parse().unwrap_or(0)).collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0);
    Usage {
        own_ticks: field(14) + field(15),
        children_ticks: field(16) + field(17),
        pages: field(24),
    }
}

#[derive(Clone, Debug, Default)]
struct Numbers {
    /// Of all workers, those that have ended too.
    report: WorkerReport,
    workers: u64,
    killed: u64,
    stored: Stored,
    reload_failed: bool,
    cpu_seconds: f64,
    resident_bytes: u64,
}

/// In the text format 0.0.4.
fn text(numbers: &Numbers) -> String {
    let (mut page, report) = (Page::default(), &numbers.report);
    let get = |word| report.get(word);
    page.family("ebsd_records_received_total", "counter", "Records taken from rings.");
    for (kind, word) in [("sample", Word::Samples), ("side", Word::Side)] {
        page.value("ebsd_records_received_total", &[("kind", kind)], get(word));
    }
    page.family("ebsd_records_lost_total", "counter", "Records lost, by the place of the loss.");
    for (stage, count) in report.lost() {
        page.value("ebsd_records_lost_total", &[("stage", stage)], count);
    }
    page.value("ebsd_records_lost_total", &[("stage", "side")], get(Word::SideLost));
    page.family("ebsd_attach_total", "counter", "Sessions asked for, by what became of them.");
    for (result, word) in [("started", Word::Started), ("refused", Word::Refused)] {
        page.value("ebsd_attach_total", &[("result", result)], get(word));
    }
    let guard = "ebsd_guardrail_actions_total";
    page.family(guard, "counter", "What was done because a worker took too much.");
    for (action, word) in
        [("slow", Word::GuardSlowed), ("refuse", Word::GuardRefused), ("stop", Word::GuardStopped)]
    {
        page.value(guard, &[("action", action)], get(word));
    }
    let (spool, lost) = (&numbers.stored, "ebsd_spool_samples_lost_total");
    page.family(lost, "counter", "Samples of standing sessions that are in no segment.");
    for (stage, count) in [("spool", spool.unwritten), ("queue", spool.overtaken)] {
        page.value(lost, &[("stage", stage)], count);
    }
    let seconds = |word| seconds(get(word));
    for (name, kind, help, value) in [
        (
            "ebsd_samples_delivered_total",
            "counter",
            "Samples given to clients; each client counts.",
            get(Word::Delivered).to_string(),
        ),
        ("ebsd_sessions", "gauge", "Sessions that run.", get(Word::Sessions).to_string()),
        ("ebsd_clients", "gauge", "Connections.", get(Word::Clients).to_string()),
        ("ebsd_workers", "gauge", "Processes that serve users.", numbers.workers.to_string()),
        (
            "ebsd_workers_killed_total",
            "counter",
            "Workers that gave no sign of life.",
            numbers.killed.to_string(),
        ),
        ("ebsd_spool_bytes", "gauge", "Segments of standing sessions.", spool.bytes.to_string()),
        (
            "ebsd_spool_samples_written_total",
            "counter",
            "Samples of standing sessions written to segments.",
            spool.written.to_string(),
        ),
        ("ebsd_queue_bytes", "gauge", "Waiting for clients.", get(Word::Queued).to_string()),
        (
            "ebsd_throttled_total",
            "counter",
            "Times that the kernel paused an event.",
            get(Word::Throttled).to_string(),
        ),
        (
            "ebsd_event_enabled_seconds_total",
            "counter",
            "Time that events were on, of ended sessions.",
            seconds(Word::Enabled),
        ),
        (
            "ebsd_event_running_seconds_total",
            "counter",
            "Of it, time that they counted.",
            seconds(Word::Running),
        ),
        (
            "ebsd_config_reload_success",
            "gauge",
            "Whether the configuration on disk is the one that holds.",
            u64::from(!numbers.reload_failed).to_string(),
        ),
        (
            "process_cpu_seconds_total",
            "counter",
            "Of all processes of the daemon.",
            numbers.cpu_seconds.to_string(),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Of all processes of the daemon.",
            numbers.resident_bytes.to_string(),
        ),
    ] {
        page.family(name, kind, help);
        page.value(name, &[], value);
    }
    let bounds = DRAIN_BOUNDS.map(|bound| format!("{}", f64::from(bound) / 1e6));
    page.family("ebsd_drain_seconds", "histogram", "Emptying all rings of a session once.");
    page.histogram("ebsd_drain_seconds", &bounds, report.drains(), seconds(Word::DrainTime));
    let bounds = FILL_BOUNDS.map(|bound| format!("{}", f64::from(bound) / 1e3));
    let sum = format!("{}.{:03}", get(Word::FillSum) / 1000, get(Word::FillSum) % 1000);
    page.family("ebsd_ring_fill_ratio", "histogram", "The fullest ring when it was emptied.");
    page.histogram("ebsd_ring_fill_ratio", &bounds, report.fills(), sum);
    page.family("ebsd_build_info", "gauge", "Which version runs.");
    page.value("ebsd_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.0
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Memory takes all.
        let _written = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, of)| format!("{key}=\"{of}\"")).collect();
        match &labels[..] {
            [] => self.line(format_args!("{name} {value}")),
            labels => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// `counts` has one more than `bounds`.
    fn histogram(&mut self, name: &str, bounds: &[String], counts: &[u64], sum: String) {
        let infinite = "+Inf".to_owned();
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (bound, count) in bounds.iter().chain([&infinite]).zip(counts) {
            below += count;
            self.value(&bucket, &[("le", bound)], below);
        }
        self.value(&format!("{name}_sum"), &[], sum);
        self.value(&format!("{name}_count"), &[], below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_family_and_no_label_names_anybody() {
        let numbers = Numbers { workers: 3, cpu_seconds: 1.5, ..Numbers::default() };
        let text = text(&numbers);
        let families: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "))
            .filter_map(|line| line.split(' ').next())
            .collect();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(families.iter().any(|family| line.starts_with(family)), "{line}");
        }
        assert!(text.contains("\nebsd_workers 3\n") && text.contains("_total 1.5\n"), "{text}");
        assert!(text.contains("ebsd_drain_seconds_bucket{le=\"0.0001\"} 0\n"), "{text}");
        for word in ["pid", "uid", "comm"] {
            assert!(!text.contains(&format!("{word}=")), "{word}");
        }
    }
}
