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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_addresses_and_modes_are_seen() {
        const USER: Misc = Misc(2);
        let attr = Attr {
            sample_type: SampleType::IDENTIFIER
                | SampleType::IP
                | SampleType::TID
                | SampleType::TIME
                | SampleType::ADDR,
            ..Attr::default()
        };
        let scrub = Scrub::new(&attr);
        let record = |ip: u64, addr: u64| {
            let words = [0, 7, ip, 0, 0, addr];
            move |at: usize| words.get(at / 8).copied()
        };
        let (user, kernel) = (0x7fff_0000_1234, 0xffff_8000_0000_0000);
        assert!(!scrub.shows_kernel(USER, record(user, user)));
        assert!(scrub.shows_kernel(USER, record(kernel, user)));
        assert!(scrub.shows_kernel(USER, record(user, kernel)));
        for mode in [0, 1, 3, 4, 5, 7] {
            assert!(scrub.shows_kernel(Misc(mode), record(user, user)), "mode {mode}");
        }
        assert!(scrub.shows_kernel(USER, |at| (at < 24).then_some(0)), "too short for its address");
        let without = Scrub::new(&Attr { sample_type: SampleType::TID, ..Attr::default() });
        assert!(!without.shows_kernel(USER, |_| Some(kernel)), "no field to look at");
    }
}
