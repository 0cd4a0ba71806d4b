//! Page faults whose number and place are known, and events that see them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use memmap2::{Advice, MmapMut};
use perfdata::aggregate::Aggregate;
use perfdata::attr::AttrFlags;
use perfdata::{Attr, Cpu, EventType, Sample, SampleLayout, SampleType, SoftwareEvent};

use crate::in_kernel::{
    AggregateReader, HitSource, InKernel, KernelProgram, LoadError, SampleContents,
};
use crate::ring;
use crate::sys::event::{EncodedAttr, EventPlace, NATIVE_ORDER, PerfEvent};
use crate::sys::mapping::RingMapping;

pub(super) const PAGE: usize = 4096;

/// Page faults of user code, every one.
pub(super) fn page_faults() -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config: 2,
        sample_period: 1,
        sample_type: SampleType::IP | SampleType::ADDR | SampleType::PERIOD,
        flags: AttrFlags::DISABLED | AttrFlags::EXCLUDE_KERNEL,
        ..Attr::default()
    }
}

/// Those of threads and processes that are made from now on too. Such an
/// event has no ring.
pub(super) fn inherited() -> Attr {
    let plain = page_faults();
    Attr { flags: plain.flags | AttrFlags::INHERIT, ..plain }
}

pub(super) fn cpus() -> Vec<Cpu> {
    crate::Facts::read(Path::new("/")).unwrap().cpus.online.unwrap()
}

/// Whether this process may load no programs at all. What the verifier has
/// against one is no such reason.
pub(super) fn refused() -> bool {
    let source = HitSource::Overflow(SampleContents::default());
    let refusal = KernelProgram::load(&InKernel::aggregate(), source, &cpus());
    let is_forbidden = |why: &LoadError| {
        matches!(why, LoadError::Rights { .. } | LoadError::Forbidden | LoadError::NoSystemCall)
    };
    match refusal {
        Err(why) if is_forbidden(&why) => {
            eprintln!("skipped: {why}");
            true
        }
        _ => false,
    }
}

pub(super) fn load(in_kernel: &InKernel, attr: &Attr) -> KernelProgram {
    KernelProgram::load(in_kernel, HitSource::Overflow(SampleContents::of(attr)), &cpus()).unwrap()
}

#[derive(Debug)]
pub(super) struct Counted {
    leader: PerfEvent,
    attr: Attr,
    ring: Option<RingMapping>,
    event: PerfEvent,
    pub(super) reader: AggregateReader,
}

#[derive(Debug)]
pub(super) struct Both {
    pub(super) aggregate: Aggregate,
    /// Of the event with the program.
    pub(super) kernel: u64,
    /// Samples by instruction pointer.
    pub(super) ring: BTreeMap<u64, u64>,
    /// Samples by the words of their chains, where the event has any.
    pub(super) chains: BTreeMap<Vec<u64>, u64>,
}

impl Counted {
    /// Beside an event of the same hits that fills a ring.
    pub(super) fn beside_ring(in_kernel: &InKernel, attr: &Attr) -> Counted {
        let leader = open(attr, None).unwrap();
        let ring = Some(RingMapping::new(&leader, 1024).unwrap());
        Counted::of(load(in_kernel, attr), attr, leader, ring)
    }

    pub(super) fn new(in_kernel: &InKernel, attr: &Attr) -> Counted {
        Counted::with(load(in_kernel, attr), attr)
    }

    pub(super) fn with(program: KernelProgram, attr: &Attr) -> Counted {
        let dummy = Attr { config: SoftwareEvent::DUMMY.0, sample_period: 0, ..attr.clone() };
        Counted::of(program, attr, open(&dummy, None).unwrap(), None)
    }

    fn of(
        program: KernelProgram,
        attr: &Attr,
        leader: PerfEvent,
        ring: Option<RingMapping>,
    ) -> Counted {
        // A member that is enabled counts while its leader does: both see
        // the same hits.
        let member = Attr { flags: attr.flags - AttrFlags::DISABLED, ..attr.clone() };
        let event = open(&member, Some(&leader)).unwrap();
        program.attach(&event).unwrap();
        Counted { leader, attr: attr.clone(), ring, event, reader: program.reader().unwrap() }
    }

    pub(super) fn during(&mut self, what: impl FnOnce()) -> Both {
        let before = self.event.counts().unwrap().count;
        self.leader.enable().unwrap();
        what();
        self.leader.disable().unwrap();
        let kernel = self.event.counts().unwrap().count - before;
        let (mut ring, mut chains) = (BTreeMap::new(), BTreeMap::new());
        if let Some(mapping) = &mut self.ring {
            samples(mapping, &self.attr, |sample| {
                *ring.entry(sample.ip.unwrap()).or_default() += 1;
                let chain = sample.callchain.unwrap_or_default().iter().collect();
                *chains.entry(chain).or_default() += 1;
            });
        }
        Both { aggregate: self.reader.take().unwrap(), kernel, ring, chains }
    }
}

pub(super) fn samples(ring: &mut RingMapping, attr: &Attr, mut each: impl FnMut(&Sample<'_>)) {
    let layout = SampleLayout::new(attr, NATIVE_ORDER).unwrap();
    ring::drain(ring, |lent| {
        let payload = [&lent.first[8..], lent.second].concat();
        each(&layout.decode(lent.header.misc, &payload).unwrap());
    });
}

pub(super) fn open(attr: &Attr, leader: Option<&PerfEvent>) -> io::Result<PerfEvent> {
    let mut encoded = EncodedAttr::new(attr).unwrap();
    PerfEvent::open(
        &mut encoded,
        EventPlace { pid: 0, cpu: -1, leader, leads: false, cgroup: None },
    )
}

pub(super) fn by_ip(aggregate: &Aggregate) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for site in &aggregate.sites {
        *counts.entry(site.ip).or_default() += site.count;
    }
    counts
}

pub(super) fn in_sites(aggregate: &Aggregate) -> u64 {
    aggregate.sites.iter().map(|site| site.count).sum()
}

/// Hits in none, whatever the cause.
pub(super) fn in_none(aggregate: &Aggregate) -> u64 {
    aggregate.lost.iter().map(|(_, count)| count).sum()
}

/// Memory without a page behind it, aligned to two pages.
pub(super) fn untouched(pages: usize) -> Untouched {
    let memory = MmapMut::map_anon((pages + 1) * PAGE).unwrap();
    memory.advise(Advice::NoHugePage).unwrap();
    let start = memory.as_ptr().addr() / PAGE % 2 * PAGE;
    Untouched { memory, range: start..start + pages * PAGE }
}

#[derive(Debug)]
pub(super) struct Untouched {
    memory: MmapMut,
    range: std::ops::Range<usize>,
}

impl std::ops::Deref for Untouched {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }
}

impl std::ops::DerefMut for Untouched {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.range.clone()]
    }
}

/// One site: faults once for each stretch of memory of so many bytes.
#[inline(never)]
pub(super) fn touch<const N: usize>(memory: &mut [u8], stretch: usize) {
    for stretch in memory.chunks_mut(stretch) {
        stretch[N] = 1;
    }
}
