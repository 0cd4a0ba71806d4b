//! What an event is called: as its user typed it, else as perf calls what
//! its attr asks for (evsel__name(), tools/perf/util/evsel.c).

use super::description::EventDescription;
use crate::attr::{Attr, AttrFlags, EventType};
use crate::software_event::SoftwareEvent;
use std::borrow::Cow;

/// `PERF_COUNT_HW_*`.
const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
/// `PERF_COUNT_HW_CACHE_*`: caches, then what is done, alone and with a
/// result.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const OPERATIONS: [(&str, &str); 3] =
    [("loads", "load"), ("stores", "store"), ("prefetches", "prefetch")];
/// Which of [`OPERATIONS`] each of [`CACHES`] has, a bit for each.
const CACHE_OPERATIONS: [u8; 7] = [7, 5, 7, 7, 1, 1, 7];
/// What perf calls a number that is not in [`HARDWARE`].
const UNKNOWN_HARDWARE: &str = "unknown-hardware";
/// On hybrid machines the high half of a generic config is the PMU's type.
const GENERIC: u64 = u32::MAX as u64;
/// Bits of a breakpoint's type.
const ACCESSES: [(u32, char); 3] = [(1, 'r'), (2, 'w'), (4, 'x')];

impl EventDescription {
    /// The event's name; when the recording has none, what its attr asks
    /// for, with the letters that perf puts behind the colon.
    pub fn title(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(of_attr(&self.attr)),
        }
    }

    /// [`EventDescription::title`] to the letter as perf 6.1 prints it, which
    /// tells less of events that it has no name for.
    pub fn perf_title(&self) -> Cow<'_, str> {
        match (&self.name, perf_of_attr(&self.attr)) {
            (None, Some(name)) => Cow::Owned(name),
            _ => self.title(),
        }
    }
}

/// What perf alone calls an event; None where it calls it as [`of_attr`].
fn perf_of_attr(attr: &Attr) -> Option<String> {
    let (generic, pmu) = (attr.config & GENERIC, attr.config >> 32);
    let named = |names: &[&'static str]| names.get(usize::try_from(generic).ok()?).copied();
    let name = match attr.kind {
        EventType::HARDWARE => match (named(&HARDWARE), pmu) {
            (Some(_), 0) => return None,
            (name, 0) => name.unwrap_or(UNKNOWN_HARDWARE).to_owned(),
            (name, _) => format!("cpu/{}/", name.unwrap_or(UNKNOWN_HARDWARE)),
        },
        EventType::SOFTWARE if software(generic).is_none() => "unknown-software".to_owned(),
        EventType::HW_CACHE => cache_problem(attr.config)?.to_owned(),
        EventType::TRACEPOINT => return Some("unknown tracepoint".to_owned()),
        EventType::SOFTWARE | EventType::RAW | EventType::BREAKPOINT => return None,
        EventType(kind) => return Some(format!("unknown attr type: {}", kind.cast_signed())),
    };
    Some(name + &modifiers(attr))
}

fn software(generic: u64) -> Option<&'static str> {
    SoftwareEvent(generic).perf_name()
}

fn cache_problem(config: u64) -> Option<&'static str> {
    let [cache, operation, result, ..] = config.to_le_bytes();
    let Some(possible) = CACHE_OPERATIONS.get(usize::from(cache)) else {
        return Some("unknown-ext-hardware-cache-type");
    };
    match (operation, result) {
        (3.., _) => Some("unknown-ext-hardware-cache-op"),
        (_, 2..) => Some("unknown-ext-hardware-cache-result"),
        _ if possible >> operation & 1 == 0 => Some("invalid-cache"),
        _ => None,
    }
}

fn of_attr(attr: &Attr) -> String {
    let generic = attr.config & GENERIC;
    let known = |names: &[&str]| {
        let name = usize::try_from(generic).ok().and_then(|index| names.get(index));
        name.map(|name| (*name).to_owned())
    };
    let name = match attr.kind {
        EventType::HARDWARE => known(&HARDWARE),
        EventType::SOFTWARE => software(generic).map(str::to_owned),
        EventType::HW_CACHE => cache(generic),
        EventType::RAW => Some(format!("raw {:#x}", attr.config)),
        EventType::TRACEPOINT => return format!("tracepoint {}", attr.config),
        EventType::BREAKPOINT => {
            let letters = ACCESSES.iter().filter(|(bit, _)| attr.bp_type & bit != 0);
            let letters: String = letters.map(|(_, letter)| *letter).collect();
            Some(format!("mem:{:#x}:{letters}", attr.config1))
        }
        _ => None,
    };
    match name {
        Some(name) => name + &modifiers(attr),
        None => format!("event of type {} config {:#x}", attr.kind.0, attr.config),
    }
}

fn cache(config: u64) -> Option<String> {
    let part = |shift: u32| usize::try_from(config >> shift & 0xff).ok();
    let cache = CACHES.get(part(0)?)?;
    let (alone, with_result) = OPERATIONS.get(part(8)?)?;
    match config >> 16 {
        0 => Some(format!("{cache}-{alone}")),
        1 => Some(format!("{cache}-{with_result}-misses")),
        _ => None,
    }
}

fn modifiers(attr: &Attr) -> String {
    let has = |bits| attr.flags.contains(bits);
    let mut letters = String::new();
    let mut usual_guest = false;
    let left_out = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_USER | AttrFlags::EXCLUDE_HV;
    if attr.flags.intersects(left_out) {
        let modes = [
            (AttrFlags::EXCLUDE_KERNEL, 'k'),
            (AttrFlags::EXCLUDE_USER, 'u'),
            (AttrFlags::EXCLUDE_HV, 'h'),
        ];
        letters.extend(modes.into_iter().filter(|(bit, _)| !has(*bit)).map(|(_, letter)| letter));
        usual_guest = true;
    }
    if attr.precise_ip() > 0 {
        letters.extend(std::iter::repeat_n('p', usize::from(attr.precise_ip())));
        usual_guest = true;
    }
    if has(AttrFlags::EXCLUDE_HOST) || has(AttrFlags::EXCLUDE_GUEST) == usual_guest {
        let sides = [(AttrFlags::EXCLUDE_HOST, 'H'), (AttrFlags::EXCLUDE_GUEST, 'G')];
        letters.extend(sides.into_iter().filter(|(bit, _)| !has(*bit)).map(|(_, letter)| letter));
    }
    if letters.is_empty() { letters } else { format!(":{letters}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, config, flags without `precise_ip`, precise_ip.
    fn title(kind: EventType, config: u64, flags: AttrFlags, precise: u8) -> String {
        let mut attr = Attr { kind, config, flags, ..Attr::default() };
        attr.set_precise_ip(precise);
        of_attr(&attr)
    }

    #[test]
    fn generic_events_are_called_as_perf_calls_them() {
        let none = AttrFlags::empty();
        let (kernel, hv) = (AttrFlags::EXCLUDE_KERNEL, AttrFlags::EXCLUDE_HV);
        let guest = AttrFlags::EXCLUDE_GUEST;
        let hardware = EventType::HARDWARE;
        assert_eq!(title(hardware, 0, guest, 0), "cycles");
        assert_eq!(title(hardware, 1, guest | kernel | hv, 0), "instructions:uH");
        assert_eq!(title(hardware, 0, none, 3), "cycles:ppp");
        assert_eq!(title(hardware, 0x4_0000_0000, guest, 0), "cycles");
        assert_eq!(title(EventType::SOFTWARE, 9, none, 0), "dummy:HG");
        assert_eq!(title(EventType::HW_CACHE, 0x1_0000, guest, 0), "L1-dcache-load-misses");
        assert_eq!(title(EventType::HW_CACHE, 0x0103, guest, 0), "dTLB-stores");
        assert_eq!(title(EventType::RAW, 0x1cd, guest, 0), "raw 0x1cd");
        assert_eq!(title(EventType::TRACEPOINT, 77, guest, 0), "tracepoint 77");
        assert_eq!(title(EventType(8), 0x10, guest, 0), "event of type 8 config 0x10");
        assert_eq!(title(hardware, 99, guest, 0), "event of type 0 config 0x63");
    }

    /// Taken from perf script 6.1, of streams without names.
    #[test]
    fn perf_has_its_own_words_for_what_it_does_not_know() {
        let perf = |kind, config| {
            let modes = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV;
            let flags = modes | AttrFlags::EXCLUDE_GUEST;
            let attr = Attr { kind, config, flags, ..Attr::default() };
            perf_of_attr(&attr).unwrap_or_else(|| of_attr(&attr))
        };
        for (kind, config, name) in [
            (EventType::HARDWARE, 0, "cycles:uH"),
            (EventType::HARDWARE, 10, "unknown-hardware:uH"),
            (EventType::HARDWARE, 4 << 32, "cpu/cycles/:uH"),
            (EventType::SOFTWARE, 99, "unknown-software:uH"),
            (EventType::HW_CACHE, 4 << 32 | 0x1_0000, "L1-dcache-load-misses:uH"),
            (EventType::HW_CACHE, 7, "unknown-ext-hardware-cache-type:uH"),
            (EventType::HW_CACHE, 0x300, "unknown-ext-hardware-cache-op:uH"),
            (EventType::HW_CACHE, 0x2_0000, "unknown-ext-hardware-cache-result:uH"),
            (EventType::HW_CACHE, 0x1_0205, "invalid-cache:uH"),
            (EventType::RAW, 0x1cd, "raw 0x1cd:uH"),
            (EventType::TRACEPOINT, 317, "unknown tracepoint"),
            (EventType(99), 0x12, "unknown attr type: 99"),
        ] {
            assert_eq!(perf(kind, config), name);
        }
    }

    #[test]
    fn breakpoints_say_where_and_what() {
        let attr = Attr {
            kind: EventType::BREAKPOINT,
            bp_type: 3,
            config1: 0x1000,
            flags: AttrFlags::EXCLUDE_GUEST,
            ..Attr::default()
        };
        assert_eq!(of_attr(&attr), "mem:0x1000:rw");
    }
}
