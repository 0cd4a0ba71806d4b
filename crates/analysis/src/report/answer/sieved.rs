//! What filters made of the samples of a request.

use super::DescribedEvent;
use crate::report::{FilterPart, FilterReport, RecorderLedger, SamplingMode};
use crate::sieve::Sieve;
use perfdata::AttrFlags;
use perfdata::stream::{EventDescription, note};
use std::collections::BTreeMap;

/// `config` of `ibs_op`: only ops that missed the L3 cache are sampled.
const L3_MISS_ONLY: u64 = 1 << 16;
/// Its `config1`: only loads of at least so many cycles are.
const LEAST_LATENCY: u64 = 0xfff;

/// With fewer ops from one sample to the next, how many of them were the
/// kernel's way out of the interrupt matters. IBS counts again from the write
/// at the end of perf_ibs_handle_irq() (arch/x86/events/amd/ibs.c) on, in
/// whatever mode: some 530 instructions of Linux 7.2 up to the return, on
/// each of which no sample can fall. At this interval that is 1 %.
const LEAST_SOUND: u64 = 50_000;

/// What the filters of the events made of their samples; None without any.
pub(super) fn sieved(
    together: &[DescribedEvent<'_>],
    sieve: &Sieve,
    samples: u64,
) -> Option<FilterReport> {
    if together.iter().all(|of| sieve.filter(of.index).is_all()) {
        return None;
    }
    let mut filters: Vec<String> = Vec::new();
    let mut undecided: BTreeMap<String, u64> = BTreeMap::new();
    for DescribedEvent { index, event, .. } in together {
        let filter = sieve.filter(*index).to_string();
        if !filters.contains(&filter) {
            filters.push(filter);
        }
        for (doubt, count) in &event.undecided {
            *undecided.entry(sieve.reason(*doubt).to_owned()).or_default() += count;
        }
    }
    let parts: Vec<FilterPart> = together.iter().map(|of| part(of, sieve)).collect();
    Some(FilterReport::new(filters.join(" | "), samples, undecided, &parts))
}

fn part(of: &DescribedEvent<'_>, sieve: &Sieve) -> FilterPart {
    let event = of.event;
    let open = event.undecided.values().sum::<u64>() + event.malformed;
    let told = event.samples.saturating_sub(open);
    let interval = match event.sampling {
        SamplingMode::Period(period) => period,
        SamplingMode::Frequency(_) | SamplingMode::Adapted => 0,
    };
    FilterPart {
        events: of.ledger().and_then(|ledger| events(of.described, &ledger, interval)),
        interval,
        is_all: sieve.filter(of.index).is_all(),
        kept: told.saturating_sub(event.others),
        told,
        is_bound: is_ibs(of.described) && interval < LEAST_SOUND,
    }
}

fn is_ibs(described: &EventDescription) -> bool {
    described.notes.iter().any(|text| note::value(text, "source") == Some("ibs"))
}

/// How many events the samples stand for, where that is known.
///
/// IBS counts ops of both modes: the kernel drops samples of the one that is
/// excluded after it has counted them (perf_ibs_handle_irq(),
/// arch/x86/events/amd/ibs.c), so the samples that were made have to tell.
/// What the CPU drops itself restarts its count, and nothing tells.
fn events(described: &EventDescription, ledger: &RecorderLedger, interval: u64) -> Option<u64> {
    let attr = &described.attr;
    if !is_ibs(described) {
        return ledger.events;
    }
    if attr.config & L3_MISS_ONLY != 0 || attr.config1 & LEAST_LATENCY != 0 {
        return None;
    }
    if attr.flags.intersects(AttrFlags::EXCLUDE_USER | AttrFlags::EXCLUDE_KERNEL) {
        return ledger.made()?.checked_mul(interval);
    }
    ledger.events
}
