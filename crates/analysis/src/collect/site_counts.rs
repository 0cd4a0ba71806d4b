//! Sites that the kernel counted become rows.

use crate::collect::aggregates::EventAggregate;
use crate::collect::counters::Counters;
use crate::collect::event::Event;
use crate::collect::fields::SampleWords;
use crate::collect::pending::PendingSample;
use crate::collect::row_count::join_sites;
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::chain_words::ChainWords;
use crate::name::key_value::Missing;
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceNames;
use crate::query::Query;
use crate::query::needs::Needs;
use perfdata::aggregate::Site;
use perfdata::callchain::{CallChainWord, parts};
use perfdata::{ChainContext, CpuMode, Misc, Pid, Task, Tid};
use symbolizer::{Place, SampledAddress};

/// A site of an event, and where it lies, or why that is not known.
#[derive(Clone, Copy, Debug)]
struct PlacedSite<'s> {
    event: usize,
    site: &'s Site,
    place: Result<Place, Missing>,
}

impl Counters {
    pub(crate) fn count_aggregate(
        &mut self,
        of: &EventAggregate,
        lookup: &mut Lookup,
        query: &Query,
    ) -> Result<(), Error> {
        let EventAggregate { event: index, aggregate } = of;
        let Some(event) = self.events.get_mut(*index) else { return Ok(()) };
        event.in_kernel.get_or_insert_default().interval(aggregate);
        let is_anyones = |site: &Site| site.process.is_none() && site.mode == CpuMode::User;
        let span = aggregate.from..=aggregate.to;
        let alive = match aggregate.sites.iter().any(is_anyones) {
            true => lookup.places.symbolizer.alive(&span),
            false => Vec::new(),
        };
        for site in &aggregate.sites {
            let place = place(site, &alive, &mut lookup.places);
            self.count_site(PlacedSite { event: *index, site, place }, lookup, query)?;
            self.make_room()?;
        }
        Ok(())
    }

    fn count_site(
        &mut self,
        placed: PlacedSite<'_>,
        lookup: &mut Lookup,
        query: &Query,
    ) -> Result<(), Error> {
        let PlacedSite { event: index, site, place } = placed;
        let Some(event) = self.events.get_mut(index) else { return Ok(()) };
        event.samples = event.samples.saturating_add(site.count);
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let pid = site.process.unwrap_or_default();
        let held = PendingSample {
            ip: site.ip,
            time: site.last,
            task: Task { pid, tid: Tid(pid.0) },
            event: number,
            misc: Misc(site.mode.bits()),
            ..PendingSample::default()
        };
        let fields = event.fields.of_sites();
        let callers = match self.needs.has(Needs::CALLERS) {
            true => Some(callers(site, place, &mut lookup.places)),
            false => None,
        };
        let sum = Sum::of(site.count, site.period);
        let words = SampleWords { callers, ..SampleWords::default() };
        let mut sample = CountedSample::new(&held, words, &fields);
        (sample.event, sample.sum, sample.place) = (event.leader, sum, Some(place));
        if !self.rows.passes(&mut sample, &query.filters, lookup) {
            event.filtered = event.filtered.saturating_add(site.count);
            return Ok(());
        }
        self.rows.count_site(&mut sample, lookup, site)?;
        if sample.chain.is_some_and(|chain| matches!(chain.part, Err(Missing::NotKept))) {
            // One was booked when it was looked up.
            lookup.chains.left_out = lookup.chains.left_out.saturating_add(site.count - 1);
        }
        count(event, site, sum);
        for collector in &mut self.collectors {
            collector.take_site(site, &mut sample, lookup)?;
        }
        let Some(registers) = &query.registers else { return Ok(()) };
        let is_there = match &registers.site {
            None => true,
            Some(wanted) => place.is_ok_and(|place| lookup.places.is_at(wanted, place, site.ip)),
        };
        if is_there {
            event.at_site = event.at_site.saturating_add(site.count);
            let known = &mut event.in_kernel.get_or_insert_default().at_site;
            join_sites(known, site, &mut self.rows.chance);
        }
        Ok(())
    }
}

/// The callers of a site, none where its process was of another program
/// before or after: a chain of one may mean something in the other. What is
/// outermost lies in the program's own file or in what runs its threads.
fn callers<'s>(
    site: &'s Site,
    place: Result<Place, Missing>,
    places: &mut PlaceNames,
) -> ChainWords<'s> {
    let recorded = site.chain.as_deref().unwrap_or_default();
    let is_one = place.is_ok() && {
        let outermost = parts(recorded.iter().copied()).fold(None, |known, part| match part {
            CallChainWord::Context(ChainContext::USER) => Some(None),
            CallChainWord::Address(address) => known.map(|_| Some(address)),
            _ => known,
        });
        let outermost = outermost.flatten().zip(site.process);
        outermost.is_none_or(|(address, pid)| {
            let places = places.places(&[pid], address, &(site.first..=site.last));
            places.is_some_and(|places| places.len() < 2)
        })
    };
    ChainWords::of(if is_one { recorded } else { &[] })
}

/// A hit whose process is known, where some is: its memory holds the code.
pub(crate) fn witness(site: &Site, held: &PendingSample) -> PendingSample {
    let hit = site.taken.first().map(|hit| (hit.pid, hit.time));
    let own = site.process.or(only(site)).map(|pid| (pid, site.last));
    let (pid, time) = own.or(hit).unwrap_or((held.pid(), held.time));
    PendingSample { time, task: Task { pid, tid: Tid(pid.0) }, ..*held }
}

fn count(event: &mut Event, site: &Site, sum: Sum) {
    event.sum.join(sum);
    let in_kernel = event.in_kernel.get_or_insert_default();
    in_kernel.counted = in_kernel.counted.saturating_add(site.count);
    if event.left_out >> site.mode.bits() & 1 == 1 {
        event.outside = event.outside.saturating_add(site.count);
    }
}

/// Where a site lies. An address may be in several programs, one after the
/// other or side by side: then nothing tells whose the hits are. `alive` are
/// the processes that a site of none may be of.
fn place(site: &Site, alive: &[Pid], places: &mut PlaceNames) -> Result<Place, Missing> {
    let of = |pid| SampledAddress { mode: site.mode, pid, address: site.ip, time: site.last };
    if site.mode != CpuMode::User {
        return Ok(places.place(of(site.process.unwrap_or_default())));
    }
    let own = site.process.or(only(site));
    // Asked of all processes, each site would take as long as there are many.
    let pids: Vec<Pid> = match own {
        Some(own) => vec![own],
        None => alive.iter().copied().filter(|pid| site.pids.may_be_of(number(*pid))).collect(),
    };
    match places.places(&pids, site.ip, &(site.first..=site.last)).as_deref() {
        Some([place]) => Ok(*place),
        Some([]) => match own.or(site.taken.first().map(|hit| hit.pid)) {
            // The reason why not.
            Some(pid) => Ok(places.place(of(pid))),
            None => Err(lack(NO_PROCESS, "[unknown-process]", places)),
        },
        Some(_) | None => Err(lack(SEVERAL, "[several-programs]", places)),
    }
}

/// The process of all hits of a site, if it was one.
fn only(site: &Site) -> Option<Pid> {
    let number = u32::try_from(site.pids.all).ok()?;
    (site.pids.all == site.pids.any).then(|| Pid(number.cast_signed()))
}

/// As the kernel's programs see it.
fn number(pid: Pid) -> u64 {
    u64::from(pid.0.cast_unsigned())
}

fn lack(why: &str, mark: &'static str, places: &mut PlaceNames) -> Missing {
    Missing::Name(places.reason(why, mark, None))
}

const NO_PROCESS: &str = "no process is known of these hits";
const SEVERAL: &str = "several programs were at this address: record with --by-process";
