//! What came of an emulation.

mod coverage;
mod error;

pub use coverage::Coverage;
pub use error::{Fault, StartError};

use perfdata::Pid;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmulationAccount {
    /// Of each event, in the order of the settings.
    pub by_event: Vec<EventCounts>,
    /// Records of names, mappings and tasks, and marks of regions, that could not
    /// be written: there was no room for them, or the target kept the ring's lock.
    pub side_lost: u64,
    pub threads: u64,
    pub processes: u64,
    /// Processes, or programs they went on to, that ran natively, and why.
    pub not_followed: Vec<(Pid, String)>,
    /// Tasks were let go before their end: the count was reached, or somebody
    /// asked for it.
    pub left: bool,
    /// Processes whose emulation broke off, what became of them, and why.
    pub broken: Vec<(Pid, String)>,
    pub work: TracerStats,
}

impl EmulationAccount {
    pub(crate) fn of(events: usize) -> EmulationAccount {
        let by_event = vec![EventCounts::default(); events];
        EmulationAccount { by_event, ..EmulationAccount::default() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// All that happened, between records too.
    pub events: u64,
    /// What of the target ran in bursts; None: all was emulated.
    pub bursts: Option<Coverage>,
    /// Samples written to the ring.
    pub records: u64,
    /// Samples that were due when as many as were asked for had been written.
    pub beyond: u64,
    /// Samples that were due and could not be written: the target ended, or
    /// was left, while the ring was full.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracerStats {
    /// Stops of the target for translation.
    pub translations: u64,
    pub stops: u64,
    /// Signals delivered to handlers.
    pub signals: u64,
    /// System calls looked at by the tracer.
    pub calls: u64,
    /// Times that translations were thrown away for a full cache.
    pub flushes: u64,
    /// Times that translations were thrown away because code changed.
    pub changes: u64,
    /// Bytes of translated code, at most.
    pub code: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskExit {
    Exited(i32),
    Killed(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmulationState {
    /// At least one process is emulated, or is to be.
    Emulated,
    /// All that lives runs on natively: stopped, or the count is reached.
    Left,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationWake {
    /// A quarter of the ring is filled, or a thread waits for room in it.
    pub records: bool,
    pub state: EmulationState,
}
