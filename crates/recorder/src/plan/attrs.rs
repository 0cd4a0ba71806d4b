//! The attrs of a session. The only place that sets an attr's bits.

use perfdata::{Attr, AttrFlags, EventType, ReadFormat, SampleType, SoftwareEvent};

use super::callers;
use super::event_draft::EventDraft;
use crate::{Request, Target};

/// Bytes of attr to open with and to store: all fields used here lie within
/// (`sample_regs_intr` ends at 104), and perf since 4.1 reads that size.
pub(super) const SIZE: u32 = 112;

/// The same with `config3` (Linux 6.3) and with `config4` (6.18).
const WITH_CONFIG3: u32 = 136;
const WITH_CONFIG4: u32 = 144;

pub(super) fn sampled(draft: &EventDraft, target: Target) -> Attr {
    // Large PEBS needs exactly this kind of attr: fixed period, watermark,
    // default clock, registers within 0xff03ff (trap 16).
    let mut attr = common(target);
    attr.sample_type |= draft.fields;
    if !(draft.interval > 1 && is_software_counted(draft)) {
        attr.sample_type |= SampleType::PERIOD;
    }
    if draft.registers != 0 {
        attr.sample_type |= SampleType::REGS_INTR;
    }
    attr.sample_regs_intr = draft.registers;
    attr.kind = draft.kind;
    [attr.config, attr.config1, attr.config2, attr.config3, attr.config4] = draft.words;
    attr.size = size(&attr);
    attr.sample_period = draft.interval;
    attr.bp_type = draft.bp_type;
    attr.set_precise_ip(draft.precision.wanted);
    let excludes = draft.excludes;
    attr.flags.set(AttrFlags::EXCLUDE_USER, excludes.user);
    attr.flags.set(AttrFlags::EXCLUDE_KERNEL, excludes.kernel);
    attr.flags.set(AttrFlags::EXCLUDE_HV, excludes.hypervisor);
    attr.flags.set(AttrFlags::EXCLUDE_GUEST, excludes.guest);
    if let Some(how) = draft.callers.filter(|_| !draft.carrier) {
        callers::add_to(&mut attr, how, draft.user_registers);
    }
    attr
}

pub(crate) fn side(event: &Attr, request: &Request) -> Attr {
    // The same sample_type as the event, so that readers which look at one
    // attr only (perf script) find every field in either. Sideband records do
    // not ask for a mode; without the kernel's, anyone may open it.
    let mut side = Attr {
        kind: EventType::SOFTWARE,
        config: SoftwareEvent::DUMMY.0,
        sample_period: 1,
        sample_type: event.sample_type,
        sample_regs_intr: event.sample_regs_intr,
        ..common(request.target)
    };
    side.flags |= AttrFlags::EXCLUDE_KERNEL
        | AttrFlags::EXCLUDE_HV
        | AttrFlags::MMAP
        | AttrFlags::MMAP2
        | AttrFlags::COMM
        | AttrFlags::COMM_EXEC
        | AttrFlags::TASK
        | AttrFlags::BUILD_ID;
    callers::add_to_side(&mut side, event);
    side.flags.set(AttrFlags::KSYMBOL, request.modes.kernel);
    side.flags.set(AttrFlags::MMAP_DATA, request.maps_data());
    side
}

pub(crate) fn common(target: Target) -> Attr {
    let mut flags = AttrFlags::DISABLED | AttrFlags::SAMPLE_ID_ALL | AttrFlags::WATERMARK;
    match target {
        Target::Command => flags |= AttrFlags::INHERIT | AttrFlags::ENABLE_ON_EXEC,
        Target::Process(_) => flags |= AttrFlags::INHERIT,
        Target::System | Target::Cgroup => {}
    }
    Attr {
        size: SIZE,
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU,
        read_format: ReadFormat::ID
            | ReadFormat::TOTAL_TIME_ENABLED
            | ReadFormat::TOTAL_TIME_RUNNING
            | ReadFormat::LOST,
        flags,
        ..Attr::default()
    }
}

/// The attr of an event that is counted and gives no samples: a leader waits
/// to be enabled, its members go with it.
pub(crate) fn counted(sampled: &Attr, target: Target, leads: bool) -> Attr {
    let excludes = AttrFlags::EXCLUDE_USER
        | AttrFlags::EXCLUDE_KERNEL
        | AttrFlags::EXCLUDE_HV
        | AttrFlags::EXCLUDE_GUEST;
    let mut attr = Attr {
        flags: sampled.flags & excludes,
        sample_period: 0,
        sample_type: SampleType::empty(),
        sample_regs_intr: 0,
        sample_regs_user: 0,
        sample_stack_user: 0,
        sample_max_stack: 0,
        wakeup: 0,
        read_format: ReadFormat::GROUP
            | ReadFormat::TOTAL_TIME_ENABLED
            | ReadFormat::TOTAL_TIME_RUNNING,
        ..sampled.clone()
    };
    attr.flags.set(AttrFlags::INHERIT, !target.is_of_cpus());
    attr.flags.set(AttrFlags::DISABLED, leads);
    attr.flags.set(AttrFlags::ENABLE_ON_EXEC, leads && target == Target::Command);
    attr
}

/// Bytes that hold every field in use.
fn size(attr: &Attr) -> u32 {
    match (attr.config3, attr.config4) {
        (0, 0) => SIZE,
        (_, 0) => WITH_CONFIG3,
        _ => WITH_CONFIG4,
    }
}

/// Whether the kernel counts the event in software, at every happening.
/// Such an event makes a sample of every happening, whatever its period, when
/// samples carry PERIOD (perf_swevent_event, kernel/events/core.c); without
/// it the attr says what a sample stands for.
fn is_software_counted(draft: &EventDraft) -> bool {
    match draft.kind {
        EventType::SOFTWARE => !SoftwareEvent(draft.words[0]).is_clock(),
        kind => kind == EventType::TRACEPOINT || kind == EventType::BREAKPOINT,
    }
}

/// A quarter of a ring, bytes: the watermark of wake-ups.
pub(super) fn quarter(pages: u32, page_size: u64) -> u32 {
    u32::try_from(u64::from(pages).saturating_mul(page_size) / 4).unwrap_or(u32::MAX)
}
