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

use super::attrs::SessionAttrs;
use super::closed_event_totals::EventTotal;
use crate::PlannedEvent;
use crate::catalogue::promises::SampleSource;

/// So many events have one each: of the four counters that a core may have,
/// they must not take any from what samples.
const MAX_SHADOW_COUNTERS: usize = 2;

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

/// The attr of an event's shadow counter; None: it has none.
pub(super) fn attr(attrs: &SessionAttrs, event: &PlannedEvent) -> Option<Attr> {
    let is_dense = event.promises.source == SampleSource::Pebs
        && matches!(event.attr.sampling(), SamplingRate::Period(1..DENSE));
    let is_wanted = attrs.seen_first || is_dense;
    let is_served = is_wanted && !event.carrier && attrs.sampled().count() <= MAX_SHADOW_COUNTERS;
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
/// shadow counter everywhere, or one of them had no counter for a while.
pub(super) fn whole(total: &EventTotal) -> Option<u64> {
    let shadow_counter = total.shadow_counter;
    let always = |counts| total.on_counter(counts).is_some_and(EventTotal::is_whole);
    let sound = total.shadow_counters == total.opened && total.opened > 0;
    (sound && always(shadow_counter) && always(total.counts)).then_some(shadow_counter.count)
}

pub(super) fn missed(whole: u64, own: u64, period: u64) -> u64 {
    whole.saturating_sub(own).checked_div(period).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use perfdata::{AttrFlags, ReadFormat};

    use super::*;
    use crate::sys::event::Counts;

    fn total(own: u64, shadow_counter: u64) -> EventTotal {
        let counts = |count| Counts { count, enabled: 1000, running: 1000, lost: 0 };
        EventTotal {
            counts: counts(own),
            shadow_counter: counts(shadow_counter),
            side_enabled: 1000,
            side_running: 1000,
            opened: 2,
            shadow_counters: 2,
            periods: 0,
        }
    }

    #[test]
    fn a_sound_witness_tells_what_throttling_cost() {
        let whole = whole(&total(6_400, 40_000)).unwrap();
        assert_eq!(missed(whole, 6_400, 16), 2_100);
        assert_eq!(missed(6_407, 6_400, 16), 0, "less than a period");
        assert_eq!(missed(6_000, 6_400, 16), 0, "it was started later");
        assert_eq!(missed(7, 0, 0), 0, "no period");
    }

    #[test]
    fn a_witness_that_missed_something_is_not_heard() {
        let sound = total(6_400, 40_000);
        assert_eq!(whole(&EventTotal { shadow_counters: 1, ..sound }), None, "not everywhere");
        assert_eq!(whole(&EventTotal { shadow_counters: 0, opened: 0, ..sound }), None, "nowhere");
        let half = Counts { running: 500, ..sound.shadow_counter };
        assert_eq!(
            whole(&EventTotal { shadow_counter: half, ..sound }),
            None,
            "it shared its counter"
        );
        let half = Counts { running: 500, ..sound.counts };
        assert_eq!(whole(&EventTotal { counts: half, ..sound }), None, "the other did");
    }

    fn attrs(config: u64, events: usize) -> SessionAttrs {
        let attr = Attr {
            kind: EventType::RAW,
            config,
            sample_period: 16,
            sample_type: SampleType::IP | SampleType::TIME,
            sample_regs_intr: 0xff,
            read_format: ReadFormat::ID | ReadFormat::TOTAL_TIME_ENABLED,
            wakeup: 1024,
            clockid: 1,
            flags: AttrFlags::DISABLED
                | AttrFlags::INHERIT
                | AttrFlags::EXCLUDE_KERNEL
                | AttrFlags::WATERMARK
                | AttrFlags::USE_CLOCKID
                | AttrFlags::SAMPLE_ID_ALL,
            ..Attr::default()
        };
        let mut event = crate::session::opener::hardware("loads", 2);
        event.promises.source = SampleSource::Pebs;
        event.attr = attr.clone();
        event.attr.set_precise_ip(2);
        SessionAttrs { events: vec![event; events], side: attr, counted: true, seen_first: true }
    }

    fn shadow_counter_of(attrs: &SessionAttrs) -> Option<Attr> {
        attr(attrs, &attrs.events[0])
    }

    #[test]
    fn a_witness_counts_the_same_and_samples_nothing() {
        let attrs = attrs(0x81d0, 1);
        let shadow_counter = shadow_counter_of(&attrs).unwrap();
        assert_eq!((shadow_counter.config, shadow_counter.kind), (0x81d0, EventType::RAW));
        assert_eq!(
            (
                shadow_counter.sample_period,
                shadow_counter.precise_ip(),
                shadow_counter.sample_regs_intr
            ),
            (0, 0, 0)
        );
        assert!(shadow_counter.sample_type.is_empty());
        let same_modes = AttrFlags::DISABLED | AttrFlags::INHERIT | AttrFlags::EXCLUDE_KERNEL;
        assert_eq!(
            shadow_counter.flags, same_modes,
            "no precision, no records, the same tasks and modes"
        );
        assert_eq!(shadow_counter.read_format, attrs.events[0].attr.read_format);
    }

    #[test]
    fn what_has_a_counter_of_its_own_is_counted_elsewhere_or_not_at_all() {
        assert_eq!(
            shadow_counter_of(&attrs(0x100, 1)).unwrap().config,
            0xc0,
            "INST_RETIRED.PREC_DIST"
        );
        assert_eq!(shadow_counter_of(&attrs(0x300, 1)), None, "a fixed counter's");
        let mut threshold = attrs(0x1cd, 1);
        threshold.events[0].attr.config1 = 30;
        assert_eq!(shadow_counter_of(&threshold), None, "load latency");
        assert!(shadow_counter_of(&attrs(0x81d0, 2)).is_some());
        assert_eq!(shadow_counter_of(&attrs(0x81d0, 3)), None, "counters are few");
        let mut sampled = attrs(0x81d0, 1);
        sampled.seen_first = false;
        assert!(shadow_counter_of(&sampled).is_some(), "dense records through rings");
        sampled.events[0].attr.sample_period = 1000;
        assert_eq!(shadow_counter_of(&sampled), None, "records through rings, far from each other");
        sampled.events[0].attr.sample_period = 16;
        sampled.events[0].promises.source = SampleSource::Counter;
        assert_eq!(shadow_counter_of(&sampled), None, "a counter's own count is whole");
        let mut ibs = attrs(0x81d0, 1);
        ibs.events[0].promises.source = SampleSource::Ibs;
        assert_eq!(shadow_counter_of(&ibs), None, "IBS");
    }
}
