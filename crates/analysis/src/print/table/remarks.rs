//! What stands above the tables, for who lays it out otherwise.

use super::{Style, heads};
use crate::report::Report;

/// Sentences about the numbers of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportRemarks {
    /// Of all events.
    pub all: Vec<String>,
    /// Of each event, in the report's order.
    pub events: Vec<Vec<String>>,
}

/// The lines above a report's tables, without their signs; reasons are all there.
pub fn remarks(report: &Report) -> ReportRemarks {
    let (all, events) = heads(report, Style { reasons: true, ..Style::default() });
    let lines = |text: &str| {
        let line = |line: &str| line.strip_prefix("# ").unwrap_or(line).trim().to_owned();
        text.lines().map(line).collect()
    };
    ReportRemarks { all: lines(&all), events: events.iter().map(|text| lines(text)).collect() }
}
