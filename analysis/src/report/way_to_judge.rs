//! How the misses of an event can be judged.

use crate::causes::cache_shape::{CacheShape, MissedLevel};
use crate::causes::verdict::{CauseGrade, ClassCounts, LEAST_SAMPLES, MissVerdict};
use crate::collect::miss_distances::DistanceCounts;
use crate::collect::miss_spans::SpanCounts;
use crate::collect::miss_streams::{MissStreams, MissUnit};
use crate::report::EventReport;

/// What an event's samples tell of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayToJudge {
    /// Each has its class from the model of the cache.
    Classes,
    /// They are all misses: the gaps between those of a line are known.
    Distances,
    /// They are some of them, drawn at random: how many lines there are can be
    /// estimated.
    Footprint,
}

impl WayToJudge {
    /// Of an event whose samples are in `streams` under this number.
    pub(crate) fn of(event: &EventReport, leader: usize, streams: &MissStreams) -> WayToJudge {
        if streams.has_classes(leader) {
            return WayToJudge::Classes;
        }
        let is_each = event.totals.counted == event.totals.period;
        match is_each && !has_gaps(event) && streams.left_out == 0 {
            true => WayToJudge::Distances,
            false => WayToJudge::Footprint,
        }
    }

    /// In a sentence, for the heading.
    pub(crate) fn sentence(self, event: &EventReport) -> String {
        match self {
            WayToJudge::Classes => {
                "each sample has its class from the model, which keeps a fully associative cache \
                 beside"
                    .to_owned()
            }
            WayToJudge::Distances => {
                "every miss was sampled: classes by the distinct lines missed between two misses of a line"
                    .to_owned()
            }
            WayToJudge::Footprint => {
                let why = match event.totals.counted == event.totals.period {
                    true => "samples are missing in between",
                    false => "misses in between were not sampled",
                };
                format!(
                    "{why}: classes are likely ones, by how many lines there are; all misses (-i 1) \
                     tell more"
                )
            }
        }
    }

    /// What becomes of a unit's samples.
    pub(crate) fn verdict(self, unit: &MissUnit, past: UnitPast<'_>, judge: Judge) -> MissVerdict {
        match self {
            WayToJudge::Classes => unit.classes.verdict(CauseGrade::Exact),
            WayToJudge::Distances => {
                by_distances(past.distances.cloned().unwrap_or_default(), judge)
            }
            WayToJudge::Footprint => {
                by_footprint(unit, past.span.copied().unwrap_or_default(), judge)
            }
        }
    }
}

/// What is known of what was missed between the samples of a unit, where it was
/// asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPast<'p> {
    pub(crate) distances: Option<&'p DistanceCounts>,
    pub(crate) span: Option<&'p SpanCounts>,
}

/// By which cache misses are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    pub(crate) level: MissedLevel,
    pub(crate) shape: CacheShape,
}

/// By the lines in between. Where these are as many as the cache holds, nearly, the
/// hits in between decide that nobody saw.
fn by_distances(of: DistanceCounts, judge: Judge) -> MissVerdict {
    let counts = ClassCounts {
        cold: of.first,
        sharing: of.taken,
        conflict: of.within,
        edge: of.edge,
        capacity: of.beyond,
        open: of.near,
    };
    let verdict = counts.verdict(CauseGrade::Measured);
    if of.near == 0 || verdict.cause.is_some() || counts.total() < LEAST_SAMPLES {
        return verdict;
    }
    let why = format!(
        "{0} to {1} {2}s were missed between two misses of a {2}, for {1}: conflict or edge, as hits in \
         between are not seen; --classify exact tells",
        judge.shape.entries - judge.shape.entries / 10,
        judge.shape.entries,
        judge.level.unit()
    );
    MissVerdict::open(verdict.shares, why)
}

/// Whether misses are missing between those that were sampled.
fn has_gaps(event: &EventReport) -> bool {
    let Some(ledger) = &event.ledger else { return true };
    ledger.lost.values().any(|count| *count > 0)
        || ledger.uncovered.is_some()
        || ledger.throttled.is_some()
        || ledger.bursts.is_some()
}

/// By the lines that there are: those that all fit into the cache and are missed
/// again and again are in each other's way, or taken by other threads; of lines
/// that are missed once, each miss is the first.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are far below 2^53"
)]
fn by_footprint(unit: &MissUnit, span: SpanCounts, judge: Judge) -> MissVerdict {
    let Judge { level, shape } = judge;
    let samples = unit.count.sum.count;
    let interval = unit.count.sum.period as f64 / samples.max(1) as f64;
    let repeated = unit.lines.sampled() < samples;
    // Without a pair among n samples at an interval of P a line has at most 6P/n
    // misses, at 95 %.
    let once = !repeated && 6.0 * interval / samples.max(1) as f64 <= 1.5;
    let own = unit.lines.estimated();
    // A tenth is left for lines that always hit, which no sample shows.
    let room = shape.entries - shape.entries / 10;
    let all_fit = span.at_most.is_some_and(|lines| lines < room as f64);
    let counts = if all_fit && repeated {
        let firsts = own.map_or(0.0, |own| own / interval);
        let sharing = span.transfers.min(samples);
        let open = span.contested.min(samples - sharing);
        let cold = (firsts as u64).min(samples - sharing - open);
        let conflict = samples - sharing - open - cold;
        ClassCounts { cold, sharing, conflict, open, ..ClassCounts::default() }
    } else if once {
        ClassCounts { cold: samples, ..ClassCounts::default() }
    } else {
        ClassCounts { open: samples, ..ClassCounts::default() }
    };
    let verdict = counts.verdict(CauseGrade::Likely);
    if counts.open == 0 || verdict.cause.is_some() || verdict.open.is_some() {
        return verdict;
    }
    let holds = shape.entries;
    let unit_name = level.unit();
    let why = if all_fit && repeated {
        format!(
            "other threads missed these {unit_name}s, too: conflict or sharing is told by all misses \
             of a while (-i 1), or by `ebs c2c`"
        )
    } else if let Some(lines) = own.map(f64::round) {
        format!(
            "at least {lines} {unit_name}s, which come again, for {holds}: capacity or conflict is \
             told by all misses of a while (-i 1)"
        )
    } else {
        let needed = (4.0 * interval).ceil() as u64;
        format!(
            "no {unit_name} was sampled twice: {} more samples at this interval would tell \
             whether each is missed once",
            needed.saturating_sub(samples).max(1)
        )
    };
    MissVerdict::open(verdict.shares, why)
}
