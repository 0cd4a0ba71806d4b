//! What the target's code was when it was translated.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use perfdata::AllocatorCall;
use rustc_hash::{FxHashMap, FxHashSet};

use super::allocators::{MappedAllocators, RegionKey};
use super::maps::{self, MappedRegion, PAGE};
use crate::sys::remote;
use crate::translate::CodeSource;

const BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteDetection {
    /// By the system calls that change mappings: it cannot be written.
    Calls,
    /// It was writable: write-protected by us, a fault tells.
    Protected,
    /// Its traces compare themselves.
    Checked,
}

/// A page that code was translated from.
#[derive(Debug)]
pub(crate) struct CodePage {
    /// What it held then.
    pub(crate) bytes: Box<[u8; BYTES]>,
    pub(crate) write_detection: WriteDetection,
    /// It comes from no file.
    anonymous: bool,
}

#[derive(Debug, Default)]
pub(crate) struct CodePages {
    /// By address.
    pub(crate) pages: FxHashMap<u64, CodePage>,
    /// Pages that were written after they were protected: how often.
    pub(crate) written: FxHashMap<u64, u32>,
    /// Pages that had no code to read when it was looked for.
    absent: FxHashSet<u64>,
    /// System calls that read into memory are looked at.
    pub(crate) reads: bool,
    /// The regions, until something changes them.
    regions: Vec<MappedRegion>,
    fresh: bool,
    pub(crate) allocators: MappedAllocators,
}

/// A page that is written so often compares itself.
const OFTEN: u32 = 3;

/// Reads a page of code; also one that can only be executed.
fn read(tid: i32, address: u64, to: &mut [u8; BYTES]) -> bool {
    let plain = remote::read(tid, address, to);
    plain.is_ok_and(|read| read == BYTES)
        || File::open(format!("/proc/{tid}/mem"))
            .is_ok_and(|memory| memory.read_exact_at(to, address).is_ok())
}

impl CodePages {
    pub(crate) fn stale(&mut self) {
        self.fresh = false;
    }

    pub(crate) fn region(&mut self, tid: i32, address: u64) -> Option<&MappedRegion> {
        if !self.fresh {
            self.regions = maps::regions(tid).unwrap_or_default();
            self.fresh = true;
        }
        let after = self.regions.partition_point(|region| region.end <= address);
        self.regions.get(after).filter(|region| region.holds(address) && region.is_executable())
    }

    pub(crate) fn protected(&self) -> Vec<u64> {
        let of =
            self.pages.iter().filter(|(_, page)| page.write_detection == WriteDetection::Protected);
        of.map(|(address, _)| *address).collect()
    }

    /// Pages of them that a range meets, which the kernel is about to write.
    /// They will compare themselves: nobody can say when it does.
    pub(crate) fn read_into(&mut self, range: &Range<u64>) -> Vec<u64> {
        let mut pages = self.protected();
        pages.retain(|page| *page < range.end && range.start < page + PAGE);
        self.written.extend(pages.iter().map(|page| (*page, OFTEN)));
        pages
    }

    /// Whether code was translated from a range, or looked for there.
    pub(crate) fn meets(&self, range: &Range<u64>) -> bool {
        if self.absent.iter().any(|address| range.contains(address)) {
            return true;
        }
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
            let writable = self.region(tid, address).is_some_and(MappedRegion::is_writable);
            let write_detection = self.pages.get(&address).map(|page| page.write_detection);
            if write_detection == Some(WriteDetection::Protected)
                || writable && write_detection == Some(WriteDetection::Calls)
            {
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
        let first = range.start & !(PAGE - 1);
        let appeared = self.absent.extract_if(|page| (first..range.end).contains(page));
        let mut found: Vec<_> = appeared.map(|page| page..page.saturating_add(PAGE)).collect();
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
            let readable = executable && read(tid, address, &mut now);
            let Some(page) = self.pages.get_mut(&address) else { continue };
            if !readable {
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
pub(crate) struct CodeReader<'a> {
    pub(crate) tid: i32,
    pub(crate) code: &'a mut CodePages,
    /// New pages that must be protected before their code runs.
    pub(crate) protect: Vec<u64>,
    /// New pages whose traces must compare themselves.
    pub(crate) check: Vec<u64>,
    /// Pages that were compared with what is there now.
    pub(crate) compared: Vec<u64>,
    /// What of them had changed unseen.
    pub(crate) changed: Vec<Range<u64>>,
}

impl CodeReader<'_> {
    pub(crate) fn new(tid: i32, code: &mut CodePages) -> CodeReader<'_> {
        let (protect, check) = (Vec::new(), Vec::new());
        CodeReader { tid, code, protect, check, compared: Vec::new(), changed: Vec::new() }
    }

    fn page(&mut self, address: u64) -> Option<&CodePage> {
        self.compare(address);
        if !self.code.pages.contains_key(&address) {
            let mut bytes = Box::new([0; BYTES]);
            let region = self.code.region(self.tid, address).cloned();
            let Some(region) = region.filter(|_| read(self.tid, address, &mut bytes)) else {
                self.code.absent.insert(address);
                return None;
            };
            let written = region.is_writable();
            // Another mapping of the same memory may be writable.
            let elsewhere = region.shared;
            let often = self.code.written.get(&address).is_some_and(|times| *times >= OFTEN);
            let write_detection = match (written, elsewhere || often) {
                (_, true) => WriteDetection::Checked,
                (true, false) => WriteDetection::Protected,
                (false, false) => WriteDetection::Calls,
            };
            match write_detection {
                WriteDetection::Protected => self.protect.push(address),
                WriteDetection::Checked => self.check.push(address),
                WriteDetection::Calls => {}
            }
            let anonymous = region.inode == 0;
            self.code.pages.insert(address, CodePage { bytes, write_detection, anonymous });
            self.compared.push(address);
        }
        self.code.pages.get(&address)
    }

    /// Programs that make code put it through /proc/self/mem into pages that
    /// they cannot write, which no call about mappings tells of.
    fn compare(&mut self, address: u64) {
        let known = self.code.pages.get(&address);
        let unseen = known
            .is_some_and(|page| page.anonymous && page.write_detection == WriteDetection::Calls);
        if unseen && !self.compared.contains(&address) {
            self.compared.push(address);
            self.changed.extend(self.code.changed(self.tid, &(address..address + PAGE)));
        }
    }
}

impl CodeSource for CodeReader<'_> {
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

    fn allocator(&mut self, address: u64) -> Option<AllocatorCall> {
        let key = RegionKey::of(self.code.region(self.tid, address)?)?;
        if !self.code.allocators.knows(&key) {
            let region = self.code.region(self.tid, address).cloned()?;
            self.code.allocators.learn(self.tid, key, &region);
        }
        self.code.allocators.at(&key, address)
    }
}
