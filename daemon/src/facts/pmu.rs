//! PMUs that the kernel offers: /sys/bus/event_source/devices.

use record::EventType;

use super::tree::{FactsError, Tree};

const DEVICES: &str = "sys/bus/event_source/devices";

/// One PMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    /// Its directory's name: "cpu", "cpu_core", "ibs_op", "software".
    pub name: String,
    /// The number for `perf_event_attr.type`; None when it has none.
    pub kind: Option<EventType>,
}

impl Pmu {
    /// Whether this PMU counts or samples what a CPU core does: "cpu",
    /// "cpu_core", "cpu_atom", Arm's "armv8_*" and kin, s390's "cpum_*",
    /// and the sampling units AMD IBS and Arm SPE.
    pub fn is_core(&self) -> bool {
        matches!(self.name.as_str(), "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower")
            || ["armv6", "armv7", "armv8", "armv9", "cpum_", "ibs_", "arm_spe", "apple_"]
                .iter()
                .any(|start| self.name.starts_with(start))
    }
}

pub(super) fn read(tree: &Tree<'_>) -> Result<Option<Vec<Pmu>>, FactsError> {
    let Some(names) = tree.names(DEVICES)? else { return Ok(None) };
    let read_one = |name: String| {
        let kind = tree.number(format!("{DEVICES}/{name}/type"))?.map(EventType);
        Ok(Pmu { name, kind })
    };
    names.into_iter().map(read_one).collect::<Result<_, _>>().map(Some)
}
