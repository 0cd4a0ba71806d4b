//! What is asked for: an address as a sample has it.

use perfdata::{CpuMode, Pid, Time};

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
