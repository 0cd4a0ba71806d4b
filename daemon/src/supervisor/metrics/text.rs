//! The text that Prometheus reads: of totals over all users, with no label
//! that names a process, a user or a program.

use std::fmt::{Display, Write};

use crate::control::Stored;
use crate::control::{DRAIN_BOUNDS, FILL_BOUNDS, Word, WorkerReport};

/// What there is to tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Of all workers, those that have ended too.
    pub(super) report: WorkerReport,
    pub(super) workers: u64,
    pub(super) killed: u64,
    /// Of all standing sessions.
    pub(super) stored: Stored,
    pub(super) reload_failed: bool,
    /// Of all processes.
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
}

/// In the text format 0.0.4.
pub(super) fn text(numbers: &Numbers) -> String {
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
