//! JSON of speedscope: a profile an event, its samples in the order they came.
//! <https://github.com/jlfwong/speedscope/blob/main/src/lib/file-format-spec.ts>

use crate::export::{Export, ExportedRecording};
use analysis::report::PeriodUnit;
use analysis::{SampleNames, SampleSink, SingleSample, StackId};
use perfdata::printable::printable;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// Keeps the stacks of all samples by their numbers.
pub(crate) struct SpeedscopeExport {
    out: Box<dyn Write + Send>,
    profiles: BTreeMap<usize, SampledProfile>,
}

impl SpeedscopeExport {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> SpeedscopeExport {
        SpeedscopeExport { out, profiles: BTreeMap::new() }
    }

    fn write_profile(
        &mut self,
        event: usize,
        names: &SampleNames<'_>,
        frames: &mut SharedFrames,
    ) -> io::Result<()> {
        let Some(profile) = self.profiles.remove(&event) else { return Ok(()) };
        let described = names.event(event);
        let name = described.map_or("", |event| &event.name);
        let unit = match described.map(|event| event.unit) {
            Some(PeriodUnit::Nanoseconds) => "nanoseconds",
            _ => "none",
        };
        let out = &mut self.out;
        let total = profile.total();
        write!(out, "{{\"type\":\"sampled\",\"name\":{},", quoted(name))?;
        write!(out, "\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{total},\"samples\":[")?;
        for (at, (stack, _)) in profile.samples().enumerate() {
            out.write_all(if at > 0 { b",[" } else { b"[" })?;
            for (at, frame) in frames.of(stack, names).iter().enumerate() {
                write!(out, "{}{frame}", if at > 0 { "," } else { "" })?;
            }
            out.write_all(b"]")?;
        }
        write!(out, "],\"weights\":[")?;
        for (at, (_, weight)) in profile.samples().enumerate() {
            write!(out, "{}{weight}", if at > 0 { "," } else { "" })?;
        }
        write!(out, "]}}")
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(&*printable(text)).to_string()
}

/// Frames that profiles share: routines, each once.
#[derive(Debug, Default)]
struct SharedFrames {
    numbers: FxHashMap<(String, String), usize>,
    /// JSON, in the order of their numbers.
    words: Vec<String>,
}

impl SharedFrames {
    /// The numbers of a stack's routines, outermost first.
    fn of(&mut self, stack: StackId, names: &SampleNames<'_>) -> Vec<usize> {
        let mut all: Vec<usize> = Vec::new();
        for frame in names.frames(stack).filter_map(|frame| names.frame(frame)) {
            for routine in &frame.routines {
                let name = names.name(routine.name).to_owned();
                let file = routine.file.or(frame.object).map_or("", |file| names.name(file));
                all.push(self.number(name, file.to_owned()));
            }
        }
        all.reverse();
        all
    }

    fn number(&mut self, name: String, file: String) -> usize {
        let words = &mut self.words;
        *self.numbers.entry((name, file)).or_insert_with_key(|(name, file)| {
            let file = match file.is_empty() {
                true => String::new(),
                false => format!(",\"file\":{}", quoted(file)),
            };
            words.push(format!("{{\"name\":{}{file}}}", quoted(name)));
            words.len() - 1
        })
    }
}

impl fmt::Debug for SpeedscopeExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpeedscopeExport").finish_non_exhaustive()
    }
}

impl SampleSink for SpeedscopeExport {
    fn take(&mut self, sample: &SingleSample, _names: &SampleNames<'_>) -> io::Result<()> {
        self.profiles.entry(sample.event).or_default().add(sample.stack, sample.period);
        Ok(())
    }

    fn end(&mut self, names: &SampleNames<'_>) -> io::Result<()> {
        let mut frames = SharedFrames::default();
        let schema = "https://www.speedscope.app/file-format-schema.json";
        write!(self.out, "{{\"$schema\":\"{schema}\",\"profiles\":[")?;
        let events: Vec<usize> = self.profiles.keys().copied().collect();
        for (at, event) in events.into_iter().enumerate() {
            self.out.write_all(if at > 0 { b",\n" } else { b"\n" })?;
            self.write_profile(event, names, &mut frames)?;
        }
        write!(self.out, "],\n\"shared\":{{\"frames\":[")?;
        for (at, frame) in frames.words.iter().enumerate() {
            write!(self.out, "{}{frame}", if at > 0 { ",\n" } else { "\n" })?;
        }
        writeln!(self.out, "]}},")
    }
}

impl Export for SpeedscopeExport {
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        let machine = &recording.report.machine;
        let told = [machine.command_line.as_deref(), machine.hostname.as_deref()];
        let told: Vec<&str> = told.into_iter().flatten().collect();
        let name = if told.is_empty() { "hardmeter".to_owned() } else { told.join(" on ") };
        let version = env!("CARGO_PKG_VERSION");
        writeln!(
            self.out,
            "\"activeProfileIndex\":0,\"exporter\":\"hardmeter@{version}\",\"name\":{}}}",
            quoted(&name)
        )?;
        self.out.flush()
    }
}

/// Samples in order that are kept, 16 bytes each.
const MOST_SAMPLES: usize = 1 << 21;

#[derive(Debug, Default)]
struct SampledProfile {
    samples: Vec<(StackId, u64)>,
    /// Those that there was no room for, by stack.
    others: FxHashMap<StackId, u64>,
    total: u64,
}

impl SampledProfile {
    fn add(&mut self, stack: StackId, weight: u64) {
        self.total = self.total.saturating_add(weight);
        if self.samples.len() >= MOST_SAMPLES {
            let sum = self.others.entry(stack).or_default();
            *sum = sum.saturating_add(weight);
            return;
        }
        match self.samples.last_mut() {
            Some((last, sum)) if *last == stack => *sum = sum.saturating_add(weight),
            _ => self.samples.push((stack, weight)),
        }
    }

    fn total(&self) -> u64 {
        self.total
    }

    /// All of them; those that there was no room for behind the others, one a stack.
    fn samples(&self) -> impl Iterator<Item = (StackId, u64)> + '_ {
        let others = self.others.iter().map(|(stack, sum)| (*stack, *sum));
        self.samples.iter().copied().chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_in_order_and_none_is_lost() {
        let mut profile = SampledProfile::default();
        for (stack, weight) in [(1, 10), (1, 5), (2, 1), (1, 2)] {
            profile.add(StackId(stack), weight);
        }
        let all: Vec<_> = profile.samples().map(|(stack, sum)| (stack.0, sum)).collect();
        assert_eq!((profile.total(), all), (18, vec![(1, 15), (2, 1), (1, 2)]));
        for stack in 0..3_000_000 {
            profile.add(StackId(stack % 4), 1);
        }
        assert_eq!(profile.samples().count(), MOST_SAMPLES + 4);
        let sum: u64 = profile.samples().map(|(_, sum)| sum).sum();
        assert_eq!((sum, profile.total()), (3_000_018, 3_000_018));
    }
}
