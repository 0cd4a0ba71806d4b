//! What the user asks for, before anything is known of the machine.

mod call_graph;
pub mod event_spec;
pub mod human_duration;
mod in_kernel;
mod job;
mod sample_conditions;

use std::path::Path;

use perfdata::Pid;
use serde::{Deserialize, Serialize};

pub use call_graph::{CallGraph, CallGraphError, StackBytes};
pub use in_kernel::{InKernel, ProgramTask, SiteTables};
pub use job::Job;
pub use sample_conditions::{SampleConditions, SampleConditionsError};

use crate::EventSpec;
use crate::machine::facts::{Facts, FactsError};
use event_spec::RequestedEvent;

/// Privilege levels whose events are sampled: `-u`, `-k`, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Modes {
    pub user: bool,
    pub kernel: bool,
}

impl Modes {
    pub const USER: Modes = Modes { user: true, kernel: false };
    pub const KERNEL: Modes = Modes { user: false, kernel: true };
    pub const BOTH: Modes = Modes { user: true, kernel: true };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A command that the session starts, with all threads and children it
    /// gets; sampling begins at its exec.
    Command,
    /// A process that runs already, all its threads, and what they start
    /// from now on.
    Process(Pid),
    /// Every task on every online CPU.
    System,
    /// The tasks of a control group, which the session's settings have, and
    /// of those below it.
    Cgroup,
}

impl Target {
    /// Whether events are opened on CPUs, not on tasks: with the rights that
    /// the whole system takes.
    pub fn is_of_cpus(self) -> bool {
        matches!(self, Target::System | Target::Cgroup)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The event as typed: a type, `mem:ADDR...` or `subsystem:name`.
    pub event: EventSpec,
    /// Event masks of the type (`-m NAME,...`), as typed.
    #[serde(default)]
    pub masks: Vec<String>,
    /// At least one must be set, unless the event's modifiers say.
    #[serde(flatten)]
    pub modes: Modes,
    /// A sample every so many events (clocks: nanoseconds), 1 to 2^63 - 1;
    /// None takes the type's default.
    #[serde(default)]
    pub interval: Option<u64>,
    /// Draws each period, from this seed, with the interval for their mean, as
    /// far as whoever counts can; None: each is the interval.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Further events of the same session, each with an interval of its own;
    /// all else holds for them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<EventRequest>,
    /// Whether samples with skid will do where exact ones are promised and
    /// not to be had.
    #[serde(default)]
    pub allow_skid: bool,
    /// How the callers of what is sampled are recorded; None: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_graph: Option<CallGraph>,
    /// Whether mappings of data are recorded too, so that readers can tell
    /// the heap, stacks and files that data addresses lie in.
    #[serde(default)]
    pub data_mappings: bool,
    /// Whose events. Who is sent a request is told beside it, by numbers
    /// that name it there, and sets this when it was found.
    #[serde(skip, default = "not_found_yet")]
    pub target: Target,
    /// Data pages of each sample ring, rounded up to a power of two; None
    /// chooses.
    #[serde(default)]
    pub ring_pages: Option<u32>,
    #[serde(default)]
    pub in_kernel: Option<InKernel>,
    /// Whether regions that the program marks are in the stream: records have
    /// the clock of those marks then.
    #[serde(default)]
    pub regions: bool,
    /// Events without an interval have the one that fits how often they happen, from every
    /// event on, where the emulated PMU counts or the CPU does; each sample says how many it
    /// stands for. Not for sessions of the daemon.
    #[serde(skip)]
    pub adapts: bool,
}

/// The target that takes the most rights.
fn not_found_yet() -> Target {
    Target::System
}

impl Request {
    /// Whether mappings of data are recorded: also where stacks are, as readers find unwind
    /// tables by them (libunwind in perf).
    pub fn maps_data(&self) -> bool {
        self.data_mappings || matches!(self.call_graph, Some(CallGraph::Stack(_)))
    }

    /// A request with the type's default interval, fixed, and rings chosen here.
    pub fn new(event: impl Into<EventSpec>, modes: Modes, target: Target) -> Request {
        Request {
            event: event.into(),
            masks: Vec::new(),
            modes,
            interval: None,
            seed: None,
            also: Vec::new(),
            allow_skid: false,
            call_graph: None,
            data_mappings: false,
            target,
            ring_pages: None,
            in_kernel: None,
            regions: false,
            adapts: false,
        }
    }
}

/// An event beside the first of a request: what of a request is an event's
/// own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRequest {
    pub event: EventSpec,
    #[serde(default)]
    pub interval: Option<u64>,
    #[serde(default)]
    pub seed: Option<u64>,
}

impl Request {
    /// Events of one session at most: more would take turns on the counters
    /// of any CPU.
    pub const MAX_EVENTS: usize = 8;

    pub fn each(&self) -> impl Iterator<Item = Request> + '_ {
        let first = Request { also: Vec::new(), ..self.clone() };
        let others = self.also.iter().map(|other| Request {
            event: other.event.clone(),
            masks: Vec::new(),
            interval: other.interval,
            seed: other.seed,
            also: Vec::new(),
            ..self.clone()
        });
        std::iter::once(first).chain(others)
    }
}

impl Facts {
    /// [`Facts::read`], and what the request's events and target need on top:
    /// ids of tracepoints, descriptions of PMUs, the process's owner and
    /// state.
    pub fn read_for(root: &Path, request: &Request) -> Result<Facts, FactsError> {
        let mut facts = Facts::read(root)?;
        for one in request.each() {
            match one.event.event() {
                Ok(RequestedEvent::Tracepoint(point)) => facts.look_up(root, point)?,
                Ok(RequestedEvent::Pmu { pmu, .. }) => facts.describe_pmu(root, pmu)?,
                _ => {}
            }
        }
        if let Target::Process(pid) = request.target {
            facts.look_at(root, pid)?;
        }
        Ok(facts)
    }
}
