//! The store buffer: loads that overlap an earlier store but cannot take all
//! of their bytes from it wait until that is written.
//!
//! A store leaves after as many accesses as the buffer has entries. The table
//! of lines stays empty while this is modelled, so that every access is seen.

use super::outcome::Events;
use super::shape::STORES;
use super::{Core, DataAccess, word};

impl Core<'_> {
    /// Enters a store, or looks whether a load must wait for one.
    #[inline(never)]
    pub(super) fn forward(&mut self, access: &DataAccess) -> Events {
        let start = word(self.shape.forward);
        let length = word(2 * STORES + 1);
        let Some((next, stores)) =
            self.words.get_mut(start..start + length).and_then(<[u64]>::split_first_mut)
        else {
            return Events::NONE;
        };
        let end = access.address.wrapping_add(access.size);
        // Of the stores still there that overlap, the latest decides.
        let mut latest = (0, false);
        for store in stores.as_chunks::<2>().0 {
            let [address, rest] = *store;
            let (stamp, size) = (rest >> 16, rest & 0xffff);
            let there = size != 0 && access.stamp.wrapping_sub(stamp) <= STORES;
            let overlaps = address < end && access.address < address.wrapping_add(size);
            if there && overlaps && stamp >= latest.0 {
                let whole = address <= access.address && end <= address.wrapping_add(size);
                latest = (stamp, !whole);
            }
        }
        if access.write {
            let at = word(*next * 2);
            if let Some([address, rest]) = stores.get_mut(at..at + 2) {
                *address = access.address;
                *rest = access.stamp << 16 | access.size & 0xffff;
            }
            *next = if *next + 1 < STORES { *next + 1 } else { 0 };
        }
        if latest.1 && access.read { Events::BLOCKED } else { Events::NONE }
    }
}
