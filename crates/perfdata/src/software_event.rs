//! What the kernel counts by itself, without a PMU.

use crate::attr::{Attr, EventType};

/// `perf_event_attr.config` of [`EventType::SOFTWARE`]: `PERF_COUNT_SW_*`.
/// Kernels add some, so any value is possible.
/// [uapi/linux/perf_event.h]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SoftwareEvent(pub u64);

impl SoftwareEvent {
    pub const CPU_CLOCK: SoftwareEvent = SoftwareEvent(0);
    pub const TASK_CLOCK: SoftwareEvent = SoftwareEvent(1);
    pub const PAGE_FAULTS: SoftwareEvent = SoftwareEvent(2);
    pub const CONTEXT_SWITCHES: SoftwareEvent = SoftwareEvent(3);
    pub const CPU_MIGRATIONS: SoftwareEvent = SoftwareEvent(4);
    pub const MINOR_FAULTS: SoftwareEvent = SoftwareEvent(5);
    pub const MAJOR_FAULTS: SoftwareEvent = SoftwareEvent(6);
    pub const ALIGNMENT_FAULTS: SoftwareEvent = SoftwareEvent(7);
    pub const EMULATION_FAULTS: SoftwareEvent = SoftwareEvent(8);
    /// Counts nothing; recorders open it for sideband records.
    pub const DUMMY: SoftwareEvent = SoftwareEvent(9);
    /// Counts nothing; its records are what programs in the kernel write.
    pub const BPF_OUTPUT: SoftwareEvent = SoftwareEvent(10);
    pub const CGROUP_SWITCHES: SoftwareEvent = SoftwareEvent(11);
}

/// What perf calls them, by number (tools/perf/util/evsel.c).
const NAMES: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];

impl SoftwareEvent {
    /// What perf calls it; None: a number that perf 6.1 does not know.
    pub fn perf_name(self) -> Option<&'static str> {
        NAMES.get(usize::try_from(self.0).ok()?).copied()
    }

    /// The one that perf calls so.
    pub fn named(name: &str) -> Option<SoftwareEvent> {
        let number = NAMES.iter().position(|known| *known == name)?;
        Some(SoftwareEvent(number as u64))
    }

    /// Whether a timer drives it: its count is nanoseconds, and its samples
    /// are where the timer found the CPU.
    pub fn is_clock(self) -> bool {
        matches!(self, SoftwareEvent::CPU_CLOCK | SoftwareEvent::TASK_CLOCK)
    }

    /// Whether it is a fault on a page.
    pub fn is_page_fault(self) -> bool {
        use SoftwareEvent as Of;
        matches!(self, Of::PAGE_FAULTS | Of::MINOR_FAULTS | Of::MAJOR_FAULTS)
    }

    /// Whether it is a fault of any kind: the kernel was entered at the
    /// instruction that faulted, and the sample's address is what that asked
    /// for, even 0.
    pub fn is_fault(self) -> bool {
        use SoftwareEvent as Of;
        self.is_page_fault() || matches!(self, Of::ALIGNMENT_FAULTS | Of::EMULATION_FAULTS)
    }

    /// Whether it only carries the records of others, and counts nothing.
    pub fn is_silent(self) -> bool {
        matches!(self, SoftwareEvent::DUMMY | SoftwareEvent::BPF_OUTPUT)
    }
}

impl Attr {
    /// Which of the kernel's own counters is asked for; None: something else.
    pub fn software(&self) -> Option<SoftwareEvent> {
        (self.kind == EventType::SOFTWARE).then_some(SoftwareEvent(self.config))
    }

    /// Whether address 0 in a sample is an address, not that there is none:
    /// what faulted or was watched may be there.
    pub fn means_address_zero(&self) -> bool {
        self.kind == EventType::BREAKPOINT || self.software().is_some_and(SoftwareEvent::is_fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_name_and_at_most_one_nature() {
        let natures = |event: SoftwareEvent| {
            let of = [event.is_clock(), event.is_fault(), event.is_silent()];
            of.map(usize::from)
        };
        let told = |config| {
            let event = SoftwareEvent(config);
            (event.perf_name(), natures(event))
        };
        assert_eq!(told(1), (Some("task-clock"), [1, 0, 0]));
        assert_eq!(SoftwareEvent::named("task-clock"), Some(SoftwareEvent::TASK_CLOCK));
        assert_eq!(SoftwareEvent::named("cs"), None);
        assert_eq!(told(2), (Some("page-faults"), [0, 1, 0]));
        assert_eq!(told(3), (Some("context-switches"), [0, 0, 0]));
        assert_eq!(told(8), (Some("emulation-faults"), [0, 1, 0]));
        assert_eq!(told(9), (Some("dummy"), [0, 0, 1]));
        assert_eq!(told(11), (Some("cgroup-switches"), [0, 0, 0]));
        assert_eq!(told(12), (None, [0, 0, 0]));
        assert_eq!(told(1 << 32), (None, [0, 0, 0]));
    }

    #[test]
    fn only_attrs_of_the_kernels_own_counters_have_one() {
        let of = |kind| Attr { kind, config: 9, ..Attr::default() }.software();
        assert_eq!(of(EventType::SOFTWARE), Some(SoftwareEvent::DUMMY));
        assert_eq!(of(EventType::HARDWARE), None);
    }
}
