//! Events of one request as the one that the user asked for.

use super::sieved::sieved;
use super::{DescribedEvent, facts};
use crate::collect::event::{Event, title};
use crate::collect::sum::Sum;
use crate::collect::weight::Weighing;
use crate::query::{Query, Weighting};
use crate::report::{EventReport, Member, RecorderLedger, Totals};
use crate::sieve::Sieve;
use perfdata::stream::note;
use perfdata::{Arch, IpMeaning};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// What there is to say of events of one request, at least one, but for the
/// rows.
pub(super) fn without_rows(
    together: &[DescribedEvent<'_>],
    sieve: &Sieve,
    query: &Query,
    arch: Arch,
) -> EventReport {
    let first = together[0].event;
    let members = members(together);
    let several = members.len() > 1;
    let sum = sum(together);
    let mut totals = Totals::default();
    for DescribedEvent { event, .. } in together {
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
    let top_values = query.registers.as_ref().map_or(0, |registers| registers.top_values);
    let mut report = EventReport {
        name: title(together.iter().map(|of| of.event)).to_owned(),
        sampling: first.sampling,
        unit: first.unit,
        // Samples that stand for different numbers of events.
        weighting: if same { first.weighting } else { Weighting::Period },
        promises: promises(together),
        ip: ip(together),
        ledger: RecorderLedger::sum(together.iter().filter_map(DescribedEvent::ledger)),
        in_kernel: facts::in_kernel(
            together.iter().filter_map(|of| of.event.in_kernel.as_ref()),
            arch,
        ),
        filter: sieved(together, sieve, totals.samples),
        totals,
        members: if several { members } else { Vec::new() },
        not_kept: None,
        rows_total: 0,
        rows: Vec::new(),
        tree: None,
        latency_of: latency_of(together).filter(|_| query.accesses),
        latency: None,
        accesses: Vec::new(),
        levels: Vec::new(),
        registers: Vec::new(),
    };
    let histogram = first.histogram.clone().map(|histogram| histogram.finish(top_values));
    let (registers, interval) = (histogram.unwrap_or_default(), report.even_interval());
    report.registers = registers.into_iter().map(|it| it.at_interval(interval)).collect();
    report
}

pub(super) fn sum(together: &[DescribedEvent<'_>]) -> Sum {
    let mut sum = Sum::default();
    together.iter().for_each(|of| sum.join(of.event.sum));
    sum
}

fn ip(together: &[DescribedEvent<'_>]) -> IpMeaning {
    let mut all = together.iter().map(|of| {
        let promised = of.described.notes.iter().find_map(|text| note::value(text, "ip"));
        IpMeaning::of(&of.described.attr, promised)
    });
    let first = all.next().unwrap_or(IpMeaning::Varies);
    if all.all(|other| other == first) { first } else { IpMeaning::Varies }
}

/// What was opened for the request. The same opened again, as after a restart
/// of the daemon, is the same.
fn members(together: &[DescribedEvent<'_>]) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for of in together {
        let DescribedEvent { event: Event { name, sampling, samples, sum, .. }, described, .. } =
            of;
        let config = format!("{:#x}", described.attr.config);
        let (sampling, ledger) = (*sampling, of.ledger());
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
