//! What the target's code was when it was translated.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::maps::{self, Region};
use crate::sys::remote;
use crate::translate::CodeSource;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// The same for memory of ours.
const BYTES: usize = 4096;

/// How changes to a page of code come to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// By the system calls that change mappings: it cannot be written.
    Calls,
    /// It was writable: write-protected by us, a fault tells.
    Protected,
    /// Its traces compare themselves.
    Checked,
}

/// A page that code was translated from.
#[derive(Debug)]
pub(crate) struct Page {
    /// What it held then.
    pub(crate) bytes: Box<[u8; BYTES]>,
    /// How changes are seen.
    pub(crate) watch: Watch,
}

/// Pages of code of one address space.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// By address.
    pub(crate) pages: FxHashMap<u64, Page>,
    /// Pages that were written after they were protected: how often.
    pub(crate) written: FxHashMap<u64, u32>,
    /// The regions, until something changes them.
    regions: Vec<Region>,
    fresh: bool,
}

/// A page that is written so often compares itself.
const OFTEN: u32 = 3;

impl Code {
    /// Mappings have changed.
    pub(crate) fn stale(&mut self) {
        self.fresh = false;
    }

    /// The executable region that holds an address.
    pub(crate) fn region(&mut self, tid: i32, address: u64) -> Option<&Region> {
        if !self.fresh {
            self.regions = maps::regions(tid).unwrap_or_default();
            self.fresh = true;
        }
        let after = self.regions.partition_point(|region| region.end <= address);
        self.regions.get(after).filter(|region| region.holds(address) && region.executable())
    }

    /// Pages that are protected by us.
    pub(crate) fn protected(&self) -> Vec<u64> {
        let of = self.pages.iter().filter(|(_, page)| page.watch == Watch::Protected);
        of.map(|(address, _)| *address).collect()
    }

    /// Whether code was translated from a range.
    pub(crate) fn meets(&self, range: &Range<u64>) -> bool {
        let pages = (range.end - range.start) / PAGE;
        if pages < self.pages.len() as u64 {
            (range.start..range.end).step_by(BYTES).any(|address| self.pages.contains_key(&address))
        } else {
            self.pages.keys().any(|address| range.contains(address))
        }
    }

    /// Takes the pages of a range out whose watch no longer holds, as their
    /// mapping was changed: protected ones, and those that are writable now.
    pub(crate) fn forget_unwatched(&mut self, tid: i32, range: &Range<u64>) -> Vec<u64> {
        let inside: Vec<u64> =
            self.pages.keys().copied().filter(|address| range.contains(address)).collect();
        let mut gone = Vec::new();
        for address in inside {
            let writable = self.region(tid, address).is_some_and(Region::writable);
            let watch = self.pages.get(&address).map(|page| page.watch);
            if watch == Some(Watch::Protected) || writable && watch == Some(Watch::Calls) {
                self.pages.remove(&address);
                gone.push(address);
            }
        }
        gone
    }

    /// Ranges in which the memory now differs from what was translated. What
    /// is no longer readable or executable differs whole. The copies are
    /// brought up to date.
    pub(crate) fn changed(&mut self, tid: i32, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let first = range.start & !(PAGE - 1);
        let mut inside: Vec<u64> = match (range.end - first) / PAGE {
            few if few < self.pages.len() as u64 => (first..range.end)
                .step_by(BYTES)
                .filter(|address| self.pages.contains_key(address))
                .collect(),
            _ => self
                .pages
                .keys()
                .copied()
                .filter(|address| *address < range.end && first <= *address)
                .collect(),
        };
        inside.sort_unstable();
        for address in inside {
            let executable = self.region(tid, address).is_some();
            let mut now = [0; BYTES];
            let read = remote::read(tid, address, &mut now).unwrap_or(0);
            let Some(page) = self.pages.get_mut(&address) else { continue };
            if !executable || read < now.len() {
                self.pages.remove(&address);
                found.push(address..address + PAGE);
                continue;
            }
            let differs = |(before, now): &(&u8, &u8)| before != now;
            let pairs = || page.bytes.iter().zip(&now);
            if let Some(low) = pairs().position(|pair| differs(&pair)) {
                let high = pairs().rposition(|pair| differs(&pair)).unwrap_or(low);
                found.push(address + low as u64..address + high as u64 + 1);
                *page.bytes = now;
            }
        }
        found
    }
}

/// Reads code through the copies, and notes which pages are new.
pub(crate) struct Source<'a> {
    pub(crate) tid: i32,
    pub(crate) code: &'a mut Code,
    /// New pages that must be protected before their code runs.
    pub(crate) protect: Vec<u64>,
    /// New pages whose traces must compare themselves.
    pub(crate) check: Vec<u64>,
}

impl Source<'_> {
    fn page(&mut self, address: u64) -> Option<&Page> {
        if !self.code.pages.contains_key(&address) {
            let region = self.code.region(self.tid, address)?;
            let written = region.writable();
            // Another mapping of the same memory may be writable.
            let elsewhere = region.shared;
            let mut bytes = Box::new([0; BYTES]);
            let read = remote::read(self.tid, address, &mut bytes[..]).ok()?;
            if read < bytes.len() {
                return None;
            }
            let often = self.code.written.get(&address).is_some_and(|times| *times >= OFTEN);
            let watch = match (written, elsewhere || often) {
                (_, true) => Watch::Checked,
                (true, false) => Watch::Protected,
                (false, false) => Watch::Calls,
            };
            match watch {
                Watch::Protected => self.protect.push(address),
                Watch::Checked => self.check.push(address),
                Watch::Calls => {}
            }
            self.code.pages.insert(address, Page { bytes, watch });
        }
        self.code.pages.get(&address)
    }
}

impl CodeSource for Source<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = address.wrapping_add(done as u64);
            let offset = (at % PAGE) as usize;
            let Some(page) = self.page(at - at % PAGE) else { break };
            let Some(from) = page.bytes.get(offset..) else { break };
            let Some(to) = buffer.get_mut(done..) else { break };
            let length = from.len().min(to.len());
            to[..length].copy_from_slice(&from[..length]);
            done += length;
        }
        done
    }
}
