//! What rows have in common that were counted in the kernel, in words.

use crate::collect::event::KernelCount;
use crate::collect::fields::register_name;
use crate::report::{self, CommonBits, RowFacts, WholeHit, hex};
use perfdata::Arch;
use perfdata::aggregate::Site;

/// What causes begin with that are no losses: somebody asked for it.
const FILTERED: &str = "filtered_";

pub(super) fn in_kernel<'e>(
    events: impl Iterator<Item = &'e KernelCount>,
    arch: Arch,
) -> Option<report::KernelCountReport> {
    events.fold(None, |all: Option<report::KernelCountReport>, one| {
        let (from, to) = one.span.unwrap_or_default();
        let mut sum = all.unwrap_or_else(|| report::KernelCountReport {
            from: from.0,
            by_process: true,
            ..report::KernelCountReport::default()
        });
        sum.hits = sum.hits.saturating_add(one.hits);
        sum.counted = sum.counted.saturating_add(one.counted);
        sum.intervals += one.intervals;
        (sum.from, sum.to) = (sum.from.min(from.0), sum.to.max(to.0));
        // Of no hits nobody can tell.
        sum.by_process &= !one.mixes_processes && one.hits > 0;
        for (cause, count) in &one.lost {
            let (causes, cause) = match cause.strip_prefix(FILTERED) {
                Some(cause) => (&mut sum.filtered, cause),
                None => (&mut sum.lost, cause.as_str()),
            };
            let total = causes.entry(cause.to_owned()).or_default();
            *total = total.saturating_add(*count);
        }
        // Registers of several events of a request are those of the first.
        sum.at_site = sum.at_site.or_else(|| one.at_site.as_ref().map(|site| facts(site, arch)));
        Some(sum)
    })
}

pub(crate) fn facts(site: &Site, arch: Arch) -> RowFacts {
    let register = |(index, register): (usize, &perfdata::aggregate::RegisterBits)| {
        let taken = site.taken.iter().filter_map(|hit| hit.registers.get(index).copied());
        let name = register_name(arch, register.number);
        CommonBits::of_register(name, register.bits, site.count, taken)
    };
    let address = site.address.map(|range| {
        CommonBits::of_addresses(range, site.count, site.taken.iter().map(|hit| hit.address))
    });
    let taken = site.taken.iter().map(|hit| {
        let names = site.registers.iter().map(|register| register_name(arch, register.number));
        let address = address.as_ref().map(|_| ("addr".to_owned(), hex(hit.address)));
        let registers = names.zip(hit.registers.iter().map(|value| hex(*value)));
        WholeHit {
            time: hit.time.0,
            pid: hit.pid.0,
            tid: hit.tid.0,
            cpu: hit.cpu.0,
            period: hit.period,
            weight: hit.weight,
            data_src: hit.data_src,
            values: address.into_iter().chain(registers).collect(),
        }
    });
    RowFacts {
        first: site.first.0,
        last: site.last.0,
        taken: taken.collect(),
        address,
        registers: site.registers.iter().enumerate().map(register).collect(),
        strides: site.strides.as_deref().map(report::strides).unwrap_or_default(),
    }
}
