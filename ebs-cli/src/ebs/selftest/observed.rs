//! What came of sampling a program.

use perfdata::DataSrc;
use recorder::Promises;

/// Numbers of registers that are kept: those of asm/perf_regs.h up to r15.
pub(super) const REGISTERS: usize = 24;

#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Samples of the loop's time that the type means, in the order of the stream.
    pub(super) samples: Vec<Observation>,
    /// Samples in the stream, those before and after the loop and those not
    /// meant included.
    pub(super) in_stream: u64,
    /// Samples of the loop's time that could not be told to be meant or not.
    pub(super) undecided: u64,
    /// What was opened, an event each.
    pub(super) events: Vec<Opened>,
    pub(super) account: Account,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// As /sys/bus/event_source/devices calls it.
    pub(super) pmu: String,
    /// `perf_event_attr.config`.
    pub(super) config: u64,
    /// `perf_event_attr.config1`.
    pub(super) config1: u64,
    /// `perf_event_attr.precise_ip`.
    pub(super) precise_ip: u8,
    /// `perf_event_attr.sample_period`.
    pub(super) interval: u64,
    /// Whether it samples more than its type means, and a filter keeps these.
    pub(super) is_filtered: bool,
    pub(super) promises: Promises,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Observation {
    /// Which of the opened events it is of.
    pub(super) event: usize,
    pub(super) ip: u64,
    /// EXACT_IP.
    pub(super) is_exact: bool,
    /// Its privilege level is the kernel's.
    pub(super) of_kernel: bool,
    pub(super) address: Option<u64>,
    /// Registers, None where it has not this one.
    pub(super) registers: [Option<u64>; REGISTERS],
    /// The weight's first number.
    pub(super) weight: Option<u64>,
    pub(super) data_src: Option<DataSrc>,
    pub(super) period: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Account {
    /// Events that were counted (clocks: nanoseconds).
    pub(super) events: u64,
    /// Samples that must have been made of them, where that is certain.
    pub(super) made: Option<u64>,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Times that the kernel paused an event.
    pub(super) throttled: u64,
    /// Some event had no counter all the time.
    pub(super) shared: bool,
    /// `N records, M lost (...)`.
    pub(super) words: String,
}
