//! An address as a sample has it.

use record::{CpuMode, Pid, Time};
use symbolizer::{Place, Symbolizer};

/// An address, in whose memory it is meant, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledAddress {
    /// Privilege level of the sample.
    pub mode: CpuMode,
    /// Its process.
    pub pid: Pid,
    /// At run time.
    pub address: u64,
    /// When it was taken.
    pub time: Time,
}

impl SampledAddress {
    /// Where it lies as one of code.
    #[inline]
    pub(crate) fn place(self, symbolizer: &mut Symbolizer) -> Place {
        symbolizer.place(self.mode, self.pid, self.address, self.time)
    }
}
