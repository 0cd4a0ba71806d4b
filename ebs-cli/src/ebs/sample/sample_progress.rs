//! How far sampling is, on a terminal.

use crate::terminal::grouped;
use crate::terminal::progress::ProgressLine;
use std::time::{Duration, Instant};

/// What is done before shows nothing.
const SILENT: Duration = Duration::from_secs(2);
/// Who waits so long for an emulated program may want to know what is faster.
const LONG: Duration = Duration::from_secs(30);

/// A line of stderr with the time and the samples so far. The program's own output goes on above
/// it where it writes to the same terminal.
#[derive(Debug)]
pub(crate) struct SampleProgress {
    line: Option<ProgressLine>,
    begun: Instant,
    is_emulated: bool,
    samples: u64,
}

impl SampleProgress {
    pub(crate) fn new(is_emulated: bool, is_quiet: bool) -> SampleProgress {
        let line = (!is_quiet).then(ProgressLine::new);
        SampleProgress { line, begun: Instant::now(), is_emulated, samples: 0 }
    }

    /// Counts samples, and shows how many there are.
    pub(crate) fn add(&mut self, samples: u64) {
        self.samples = self.samples.saturating_add(samples);
        let elapsed = self.begun.elapsed();
        let Some(line) = self.line.as_mut().filter(|_| elapsed >= SILENT) else { return };
        line.show(|| text(elapsed, self.samples, self.is_emulated));
    }
}

fn text(elapsed: Duration, samples: u64, is_emulated: bool) -> String {
    let samples = grouped(&samples.to_string());
    let so_far = format!("ebs: {} s, {samples} samples", elapsed.as_secs());
    match is_emulated && elapsed >= LONG {
        true => so_far + "; Ctrl-C shows what there is, --burst 1M/100M is faster",
        false => so_far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_emulation_has_a_hint() {
        let seconds = Duration::from_secs;
        assert_eq!(text(seconds(3), 1234, true), "ebs: 3 s, 1,234 samples");
        assert!(text(seconds(31), 1, true).len() <= 80);
        assert!(text(seconds(31), 1, true).contains("--burst"));
        assert!(!text(seconds(31), 1, false).contains("--burst"));
    }
}
