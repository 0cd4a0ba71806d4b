//! The second filter: records that a user without permission for the kernel
//! should never have been given.
//!
//! The kernel filters first. A PMU that skids, a hypervisor, or a mistake of
//! a driver can still put the kernel's state into a user's sample; fields at
//! fixed offsets show it.

use record::{Attr, CpuMode, Misc, SampleType};

/// Looks at the fixed fields of one event's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrub {
    /// Offset of the IP from the record's start, bytes.
    ip: Option<usize>,
    /// Of the data address.
    addr: Option<usize>,
}

/// The upper half of the address space is the kernel's on each 64-bit
/// machine that perf knows.
const KERNEL_HALF: u64 = 1 << 63;

impl Scrub {
    /// For samples of this attr.
    pub fn new(attr: &Attr) -> Scrub {
        // As perf_output_sample() (kernel/events/core.c) writes them.
        let order = [
            SampleType::IDENTIFIER,
            SampleType::IP,
            SampleType::TID,
            SampleType::TIME,
            SampleType::ADDR,
        ];
        let offset = |field: SampleType| {
            let before = order.iter().take_while(|&&earlier| earlier != field);
            let words = before.filter(|&&earlier| attr.sample_type.contains(earlier)).count();
            attr.sample_type.contains(field).then_some(size_of::<u64>() * (1 + words))
        };
        Scrub { ip: offset(SampleType::IP), addr: offset(SampleType::ADDR) }
    }

    /// Whether a sample shows something of the kernel: its mode is not the
    /// user's, or its instruction or data lies in the kernel's half. `word`
    /// gives the word at an offset from the record's start; a record too
    /// short for its fields shows what nobody can tell.
    pub fn shows_kernel(&self, misc: Misc, word: impl Fn(usize) -> Option<u64>) -> bool {
        let in_kernel =
            |at: Option<usize>| at.is_some_and(|at| word(at).is_none_or(|w| w & KERNEL_HALF != 0));
        misc.cpu_mode() != CpuMode::User || in_kernel(self.ip) || in_kernel(self.addr)
    }
}
