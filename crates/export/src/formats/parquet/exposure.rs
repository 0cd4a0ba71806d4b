//! How much was looked at: what counts have to be divided by.

use crate::export::ExportedRecording;
use perfdata::Time;
use serde_json::{Value, json};

/// Of the machine and of each event, as docs/parquet.md says.
pub(super) fn exposure(recording: &ExportedRecording<'_>, span: Option<(Time, Time)>) -> Value {
    let ExportedRecording { report, features } = recording;
    let events = report.events.iter().map(|event| {
        json!({
            "name": event.name,
            "unit": event.unit,
            "sampling": event.sampling,
            "samples": event.totals.samples,
            "counted": event.totals.counted,
            "events": event.totals.period,
            "recorder": event.ledger,
        })
    });
    let seconds = recording.report.events.iter().filter_map(|event| event.ledger.as_ref()?.seconds);
    json!({
        "host": report.machine.hostname,
        "kernel": report.machine.os_release,
        "arch": report.machine.arch,
        "cpu": features.cpu_description,
        "cpus": features.nr_cpus.map(|(_, online)| online),
        "command": report.machine.command_line,
        "first_time": span.map(|(first, _)| first.0),
        "last_time": span.map(|(_, last)| last.0),
        "seconds": seconds.reduce(f64::max),
        "events": events.collect::<Vec<_>>(),
        "losses": report.losses,
        "filters": report.query.filters,
    })
}
