//! What is known of a program before it is sampled, as it tells it itself.

use serde::{Deserialize, Serialize};

/// What the loops hold in r9 from their first instruction to their last.
pub(super) const COOKIE: u64 = 0x5e1f_7e57;
/// Numbers of registers in records (asm/perf_regs.h, x86).
pub(super) const DI: u32 = 5;
pub(super) const IP: u32 = 8;
pub(super) const R9: u32 = 17;
pub(super) const R10: u32 = 18;

/// A program's truth. It travels from the program to its parent as a line of
/// JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Truth {
    /// Where its loop's code begins.
    pub(super) start: u64,
    /// Where that ends.
    pub(super) end: u64,
    pub(super) sites: Vec<TrueSite>,
    /// Memory that the kernel accesses for it.
    pub(super) buffer: Option<Access>,
    /// How often it does what it does.
    pub(super) visits: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrueSite {
    pub(super) name: String,
    pub(super) at: u64,
    pub(super) next: u64,
    pub(super) access: Option<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Access {
    pub(super) is_store: bool,
    pub(super) start: u64,
    /// After the last one.
    pub(super) end: u64,
    /// From `start` on, every so many bytes; not 0.
    pub(super) stride: u64,
    /// And so many bytes from each such place on; 1 at least.
    pub(super) width: u64,
    /// The register that holds the address, where one does.
    pub(super) register: Option<u32>,
    /// What the instruction adds to it.
    pub(super) displacement: u64,
}

impl Access {
    pub(super) fn holds(&self, address: u64) -> bool {
        let Some(from) = address.checked_sub(self.start) else { return false };
        address < self.end && from % self.stride.max(1) < self.width
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done {
    /// How long its loop took, nanoseconds of the wall clock.
    pub(super) nanoseconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_those_that_are_accessed() {
        let access = Access {
            is_store: false,
            start: 1008,
            end: 1008 + 10 * 192,
            stride: 192,
            width: 1,
            register: Some(DI),
            displacement: 8,
        };
        for address in [1008, 1200, 1008 + 9 * 192] {
            assert!(access.holds(address), "{address}");
        }
        // Before, a line on, a byte on, behind the last.
        for address in [1000, 1008 - 192, 1072, 1009, 1008 + 10 * 192] {
            assert!(!access.holds(address), "{address}");
        }
        let wide = Access { width: 64, ..access };
        assert!(wide.holds(1008 + 63) && !wide.holds(1008 + 64));
    }
}
