//! A plain counter beside an event whose own count does not tell all.
//!
//! An event that interrupts more than perf_event_max_sample_rate / HZ times
//! in a tick is stopped until the next one (__perf_event_account_interrupt(),
//! kernel/events/core.c), and counts nothing meanwhile: neither its hits nor
//! its count tell what that cost. A counter of the same that samples nothing
//! never is. Records through rings seldom come to that, as the CPU writes
//! many PEBS records before it interrupts once; a program runs at interrupts
//! alone.
//!
//! Of PEBS the kernel's count is made of the records, each worth a period
//! (intel_pmu_save_and_restart_reload(), arch/x86/events/intel/ds.c): events
//! between an overflow and its record, and records that found no room in the
//! CPU's buffer, are not in it. That matters where records are dense.

use perfdata::attr::SamplingRate;
use perfdata::{Attr, AttrFlags, EventType, SampleType};

use super::attrs::Attrs;
use super::retired::EventTotal;
use crate::PlannedEvent;
use crate::catalogue::promises::SampleSource;

/// So many events have one each: of the four counters that a core may have,
/// they must not take any from what samples.
const MOST: usize = 2;

/// Shorter intervals are dense: arming and shadows take some instructions of
/// each, the buffer holds some hundred records.
const DENSE: u64 = 1000;

/// INST_RETIRED.PREC_DIST in the encoding of the fixed counter 0, which is
/// one; and what counts the same on any.
const FIXED_INSTRUCTIONS: u64 = 0x100;
const INSTRUCTIONS: u64 = 0xc0;

/// What the kernel knows of an event: the low byte names it, 0 is that of
/// fixed counters alone.
const SELECTOR: u64 = 0xff;

/// The attr of an event's witness; None: it has none.
pub(super) fn attr(attrs: &Attrs, event: &PlannedEvent) -> Option<Attr> {
    let is_dense = event.promises.source == SampleSource::Pebs
        && matches!(event.attr.sampling(), SamplingRate::Period(1..DENSE));
    let is_wanted = attrs.seen_first || is_dense;
    let is_served = is_wanted && !event.carrier && attrs.sampled().count() <= MOST;
    let is_core = matches!(event.promises.source, SampleSource::Pebs | SampleSource::Counter)
        && event.attr.kind != EventType::HARDWARE
        && event.attr.kind != EventType::HW_CACHE;
    let of = &event.attr;
    // A threshold or a matrix of responses is in a register of its own.
    let is_plain = of.config1 == 0 && matches!(of.sampling(), SamplingRate::Period(1..));
    let config = match of.config {
        FIXED_INSTRUCTIONS => INSTRUCTIONS,
        config => config,
    };
    if !(is_served && is_core && is_plain) || config & SELECTOR == 0 {
        return None;
    }
    let kept = AttrFlags::DISABLED
        | AttrFlags::INHERIT
        | AttrFlags::ENABLE_ON_EXEC
        | AttrFlags::EXCLUDE_USER
        | AttrFlags::EXCLUDE_KERNEL
        | AttrFlags::EXCLUDE_HV
        | AttrFlags::EXCLUDE_GUEST;
    let mut attr = Attr {
        config,
        flags: of.flags & kept,
        sample_type: SampleType::empty(),
        sample_period: 0,
        sample_regs_intr: 0,
        wakeup: 0,
        clockid: 0,
        ..of.clone()
    };
    attr.set_precise_ip(0);
    Some(attr)
}

/// What an event would have counted without being stopped; None: it has no
/// witness everywhere, or one of them had no counter for a while.
pub(super) fn whole(total: &EventTotal) -> Option<u64> {
    let witness = total.witness;
    let always = |counts| total.on_counter(counts).is_some_and(EventTotal::is_whole);
    let sound = total.witnesses == total.opened && total.opened > 0;
    (sound && always(witness) && always(total.counts)).then_some(witness.count)
}

/// Samples that were not made while an event was stopped.
pub(super) fn missed(whole: u64, own: u64, period: u64) -> u64 {
    whole.saturating_sub(own).checked_div(period).unwrap_or(0)
}

#[cfg(test)]
mod tests;
