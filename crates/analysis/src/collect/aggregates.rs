//! What the kernel counted, as it waits to be counted here.

mod refusal;

pub(crate) use refusal::{ToldApart, refuse};

use crate::collect::two_rounds::{RoundBatch, TwoRounds};
use perfdata::Time;
use perfdata::aggregate::{Aggregate, AggregateAssembler, AggregatePart, Site, SiteKey};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sites that may wait; more are counted early, as samples are.
const SITES: usize = 1 << 17;

/// A whole aggregate, and the event that it counts for.
#[derive(Debug)]
pub(crate) struct EventAggregate {
    pub(crate) event: usize,
    pub(crate) aggregate: Aggregate,
}

/// Aggregates of a round.
#[derive(Debug, Default)]
pub(crate) struct AggregateBatch(pub(crate) Vec<EventAggregate>);

impl RoundBatch for AggregateBatch {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sites.
    fn size(&self) -> usize {
        self.0.iter().map(|of| of.aggregate.sites.len()).sum()
    }

    fn samples(&self) -> u64 {
        self.0.iter().map(|of| of.aggregate.count()).fold(0, u64::saturating_add)
    }
}

/// Aggregates of whole streams on their way.
#[derive(Debug)]
pub(crate) struct Aggregates {
    /// By an id of the event: it may be described anew between two parts.
    assemblers: FxHashMap<u64, (AggregateAssembler, LastInterval)>,
    waiting: TwoRounds<AggregateBatch>,
    /// What the first torn one says, and how many there are.
    torn: Option<(String, u64)>,
    /// Intervals that begin before the one before ends.
    overlaps: u64,
}

/// The interval of an event that came last. Its aggregates may be several: a
/// recorder with little room cuts them.
#[derive(Debug, Default)]
struct LastInterval {
    from: Time,
    to: Time,
    /// What was counted in it so far.
    sites: FxHashSet<SiteKey>,
}

impl LastInterval {
    /// Whether this holds hits that those before it may hold as well; takes it
    /// in.
    fn overlaps(&mut self, whole: &Aggregate) -> bool {
        let keys = whole.sites.iter().map(Site::key);
        if (self.from, self.to) == (whole.from, whole.to) {
            let before = self.sites.len();
            self.sites.extend(keys);
            return self.sites.len() < before + whole.sites.len();
        }
        let overlaps = whole.from < self.to;
        (self.from, self.to) = (whole.from, whole.to.max(self.to));
        self.sites.clear();
        self.sites.extend(keys);
        overlaps
    }
}

impl Default for Aggregates {
    fn default() -> Aggregates {
        Aggregates {
            assemblers: FxHashMap::default(),
            waiting: TwoRounds::new(SITES),
            torn: None,
            overlaps: 0,
        }
    }
}

impl Aggregates {
    /// Takes in a part of the event with this id, which counts for `event`;
    /// gives aggregates that must be counted before their time.
    pub(crate) fn add(&mut self, id: u64, event: usize, part: AggregatePart) -> AggregateBatch {
        let (assembler, last) = self.assemblers.entry(id).or_default();
        let assembled = assembler.add(part);
        if let Some(whole) = &assembled.whole {
            self.overlaps += u64::from(last.overlaps(whole));
        }
        self.tear(assembled.torn.map(|torn| torn.to_string()));
        let whole = assembled.whole.map(|aggregate| EventAggregate { event, aggregate });
        self.waiting.now().0.extend(whole);
        match self.waiting.is_full() {
            true => self.waiting.make_room(),
            false => AggregateBatch::default(),
        }
    }

    /// A round has ended: gives the aggregates of the one before.
    pub(crate) fn end_round(&mut self) -> AggregateBatch {
        self.waiting.end_round()
    }

    /// Nothing follows: what is not whole never will be.
    pub(crate) fn finish(&mut self) {
        let torn: Vec<_> =
            self.assemblers.values_mut().filter_map(|(assembler, _)| assembler.finish()).collect();
        torn.iter().for_each(|torn| self.tear(Some(torn.to_string())));
    }

    /// Hits that were counted before their time.
    pub(crate) fn early(&self) -> u64 {
        self.waiting.early()
    }

    /// How many aggregates were not whole, and a sentence about them.
    pub(crate) fn torn(&self) -> (u64, Option<String>) {
        let Some((first, count)) = &self.torn else { return (0, None) };
        let more = match count {
            1 => String::new(),
            count => format!("; so were {} more intervals", count - 1),
        };
        (*count, Some(format!("{first}{more}")))
    }

    /// What a reader must know of intervals that overlap.
    pub(crate) fn overlaps(&self) -> Option<String> {
        let count = self.overlaps;
        (count > 0).then(|| {
            format!(
                "intervals that the kernel counted begin before the one before them ends \
                 ({count}): hits may be here twice"
            )
        })
    }

    fn tear(&mut self, torn: Option<String>) {
        match (&mut self.torn, torn) {
            (Some((_, count)), Some(_)) => *count += 1,
            (none, Some(text)) => *none = Some((text, 1)),
            (_, None) => {}
        }
    }
}
