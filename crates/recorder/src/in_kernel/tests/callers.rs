//! Callers that are counted with their sites, against the chains of samples.

use std::collections::BTreeMap;
use std::io::Read;

use perfdata::aggregate::Aggregate;
use perfdata::attr::AttrFlags;
use perfdata::{Attr, ChainContext, SampleType};

use super::hits::{Counted, PAGE, by_ip, in_none, in_sites, load, page_faults, touch, untouched};
use crate::in_kernel::{InKernel, ProgramTask, SampleConditions, SiteTables};

fn with_callers(sites: u32) -> InKernel {
    let tables = SiteTables { sites, by_process: true, callers: true, strides: false };
    InKernel { duty: ProgramTask::Aggregate(tables), keep: SampleConditions::default() }
}

fn faults(kernel: bool) -> Attr {
    let plain = page_faults();
    let user_only = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_CALLCHAIN_KERNEL;
    let mut flags = plain.flags;
    flags.set(user_only, !kernel);
    Attr { sample_type: plain.sample_type | SampleType::CALLCHAIN, flags, ..plain }
}

fn by_chain(aggregate: &Aggregate) -> BTreeMap<Vec<u64>, u64> {
    let mut counts = BTreeMap::new();
    for site in &aggregate.sites {
        let chain = site.chain.as_deref().expect("it was asked for").to_vec();
        assert_eq!(chain.get(1), Some(&site.ip), "what was hit comes first");
        *counts.entry(chain).or_default() += site.count;
    }
    counts
}

#[inline(never)]
fn deeper(depth: usize, memory: &mut [u8]) {
    if depth == 0 {
        touch::<0>(memory, PAGE);
    } else {
        let half = memory.len() / 2 / PAGE * PAGE;
        deeper(depth - 1, &mut memory[..half]);
        touch::<8>(&mut memory[half..], PAGE);
    }
}

#[test]
fn each_chain_has_the_count_of_the_ring() {
    if super::hits::refused() {
        return;
    }
    let mut counted = Counted::beside_ring(&with_callers(1024), &faults(false));
    for _ in 0..20 {
        let mut memory = untouched(512);
        let both = counted.during(|| deeper(6, &mut memory));
        assert_eq!(both.aggregate.lost, []);
        assert_eq!(by_chain(&both.aggregate), both.chains);
        assert_eq!(by_ip(&both.aggregate), both.ring);
        assert_eq!(in_sites(&both.aggregate), both.kernel);
        assert!(both.kernel >= 512);
    }
}

/// Faults that the kernel makes where it writes to a program's memory.
fn written_by_the_kernel() {
    let mut memory = untouched(64);
    std::fs::File::open("/dev/zero").unwrap().read_exact(&mut memory).unwrap();
}

#[test]
fn frames_of_the_kernel_are_the_rings_too() {
    if super::hits::refused() {
        return;
    }
    let mut counted = Counted::beside_ring(&with_callers(1024), &faults(true));
    let both = counted.during(written_by_the_kernel);
    assert_eq!(by_chain(&both.aggregate), both.chains);
    let joined = |chain: &&Vec<u64>| {
        chain[0] == ChainContext::KERNEL.0 && chain.contains(&ChainContext::USER.0)
    };
    assert!(both.chains.keys().any(|chain| joined(&chain)), "{:x?}", both.chains);
}

#[test]
fn who_may_not_see_the_kernel_sees_no_frame_of_it() {
    if super::hits::refused() {
        return;
    }
    let mut in_kernel = with_callers(1024);
    in_kernel.keep.user_only = true;
    // Shown to perf, and to the program.
    let mut counted = Counted::beside_ring(&in_kernel, &faults(true));
    let both = counted.during(|| {
        written_by_the_kernel();
        touch::<0>(&mut untouched(10), PAGE);
    });
    let upper = |word: &u64| *word >> 63 == 1 && *word < ChainContext::MAX.0;
    assert!(both.chains.keys().flatten().any(upper), "{:x?}", both.chains);
    let chains = by_chain(&both.aggregate);
    let words = || chains.keys().flatten();
    assert!(!words().any(|word| upper(word) || *word == ChainContext::KERNEL.0), "{chains:x?}");
    assert!(in_sites(&both.aggregate) >= 10);
    assert_eq!(in_sites(&both.aggregate) + in_none(&both.aggregate), both.kernel);
    assert!(both.aggregate.lost.iter().any(|(why, count)| why == "scrubbed" && *count > 0));
}

#[test]
fn chains_without_room_are_counted_exactly() {
    if super::hits::refused() {
        return;
    }
    let attr = faults(false);
    let program = load(&with_callers(SiteTables::MIN_SITES), &attr);
    let mut counted = Counted::with(program, &attr);
    let both = counted.during(|| (1..60).for_each(|depth| deeper(depth, &mut untouched(64))));
    assert!(both.aggregate.sites.len() <= 16 * super::hits::cpus().len());
    let no_room = both.aggregate.lost.iter().find(|(why, _)| why == "no_room");
    let no_room = no_room.map_or(0, |(_, count)| *count);
    assert_eq!(in_sites(&both.aggregate) + no_room, both.kernel);
}
