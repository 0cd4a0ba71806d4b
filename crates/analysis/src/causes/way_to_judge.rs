//! How the misses of an event can be judged.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::miss_distances::DistanceCounts;
use crate::causes::miss_recurrence::RecurrenceCounts;
use crate::causes::miss_streams::{MissStreams, MissUnit};
use crate::causes::verdict::{CauseGrade, ClassCounts, LEAST_SAMPLES, MissVerdict};
use crate::report::{EventReport, SamplingMode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayToJudge {
    /// Each has its class from the model of the cache.
    Classes,
    /// They are all misses: the gaps between those of a line are known.
    Distances,
    /// They are most misses, or some that were drawn at random: how often a line was
    /// sampled again says how far its misses can be apart.
    Recurrence,
    /// What is missing in between may be anything.
    Nothing(GapCause),
}

/// Why nothing is known of the misses between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapCause {
    /// The query left samples out.
    LeftOut,
    /// There was no room for all.
    NoRoom,
    /// Only bursts of the program were sampled.
    Bursts,
    /// The recorder chose other intervals as the program ran.
    Adapted,
    /// The interval was even: one that keeps step with a loop meets the same lines again
    /// and again.
    EvenInterval,
}

impl WayToJudge {
    /// Of an event whose samples are in `streams` under this number.
    pub(crate) fn of(event: &EventReport, leader: usize, streams: &MissStreams) -> WayToJudge {
        if streams.has_classes(leader) {
            return WayToJudge::Classes;
        }
        let has_bursts = event.ledger.as_ref().is_some_and(|ledger| ledger.bursts.is_some());
        if event.left_out() > 0 {
            WayToJudge::Nothing(GapCause::LeftOut)
        } else if streams.units.left_out > 0 {
            WayToJudge::Nothing(GapCause::NoRoom)
        } else if has_bursts {
            WayToJudge::Nothing(GapCause::Bursts)
        } else if event.samples_each() && !event.has_gaps() {
            WayToJudge::Distances
        } else if event.samples_each() || event.has_drawn_periods() {
            WayToJudge::Recurrence
        } else if event.sampling == SamplingMode::Adapted {
            WayToJudge::Nothing(GapCause::Adapted)
        } else {
            WayToJudge::Nothing(GapCause::EvenInterval)
        }
    }

    pub(crate) fn sentence(self, event: &EventReport) -> String {
        let way = match self {
            WayToJudge::Classes => {
                "each sample has its class from the model, which keeps a fully associative cache \
                 beside"
            }
            WayToJudge::Distances => {
                "every miss was sampled: classes by the distinct lines missed between two misses of a line"
            }
            WayToJudge::Recurrence => {
                let why = match event.samples_each() {
                    true => "samples are missing in between",
                    false => "misses in between were not sampled",
                };
                return format!(
                    "{why}: conflict and sharing are likely where a line was sampled again and \
                     again; {} tells the other classes, too",
                    each_miss(event)
                );
            }
            WayToJudge::Nothing(why) => return why.sentence(event),
        };
        way.to_owned()
    }

    pub(crate) fn verdict(self, unit: &MissUnit, past: UnitPast<'_>, judge: Judge) -> MissVerdict {
        match self {
            WayToJudge::Classes => unit.classes.effective().verdict(CauseGrade::Exact),
            WayToJudge::Distances => {
                by_distances(past.distances.cloned().unwrap_or_default(), judge)
            }
            WayToJudge::Recurrence => {
                let samples = unit.count.sum.count;
                by_recurrence(samples, past.recurrence.copied().unwrap_or_default(), judge)
            }
            WayToJudge::Nothing(why) => {
                let all = ClassCounts { open: unit.count.sum.count, ..ClassCounts::default() };
                let verdict = all.verdict(CauseGrade::Undetermined);
                match verdict.open {
                    Some(_) => verdict,
                    None => MissVerdict::open(verdict.shares, why.short().to_owned()),
                }
            }
        }
    }
}

impl GapCause {
    fn short(self) -> &'static str {
        match self {
            GapCause::LeftOut => "filters left out the misses in between: ask without them",
            GapCause::NoRoom => "there was no room for the misses in between",
            GapCause::Bursts => "the misses between bursts were not sampled",
            GapCause::Adapted => "the interval changed while the program ran: -i 1 decides",
            GapCause::EvenInterval => "the interval was not drawn at random: -i 1 decides",
        }
    }

    fn sentence(self, event: &EventReport) -> String {
        let each = each_miss(event);
        match self {
            GapCause::LeftOut => format!(
                "{} samples were left out, and verdicts need the misses in between: ask without \
                 filters",
                event.left_out()
            ),
            GapCause::NoRoom => {
                format!(
                    "there was no room for all misses, and verdicts need those in between: {each} \
                     records the class of each where the PMU is emulated"
                )
            }
            GapCause::Bursts => {
                format!("verdicts need the misses between bursts: {each} decides")
            }
            GapCause::Adapted => {
                format!("the interval changed while the program ran: {each} decides")
            }
            GapCause::EvenInterval => format!(
                "the interval was not drawn at random and may keep step with a loop: {each} decides"
            ),
        }
    }
}

fn each_miss(event: &EventReport) -> String {
    format!("`ebs causes -t {} -i 1 -- COMMAND`", event.type_name())
}

/// What is known of what was missed between the samples of a unit, where it was
/// asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPast<'p> {
    pub(crate) distances: Option<&'p DistanceCounts>,
    pub(crate) recurrence: Option<&'p RecurrenceCounts>,
}

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

/// By how often lines were sampled again. What is not proven to be conflict or sharing
/// could be of any class: that a line was sampled once does not say that it missed once,
/// nor that no other instruction had it before.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates are not negative, and below the number of samples"
)]
fn by_recurrence(samples: u64, of: RecurrenceCounts, judge: Judge) -> MissVerdict {
    let (conflict, sharing) = (of.conflict as u64, of.sharing as u64);
    let open = samples.saturating_sub(conflict + sharing);
    let counts = ClassCounts { conflict, sharing, open, ..ClassCounts::default() };
    let verdict = counts.verdict(CauseGrade::Likely);
    if verdict.cause.is_some() || samples < LEAST_SAMPLES {
        return verdict;
    }
    let unit = judge.level.unit();
    let why = if (of.contested as u64) * 2 > samples {
        format!(
            "other threads missed these {unit}s, too: conflict or sharing, which -i 1 or `ebs c2c` \
             tells"
        )
    } else if of.repeated == 0 {
        format!(
            "no {unit} was sampled twice: cold or capacity, conflict or sharing, which -i 1 tells"
        )
    } else {
        format!(
            "{} samples are on {unit}s that were sampled again, too seldom to tell how far apart \
             their misses are, which -i 1 tells",
            of.repeated
        )
    };
    MissVerdict::open(verdict.shares, why)
}
