//! Data addresses of one instruction as a histogram of bounded size.

use rustc_hash::FxHashMap;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Stretches that are told apart while counting.
const MOST: usize = 1024;
/// The least stretch: 64 bytes.
const LEAST_SHIFT: u32 = 6;

/// Addresses counted by stretches of equal length, a power of two, which
/// doubles when there are too many of them.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    shift: u32,
    counts: FxHashMap<u64, u64>,
}

impl Default for Addresses {
    fn default() -> Addresses {
        Addresses { shift: LEAST_SHIFT, counts: FxHashMap::default() }
    }
}

/// A stretch of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// First address.
    pub from: u64,
    /// Bytes, a power of two as an exponent: 6 is a line of 64, 12 a page.
    pub shift: u32,
    /// Samples with an address in it.
    pub count: u64,
}

impl Addresses {
    /// Counts an address; `room`: stretches that may be there beside those that
    /// are. Whether there is one more of them now.
    pub(crate) fn add_within(&mut self, address: u64, room: usize) -> bool {
        let before = self.counts.len();
        let most = before.saturating_add(room).clamp(1, MOST);
        *self.counts.entry(address.checked_shr(self.shift).unwrap_or(0)).or_default() += 1;
        while self.counts.len() > most {
            self.coarsen();
        }
        self.counts.len() > before
    }

    fn coarsen(&mut self) {
        self.shift += 1;
        for (stretch, count) in std::mem::take(&mut self.counts) {
            *self.counts.entry(stretch >> 1).or_default() += count;
        }
    }

    /// At most `rows` stretches, at least one, that hold all addresses, in
    /// order.
    pub(crate) fn stretches(mut self, rows: usize) -> Vec<Stretch> {
        while self.counts.len() > rows.max(1) {
            self.coarsen();
        }
        let shift = self.shift;
        let of = |(stretch, count): (u64, u64)| {
            let from = stretch.checked_shl(shift).unwrap_or(0);
            Stretch { from, shift, count }
        };
        let mut stretches: Vec<Stretch> = self.counts.into_iter().map(of).collect();
        stretches.sort_unstable_by_key(|stretch| stretch.from);
        stretches
    }
}

impl Stretch {
    /// Its length with a unit: `64`, `4K`, `2M`.
    pub fn length(&self) -> String {
        let units = ["", "K", "M", "G", "T", "P", "E"];
        let unit = units.get(usize::try_from(self.shift / 10).unwrap_or(0)).unwrap_or(&"");
        match self.shift {
            64.. => "all".to_owned(),
            shift => format!("{}{unit}", 1_u32 << (shift % 10)),
        }
    }
}

impl Serialize for Stretch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("from", &crate::name::cell::hex(self.from))?;
        map.serialize_entry("bytes", &1_u64.checked_shl(self.shift))?;
        map.serialize_entry("count", &self.count)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(addresses: impl Iterator<Item = u64>, rows: usize) -> Vec<(u64, String, u64)> {
        let mut all = Addresses::default();
        for address in addresses {
            all.add_within(address, MOST);
        }
        assert!(all.counts.len() <= MOST);
        let stretches = all.stretches(rows);
        stretches.iter().map(|it| (it.from, it.length(), it.count)).collect()
    }

    #[test]
    fn few_addresses_are_told_by_line() {
        let lines = of([0x1000, 0x1008, 0x1040].into_iter(), 8);
        assert_eq!(lines, [(0x1000, "64".to_owned(), 2), (0x1040, "64".to_owned(), 1)]);
        assert_eq!(of(std::iter::empty(), 8), []);
    }

    #[test]
    fn many_addresses_are_told_by_longer_stretches_and_none_is_lost() {
        let walk = (0..100_000).map(|node| 0x2400_0000_0000 + node * 8192);
        let stretches = of(walk, 8);
        assert_eq!(stretches.len(), 7);
        assert_eq!(stretches[0], (0x2400_0000_0000, "128M".to_owned(), 16_384));
        assert_eq!(stretches.iter().map(|it| it.2).sum::<u64>(), 100_000);
        let far = of([0, u64::MAX, 1 << 40].into_iter(), 1);
        assert_eq!(far, [(0, "all".to_owned(), 3)]);
    }

    #[test]
    fn without_room_stretches_grow_and_none_is_lost() {
        let mut all = Addresses::default();
        assert!(all.add_within(0x1000, 1), "one more");
        assert!(!all.add_within(0x1008, 1), "the same line");
        for address in [0x1040, 0x2000, 0x1_0000] {
            assert!(!all.add_within(address, 0), "{address:#x}");
        }
        assert_eq!(all.counts.len(), 1);
        assert_eq!(all.stretches(8).iter().map(|it| it.count).sum::<u64>(), 5);
    }
}
