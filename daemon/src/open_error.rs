//! An errno of perf_event_open(2) or mmap(2), in words.

use record::{Cpu, Tid};

use crate::Plan;

/// The call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// perf_event_open(2) of the sampled event.
    OpenEvent,
    /// perf_event_open(2) of the side event.
    OpenSide,
    /// mmap(2) of a ring of so many data pages.
    Map {
        /// Data pages asked for.
        pages: u32,
    },
    /// PERF_EVENT_IOC_SET_OUTPUT.
    SetOutput,
    /// PERF_EVENT_IOC_ENABLE.
    Enable,
}

/// One failed call, as the session saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenFailure {
    /// The call.
    pub call: Call,
    /// Its errno.
    pub errno: i32,
    /// The CPU it was for.
    pub cpu: Option<Cpu>,
    /// The thread it was for; None: all of them on that CPU.
    pub task: Option<Tid>,
}

/// Says what failed, on which event, target and CPU, and what to change.
pub fn explain(failure: &OpenFailure, plan: &Plan) -> String {
    format!("{}: errno {}", plan.name, failure.errno)
}
