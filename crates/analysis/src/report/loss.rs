//! Accounts of what was lost, by cause.

use perfdata::stream::note;
use perfdata::{Misc, SidebandRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the recorder itself counted, from the stream's last note.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecorderLedger {
    /// Events that the kernel counted (clocks: nanoseconds).
    pub events: Option<u64>,
    /// Records that the kernel counted for the event.
    pub kernel: Option<u64>,
    /// Records that reached the stream.
    pub delivered: Option<u64>,
    /// Records that did not, by cause.
    pub lost: BTreeMap<String, u64>,
    /// Whether losses at the very end of a ring are among them: kernels
    /// before 6.0 do not tell.
    pub tail_known: bool,
    /// What the kernel counted and was neither delivered nor lost; negative
    /// when more arrived than it counted.
    pub unaccounted: Option<i128>,
    /// Events that no record stands for; missing: none that is known of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<u64>,
    /// Times that the kernel paused an event of the session for interrupting
    /// too often; None: never, or it is told of another event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// The count (`-c`) that ended sampling early; None where it left nothing
    /// out, or where another event of the recording has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_reached: Option<CountEnd>,
    /// Seconds the event was on.
    pub seconds: Option<f64>,
    /// What of the program was counted, if only bursts of it were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
}

/// A count of records that was reached before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CountEnd {
    /// The count.
    pub count: u64,
    /// What was sampled ran on: later events were not counted. Else it had
    /// ended, and records were left out.
    pub ran_on: bool,
}

/// What ran of a program that was counted in bursts: all counts and samples
/// are of `counted` instructions alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// Instructions in bursts.
    pub counted: u64,
    /// Instructions before bursts, which warmed the modelled caches up.
    pub warmed: u64,
    /// Instructions between, which nothing was told of.
    pub bare: u64,
    /// Standard error of an estimate of the whole, relative to it; None:
    /// there were too few bursts to tell.
    pub error: Option<f64>,
}

impl Bursts {
    /// All instructions.
    pub fn instructions(&self) -> u64 {
        self.counted.saturating_add(self.warmed).saturating_add(self.bare)
    }

    fn parse(pairs: &BTreeMap<&str, &str>) -> Option<Bursts> {
        let number = |key: &str| pairs.get(key)?.parse::<u64>().ok();
        Some(Bursts {
            counted: number("burst.counted")?,
            warmed: number("burst.warmed")?,
            bare: number("burst.bare")?,
            error: pairs.get("burst.error").and_then(|error| error.parse().ok()),
        })
    }
}

/// Records about losses that are in the stream itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// PERF_RECORD_LOST records.
    pub lost_records: u64,
    /// Records that these say were lost in full rings. The last losses
    /// before the end never get such a record: see the ledger.
    pub lost: u64,
    /// Samples that PERF_RECORD_LOST_SAMPLES records say were lost.
    pub lost_samples: u64,
    /// Samples that the recorder's BPF filter left out: no losses (the same
    /// records, with PERF_RECORD_MISC_LOST_SAMPLES_BPF).
    pub filtered_out: u64,
    /// Times the kernel throttled an event for interrupting too often.
    pub throttled: u64,
    /// Samples counted before the sideband records of their time were sure to
    /// be in: the stream has too few round marks.
    pub counted_early: u64,
    /// Records whose event the stream does not describe.
    pub unplaced: u64,
    /// Intervals that the kernel counted and whose parts are not all there;
    /// a note says which is the first.
    pub torn: u64,
    /// Records that are not what they say; a note says where the first is.
    pub unreadable: u64,
}

impl Losses {
    /// Takes in what a record says of losses; others say nothing.
    pub(crate) fn note(&mut self, misc: Misc, record: &SidebandRecord<'_>) {
        match record {
            SidebandRecord::Lost { lost, .. } => {
                self.lost_records += 1;
                self.lost = self.lost.saturating_add(*lost);
            }
            SidebandRecord::LostSamples { lost } => {
                let sum = match misc.contains(Misc::LOST_SAMPLES_BPF) {
                    true => &mut self.filtered_out,
                    false => &mut self.lost_samples,
                };
                *sum = sum.saturating_add(*lost);
            }
            SidebandRecord::Throttle { .. } => self.throttled += 1,
            _ => {}
        }
    }
}

impl RecorderLedger {
    /// Reads `key=value` pairs joined with `;`. None when the note is no
    /// ledger (it has no `delivered`).
    pub(crate) fn parse(note: &str) -> Option<RecorderLedger> {
        let pairs = note::pairs(note).collect::<BTreeMap<_, _>>();
        pairs.get("delivered")?;
        let number = |key: &str| pairs.get(key).and_then(|value| value.parse::<u64>().ok());
        let lost = pairs
            .iter()
            .filter_map(|(key, value)| {
                Some((key.strip_prefix("lost.")?.to_owned(), value.parse::<u64>().ok()?))
            })
            .collect();
        Some(RecorderLedger {
            events: number("events"),
            kernel: number("kernel"),
            delivered: number("delivered"),
            lost,
            tail_known: !pairs.contains_key("lost.tail"),
            unaccounted: pairs.get("unaccounted").and_then(|value| value.parse().ok()),
            uncovered: number("uncovered").filter(|&events| events > 0),
            throttled: number("throttled").filter(|&times| times > 0),
            count_reached: number("count.reached")
                .map(|count| CountEnd { count, ran_on: pairs.contains_key("count.ran_on") }),
            seconds: pairs.get("seconds").and_then(|value| value.parse::<f64>().ok()),
            bursts: Bursts::parse(&pairs),
        })
    }

    /// Samples that the kernel made: those that arrived, and those that did
    /// not though they were of this event.
    pub(crate) fn made(&self) -> Option<u64> {
        let lost = ["ring", "sink", "count"].iter().filter_map(|cause| self.lost.get(*cause));
        Some(lost.fold(self.delivered?, |made, count| made.saturating_add(*count)))
    }

    /// The account of several events together; None of none. What one of them
    /// does not tell, all together do not.
    pub(crate) fn sum(ledgers: impl Iterator<Item = RecorderLedger>) -> Option<RecorderLedger> {
        ledgers.reduce(|mut sum, one| {
            let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
            sum.events = add(sum.events, one.events);
            sum.kernel = add(sum.kernel, one.kernel);
            sum.delivered = add(sum.delivered, one.delivered);
            for (cause, count) in one.lost {
                let total = sum.lost.entry(cause).or_default();
                *total = total.saturating_add(count);
            }
            sum.tail_known &= one.tail_known;
            sum.unaccounted =
                sum.unaccounted.zip(one.unaccounted).map(|(a, b)| a.saturating_add(b));
            sum.uncovered = match (sum.uncovered, one.uncovered) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            };
            sum.throttled = [sum.throttled, one.throttled].into_iter().flatten().max();
            sum.count_reached = sum.count_reached.or(one.count_reached);
            sum.seconds = [sum.seconds, one.seconds].into_iter().flatten().reduce(f64::max);
            // Those of several events were not the same.
            sum.bursts = None;
            sum
        })
    }
}
