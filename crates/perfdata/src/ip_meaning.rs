//! What the instruction pointers of an event's samples are, in one word and
//! in a few.
//!
//! PERF_RECORD_MISC_EXACT_IP is the CPU's proof for samples of its PMU. The
//! kernel sets it for no other event, whatever these know: a page fault is
//! taken at the very instruction that faulted.

use crate::{Attr, EventType, SoftwareEvent};

/// What the instruction pointers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpMeaning {
    /// The instruction that caused the event: the kernel was entered there.
    Exact,
    /// The instruction after that: a trap.
    Next,
    /// Where a timer interrupted.
    Timer,
    /// Where the kernel reports the event.
    Place,
    /// EXACT_IP of each record tells.
    Varies,
}

/// HW_BREAKPOINT_X of perf_event_attr.bp_type.
const EXECUTION: u32 = 4;

impl IpMeaning {
    /// Of an event's samples: as its recorder promised (`ip` of its note),
    /// else as the kernel does it.
    pub fn of(attr: &Attr, promised: Option<&str>) -> IpMeaning {
        match promised {
            Some("causing-instruction") => IpMeaning::Exact,
            Some("after-causing-instruction") => IpMeaning::Next,
            Some("interrupted") => IpMeaning::Timer,
            Some("reporting-place") => IpMeaning::Place,
            Some(_) => IpMeaning::Varies,
            None => IpMeaning::by_the_kernel(attr),
        }
    }

    fn by_the_kernel(attr: &Attr) -> IpMeaning {
        let is = |nature: fn(SoftwareEvent) -> bool| attr.software().is_some_and(nature);
        match attr.kind {
            EventType::SOFTWARE if is(SoftwareEvent::is_fault) => IpMeaning::Exact,
            EventType::SOFTWARE if is(SoftwareEvent::is_clock) => IpMeaning::Timer,
            EventType::SOFTWARE | EventType::TRACEPOINT => IpMeaning::Place,
            EventType::BREAKPOINT if attr.bp_type & EXECUTION != 0 => IpMeaning::Exact,
            EventType::BREAKPOINT => IpMeaning::Next,
            _ => IpMeaning::Varies,
        }
    }

    /// In a word, as `ebs -h` has it.
    pub fn word(self) -> &'static str {
        match self {
            IpMeaning::Exact => "exact",
            IpMeaning::Next => "next",
            IpMeaning::Timer => "timer",
            IpMeaning::Place => "place",
            IpMeaning::Varies => "varies",
        }
    }

    /// In a few words; None: each record has its own EXACT_IP.
    pub fn in_words(self) -> Option<&'static str> {
        match self {
            IpMeaning::Exact => Some("IP exact (the kernel tells the causing instruction)"),
            IpMeaning::Next => Some("IP next (the instruction after the causing one)"),
            IpMeaning::Timer => Some("IP timer (where a timer interrupted)"),
            IpMeaning::Place => Some("IP place (where the kernel reports the event)"),
            IpMeaning::Varies => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: EventType, config: u64, bp_type: u32, promised: Option<&str>) -> IpMeaning {
        IpMeaning::of(&Attr { kind, config, bp_type, ..Attr::default() }, promised)
    }

    #[test]
    fn what_the_recorder_promised_comes_before_what_the_kernel_does() {
        for (kind, config, bp_type, meant) in [
            (EventType::SOFTWARE, 2, 0, IpMeaning::Exact),
            (EventType::SOFTWARE, 0, 0, IpMeaning::Timer),
            (EventType::SOFTWARE, 3, 0, IpMeaning::Place),
            (EventType::TRACEPOINT, 77, 0, IpMeaning::Place),
            (EventType::BREAKPOINT, 0, 2, IpMeaning::Next),
            (EventType::BREAKPOINT, 0, 4, IpMeaning::Exact),
            (EventType::HARDWARE, 2, 0, IpMeaning::Varies),
            (EventType::RAW, 0x1d1, 0, IpMeaning::Varies),
        ] {
            assert_eq!(of(kind, config, bp_type, None), meant, "{kind:?} {config}");
            assert_eq!(of(kind, config, bp_type, Some("exact")), IpMeaning::Varies);
            assert_eq!(of(kind, config, bp_type, Some("interrupted")), IpMeaning::Timer);
        }
    }
}
