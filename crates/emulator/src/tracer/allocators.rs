//! Functions of allocators in the code of one address space.

use std::path::PathBuf;

use perfdata::AllocatorCall;
use rustc_hash::FxHashMap;

use super::maps::MappedRegion;
use crate::allocators::AllocatorFinder;

#[derive(Debug, Default)]
pub(crate) struct MappedAllocators {
    finder: Option<AllocatorFinder>,
    /// By the mapping: another at its place is another.
    regions: FxHashMap<RegionKey, FxHashMap<u64, AllocatorCall>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegionKey {
    start: u64,
    end: u64,
    offset: u64,
    device: (u32, u32),
    inode: u64,
}

impl RegionKey {
    /// That of a region; None: it is of no file.
    pub(crate) fn of(region: &MappedRegion) -> Option<RegionKey> {
        let MappedRegion { start, end, offset, device, inode, .. } = *region;
        (inode != 0).then_some(RegionKey { start, end, offset, device, inode })
    }
}

impl MappedAllocators {
    pub(crate) fn new(finder: Option<AllocatorFinder>) -> MappedAllocators {
        MappedAllocators { finder, regions: FxHashMap::default() }
    }

    pub(crate) fn knows(&self, key: &RegionKey) -> bool {
        self.regions.contains_key(key)
    }

    pub(crate) fn learn(&mut self, tid: i32, key: RegionKey, region: &MappedRegion) {
        let Some(finder) = &self.finder else { return };
        let found = finder.of_file(&path(tid, region));
        let address = |offset: u64| {
            let within = offset.checked_sub(key.offset)?;
            key.start.checked_add(within).filter(|at| *at < key.end)
        };
        let addresses = found.iter().filter_map(|it| Some((address(it.offset)?, it.call)));
        self.regions.insert(key, addresses.collect());
    }

    /// Which function begins at an address of a region that is known.
    pub(crate) fn at(&self, key: &RegionKey, address: u64) -> Option<AllocatorCall> {
        self.regions.get(key)?.get(&address).copied()
    }
}

/// Where the region's file can be read: by the mapping itself, which needs a
/// right that root has, else by its name.
fn path(tid: i32, region: &MappedRegion) -> PathBuf {
    let mapped = format!("/proc/{tid}/map_files/{:x}-{:x}", region.start, region.end);
    if std::fs::metadata(&mapped).is_ok() {
        return mapped.into();
    }
    format!("/proc/{tid}/root{}", String::from_utf8_lossy(&region.path)).into()
}
