//! `profile.proto` of pprof, gzip.
//! <https://github.com/google/pprof/blob/main/proto/profile.proto>

mod labels;
mod main_object;
mod tables;

use crate::export::{Export, ExportedRecording};
use crate::formats::protobuf::ProtoMessage;
use analysis::report::{PeriodUnit, SamplingMode};
use analysis::{SampleNames, SampleSink, SingleSample, StackId};
use flate2::{Compression, write::GzEncoder};
use labels::{Detail, SampleLabels};
use main_object::main_object;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use tables::ProfileTables;

/// Samples that differ which are kept, some 100 bytes each; of more, labels
/// are left out.
const MOST_SAMPLES: usize = 1 << 19;

/// Fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const PERIOD_TYPE: u64 = 11;
    pub(super) const PERIOD: u64 = 12;
    pub(super) const COMMENT: u64 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// What samples have in common that are one in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SampleKey {
    event: usize,
    stack: StackId,
    labels: SampleLabels,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampleSums {
    samples: u64,
    events: u64,
    cycles: u64,
}

pub(crate) struct PprofExport {
    out: GzEncoder<Box<dyn Write + Send>>,
    samples: FxHashMap<SampleKey, SampleSums>,
    detail: Detail,
    most: usize,
    tables: ProfileTables,
    /// By event, the number of its first type of value.
    events: Vec<usize>,
    /// Times of the first and last sample, nanoseconds.
    span: Option<(u64, u64)>,
}

impl PprofExport {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> PprofExport {
        PprofExport {
            out: GzEncoder::new(out, Compression::default()),
            samples: FxHashMap::default(),
            detail: Detail::default(),
            most: MOST_SAMPLES,
            tables: ProfileTables::default(),
            events: Vec::new(),
            span: None,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.tables.profile.take())
    }

    fn add(&mut self, key: SampleKey, sums: SampleSums) {
        let sum = self.samples.entry(key).or_default();
        sum.samples = sum.samples.saturating_add(sums.samples);
        sum.events = sum.events.saturating_add(sums.events);
        sum.cycles = sum.cycles.saturating_add(sums.cycles);
    }

    /// Leaves labels out until there is room.
    #[cold]
    fn coarsen(&mut self) {
        while self.samples.len() > self.most
            && let Some(less) = self.detail.less()
        {
            self.detail = less;
            for (key, sums) in std::mem::take(&mut self.samples) {
                self.add(SampleKey { labels: key.labels.at(less), ..key }, sums);
            }
        }
    }

    /// Types of values: of each event samples, events and, where it has any,
    /// cycles. Of several events their names stand before.
    fn write_types(&mut self, names: &SampleNames<'_>) {
        let events: BTreeSet<usize> = self.samples.keys().map(|key| key.event).collect();
        self.events = events.into_iter().collect();
        let is_one = self.events.len() == 1;
        for event in self.events.clone() {
            let described = names.event(event);
            let name = described.map_or("", |event| event.name.as_str());
            let before = if is_one { String::new() } else { format!("{name}:") };
            let unit = match described.map(|event| event.unit) {
                Some(PeriodUnit::Nanoseconds) => "nanoseconds",
                _ => "count",
            };
            for (what, unit) in [("samples", "count"), ("events", unit), ("cycles", "cycles")] {
                let of_type = self.tables.value_type(&format!("{before}{what}"), unit);
                self.tables.profile.message(field::SAMPLE_TYPE, &of_type);
            }
        }
    }

    fn write_sample(
        &mut self,
        key: SampleKey,
        sums: SampleSums,
        names: &SampleNames<'_>,
    ) -> io::Result<()> {
        let locations: Vec<u64> =
            names.frames(key.stack).map(|frame| self.tables.location(frame, names)).collect();
        let mut sample = ProtoMessage::default();
        sample.packed(1, locations);
        let own = self.events.binary_search(&key.event).unwrap_or_default();
        let values = (0..self.events.len()).flat_map(|event| match event == own {
            true => [sums.samples, sums.events, sums.cycles],
            false => [0; 3],
        });
        sample.packed(2, values);
        key.labels.write(names, &mut self.tables, &mut sample);
        self.tables.profile.message(field::SAMPLE, &sample);
        if self.tables.profile.len() > 1 << 16 { self.write() } else { Ok(()) }
    }

    fn comment(&mut self, text: &str) {
        let text = self.tables.string(text);
        self.tables.profile.number(field::COMMENT, text);
    }
}

impl fmt::Debug for PprofExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PprofExport").field("detail", &self.detail).finish_non_exhaustive()
    }
}

impl SampleSink for PprofExport {
    fn take(&mut self, sample: &SingleSample, _names: &SampleNames<'_>) -> io::Result<()> {
        let labels = SampleLabels::of(sample).at(self.detail);
        let key = SampleKey { event: sample.event, stack: sample.stack, labels };
        let (samples, events) = (sample.samples, sample.period);
        self.add(key, SampleSums { samples, events, cycles: sample.latency.unwrap_or(0) });
        if let Some(time) = sample.time {
            let (first, last) = self.span.unwrap_or((time.0, time.0));
            self.span = Some((first.min(time.0), last.max(time.0)));
        }
        if self.samples.len() > self.most {
            self.coarsen();
        }
        Ok(())
    }

    fn end(&mut self, names: &SampleNames<'_>) -> io::Result<()> {
        self.write_types(names);
        let mut samples: Vec<_> = std::mem::take(&mut self.samples).into_iter().collect();
        // The same recording gives the same bytes.
        samples.sort_unstable_by_key(|(key, _)| *key);
        let of_samples = samples.iter().map(|(key, sums)| (*key, sums.events));
        if let Some(program) = main_object(of_samples, names) {
            // pprof takes the first mapping for the program.
            self.tables.mapping(program, names);
        }
        for (key, sums) in samples {
            self.write_sample(key, sums, names)?;
        }
        self.write()
    }
}

impl Export for PprofExport {
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        let report = recording.report;
        if let [event] = report.events.as_slice()
            && let SamplingMode::Period(period) = event.sampling
        {
            let of_type = self.tables.value_type("events", "count");
            self.tables.profile.message(field::PERIOD_TYPE, &of_type);
            self.tables.profile.number(field::PERIOD, period);
        }
        if let Some((first, last)) = self.span {
            self.tables.profile.number(field::DURATION_NANOS, last - first);
        }
        let preferred = match self.events.len() {
            1 => Some("events".to_owned()),
            _ => report.events.first().map(|event| format!("{}:events", event.name)),
        };
        if let Some(name) = preferred {
            let name = self.tables.string(&name);
            self.tables.profile.number(field::DEFAULT_SAMPLE_TYPE, name);
        }
        let machine = &report.machine;
        let cpu = recording.features.cpu_description.as_ref();
        let told = [&machine.command_line, &machine.hostname, &machine.os_release];
        for text in told.into_iter().map(Option::as_ref).chain([cpu]).flatten() {
            self.comment(text);
        }
        for text in self.detail.told().into_iter().chain(report.notes.iter().map(String::as_str)) {
            self.comment(text);
        }
        self.write()?;
        self.out.try_finish()?;
        self.out.get_mut().flush()
    }
}
