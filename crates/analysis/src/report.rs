//! The answer to a query, as plain data.

pub(crate) mod answer;
mod call_tree;
pub(crate) mod chains;
pub(crate) mod emulation;
mod facts;
pub(crate) mod joined;
mod listing;
mod loss;
pub(crate) mod row_columns;
mod sieved;

pub use crate::collect::event::{PeriodUnit, SamplingMode};
pub(crate) use crate::name::cell::hex;
pub use crate::name::cell::{Cell, MissingValue, RoutineOffset, SiteCell, UnresolvedName};
pub use call_tree::{CallTree, OtherNodes, TreeNode};
pub use chains::{FrameName, ReportChain, ReportChains};
pub(crate) use facts::strides;
pub use facts::{CommonBits, KernelCountReport, RowFacts, Stride, WholeHit};
pub use joined::{JoinedCount, JoinedEvent, JoinedReport, JoinedRow};
pub use listing::{ListedCount, ListedCounts, ListedFile, SourceListing, UnlistedFile};
pub use loss::{Bursts, CountEnd, Losses, RecorderLedger};
pub(crate) use sieved::FilterPart;
pub use sieved::FilterReport;

use crate::collect::registers::Register;
use crate::collect::sum::Sum;
use crate::name::lookup::Lookup;
use crate::query::Weighting;
use crate::query::key::Key;
use crate::share_interval::ratio;
use perfdata::IpMeaning;
use row_columns::ROW_COLUMNS;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that a table, JSON or CSV shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this shape: [`Report::VERSION`].
    pub hardmeter_report: u32,
    /// The recorded machine.
    pub machine: Machine,
    /// The question, as understood.
    pub query: Question,
    /// One a sampled event, or a request that took several, in the stream's
    /// order.
    pub events: Vec<EventReport>,
    /// Frames and call chains, which rows and trees name by number.
    #[serde(flatten)]
    pub chains: ReportChains,
    /// What never became a sample here.
    pub losses: Losses,
    /// What the reader must know to read the numbers right, in sentences.
    pub notes: Vec<String>,
}

impl Report {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;
}

/// Where the stream was recorded, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Name of the host.
    pub hostname: Option<String>,
    /// Kernel release, `uname -r`.
    pub os_release: Option<String>,
    /// Machine architecture, `uname -m`.
    pub arch: Option<String>,
    /// The recorder's command line, words joined by spaces.
    pub command_line: Option<String>,
}

/// The query, in words that can be typed again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Keys of a row.
    pub by: Vec<String>,
    /// What became of call chains: `children`, inclusive counts, or `tree`; None: a row each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<&'static str>,
    /// Order of rows.
    pub sort: String,
    /// Conditions, all met by every counted sample.
    pub filters: Vec<String>,
    /// The frame that call chains begin at; None: the sampled one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<String>,
    /// The frame that call chains end at; None: their outermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callees: Option<String>,
    /// Frames that call chains begin outside of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Class of instructions, asked for besides what events mean.
    pub class: Option<String>,
    /// Most rows a table.
    pub top: Option<usize>,
    /// Site of the register histograms.
    pub site: Option<String>,
    /// Bytes of a cache line.
    pub cache_line: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// Whether accesses are told: what served them, how long they took.
    pub mem: bool,
}

/// The samples of one event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventReport {
    /// As recorded, or `type:config` in hex where the stream has no name.
    pub name: String,
    /// How it was sampled; of several members, the first.
    pub sampling: SamplingMode,
    /// What periods count.
    pub unit: PeriodUnit,
    /// What `share` is a share of.
    pub weighting: Weighting,
    /// What the recorder promised of the event (`ip`, `addr`, `regs`, ...).
    pub promises: BTreeMap<String, String>,
    /// What the instruction pointers are; `varies`: EXACT_IP of each record
    /// tells.
    #[serde(serialize_with = "word")]
    pub ip: IpMeaning,
    /// The recorder's own count of this event's records.
    pub ledger: Option<RecorderLedger>,
    /// What the kernel counted of it instead of writing samples; None when it
    /// counted nothing. It is part of the totals and the rows.
    pub in_kernel: Option<KernelCountReport>,
    /// Sums over all samples.
    pub totals: Totals,
    /// What the event's filter, and the class asked for, made of its samples;
    /// None when all are meant.
    pub filter: Option<FilterReport>,
    /// The events that the request took, when it took several: one for each
    /// kind of core, or one for loads and one for stores.
    pub members: Vec<Member>,
    /// What there was no room for among the rows; None: each row is there,
    /// and whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<NotKept>,
    /// Rows before the cut to the top ones.
    pub rows_total: usize,
    /// The rows, sorted.
    pub rows: Vec<Row>,
    /// The tree of call chains, when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<CallTree>,
    /// What the latencies are, when accesses were asked for and their weights
    /// are latencies.
    pub latency_of: Option<String>,
    /// Latencies of all counted samples, when asked for and known.
    pub latency: Option<Latencies>,
    /// When accesses were asked for and told: how many of each level,
    /// operation, TLB and snoop answer, most first.
    pub accesses: Vec<Row>,
    /// The levels among them, from the core outwards.
    pub levels: Vec<String>,
    /// Register histograms, when asked for.
    pub registers: Vec<Register>,
}

impl EventReport {
    /// Whether the recorder drew each period at random.
    pub(crate) fn has_drawn_periods(&self) -> bool {
        self.promises.get("periods").is_some_and(|periods| periods == "drawn")
    }

    /// Every so many events one was sampled, never sooner or later; 1: each was,
    /// or the intervals differ.
    pub(crate) fn even_interval(&self) -> u64 {
        match (self.sampling, self.unit) {
            (SamplingMode::Period(period), PeriodUnit::Events) if !self.has_drawn_periods() => {
                period.max(1)
            }
            _ => 1,
        }
    }

    /// Whether each event has a sample, as far as the recorder knows.
    pub(crate) fn samples_each(&self) -> bool {
        self.totals.counted == self.totals.period
    }

    /// Whether samples are missing in between: they were lost, or the recording has no
    /// end. Those behind the last one, of a command that ran on, are not.
    pub(crate) fn has_gaps(&self) -> bool {
        let Some(ledger) = &self.ledger else { return true };
        let mut lost = ledger.lost.iter().filter(|(cause, _)| *cause != "count");
        lost.any(|(_, count)| *count > 0)
            || ledger.uncovered.is_some()
            || ledger.throttled.is_some()
            || ledger.bursts.is_some()
    }

    /// Samples in the stream that went into no row: a filter of the query left them out, or
    /// they could not be read.
    pub(crate) fn left_out(&self) -> u64 {
        self.totals.samples.saturating_sub(self.totals.counted)
    }

    /// The type to ask `ebs` for to count it again.
    pub fn type_name(&self) -> &str {
        self.name.split('/').nth(1).unwrap_or(&self.name)
    }

    /// What share of the event some samples are, 0 to 1, by what it is weighted by.
    pub(crate) fn share_of(&self, own: Sum) -> f64 {
        match self.weighting {
            Weighting::Count => ratio(own.count, self.totals.counted),
            Weighting::Period => ratio(own.period, self.totals.period),
        }
    }
}

fn word<S: Serializer>(meaning: &IpMeaning, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(meaning.word())
}

/// One of several events of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// As recorded: `cpu_atom/l1_cache_miss/`.
    pub name: String,
    /// `perf_event_attr.config`, hex: events of one PMU may share a name.
    pub config: String,
    /// How it was sampled.
    pub sampling: SamplingMode,
    /// Samples in the stream.
    pub samples: u64,
    /// Samples that went into the rows.
    pub counted: u64,
    /// The recorder's own count of this event's records.
    pub ledger: Option<RecorderLedger>,
}

/// Sums over the samples of one event. `samples` is `counted` + `filtered`
/// + `others` + `undecided` + `malformed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Samples in the stream.
    pub samples: u64,
    /// Samples that went into the rows.
    pub counted: u64,
    /// Samples that a filter of the query left out.
    pub filtered: u64,
    /// Samples that the event's type, or the class asked for, does not mean.
    pub others: u64,
    /// Samples of which that could not be told.
    pub undecided: u64,
    /// Samples too short for the layout that their attr promises, and those
    /// read with a group none of whose counts the recording explains.
    pub malformed: u64,
    /// Sum of the counted samples' periods: events that they stand for.
    pub period: u64,
    /// Counted samples whose IP the hardware or kernel calls exact
    /// (PERF_RECORD_MISC_EXACT_IP).
    pub exact_ip: u64,
    /// Counted samples of a privilege level that the event was opened
    /// without: interrupts skid, and the record tells where to.
    pub outside_mode: u64,
    /// Counted samples of the site that registers were asked for.
    pub at_site: Option<u64>,
    /// Counted samples without a routine name, by reason. Empty also when
    /// no key needed names.
    pub unresolved: BTreeMap<String, u64>,
    /// Counted samples whose data address has no name, by reason; the same.
    pub unresolved_data: BTreeMap<String, u64>,
    /// Counted samples without a source line, by reason; the same.
    pub unresolved_lines: BTreeMap<String, u64>,
    /// Counted samples whose line in its routine is not known, by reason: their rows are of
    /// the routine. Only where that was asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unresolved_routine_lines: BTreeMap<String, u64>,
    /// Counted samples whose instruction is not known; the same.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unresolved_operands: BTreeMap<String, u64>,
    /// Counted samples of no object, by reason; the same.
    pub unresolved_objects: BTreeMap<String, u64>,
}

/// One row. As JSON its cells are fields named after the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Samples.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Part of the event's counted samples or periods (see
    /// [`EventReport::weighting`]), 0 to 1.
    pub share: f64,
    /// Standard error of `share`, 0 to 1, as of samples taken at random; 0
    /// where every event has a sample.
    pub share_error: f64,
    /// Of each sample's period the square, in all.
    pub squares: f64,
    /// Samples with an exact IP.
    pub exact_ip: u64,
    /// Of a row with all samples that a routine is on the call chain of: those taken
    /// in itself.
    pub own: Option<OwnCount>,
    /// The table's keys, one a cell.
    pub keys: Arc<[Key]>,
    /// Value of each key.
    pub cells: Vec<Cell>,
    /// What served its accesses, when that was asked for.
    pub served: Option<AccessReport>,
    /// What its hits have in common that were counted in the kernel.
    pub facts: Option<RowFacts>,
}

/// Samples taken in a routine itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OwnCount {
    /// Samples.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Part of the event's counted samples or periods, 0 to 1.
    pub share: f64,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        render::row_entries(&ROW_COLUMNS, self, &mut map)?;
        if let Some(AccessReport { levels, .. }) = &self.served {
            map.serialize_entry("levels", levels)?;
        }
        if let Some(facts) = &self.facts {
            map.serialize_entry("facts", facts)?;
        }
        for (key, cell) in self.keys.iter().zip(&self.cells) {
            map.serialize_entry(&key.to_string(), cell)?;
        }
        map.end()
    }
}

/// Latencies of accesses, in the event's cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latencies {
    /// Samples that have one.
    pub samples: u64,
    /// Sum of the latencies.
    pub cycles: u64,
    /// Part of all cycles that the event's latencies add up to, 0 to 1; where
    /// shares are of periods, each times the period of its sample.
    pub share: f64,
    /// Sum of the latencies by their number.
    pub mean: f64,
    /// What half of the samples do not exceed (nearest rank). From 2048 on
    /// rounded down by less than 0.1 per cent, as `p95`.
    pub median: u64,
    /// What 95 per cent of the samples do not exceed.
    pub p95: u64,
}

/// What is known of the accesses of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessReport {
    /// None when no sample has a latency.
    pub latency: Option<Latencies>,
    /// Part of the row's samples (or of the sum of their periods, where
    /// shares are of periods) that each level served, 0 to 1. Empty when the
    /// event has no data source.
    pub levels: BTreeMap<String, f64>,
}

/// What the row of all that was not kept holds, and what the other rows may
/// lack for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NotKept {
    /// Rows that were kept at most, of all events.
    pub most_rows: usize,
    /// Samples in the row of what was not kept.
    pub samples: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Samples that any other row may lack at most. Every row of more samples
    /// than these has a row of its own.
    pub lacking: u64,
    /// The same of periods.
    pub lacking_period: u64,
}

impl NotKept {
    /// In a sentence, of the event of this name.
    pub fn told(&self, event: &str) -> String {
        let NotKept { most_rows, samples, lacking, .. } = self;
        format!(
            "{event}: {samples} samples are in the row [rows not kept], as there are more than \
             {most_rows} rows: any other row may lack up to {lacking} samples, and what has more \
             than that has a row; sums are exact (--most-rows keeps more)"
        )
    }
}

/// What the answer of a view is made of, besides what was collected for it.
#[derive(Debug)]
pub(crate) struct Counted<'c> {
    pub(crate) report: Report,
    /// The numbers that the report's events are counted under.
    pub(crate) leaders: &'c [usize],
    pub(crate) lookup: &'c mut Lookup,
}

impl Counted<'_> {
    /// The report's events, each with its number.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&EventReport, usize)> {
        self.report.events.iter().zip(self.leaders.iter().copied())
    }
}
