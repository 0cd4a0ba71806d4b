//! What the kernel counted, until the side records of its time are in.
//!
//! Aggregates wait as samples do: the mapping that explains a site may come
//! up to one round later than the aggregate.

mod refusal;

pub(crate) use refusal::refuse;

use record::Time;
use record::aggregate::{Aggregate, AggregateAssembler, AggregatePart, Site, SiteKey};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sites that may wait; more are counted early, as samples are.
const SITES: usize = 1 << 17;

/// Aggregates of whole streams on their way.
#[derive(Debug, Default)]
pub(crate) struct Aggregates {
    /// By an id of the event: it may be described anew between two parts.
    assemblers: FxHashMap<u64, (AggregateAssembler, LastInterval)>,
    before: Vec<(usize, Aggregate)>,
    now: Vec<(usize, Aggregate)>,
    early: u64,
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

impl Aggregates {
    /// Takes in a part of the event with this id, which counts for `event`;
    /// gives aggregates that must be counted before their time.
    pub(crate) fn add(
        &mut self,
        (id, event): (u64, usize),
        part: AggregatePart,
    ) -> Vec<(usize, Aggregate)> {
        let (assembler, last) = self.assemblers.entry(id).or_default();
        let assembled = assembler.add(part);
        if let Some(whole) = &assembled.whole {
            self.overlaps += u64::from(last.overlaps(whole));
        }
        self.tear(assembled.torn.map(|torn| torn.to_string()));
        self.now.extend(assembled.whole.map(|whole| (event, whole)));
        if self.sites() <= SITES {
            return Vec::new();
        }
        let mut ready = self.end_round();
        if ready.is_empty() {
            ready = self.end_round();
        }
        let early = ready.iter().map(|(_, aggregate)| aggregate.count());
        self.early = early.fold(self.early, u64::saturating_add);
        ready
    }

    /// A round has ended: gives the aggregates of the one before.
    pub(crate) fn end_round(&mut self) -> Vec<(usize, Aggregate)> {
        std::mem::replace(&mut self.before, std::mem::take(&mut self.now))
    }

    /// Nothing follows: what is not whole never will be.
    pub(crate) fn finish(&mut self) {
        let torn: Vec<_> =
            self.assemblers.values_mut().filter_map(|(assembler, _)| assembler.finish()).collect();
        torn.iter().for_each(|torn| self.tear(Some(torn.to_string())));
    }

    /// Hits that were counted before their time.
    pub(crate) fn early(&self) -> u64 {
        self.early
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

    fn sites(&self) -> usize {
        self.before.iter().chain(&self.now).map(|(_, aggregate)| aggregate.sites.len()).sum()
    }
}
