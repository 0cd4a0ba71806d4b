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
use super::rejected::RejectedConnections;
use super::socket::{SocketError, bind_with_mode};
use crate::control::{DRAIN_BOUNDS, FILL_BOUNDS, Stored, WorkerMetric, WorkerReport};

const EVERY: Duration = Duration::from_secs(15);
/// Who has been answered has so long to take it.
const CLOSE_AFTER: Duration = Duration::from_secs(1);
const MAX_CONNECTIONS: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    pub socket: Option<PathBuf>,
    /// Whose members may connect, beside the daemon's user.
    pub gid: Option<u32>,
    /// Written every 15 s.
    pub textfile: Option<PathBuf>,
}

impl MetricsConfig {
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
    closing: Vec<(UnixStream, Instant)>,
    rejected: RejectedConnections,
    written: Option<Instant>,
}

impl Metrics {
    /// Listens, where that is wanted. Before capabilities are dropped: the
    /// socket may be for a group that is not the daemon's.
    pub(super) fn listen(places: &MetricsConfig) -> Result<Metrics, SocketError> {
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
        self.closing.push((stream, Instant::now()));
        if self.closing.len() > MAX_CONNECTIONS {
            self.rejected.close(self.closing.remove(0).0);
        }
    }

    fn forget(&mut self) {
        for (stream, _) in self.closing.extract_if(.., |(_, since)| since.elapsed() >= CLOSE_AFTER)
        {
            self.rejected.close(stream);
        }
        self.rejected.reap();
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
    pub(super) fn answer_scrapes(&mut self) {
        let text = text(&self.snapshot());
        self.metrics.answer(&text);
    }

    /// What is done once a second.
    pub(super) fn write_textfile(&mut self) {
        self.metrics.forget();
        let Some(path) = &self.config.metrics.textfile else { return };
        if self.metrics.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.metrics.written = Some(Instant::now());
        let directory = TrustedDirectory::of(path, "a file");
        let written = directory.and_then(|it| it.replace(text(&self.snapshot()).as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "the metrics cannot be written");
        }
    }

    fn snapshot(&self) -> MetricsSnapshot {
        let mut report = self.gone.clone();
        let pages = rustix::param::page_size() as u64;
        let own = usage("self");
        let (mut ticks, mut resident) = (own.own_ticks + own.children_ticks, own.pages * pages);
        for worker in self.workers.iter().chain(self.standing_sessions.workers()) {
            report.add(&worker.report);
            let used = usage(&worker.pid().to_string());
            ticks += used.own_ticks;
            resident += used.pages * pages;
        }
        let hundredths = ticks * 100 / rustix::param::clock_ticks_per_second();
        MetricsSnapshot {
            report,
            workers: self.workers.len() as u64,
            killed: self.killed,
            stored: self.standing_sessions.stored(),
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
struct MetricsSnapshot {
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
fn text(snapshot: &MetricsSnapshot) -> String {
    let (mut page, report) = (PrometheusText::default(), &snapshot.report);
    let get = |word| report.get(word);
    page.family("ebsd_records_received_total", "counter", "Records taken from rings.");
    for (kind, word) in [("sample", WorkerMetric::Samples), ("side", WorkerMetric::Side)] {
        page.value("ebsd_records_received_total", &[("kind", kind)], get(word));
    }
    page.family("ebsd_records_lost_total", "counter", "Records lost, by the place of the loss.");
    for (stage, count) in report.lost() {
        page.value("ebsd_records_lost_total", &[("stage", stage)], count);
    }
    page.value("ebsd_records_lost_total", &[("stage", "side")], get(WorkerMetric::SideLost));
    page.family("ebsd_attach_total", "counter", "Sessions asked for, by what became of them.");
    for (result, word) in [("started", WorkerMetric::Started), ("refused", WorkerMetric::Refused)] {
        page.value("ebsd_attach_total", &[("result", result)], get(word));
    }
    let guard = "ebsd_guardrail_actions_total";
    page.family(guard, "counter", "What was done because a worker took too much.");
    for (action, word) in [
        ("slow", WorkerMetric::GuardSlowed),
        ("refuse", WorkerMetric::GuardRefused),
        ("stop", WorkerMetric::GuardStopped),
    ] {
        page.value(guard, &[("action", action)], get(word));
    }
    let (spool, lost) = (&snapshot.stored, "ebsd_spool_samples_lost_total");
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
            get(WorkerMetric::Delivered).to_string(),
        ),
        ("ebsd_sessions", "gauge", "Sessions that run.", get(WorkerMetric::Sessions).to_string()),
        ("ebsd_clients", "gauge", "Connections.", get(WorkerMetric::Clients).to_string()),
        ("ebsd_workers", "gauge", "Processes that serve users.", snapshot.workers.to_string()),
        (
            "ebsd_workers_killed_total",
            "counter",
            "Workers that gave no sign of life.",
            snapshot.killed.to_string(),
        ),
        ("ebsd_spool_bytes", "gauge", "Segments of standing sessions.", spool.bytes.to_string()),
        (
            "ebsd_spool_samples_written_total",
            "counter",
            "Samples of standing sessions written to segments.",
            spool.written.to_string(),
        ),
        (
            "ebsd_queue_bytes",
            "gauge",
            "Waiting for clients.",
            get(WorkerMetric::Queued).to_string(),
        ),
        (
            "ebsd_throttled_total",
            "counter",
            "Times that the kernel paused an event.",
            get(WorkerMetric::Throttled).to_string(),
        ),
        (
            "ebsd_event_enabled_seconds_total",
            "counter",
            "Time that events were on, of ended sessions.",
            seconds(WorkerMetric::Enabled),
        ),
        (
            "ebsd_event_running_seconds_total",
            "counter",
            "Of it, time that they counted.",
            seconds(WorkerMetric::Running),
        ),
        (
            "ebsd_config_reload_success",
            "gauge",
            "Whether the configuration on disk is the one that holds.",
            u64::from(!snapshot.reload_failed).to_string(),
        ),
        (
            "process_cpu_seconds_total",
            "counter",
            "Of all processes of the daemon.",
            snapshot.cpu_seconds.to_string(),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Of all processes of the daemon.",
            snapshot.resident_bytes.to_string(),
        ),
    ] {
        page.family(name, kind, help);
        page.value(name, &[], value);
    }
    let bounds = DRAIN_BOUNDS.map(|bound| format!("{}", f64::from(bound) / 1e6));
    page.family("ebsd_drain_seconds", "histogram", "Emptying all rings of a session once.");
    page.histogram(
        "ebsd_drain_seconds",
        &bounds,
        report.drains(),
        seconds(WorkerMetric::DrainTime),
    );
    let bounds = FILL_BOUNDS.map(|bound| format!("{}", f64::from(bound) / 1e3));
    let sum =
        format!("{}.{:03}", get(WorkerMetric::FillSum) / 1000, get(WorkerMetric::FillSum) % 1000);
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
struct PrometheusText(String);

impl PrometheusText {
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
        let snapshot =
            MetricsSnapshot { workers: 3, cpu_seconds: 1.5, ..MetricsSnapshot::default() };
        let text = text(&snapshot);
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
