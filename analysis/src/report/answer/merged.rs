//! Events of one request as the one that the user asked for.

use super::sieved::sieved;
use super::{DescribedEvent, facts, rows};
use crate::collect::event::Event;
use crate::collect::registers::Histogram;
use crate::collect::tally::Sum;
use crate::collect::weight::Weighing;
use crate::query::{Query, Weighting};
use crate::report::{
    EventReport, FilterReport, KernelCountReport, Member, RecorderLedger, SamplingMode, Totals,
};
use crate::sieve::Sieve;
use record::stream::{EventDescription, note};
use record::{Arch, IpMeaning};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// What a table is of.
#[derive(Debug)]
pub(super) struct Merged {
    name: String,
    pub(super) sampling: SamplingMode,
    unit: crate::report::PeriodUnit,
    pub(super) weighting: Weighting,
    promises: BTreeMap<String, String>,
    ip: IpMeaning,
    ledger: Option<RecorderLedger>,
    totals: Totals,
    pub(super) sum: Sum,
    sieved: Option<FilterReport>,
    members: Vec<Member>,
    histogram: Option<Histogram>,
    latency_of: Option<String>,
    in_kernel: Option<KernelCountReport>,
}

impl Merged {
    /// Of events of one request, at least one.
    pub(super) fn of(together: &[DescribedEvent<'_>], sieve: &Sieve, arch: Arch) -> Merged {
        let first = together[0].event;
        let members = members(together);
        let several = members.len() > 1;
        let mut sum = Sum::default();
        let mut totals = Totals::default();
        for DescribedEvent { event, .. } in together {
            sum.join(event.sum);
            totals.samples = totals.samples.saturating_add(event.samples);
            totals.filtered = totals.filtered.saturating_add(event.filtered);
            totals.malformed += event.malformed;
            totals.others += event.others;
            totals.outside_mode = totals.outside_mode.saturating_add(event.outside);
            totals.undecided += event.undecided.values().sum::<u64>();
        }
        totals.counted = sum.count;
        totals.period = sum.period;
        totals.exact_ip = sum.exact;
        let at_site = together.iter().map(|of| of.event.at_site).fold(0, u64::saturating_add);
        totals.at_site = first.histogram.as_ref().map(|_| at_site);
        let same = together.iter().all(|of| of.event.sampling == first.sampling);
        let ledger = RecorderLedger::sum(together.iter().filter_map(|of| ledger(of.described)));
        Merged {
            name: if several { first.request().to_owned() } else { first.name.clone() },
            sampling: first.sampling,
            unit: first.unit,
            // Samples that stand for different numbers of events.
            weighting: if same { first.weighting } else { Weighting::Period },
            promises: promises(together),
            ip: ip(together),
            sieved: sieved(together, sieve, totals.samples),
            ledger,
            totals,
            sum,
            members: if several { members } else { Vec::new() },
            histogram: first.histogram.clone(),
            latency_of: latency_of(together),
            in_kernel: facts::in_kernel(
                together.iter().filter_map(|of| of.event.in_kernel.as_ref()),
                arch,
            ),
        }
    }

    pub(super) fn report(self, query: &Query, table: rows::Table) -> EventReport {
        let top_values = query.registers.as_ref().map_or(0, |registers| registers.top_values);
        EventReport {
            name: self.name,
            sampling: self.sampling,
            unit: self.unit,
            weighting: self.weighting,
            promises: self.promises,
            ip: self.ip,
            ledger: self.ledger,
            in_kernel: self.in_kernel,
            totals: Totals {
                unresolved: table.unresolved,
                unresolved_data: table.unresolved_data,
                unresolved_lines: table.unresolved_lines,
                unresolved_objects: table.unresolved_objects,
                ..self.totals
            },
            filter: self.sieved,
            members: self.members,
            not_kept: None,
            rows_total: table.rows_total,
            rows: table.rows,
            latency_of: self.latency_of.filter(|_| query.accesses),
            latency: None,
            accesses: Vec::new(),
            levels: Vec::new(),
            registers: self.histogram.map_or_else(Vec::new, |all| all.finish(top_values)),
        }
    }
}

/// What the instruction pointers of all of them are.
fn ip(together: &[DescribedEvent<'_>]) -> IpMeaning {
    let mut all = together.iter().map(|of| {
        let promised = of.described.notes.iter().find_map(|text| note::value(text, "ip"));
        IpMeaning::of(&of.described.attr, promised)
    });
    let first = all.next().unwrap_or(IpMeaning::Varies);
    if all.all(|other| other == first) { first } else { IpMeaning::Varies }
}

pub(super) fn ledger(described: &EventDescription) -> Option<RecorderLedger> {
    described.notes.iter().rev().find_map(|text| RecorderLedger::parse(text))
}

/// What was opened for the request. The same opened again, as after a restart
/// of the daemon, is the same.
fn members(together: &[DescribedEvent<'_>]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for DescribedEvent { event: Event { name, sampling, samples, sum, .. }, described, .. } in
        together
    {
        let config = format!("{:#x}", described.attr.config);
        let (sampling, ledger) = (*sampling, ledger(described));
        let is_same = |known: &&mut Member| {
            (&known.name, &known.config, known.sampling) == (name, &config, sampling)
        };
        if let Some(known) = members.iter_mut().find(is_same) {
            known.samples = known.samples.saturating_add(*samples);
            known.counted = known.counted.saturating_add(sum.count);
            known.ledger = RecorderLedger::sum([known.ledger.take(), ledger].into_iter().flatten());
        } else {
            let (name, samples, counted) = (name.clone(), *samples, sum.count);
            members.push(Member { name, config, sampling, samples, counted, ledger });
        }
    }
    members
}

/// What the latencies of each are; those of loads and of stores may share a
/// table.
fn latency_of(together: &[DescribedEvent<'_>]) -> Option<String> {
    let mut texts: Vec<&str> = Vec::new();
    for DescribedEvent { event, .. } in together {
        if let Weighing::Latency(text) = event.weighing
            && !texts.contains(&text)
        {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// All pairs of the notes that are no ledger. What events promise differently
/// has all that they promise, joined by ` | `.
fn promises(together: &[DescribedEvent<'_>]) -> BTreeMap<String, String> {
    let mut promises: BTreeMap<String, String> = BTreeMap::new();
    let mut said = FxHashSet::default();
    for DescribedEvent { described, .. } in together {
        let clock = described.clock.map(|clock| clock.to_string());
        let own = described.notes.iter().filter(|text| note::value(text, "delivered").is_none());
        for (key, value) in own.chain(&clock).flat_map(|text| note::pairs(text)) {
            if !said.insert((key.to_owned(), value.to_owned())) {
                continue;
            }
            let known = promises.entry(key.to_owned());
            let known = known.and_modify(|known| known.push_str(" | ")).or_default();
            known.push_str(value);
        }
    }
    promises
}
