//! What the kernel counted, as it waits to be counted here.

use crate::collect::event::Event;
use crate::error::Error;
use crate::query::Query;
use crate::query::chain_view::FrameCut;
use crate::query::filter::FilterCondition;
use crate::query::key::Key;
use crate::query::view::View;
use perfdata::Time;
use perfdata::aggregate::{Aggregate, AggregateAssembler, AggregatePart, Site, SiteKey};
use perfdata::stream::{RoundBatch, RoundBuffer};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sites that may wait; more are counted early, as samples are.
const SITES: usize = 1 << 17;

#[derive(Debug)]
pub(crate) struct EventAggregate {
    pub(crate) event: usize,
    pub(crate) aggregate: Aggregate,
}

#[derive(Debug, Default)]
pub(crate) struct AggregateBatch(pub(crate) Vec<EventAggregate>);

impl RoundBatch for AggregateBatch {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn size(&self) -> usize {
        self.0.iter().map(|of| of.aggregate.sites.len()).sum()
    }

    fn samples(&self) -> u64 {
        self.0.iter().map(|of| of.aggregate.count()).fold(0, u64::saturating_add)
    }
}

#[derive(Debug)]
pub(crate) struct Aggregates {
    /// By an id of the event: it may be described anew between two parts.
    assemblers: FxHashMap<u64, (AggregateAssembler, LastInterval)>,
    waiting: RoundBuffer<AggregateBatch>,
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
            waiting: RoundBuffer::new(SITES),
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

/// What to do where only samples tell.
const SAMPLES: &str = "record samples: ebs without --in-kernel, a standing session without \
                       mode = \"aggregate\"";
const PROCESSES: &str = "record with --by-process";
const WITH_CALLERS: &str = "record with -g";

type Lacking = (&'static str, &'static str);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Distinguished {
    pub(crate) processes: bool,
    pub(crate) callers: bool,
}

/// Refuses a query that needs more of an event than was counted in the
/// kernel.
///
/// # Errors
/// The first thing asked for that is not there.
pub(crate) fn refuse(query: &Query, event: &Event, apart: Distinguished) -> Result<(), Error> {
    let refused = |asked: String, (why, instead): Lacking| {
        Err(Error::InKernel { event: event.name.clone(), asked, why, instead })
    };
    for key in &query.keys {
        if let Some(lacking) = of_key(key, apart) {
            return refused(format!("--by {key}"), lacking);
        }
    }
    for filter in &query.filters {
        if let Some(lacking) = of_condition(&filter.condition, apart) {
            return refused(format!("--filter {filter}"), lacking);
        }
    }
    let FrameCut { callers, callees, outside } = &query.frames;
    let cut = [("callers", callers.is_some()), ("callees", callees.is_some())];
    let cut = cut.into_iter().chain([("outside", !outside.is_empty())]);
    if let Some((option, _)) = cut.into_iter().find(|(_, is_asked)| *is_asked && !apart.callers) {
        return refused(format!("--{option}"), CALLERS);
    }
    if query.views.contains(&View::Types) {
        return refused("types and members".to_owned(), ADDRESSES);
    }
    if query.accesses {
        return refused("--mem".to_owned(), SOURCE);
    }
    if query.class.is_some() || event.is_sifted {
        let asked = query.class.map_or_else(
            || "which of its hits its type means".to_owned(),
            |class| format!("--class {class}"),
        );
        return refused(asked, ("the kernel judges no instructions", SAMPLES));
    }
    Ok(())
}

const ADDRESSES: Lacking = (
    "of a site's data addresses it keeps the range, the bits that never change and the strides, \
     which --by site shows",
    SAMPLES,
);
const THREADS: Lacking = ("it keeps no thread of each hit", SAMPLES);
const TIMES: Lacking = ("it keeps no time of each hit", SAMPLES);
const CPUS: Lacking = ("it keeps no CPU of each hit", SAMPLES);
const CALLERS: Lacking = ("it did not tell callers apart", WITH_CALLERS);
const SOURCE: Lacking = ("it keeps no data source and weight of each hit", SAMPLES);
const TOGETHER: Lacking = ("it did not tell processes apart", PROCESSES);

fn of_key(key: &Key, apart: Distinguished) -> Option<Lacking> {
    match key {
        Key::Site
        | Key::Ip
        | Key::Routine
        | Key::Inlined
        | Key::Srcline
        | Key::RoutineLine
        | Key::Operands
        | Key::Object => None,
        Key::Comm | Key::Pid => (!apart.processes).then_some(TOGETHER),
        Key::Tid => Some(THREADS),
        Key::Cpu => Some(CPUS),
        Key::Time(_) | Key::Region => Some(TIMES),
        Key::Addr
        | Key::Line
        | Key::Page
        | Key::Data
        | Key::Variable
        | Key::Alloc
        | Key::AllocLine
        | Key::Block
        | Key::Holder
        | Key::Type
        | Key::Member => Some(ADDRESSES),
        Key::Caller | Key::Callee | Key::Stack => (!apart.callers).then_some(CALLERS),
        Key::AddrBefore => Some(("it keeps no registers of each hit", SAMPLES)),
        Key::Access(_) | Key::Miss => Some(SOURCE),
        Key::Register(_) => Some((
            "of a site's registers it keeps the bits that never change, which --by site and \
             --regs show",
            SAMPLES,
        )),
    }
}

fn of_condition(condition: &FilterCondition, apart: Distinguished) -> Option<Lacking> {
    match condition {
        FilterCondition::Routine(_)
        | FilterCondition::Object(_)
        | FilterCondition::Ip(_)
        | FilterCondition::Mode(_) => None,
        FilterCondition::Comm(_) | FilterCondition::Pid(_) => {
            (!apart.processes).then_some(TOGETHER)
        }
        FilterCondition::Tid(_) => Some(THREADS),
        FilterCondition::Cpu(_) => Some(CPUS),
        FilterCondition::Time(_) | FilterCondition::Region(_) => Some(TIMES),
        FilterCondition::Addr(_) | FilterCondition::Variable(_) => Some(ADDRESSES),
        FilterCondition::Access(..) | FilterCondition::Weight(_) | FilterCondition::Miss(_) => {
            Some(SOURCE)
        }
        FilterCondition::Frame(_) => (!apart.callers).then_some(CALLERS),
    }
}
