//! JSON of the Firefox Profiler, in its processed form.
//! <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>

mod access_marker;
mod profile_threads;

use crate::export::{Export, ExportedRecording};
use analysis::{SampleNames, SampleSink, SingleSample};
use fxprof_processed_profile::{
    CpuDelta, MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StackHandle,
    ThreadHandle, Timestamp,
};
use perfdata::Time;
use perfdata::printable::printable;
use profile_threads::ProfileThreads;
use rustc_hash::FxHashMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

/// Samples that are kept in order, some 40 bytes each; of more, one a stack.
const MOST_SAMPLES: usize = 1 << 22;
/// Those and all others: what weighs more than a number of the form holds.
const MOST_PIECES: usize = 2 * MOST_SAMPLES;
/// Samples that have a marker with what is known of their access, some 150
/// bytes each.
const MOST_MARKERS: usize = 1 << 19;
/// What is added up of samples beyond [`MOST_SAMPLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackOfThread {
    thread: ThreadHandle,
    stack: Option<StackHandle>,
}

/// Keeps a profile until it is whole: the form is written as one.
pub(crate) struct FirefoxExport {
    out: Box<dyn Write + Send>,
    profile: Profile,
    threads: ProfileThreads,
    samples: usize,
    markers: usize,
    /// Samples without a marker for want of room.
    unmarked: u64,
    others: FxHashMap<StackOfThread, u64>,
    /// The first sample's time: the form's begin at 0.
    begin: Option<Time>,
    last: Timestamp,
}

impl FirefoxExport {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> FirefoxExport {
        let begin = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::ZERO);
        let interval = SamplingInterval::from_millis(1);
        let mut profile = Profile::new("hardmeter", begin, interval);
        profile.set_symbolicated(true);
        FirefoxExport {
            out,
            threads: ProfileThreads::new(&mut profile),
            profile,
            samples: 0,
            markers: 0,
            unmarked: 0,
            others: FxHashMap::default(),
            begin: None,
            last: Timestamp::from_nanos_since_reference(0),
        }
    }

    /// Nanoseconds from the first sample on; that of one without a time is the
    /// one before.
    fn time(&mut self, time: Option<Time>) -> Timestamp {
        if let Some(time) = time {
            let begin = *self.begin.get_or_insert(time);
            // Samples of other CPUs may be older than the first that came.
            let since = time.0.saturating_sub(begin.0);
            self.last = Timestamp::from_nanos_since_reference(since);
        }
        self.last
    }

    fn add(&mut self, of: StackOfThread, at: Timestamp, weight: u64) -> io::Result<()> {
        self.samples = self.samples.saturating_add(pieces_of(weight));
        if self.samples > MOST_PIECES {
            return Err(io::Error::other(format!(
                "{weight} events are too many for the Firefox Profiler: its weights have 31 bits, \
                 so that they are {} samples there, of {MOST_PIECES} in all. Export to pprof or \
                 speedscope, or less of the recording (--time, -f)",
                pieces_of(weight)
            )));
        }
        let mut left = weight;
        loop {
            let piece = i32::try_from(left).unwrap_or(i32::MAX);
            self.profile.add_sample(of.thread, at, of.stack, CpuDelta::ZERO, piece);
            left = left.saturating_sub(u64::from(piece.unsigned_abs()));
            if left == 0 {
                return Ok(());
            }
        }
    }
}

/// Samples that a weight is, of 31 bits each.
fn pieces_of(weight: u64) -> usize {
    usize::try_from(weight.div_ceil(u64::from(i32::MAX.unsigned_abs())).max(1))
        .unwrap_or(usize::MAX)
}

impl fmt::Debug for FirefoxExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirefoxExport").field("samples", &self.samples).finish_non_exhaustive()
    }
}

impl SampleSink for FirefoxExport {
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()> {
        let at = self.time(sample.time);
        let thread = self.threads.thread(sample, names, &mut self.profile);
        let stack = self.threads.stack(thread, sample.stack, names, &mut self.profile);
        let of = StackOfThread { thread, stack };
        if self.samples < MOST_SAMPLES {
            self.add(of, at, sample.period)?;
        } else {
            let sum = self.others.entry(of).or_default();
            *sum = sum.saturating_add(sample.period);
        }
        if sample.address.is_some() || sample.data_src.is_some() {
            if self.markers < MOST_MARKERS {
                self.markers += 1;
                let marker = self.threads.marker(sample, names, &mut self.profile);
                let handle = self.profile.add_marker(thread, MarkerTiming::Instant(at), marker);
                self.profile.set_marker_stack(thread, handle, stack);
            } else {
                self.unmarked = self.unmarked.saturating_add(1);
            }
        }
        Ok(())
    }

    fn end(&mut self, _names: &SampleNames<'_>) -> io::Result<()> {
        let mut others: Vec<_> = std::mem::take(&mut self.others).into_iter().collect();
        others.sort_unstable_by_key(|(of, _)| (of.thread, of.stack));
        for (of, weight) in others {
            self.add(of, self.last, weight)?;
        }
        Ok(())
    }
}

impl Export for FirefoxExport {
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        let machine = &recording.report.machine;
        if let Some(command) = &machine.command_line {
            self.profile.set_product(&printable(command));
        }
        if let Some(release) = &machine.os_release {
            self.profile.set_os_name(&printable(&format!("Linux {release}")));
        }
        serde_json::to_writer(&mut self.out, &self.profile).map_err(io::Error::from)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_as_many_samples_as_it_takes() {
        let most = u64::from(i32::MAX.unsigned_abs());
        for (weight, pieces) in
            [(0, 1), (1, 1), (most, 1), (most + 1, 2), (65 * most, 65), (u64::MAX, 8_589_934_597)]
        {
            assert_eq!(pieces_of(weight), pieces, "{weight}");
        }
    }
}
