//! The two attrs of a session. The only place that sets an attr's bits.

use record::{Attr, AttrFlags, EventType, ReadFormat, SampleType};

use super::Opening;
use crate::{Request, Target};

/// PERF_COUNT_SW_DUMMY: counts nothing, carries side records.
const DUMMY: u64 = 9;

/// PERF_COUNT_SW_TASK_CLOCK, which a timer drives as it does CPU_CLOCK, 0.
const LAST_CLOCK: u64 = 1;

/// Bytes of attr to open with and to store: all fields used here lie within
/// (`sample_regs_intr` ends at 104), and perf since 4.1 reads that size.
pub(super) const SIZE: u32 = 112;

/// The sampled event and the carrier of side records.
#[derive(Clone, Debug)]
pub(super) struct Attrs {
    pub(super) event: Attr,
    pub(super) side: Attr,
}

pub(super) fn build(opening: &Opening, request: &Request) -> Attrs {
    // Large PEBS needs exactly this kind of attr: fixed period, watermark,
    // default clock, registers within 0xff03ff (trap 16).
    let mut sample_type = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU;
    if !(opening.interval > 1 && fires_by_count(opening)) {
        sample_type |= SampleType::PERIOD;
    }
    if opening.registers != 0 {
        sample_type |= SampleType::REGS_INTR;
    }
    let mut flags = AttrFlags::DISABLED
        | AttrFlags::SAMPLE_ID_ALL
        | AttrFlags::WATERMARK
        | AttrFlags::EXCLUDE_HV;
    match request.target {
        Target::Command => flags |= AttrFlags::INHERIT | AttrFlags::ENABLE_ON_EXEC,
        Target::Process(_) => flags |= AttrFlags::INHERIT,
        Target::System => {}
    }
    let common = Attr {
        size: SIZE,
        sample_type,
        sample_regs_intr: opening.registers,
        read_format: ReadFormat::ID
            | ReadFormat::TOTAL_TIME_ENABLED
            | ReadFormat::TOTAL_TIME_RUNNING
            | ReadFormat::LOST,
        flags,
        ..Attr::default()
    };

    let mut event = Attr {
        kind: opening.kind,
        config: opening.config,
        sample_period: opening.interval,
        bp_type: opening.bp_type,
        config1: opening.config1,
        config2: opening.config2,
        ..common.clone()
    };
    event.flags.set(AttrFlags::EXCLUDE_USER, !request.modes.user);
    event.flags.set(AttrFlags::EXCLUDE_KERNEL, !request.modes.kernel);

    // The same sample_type as the event, so that readers which look at one
    // attr only (perf script) find every field in either. Side records do
    // not ask for a mode; without the kernel's, anyone may open it.
    let mut side = Attr { kind: EventType::SOFTWARE, config: DUMMY, sample_period: 1, ..common };
    side.flags |= AttrFlags::EXCLUDE_KERNEL
        | AttrFlags::MMAP
        | AttrFlags::MMAP2
        | AttrFlags::COMM
        | AttrFlags::COMM_EXEC
        | AttrFlags::TASK
        | AttrFlags::BUILD_ID;
    side.flags.set(AttrFlags::KSYMBOL, request.modes.kernel);
    Attrs { event, side }
}

/// Whether the kernel counts the event in software, at every happening.
/// Such an event makes a sample of every happening, whatever its period, when
/// samples carry PERIOD (perf_swevent_event, kernel/events/core.c); without
/// it the attr says what a sample stands for.
fn fires_by_count(opening: &Opening) -> bool {
    match opening.kind {
        EventType::SOFTWARE => opening.config > LAST_CLOCK,
        kind => kind == EventType::TRACEPOINT || kind == EventType::BREAKPOINT,
    }
}

/// A quarter of a ring, bytes: the watermark of wake-ups.
pub(super) fn quarter(pages: u32, page_size: u64) -> u32 {
    u32::try_from(u64::from(pages).saturating_mul(page_size) / 4).unwrap_or(u32::MAX)
}
