//! One sampled event while its samples are counted.

use crate::collect::fields::{FieldReader, register_name};
use crate::collect::registers::Histogram;
use crate::collect::sum::Sum;
use crate::collect::weight::Weighing;
use crate::query::glob::Glob;
use crate::query::{Query, Weighting};
use crate::sieve::{Doubt, SieveVerdict};
use perfdata::aggregate::{Aggregate, Site};
use perfdata::stream::{EventDescription, Features, note};
use perfdata::{AttrFlags, ReadFormat, SampleType, SoftwareEvent, Time};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    /// Index of the first event of the same request: they make one table.
    pub(crate) leader: usize,
    pub(crate) selected: bool,
    /// What the recorder of ours promised of it: others promise nothing.
    is_ours: bool,
    pub(crate) fields: FieldReader,
    pub(crate) is_sifted: bool,
    pub(crate) weighing: Weighing,
    pub(crate) sampling: SamplingMode,
    /// `perf_event_attr.config`: events of one PMU may share a name.
    pub(crate) config: u64,
    pub(crate) unit: PeriodUnit,
    pub(crate) weighting: Weighting,
    /// Every sample's period, where samples have none of their own.
    pub(crate) fixed_period: Option<u64>,
    /// Its samples hold the counts of its whole group: each is one of every
    /// member whose count has grown, and stands for so many events.
    pub(crate) reads_group: bool,
    pub(crate) histogram: Option<Histogram>,
    pub(crate) samples: u64,
    pub(crate) malformed: u64,
    /// Samples that its type does not mean.
    pub(crate) others: u64,
    /// Samples that could not be judged, by why.
    pub(crate) undecided: BTreeMap<Doubt, u64>,
    pub(crate) filtered: u64,
    pub(crate) at_site: u64,
    /// Privilege levels that the attr leaves out, a bit each by their number
    /// in `misc` (PERF_RECORD_MISC_CPUMODE_MASK).
    pub(crate) left_out: u8,
    /// Counted samples of those levels.
    pub(crate) outside: u64,
    pub(crate) sum: Sum,
    /// What the kernel counted of it, when it did.
    pub(crate) in_kernel: Option<KernelCount>,
    /// The event only carries sideband records.
    pub(crate) is_dummy: bool,
    /// What allocators did its samples tell, where that is asked for.
    pub(crate) heap: Option<HeapEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeapEvent {
    Allocation,
    Release,
    /// None of theirs: the program mapped memory itself, or unmapped some.
    Mapping,
}

impl HeapEvent {
    /// What the samples of an event tell of; None: not of the heap.
    pub(crate) fn of(description: &EventDescription) -> Option<HeapEvent> {
        how_told(description)?;
        match request(&description.title()) {
            "allocation" => Some(HeapEvent::Allocation),
            "release" => Some(HeapEvent::Release),
            "mapping" => Some(HeapEvent::Mapping),
            _ => None,
        }
    }

    pub(crate) fn is_of_some(description: &EventDescription) -> bool {
        how_told(description) == Some("sampled")
    }

    /// Whether the records came by a way of their own: beside those of accesses they have their
    /// place by time alone.
    pub(crate) fn is_apart(description: &EventDescription) -> bool {
        says(description, "heap_order") == Some("time")
    }
}

/// Which blocks the notes of an event of the heap say are told: all, `exact`, or `sampled`.
fn how_told(description: &EventDescription) -> Option<&str> {
    says(description, "heap").filter(|how| ["exact", "sampled"].contains(how))
}

pub(crate) fn says<'n>(description: &'n EventDescription, key: &str) -> Option<&'n str> {
    description.notes.iter().find_map(|text| note::value(text, key))
}

impl Event {
    pub(crate) fn new(
        description: &EventDescription,
        fields: FieldReader,
        query: &Query,
        features: &Features,
    ) -> Event {
        let attr = &description.attr;
        let name = description.title().into_owned();
        let has_period = fields.has(SampleType::PERIOD);
        let (sampling, fixed) = match attr.sampling() {
            perfdata::attr::SamplingRate::Period(period) => (SamplingMode::Period(period), period),
            perfdata::attr::SamplingRate::Frequency(_)
                if says(description, "periods") == Some("adapted") =>
            {
                (SamplingMode::Adapted, 0)
            }
            perfdata::attr::SamplingRate::Frequency(rate) => (SamplingMode::Frequency(rate), 0),
        };
        let by_nature = match sampling {
            SamplingMode::Frequency(_) | SamplingMode::Adapted if has_period => Weighting::Period,
            _ => Weighting::Count,
        };
        let histogram = query.registers.as_ref().map(|registers| {
            let arch = features.machine();
            let names = fields.registers().iter().map(|bit| register_name(arch, *bit));
            Histogram::new(names.chain(["addr".to_owned()]), registers.distinct_limit)
        });
        let reads_group = attr.sample_type.contains(SampleType::READ)
            && attr.read_format.contains(ReadFormat::ID);
        let by_nature = if reads_group { Weighting::Period } else { by_nature };
        let is_clock = attr.software().is_some_and(SoftwareEvent::is_clock);
        let is_ours = description.notes.iter().any(|text| note::value(text, "source").is_some());
        let is_called =
            |glob: &Glob| glob.matches(&name) || is_ours && glob.matches(request(&name));
        Event {
            leader: usize::MAX,
            is_sifted: false,
            is_ours,
            weighing: Weighing::of(description, features),
            unit: if is_clock { PeriodUnit::Nanoseconds } else { PeriodUnit::Events },
            selected: query.event.as_ref().is_none_or(is_called),
            is_dummy: attr.software() == Some(SoftwareEvent::DUMMY),
            weighting: query.weighting.unwrap_or(by_nature),
            fixed_period: (!has_period && !reads_group).then_some(fixed),
            reads_group,
            heap: None,
            name,
            fields,
            sampling,
            config: attr.config,
            histogram,
            samples: 0,
            malformed: 0,
            others: 0,
            undecided: BTreeMap::new(),
            filtered: 0,
            at_site: 0,
            left_out: left_out(attr.flags),
            outside: 0,
            sum: Sum::default(),
            in_kernel: None,
        }
    }

    /// Counts a sample of which nothing can be told.
    pub(crate) fn add_malformed(&mut self) {
        self.samples = self.samples.saturating_add(1);
        self.malformed += 1;
    }

    pub(crate) fn own_samples(&self) -> u64 {
        self.samples.saturating_sub(self.in_kernel.as_ref().map_or(0, |it| it.hits))
    }

    pub(crate) fn own_counted(&self) -> u64 {
        self.sum.count.saturating_sub(self.in_kernel.as_ref().map_or(0, |it| it.counted))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KernelCount {
    /// Hits in all sites.
    pub(crate) hits: u64,
    /// Those that passed the filters.
    pub(crate) counted: u64,
    /// Aggregates.
    pub(crate) intervals: u64,
    /// Begin of the first and end of the last; None without any.
    pub(crate) span: Option<(Time, Time)>,
    /// Whether some site is of no process.
    pub(crate) mixes_processes: bool,
    /// Hits in no site, by cause.
    pub(crate) lost: BTreeMap<String, u64>,
    /// All that lies at the site that registers were asked for.
    pub(crate) at_site: Option<Box<Site>>,
}

impl KernelCount {
    pub(crate) fn interval(&mut self, aggregate: &Aggregate) {
        self.hits = self.hits.saturating_add(aggregate.count());
        self.intervals += 1;
        let (from, to) = (aggregate.from, aggregate.to);
        self.span = Some(self.span.map_or((from, to), |(a, b)| (a.min(from), b.max(to))));
        self.mixes_processes |= aggregate.sites.iter().any(|site| site.process.is_none());
        for (cause, count) in &aggregate.lost {
            let sum = self.lost.entry(cause.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
}

impl Event {
    pub(crate) fn request(&self) -> &str {
        request(&self.name)
    }

    /// Whether both were opened for one request, and their samples can be
    /// counted together.
    pub(crate) fn joins(&self, first: &Event) -> bool {
        self.is_ours
            && first.is_ours
            && self.selected
            && first.selected
            && self.is_dummy == first.is_dummy
            && self.request() == first.request()
            && self.unit == first.unit
            && self.fields.registers() == first.fields.registers()
    }

    /// The latency that a sample's weight is, cycles.
    #[inline]
    pub(crate) fn latency(&self, weight: Option<u64>) -> Option<u64> {
        let Weighing::Latency(_) = self.weighing else { return None };
        weight.map(|word| self.fields.whole_weight(word)).filter(|cycles| *cycles != 0)
    }

    /// Books what the sieve leaves out; true when it leaves the sample in.
    #[inline]
    pub(crate) fn keeps(&mut self, sifted: SieveVerdict) -> bool {
        match sifted {
            SieveVerdict::Kept => return true,
            SieveVerdict::Other => self.others += 1,
            SieveVerdict::Undecided(doubt) => *self.undecided.entry(doubt).or_default() += 1,
        }
        false
    }
}

fn left_out(flags: AttrFlags) -> u8 {
    let modes = [
        (AttrFlags::EXCLUDE_KERNEL, 1 << 1 | 1 << 4),
        (AttrFlags::EXCLUDE_USER, 1 << 2 | 1 << 5),
        (AttrFlags::EXCLUDE_HV, 1 << 3),
    ];
    let without = modes.iter().filter(|(flag, _)| flags.contains(*flag));
    without.fold(0, |all, (_, bits)| all | bits)
}

/// `l1_cache_miss` of `cpu_atom/l1_cache_miss/`: a hybrid machine has an event
/// for each kind of core.
pub(crate) fn request(name: &str) -> &str {
    match name.split_once('/').map(|(pmu, rest)| (pmu, rest.split_once('/'))) {
        Some((pmu, Some((request, _)))) if !pmu.is_empty() && !request.is_empty() => request,
        _ => name,
    }
}

/// What events of one request are called: as recorded, or the request where
/// they differ.
pub(crate) fn title<'e>(mut together: impl Iterator<Item = &'e Event>) -> &'e str {
    let Some(first) = together.next() else { return "" };
    let is_same = |event: &Event| {
        (&event.name, event.config, event.sampling) == (&first.name, first.config, first.sampling)
    };
    if together.all(is_same) { &first.name } else { first.request() }
}

/// How an event was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplingMode {
    /// A sample every so many events.
    Period(u64),
    /// The kernel aimed at so many samples a second.
    Frequency(u64),
    /// The recorder drew each sample with the chance of 1 in its period, and chose periods by how
    /// often the event came.
    Adapted,
}

/// What an event's periods count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PeriodUnit {
    /// Occurrences.
    Events,
    /// Time: the kernel's clocks, whose period is an interval
    /// (perf_swevent_init_hrtimer(), kernel/events/core.c).
    Nanoseconds,
}

#[cfg(test)]
mod tests {
    use super::request;

    #[test]
    fn a_request_is_what_was_typed() {
        for (name, typed) in [
            ("l1_cache_miss", "l1_cache_miss"),
            ("cpu_atom/l1_cache_miss/", "l1_cache_miss"),
            ("cpu_core/cycles/pp", "cycles"),
            ("mem:0x1000/8:rw", "mem:0x1000/8:rw"),
            ("//", "//"),
            ("", ""),
        ] {
            assert_eq!(request(name), typed);
        }
    }
}
