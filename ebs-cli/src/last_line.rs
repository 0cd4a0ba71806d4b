//! The last line of every sampling: what became of the records, and who
//! served.

use daemon::ledger::Ledger;
use daemon::promises::Source;
use std::fmt::Write;

/// The line, without its end.
pub fn last_line(ledger: &Ledger, event: &str, source: Option<Source>) -> String {
    let who = match source {
        Some(Source::KernelSoftware) => "the kernel's software event",
        Some(Source::KernelTimer) => "a timer of the kernel",
        Some(Source::Breakpoint) => "a debug register",
        Some(Source::Tracepoint) => "a tracepoint of the kernel",
        Some(Source::Pebs) => "the CPU (PEBS)",
        Some(Source::Ibs) => "the CPU (IBS)",
        Some(Source::Counter) => "a counter of the CPU",
        None => "nobody",
    };
    let mut line = format!(
        "ebs: {ledger}, {} with exact IP, {:.3} seconds, {event} by {who}, in process (no daemon)",
        ledger.exact_ip,
        ledger.wall.as_secs_f64(),
    );
    if let Some(error) = &ledger.sink_error {
        // Writing to a string cannot fail.
        let _ = write!(line, "; the output took no more: {error}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon::ledger::Lost;
    use std::time::Duration;

    #[test]
    fn the_line_says_records_losses_precision_time_and_source() {
        let source = Some(Source::KernelSoftware);
        let mut ledger = Ledger {
            delivered: 5,
            exact_ip: 2,
            lost: Lost { ring: 3, ..Lost::default() },
            tail_known: true,
            wall: Duration::from_millis(1500),
            ..Ledger::default()
        };
        assert_eq!(
            last_line(&ledger, "page_fault:k", source),
            "ebs: 5 records, 3 lost (ring 3), 2 with exact IP, 1.500 seconds, page_fault:k by the \
             kernel's software event, in process (no daemon)"
        );
        ledger.sink_error = Some("No space left on device".into());
        let line = last_line(&ledger, "page_fault:k", source);
        assert!(line.ends_with("; the output took no more: No space left on device"), "{line}");
    }
}
