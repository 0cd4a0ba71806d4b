//! One event on its way from a name to an attr.

use perfdata::{Cpu, EventType, SampleFilter, SampleType};

use crate::catalogue::{Equivalence, Microarchitecture};
use crate::request::CallGraph;
use crate::{Modes, Promises, Request};

#[derive(Clone, Debug)]
pub(super) struct EventDraft {
    pub(super) name: String,
    /// The PMU's directory under /sys/bus/event_source/devices.
    pub(super) pmu: String,
    pub(super) event: String,
    pub(super) kind: EventType,
    /// `config` to `config4`.
    pub(super) words: [u64; 5],
    pub(super) bp_type: u32,
    /// 0: counts only.
    pub(super) interval: u64,
    /// Mask of registers to sample.
    pub(super) registers: u64,
    pub(super) callers: Option<CallGraph>,
    /// Mask of the registers that unwinding the user's stack takes.
    pub(super) user_registers: u64,
    /// Fields beside those of every record.
    pub(super) fields: SampleType,
    pub(super) excludes: ExcludedModes,
    pub(super) precision: Precision,
    /// None: all online ones.
    pub(super) cpus: Option<Vec<Cpu>>,
    /// Index of the event that leads its group.
    pub(super) leader: Option<usize>,
    pub(super) carrier: bool,
    pub(super) promises: Promises,
    pub(super) filter: SampleFilter,
    pub(super) uarch: Option<Microarchitecture>,
    pub(super) equivalence: Equivalence,
}

impl EventDraft {
    /// An event that samples what all events of a request do, on every CPU.
    pub(super) fn new(
        pmu: &str,
        kind: EventType,
        request: &Request,
        promises: Promises,
    ) -> EventDraft {
        EventDraft {
            name: String::new(),
            pmu: pmu.to_owned(),
            event: String::new(),
            kind,
            words: [0; 5],
            bp_type: 0,
            interval: 0,
            registers: 0,
            callers: request.call_graph,
            user_registers: 0,
            fields: SampleType::empty(),
            excludes: ExcludedModes::outside(request.modes),
            precision: Precision::default(),
            cpus: None,
            leader: None,
            carrier: false,
            promises,
            filter: SampleFilter::default(),
            uarch: None,
            equivalence: match kind {
                EventType::HARDWARE | EventType::HW_CACHE => Equivalence::Mapped,
                _ => Equivalence::Exact,
            },
        }
    }
}

/// `precise_ip` to ask for, and the least that will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Precision {
    pub(super) wanted: u8,
    pub(super) least: u8,
}

/// The attr's `exclude_*` bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ExcludedModes {
    pub(super) user: bool,
    pub(super) kernel: bool,
    pub(super) hypervisor: bool,
    pub(super) guest: bool,
}

impl ExcludedModes {
    pub(super) fn outside(modes: Modes) -> ExcludedModes {
        ExcludedModes { user: !modes.user, kernel: !modes.kernel, hypervisor: true, guest: false }
    }
}
