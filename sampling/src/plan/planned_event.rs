//! One sampled event of a plan.

use record::{Attr, Cpu, SampleFilter};

use crate::Promises;

/// What is opened on each of its CPUs, and what its samples mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Its name in the stream: `l1_cache_miss`, `cpu_atom/l1_cache_miss/`.
    pub name: String,
    /// The PMU that counts it, as in /sys/bus/event_source/devices:
    /// `software`, `cpu`, `cpu_core`, `ibs_op`.
    pub pmu: String,
    /// What to ask the kernel for. `size` is the size to encode with.
    pub attr: Attr,
    /// CPUs it is opened on; None: all of the plan's.
    pub cpus: Option<Vec<Cpu>>,
    /// The event that leads its group, by index; that one stands before it
    /// and leads itself. None: it leads itself.
    pub leader: Option<usize>,
    /// It helps its group and samples nothing (mem-loads-aux, trap 9): it is
    /// opened with a sample period of 0, and is in no account.
    pub carrier: bool,
    /// precise_ip may be lowered to this when the kernel refuses more
    /// (trap 3), and no further.
    pub least_precise: u8,
    /// What its samples' fields mean.
    pub promises: Promises,
    /// Which of its samples are meant.
    pub filter: SampleFilter,
}

impl PlannedEvent {
    /// Whether it is opened on this CPU, one of the plan's.
    pub fn is_on(&self, cpu: Cpu) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
    }
}
