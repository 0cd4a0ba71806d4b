//! How an event was sampled, and what its periods count.

use serde::Serialize;

/// How an event was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplingMode {
    /// A sample every so many events.
    Period(u64),
    /// The kernel aimed at so many samples a second.
    Frequency(u64),
}

/// What an event's periods count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PeriodUnit {
    /// Occurrences.
    Events,
    /// Time: the kernel's clocks, whose period is an interval
    /// (perf_swevent_init_hrtimer(), kernel/events/core.c).
    Nanoseconds,
}
