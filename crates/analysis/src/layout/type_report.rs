//! Types that samples are on, and what was sampled of each member.

use crate::cache_shape::MissedLevel;
use crate::collect::sum::Sum;
use crate::layout::collect::{PlaceAccesses, TypeUse, TypeUses};
use crate::layout::object_visits::PlaceInType;
use crate::name::lookup::Lookup;
use crate::query::Weighting;
use crate::report::{Counted, Report};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{ProgramTypes, TypeId};

/// Variables of a type that are named.
const MOST_VARIABLES: usize = 8;

/// What was sampled of each type.
#[derive(Clone, Debug)]
pub struct TypeReport {
    /// What was counted in all.
    pub report: Report,
    /// Most samples first.
    pub types: Vec<SampledType>,
    /// Samples without a type: one an event of the report.
    pub untyped: Vec<UseCount>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
}

/// Samples of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UseCount {
    /// How many.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Part of the event's samples or periods, 0 to 1.
    pub share: f64,
}

/// What was sampled of a member, or of the whole of a type.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemberUse {
    /// One an event of the report.
    pub counts: Vec<UseCount>,
    /// Samples of accesses that read; some also write.
    pub reads: u64,
    /// Samples of accesses that write.
    pub writes: u64,
    /// Threads that were sampled reading.
    pub readers: usize,
    /// Threads that were sampled writing.
    pub writers: usize,
    /// Mean of the cycles that accesses took; None: no sample says.
    pub latency: Option<f64>,
}

impl MemberUse {
    /// Samples of all events.
    pub fn samples(&self) -> u64 {
        self.counts.iter().fold(0, |all, one| all.saturating_add(one.count))
    }
}

/// A definition, and what was sampled of it.
#[derive(Clone, Debug)]
pub struct SampledType {
    /// As tables have it.
    pub name: String,
    /// The file whose debug info has it.
    pub object: String,
    /// All types of that.
    pub program: Arc<ProgramTypes>,
    /// Which one; no typedef.
    pub of: TypeId,
    /// All in all.
    pub whole: MemberUse,
    /// Samples whose member is not known.
    pub unplaced: MemberUse,
    /// Variables, or memory, that its objects lie in; most samples first.
    pub variables: Vec<(String, u64)>,
    pub(crate) uses: TypeUse,
    pub(super) events: Arc<[EventShares]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventShares {
    leader: usize,
    weighting: Weighting,
    whole: Sum,
    is_of_misses: bool,
}

pub(crate) fn type_report(mut uses: TypeUses, counted: Counted<'_>) -> TypeReport {
    uses.add_waiting(counted.lookup);
    let of_event = counted.events().map(|(event, leader)| EventShares {
        leader,
        weighting: event.weighting,
        whole: Sum::of(event.totals.counted, event.totals.period),
        is_of_misses: matches!(
            MissedLevel::of_event(&event.name),
            Some(MissedLevel::L1d | MissedLevel::L2 | MissedLevel::L3)
        ),
    });
    let events: Arc<[EventShares]> = of_event.collect();
    let Counted { report, lookup, .. } = counted;
    let notes = uses.notes().collect();
    let untyped = counts(&uses.untyped, &events);
    let mut types: Vec<SampledType> =
        uses.types.into_iter().map(|of| SampledType::new(of, &events, lookup)).collect();
    types.sort_by(|a, b| {
        let samples = b.whole.samples().cmp(&a.whole.samples());
        samples.then_with(|| a.name.cmp(&b.name)).then_with(|| a.object.cmp(&b.object))
    });
    TypeReport { report, types, untyped, notes }
}

fn counts(by_event: &BTreeMap<usize, Sum>, events: &[EventShares]) -> Vec<UseCount> {
    let count = |event: &EventShares| {
        let sum = by_event.get(&event.leader).copied().unwrap_or_default();
        let share = sum.share(event.whole, event.weighting);
        UseCount { count: sum.count, period: sum.period, share }
    };
    events.iter().map(count).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
pub(super) fn in_words(of: &PlaceAccesses, events: &[EventShares]) -> MemberUse {
    MemberUse {
        counts: counts(&of.by_event, events),
        reads: of.reads,
        writes: of.writes,
        readers: of.readers.len(),
        writers: of.writers.len(),
        latency: (of.timed > 0).then(|| of.cycles as f64 / of.timed as f64),
    }
}

impl SampledType {
    fn new(mut uses: TypeUse, events: &Arc<[EventShares]>, lookup: &mut Lookup) -> SampledType {
        uses.visits.finish();
        let mut whole = uses.unplaced.clone();
        uses.places.values().for_each(|place| whole.join(place));
        let mut variables: Vec<(String, u64)> = uses
            .variables
            .iter()
            .filter_map(|(value, count)| {
                Some((lookup.places.name(value.as_name().ok()?).to_string(), *count))
            })
            .collect();
        variables.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        variables.truncate(MOST_VARIABLES);
        let object = lookup.places.object(uses.object);
        SampledType {
            name: lookup.places.name_or_lack(uses.name),
            object: lookup.places.name(object).to_string(),
            program: Arc::clone(&uses.program),
            of: uses.of,
            whole: in_words(&whole, events),
            unplaced: in_words(&uses.unplaced, events),
            variables,
            uses,
            events: Arc::clone(events),
        }
    }

    pub(crate) fn misses(&self) -> u64 {
        let counted = self.events.iter().zip(&self.whole.counts);
        let of_misses = counted.filter(|(event, _)| event.is_of_misses);
        of_misses.fold(0, |all, (_, count)| all.saturating_add(count.count))
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = (&PlaceInType, &PlaceAccesses)> {
        self.uses.places.iter()
    }
}
