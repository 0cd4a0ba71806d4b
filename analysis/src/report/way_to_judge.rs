//! How the misses of an event can be judged.

use crate::causes::cache_shape::{CacheShape, MissedLevel};
use crate::causes::verdict::{CauseGrade, ClassCounts, MissVerdict};
use crate::collect::miss_streams::{DistanceCounts, MissStreams, MissUnit};
use crate::report::EventReport;

/// What an event's samples tell of each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WayToJudge {
    /// Each has its class from the model of the cache.
    Classes,
    /// They are all misses: the gaps between those of a line are known.
    Distances,
    /// They are some of them, drawn at random: how many lines there are can be
    /// estimated, at least so many.
    /// None: no line was sampled twice.
    Footprint { lines: Option<f64> },
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
            false => WayToJudge::Footprint { lines: streams.footprint(leader).estimated() },
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
            WayToJudge::Footprint { .. } => {
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
    pub(crate) fn verdict(
        self,
        unit: &MissUnit,
        distances: Option<&DistanceCounts>,
        shape: CacheShape,
        level: MissedLevel,
    ) -> MissVerdict {
        match self {
            WayToJudge::Classes => unit.classes.verdict(CauseGrade::Exact),
            WayToJudge::Distances => {
                let counts = distances.map(|of| ClassCounts {
                    cold: of.first,
                    conflict: of.within,
                    edge: of.edge,
                    capacity: of.beyond,
                    ..ClassCounts::default()
                });
                let counts = counts.unwrap_or_default();
                counts.verdict(CauseGrade::Measured)
            }
            WayToJudge::Footprint { lines } => by_footprint(unit, lines, shape, level),
        }
    }
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
/// again and again are in each other's way; of lines that are missed once, each
/// miss is the first.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are far below 2^53"
)]
fn by_footprint(
    unit: &MissUnit,
    whole: Option<f64>,
    shape: CacheShape,
    level: MissedLevel,
) -> MissVerdict {
    let samples = unit.sum.count;
    let interval = unit.sum.period as f64 / samples.max(1) as f64;
    let repeated = unit.lines.sampled() < samples;
    // Without a pair among n samples at an interval of P a line has at most 6P/n
    // misses, at 95 %.
    let once = !repeated && 6.0 * interval / samples.max(1) as f64 <= 1.5;
    let own = unit.lines.estimated();
    let firsts = own.map_or(samples as f64, |own| own / interval);
    let cold = if once { samples } else { firsts.min(samples as f64) as u64 };
    let again = samples - cold;
    let all_fit = whole.is_some_and(|whole| whole <= shape.entries as f64);
    let counts = if all_fit && repeated {
        ClassCounts { cold, conflict: again, ..ClassCounts::default() }
    } else if once {
        ClassCounts { cold, ..ClassCounts::default() }
    } else {
        ClassCounts { open: samples, ..ClassCounts::default() }
    };
    let verdict = counts.verdict(CauseGrade::Likely);
    if counts.open == 0 || verdict.open.is_some() {
        return verdict;
    }
    let holds = shape.entries;
    let unit_name = level.unit();
    let why = if let Some(lines) = own.map(f64::round) {
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
