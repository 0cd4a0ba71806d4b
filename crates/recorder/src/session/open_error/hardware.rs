//! Why an event that the hardware counts did not open.

use perfdata::attr::SamplingRate;
use perfdata::{Attr, EventType};

use super::{FailedCall, OpenFailure};
use crate::PlannedEvent;

/// The cause and the way out, where it is another than for software.
pub(super) fn advice(failure: &OpenFailure, event: &PlannedEvent) -> Option<String> {
    if failure.call != FailedCall::OpenEvent || !is_hardware(&event.attr) {
        return None;
    }
    match failure.errno {
        libc::ENOENT => Some(missing(failure, event)),
        libc::EOPNOTSUPP => Some(format!(
            "PMU {} cannot sample that here: it has no interrupt (a virtual machine's often has \
             none), or no records of its own (PEBS, IBS) for a field that was asked for; ebs -h \
             lists the types that can be had here",
            event.pmu
        )),
        libc::ENODATA => Some(format!(
            "this CPU tells latencies of loads only in a group that mem-loads-aux leads (event \
             0x8203), and /sys/bus/event_source/devices/{}/events does not name that one: mount \
             sysfs at /sys, or sample l1_cache_miss, which needs none",
            event.pmu
        )),
        libc::EBUSY => Some(format!(
            "somebody else has PMU {} for itself (another profiler, a branch or trace recording): \
             end that one and try again",
            event.pmu
        )),
        libc::ENOSPC => Some(format!(
            "PMU {} has no counter left for it: end other profilers, or free the NMI watchdog's \
             (sysctl kernel.nmi_watchdog=0), and try again",
            event.pmu
        )),
        libc::EINVAL => Some(invalid(event)),
        _ => None,
    }
}

fn is_hardware(attr: &Attr) -> bool {
    ![EventType::SOFTWARE, EventType::TRACEPOINT, EventType::BREAKPOINT].contains(&attr.kind)
}

/// ENOENT: no such PMU or event, or a CPU of another kind (trap 11).
fn missing(failure: &OpenFailure, event: &PlannedEvent) -> String {
    let PlannedEvent { pmu, attr, .. } = event;
    let place = failure.cpu.map_or_else(
        || "this CPU is not one of its own".to_owned(),
        |cpu| {
            format!(
                "CPU {cpu} is not one of its own (of a hybrid's two kinds, see \
                 /sys/bus/event_source/devices/{pmu}/cpus)"
            )
        },
    );
    format!(
        "PMU {pmu} (type {}, config {:#x}) is not there (virtual machines often have none), has no \
         such event, or {place}; ebs -h lists the types that can be had here",
        attr.kind.0, attr.config
    )
}

/// EINVAL: encoding, interval, modes (traps 6 and 7).
fn invalid(event: &PlannedEvent) -> String {
    let PlannedEvent { pmu, attr, .. } = event;
    let interval = match attr.sampling() {
        SamplingRate::Period(period) => period.to_string(),
        SamplingRate::Frequency(_) => "varying".to_owned(),
    };
    let causes = if pmu.starts_with("ibs_") {
        "IBS takes intervals that are multiples of 16, and before Linux 6.14 cannot leave out a \
         mode: give -u and -k both, without a modifier"
    } else {
        "the interval may be too short (some CPUs take none below 32 or 128), its bits may be \
         reserved on this CPU, or its group may need more counters than are free (the NMI watchdog \
         takes one: sysctl kernel.nmi_watchdog=0)"
    };
    format!("PMU {pmu} refuses config {:#x} at interval {interval}: {causes}", attr.config)
}
