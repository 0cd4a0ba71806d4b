//! Numbers for a monitor: on a socket of their own, and in a file.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::config::MetricsConfig;
use super::directory::TrustedDirectory;
use super::rejected::RejectedConnections;
use super::socket::{SocketError, bind_with_mode};
use crate::control::{DRAIN_BOUNDS, FILL_BOUNDS, StoredCounts, WorkerMetric, WorkerReport};

const EVERY: Duration = Duration::from_secs(15);
/// Who has been answered has so long to take it.
const CLOSE_AFTER: Duration = Duration::from_secs(1);
const MAX_CONNECTIONS: usize = 16;

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
    pub(super) fn answer(&mut self, snapshot: &MetricsSnapshot) {
        let Some((listener, _)) = &self.listener else { return };
        let Ok((mut stream, _)) = listener.accept() else { return };
        let text = snapshot.text();
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

    /// To be called once a second.
    pub(super) fn forget(&mut self) {
        for (stream, _) in self.closing.extract_if(.., |(_, since)| since.elapsed() >= CLOSE_AFTER)
        {
            self.rejected.close(stream);
        }
        self.rejected.reap();
    }

    /// Whether the file is to be written again.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.written.is_none_or(|written| written.elapsed() >= EVERY);
        if is_due {
            self.written = Some(Instant::now());
        }
        is_due
    }

    pub(super) fn unlink(self) -> Metrics {
        if let Some((_, path)) = &self.listener {
            // Somebody may have been quicker.
            let _gone = fs::remove_file(path);
        }
        self
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

/// CPU seconds, and bytes in memory, of this process and those workers.
pub(super) fn process_totals(workers: impl Iterator<Item = i32>) -> (f64, u64) {
    let own = usage("self");
    let (mut ticks, mut pages) = (own.own_ticks + own.children_ticks, own.pages);
    for used in workers.map(|pid| usage(&pid.to_string())) {
        ticks += used.own_ticks;
        pages += used.pages;
    }
    let hundredths = ticks * 100 / rustix::param::clock_ticks_per_second();
    let seconds = Duration::from_millis(hundredths * 10).as_secs_f64();
    (seconds, pages * rustix::param::page_size() as u64)
}

#[derive(Clone, Debug, Default)]
pub(super) struct MetricsSnapshot {
    /// Of all workers, those that have ended too.
    pub(super) report: WorkerReport,
    pub(super) workers: u64,
    pub(super) killed: u64,
    pub(super) stored: StoredCounts,
    pub(super) reload_failed: bool,
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
}

impl MetricsSnapshot {
    pub(super) fn write(&self, path: &Path) {
        let directory = TrustedDirectory::of(path, "a file");
        if let Err(error) = directory.and_then(|it| it.replace(self.text().as_bytes())) {
            tracing::warn!(%error, "the metrics cannot be written");
        }
    }

    /// In the text format 0.0.4.
    fn text(&self) -> String {
        let (mut page, report, stored) = (PrometheusText::default(), &self.report, &self.stored);
        let get = |metric| report.get(metric);
        let time = |metric| seconds(get(metric));
        page.family("ebsd_records_received_total counter Records taken from rings.");
        page.labelled("kind", "sample", get(WorkerMetric::Samples));
        page.labelled("kind", "side", get(WorkerMetric::Side));
        page.family("ebsd_records_lost_total counter Records lost, by the place of the loss.");
        report.lost().for_each(|(stage, count)| page.labelled("stage", stage, count));
        page.labelled("stage", "side", get(WorkerMetric::SideLost));
        page.family("ebsd_attach_total counter Sessions asked for, by what became of them.");
        page.labelled("result", "started", get(WorkerMetric::Started));
        page.labelled("result", "refused", get(WorkerMetric::Refused));
        page.family(
            "ebsd_guardrail_actions_total counter What was done because a worker took too much.",
        );
        page.labelled("action", "slow", get(WorkerMetric::GuardSlowed));
        page.labelled("action", "refuse", get(WorkerMetric::GuardRefused));
        page.labelled("action", "stop", get(WorkerMetric::GuardStopped));
        page.family(
            "ebsd_spool_samples_lost_total counter Samples of standing sessions that are in no \
             segment.",
        );
        page.labelled("stage", "spool", stored.unwritten);
        page.labelled("stage", "queue", stored.overtaken);
        page.family(
            "ebsd_samples_delivered_total counter Samples given to clients; each client counts.",
        );
        page.value(get(WorkerMetric::Delivered));
        page.family("ebsd_sessions gauge Sessions that run.");
        page.value(get(WorkerMetric::Sessions));
        page.family("ebsd_clients gauge Connections.");
        page.value(get(WorkerMetric::Clients));
        page.family("ebsd_workers gauge Processes that serve users.");
        page.value(self.workers);
        page.family("ebsd_workers_killed_total counter Workers that gave no sign of life.");
        page.value(self.killed);
        page.family("ebsd_spool_bytes gauge Segments of standing sessions.");
        page.value(stored.bytes);
        page.family(
            "ebsd_spool_samples_written_total counter Samples of standing sessions written to \
             segments.",
        );
        page.value(stored.written);
        page.family("ebsd_queue_bytes gauge Waiting for clients.");
        page.value(get(WorkerMetric::Queued));
        page.family("ebsd_throttled_total counter Times that the kernel paused an event.");
        page.value(get(WorkerMetric::Throttled));
        page.family(
            "ebsd_event_enabled_seconds_total counter Time that events were on, of ended sessions.",
        );
        page.value(time(WorkerMetric::Enabled));
        page.family("ebsd_event_running_seconds_total counter Of it, time that they counted.");
        page.value(time(WorkerMetric::Running));
        page.family(
            "ebsd_config_reload_success gauge Whether the configuration on disk is the one that \
             holds.",
        );
        page.value(u64::from(!self.reload_failed));
        page.family("process_cpu_seconds_total counter Of all processes of the daemon.");
        page.value(self.cpu_seconds);
        page.family("process_resident_memory_bytes gauge Of all processes of the daemon.");
        page.value(self.resident_bytes);
        page.family("ebsd_drain_seconds histogram Emptying all rings of a session once.");
        let bounds = DRAIN_BOUNDS.map(|bound| f64::from(bound) / 1e6);
        page.histogram(&bounds, report.drains(), &time(WorkerMetric::DrainTime));
        page.family("ebsd_ring_fill_ratio histogram The fullest ring when it was emptied.");
        let bounds = FILL_BOUNDS.map(|bound| f64::from(bound) / 1e3);
        let per_mille = get(WorkerMetric::FillSum);
        let sum = format!("{}.{:03}", per_mille / 1000, per_mille % 1000);
        page.histogram(&bounds, report.fills(), &sum);
        page.family("ebsd_build_info gauge Which version runs.");
        page.labelled("version", env!("CARGO_PKG_VERSION"), 1);
        page.text
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

#[derive(Default)]
struct PrometheusText {
    text: String,
    /// The name of the family that the next values are of.
    name: String,
}

impl PrometheusText {
    /// Its name, its type, and what it tells.
    fn family(&mut self, of: &str) {
        let mut parts = of.splitn(3, ' ').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        let (name, kind, help) = (part(), part(), part());
        self.text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self.name = name;
    }

    fn value(&mut self, value: impl Display) {
        self.text += &format!("{} {value}\n", self.name);
    }

    fn labelled(&mut self, key: &str, label: &str, value: u64) {
        self.text += &format!("{}{{{key}=\"{label}\"}} {value}\n", self.name);
    }

    /// `counts` has one more than `bounds`.
    fn histogram(&mut self, bounds: &[f64], counts: &[u64], sum: &str) {
        let name = self.name.clone();
        let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut below = 0;
        for (bound, count) in bounds.zip(counts) {
            below += count;
            self.text += &format!("{name}_bucket{{le=\"{bound}\"}} {below}\n");
        }
        self.text += &format!("{name}_sum {sum}\n{name}_count {below}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_family_and_no_label_names_anybody() {
        let snapshot =
            MetricsSnapshot { workers: 3, cpu_seconds: 1.5, ..MetricsSnapshot::default() };
        let text = snapshot.text();
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
