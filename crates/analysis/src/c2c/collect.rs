//! Accesses by line: which threads, which bytes, from where.

use crate::c2c::access_totals::AccessTotals;
use crate::c2c::line_use::{ByteMask, ThreadUse, bytes};
use crate::code::access_shape::AccessShape;
use crate::collect::access_shapes::AccessShapes;
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::data_holder::DataHolder;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use perfdata::data_src::{Operation, Snoop};
use perfdata::{DataSrc, Pid, Tid, Time};
use rustc_hash::{FxHashMap, FxHashSet};
use symbolizer::Place;

/// Lines, and of each the threads and sites, that are kept.
const MOST_LINES: usize = 1 << 17;
const MOST_OF_A_LINE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LineOfProcess {
    pub(crate) pid: Pid,
    pub(crate) address: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LineUses {
    pub(crate) threads: Vec<ThreadUse>,
    pub(crate) sites: Vec<SiteUse>,
}

#[derive(Clone, Debug)]
pub(crate) struct SiteUse {
    pub(crate) site: Place,
    pub(crate) holder: DataHolder,
    pub(crate) threads: Vec<Tid>,
    pub(crate) read: ByteMask,
    pub(crate) written: ByteMask,
    /// Samples, and the events that they stand for, of accesses for which the
    /// line came from another core that had modified it.
    pub(crate) transfers: Sum,
    /// Cycles that those took.
    pub(crate) cycles: u64,
    pub(crate) others: Sum,
}

#[derive(Debug)]
pub(crate) struct SharedLines {
    /// Bytes.
    line: u64,
    /// Events whose samples are all of lines that another core had modified. With one of them
    /// no sample of another event counts as a transfer, which it may be once more; without any
    /// the data source of each sample tells.
    transfers: FxHashSet<u32>,
    pub(crate) lines: FxHashMap<LineOfProcess, LineUses>,
    shapes: AccessShapes,
    pub(crate) left_out: u64,
    pub(crate) without_address: u64,
    pub(crate) samples: u64,
    pub(crate) totals: AccessTotals,
}

impl SharedLines {
    /// Of lines of 64 bytes, or pairs of them.
    pub(crate) fn new(line: u64) -> SharedLines {
        SharedLines {
            line,
            transfers: FxHashSet::default(),
            lines: FxHashMap::default(),
            shapes: AccessShapes::default(),
            left_out: 0,
            without_address: 0,
            samples: 0,
            totals: AccessTotals::default(),
        }
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }
}

impl Collector for SharedLines {
    fn needs(&self) -> Needs {
        Needs::ACCESS | Needs::STACKS | Needs::HEAP
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        if new.event.selected && is_of_transfers(&new.event.name) {
            self.transfers.extend(u32::try_from(new.events.len() - 1));
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.samples += 1;
        sample.words.data_src.into_iter().for_each(|source| self.totals.add(source));
        let (Ok(site), Ok(address)) = (sample.place(lookup), sample.address()) else {
            self.without_address += 1;
            return Ok(());
        };
        let held = *sample.held;
        let shape = self.shapes.of(site, held.at(), &mut lookup.places.symbolizer);
        let source = sample.words.data_src;
        let is_transfer = match self.transfers.is_empty() {
            true => source.is_some_and(is_transfer),
            false => self.transfers.contains(&held.event),
        };
        let key = LineOfProcess { pid: held.pid(), address: address & !(self.line - 1) };
        if self.lines.len() >= MOST_LINES && !self.lines.contains_key(&key) {
            self.left_out += 1;
            return Ok(());
        }
        let bytes = bytes(address - key.address, shape.map_or(1, |it| it.width), self.line);
        let use_of = Use::new(bytes, shape, source);
        let holder = sample.holder(lookup);
        let line = self.lines.entry(key).or_default();
        let is_kept = line.by_thread(held.tid(), held.time, use_of);
        let of_site = line.of_site(site, holder);
        let Some(of_site) = of_site.filter(|_| is_kept) else {
            self.left_out += 1;
            return Ok(());
        };
        of_site.read |= use_of.read;
        of_site.written |= use_of.written;
        if !of_site.threads.contains(&held.tid()) && of_site.threads.len() < MOST_OF_A_LINE {
            of_site.threads.push(held.tid());
        }
        if is_transfer {
            of_site.transfers.join(sample.sum);
            let cycles = sample.latency.unwrap_or(0).saturating_mul(sample.sum.period);
            of_site.cycles = of_site.cycles.saturating_add(cycles);
        } else {
            of_site.others.join(sample.sum);
        }
        Ok(())
    }
}

/// By the names that types and the makers of CPUs have for such events.
fn is_of_transfers(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["hitm", "false_sharing", "xsnp_fwd"].iter().any(|word| name.contains(word))
}

#[derive(Clone, Copy, Debug)]
struct Use {
    read: ByteMask,
    written: ByteMask,
}

impl Use {
    /// As the code has it; where that cannot be had, as the sample says.
    fn new(bytes: ByteMask, shape: Option<AccessShape>, source: Option<DataSrc>) -> Use {
        let of = |does: bool| if does { bytes } else { 0 };
        if let Some(shape) = shape.filter(|shape| shape.reads || shape.writes) {
            return Use { read: of(shape.reads), written: of(shape.writes) };
        }
        let writes = source.is_some_and(|source| source.operation() == Operation::STORE);
        Use { read: of(!writes), written: of(writes) }
    }
}

/// Whether the line came from another core that had modified it.
fn is_transfer(source: DataSrc) -> bool {
    source.snoop().contains(Snoop::HITM)
}

impl LineUses {
    /// Whether there was room.
    fn by_thread(&mut self, tid: Tid, time: Time, of: Use) -> bool {
        let known = self.threads.iter().position(|thread| thread.tid == tid);
        if known.is_none() && self.threads.len() < MOST_OF_A_LINE {
            self.threads.push(ThreadUse::new(tid));
        }
        let index = known.unwrap_or(self.threads.len().saturating_sub(1));
        let of_tid = self.threads.get_mut(index).filter(|thread| thread.tid == tid);
        let Some(thread) = of_tid else { return false };
        thread.add(time, of.read, of.written);
        true
    }

    fn of_site(&mut self, site: Place, holder: DataHolder) -> Option<&mut SiteUse> {
        let found = self.sites.iter().position(|it| it.site == site && it.holder == holder);
        if let Some(index) = found {
            return self.sites.get_mut(index);
        }
        if self.sites.len() >= MOST_OF_A_LINE {
            return None;
        }
        self.sites.push(SiteUse {
            site,
            holder,
            threads: Vec::new(),
            read: 0,
            written: 0,
            transfers: Sum::default(),
            cycles: 0,
            others: Sum::default(),
        });
        self.sites.last_mut()
    }
}
