//! Types that a kernel gives without any PMU. What the fields mean was
//! measured; docs/events.md says how. Their words are in a table, but for the
//! two forms that take an address or a name.

use std::sync::LazyLock;

use perfdata::SoftwareEvent;

use super::{CatalogueType, EventKind, IntervalUnit, Software, promises, table, words};
use crate::catalogue::promises::{AddressPromise, IpPromise, RegistersPromise, SampleSource};

const SOFTWARE: Software =
    Software { event: SoftwareEvent::DUMMY, kernel_only: false, never_on_x86: false };

const FAULT: CatalogueType = CatalogueType {
    name: "",
    aliases: &[],
    meaning: "",
    default_interval: 1,
    unit: IntervalUnit::Events,
    promises: Some(promises(
        SampleSource::KernelSoftware,
        IpPromise::Causing,
        AddressPromise::Faulting,
        RegistersPromise::BeforeInstruction,
    )),
    detail: "",
    example: "",
    kind: EventKind::Software(SOFTWARE),
};

const FAULT_ELSEWHERE: CatalogueType = CatalogueType {
    kind: EventKind::Software(Software { never_on_x86: true, ..SOFTWARE }),
    ..FAULT
};

const CLOCK: CatalogueType = CatalogueType {
    default_interval: 1_000_000,
    unit: IntervalUnit::Nanoseconds,
    promises: Some(promises(
        SampleSource::KernelTimer,
        IpPromise::Interrupted,
        AddressPromise::None,
        RegistersPromise::BeforeInstruction,
    )),
    ..FAULT
};

const SCHEDULER: CatalogueType = CatalogueType {
    promises: Some(promises(
        SampleSource::KernelSoftware,
        IpPromise::ReportingPlace,
        AddressPromise::None,
        RegistersPromise::AtReportingPlace,
    )),
    kind: EventKind::Software(Software { kernel_only: true, ..SOFTWARE }),
    ..FAULT
};

const KINDS: [(&str, CatalogueType); 4] = [
    ("fault", FAULT),
    ("fault_elsewhere", FAULT_ELSEWHERE),
    ("clock", CLOCK),
    ("scheduler", SCHEDULER),
];

pub(super) static TYPES: LazyLock<Vec<CatalogueType>> = LazyLock::new(|| {
    words::types(table::SOFTWARE, &KINDS).into_iter().filter_map(numbered).collect()
});

/// A type with the number of what perf calls by one of its names.
fn numbered(entry: CatalogueType) -> Option<CatalogueType> {
    let EventKind::Software(software) = entry.kind else { return None };
    let event = entry.aliases.iter().find_map(|name| SoftwareEvent::named(name))?;
    Some(CatalogueType { kind: EventKind::Software(Software { event, ..software }), ..entry })
}

pub(super) static BREAKPOINT: CatalogueType = CatalogueType {
    name: "mem:ADDR[/LEN]:[r][w][x]",
    aliases: &["mem", "mem:", "breakpoint"],
    meaning: "an access to one address, by a debug register",
    default_interval: 1,
    unit: IntervalUnit::Events,
    promises: Some(promises(
        SampleSource::Breakpoint,
        IpPromise::AfterCausing,
        AddressPromise::Watched,
        RegistersPromise::AfterInstruction,
    )),
    detail: "Watches LEN bytes (1, 2, 4 or 8; 4 unless said) at ADDR, a number in hex (0x...) \
             or decimal, aligned to LEN. In its place NAME[+OFFSET][@OBJECT], a variable or, \
             for x, a routine of the program, its libraries (@libfoo.so) or the kernel \
             (@[kernel]), or 0xADDR@FILE with an address as nm tells it: ebs looks up where \
             that is, also in a program that is loaded anywhere; LEN is the variable's \
             then, unless said. r, w, rw: loads, stores, both (both unless said; \
             x86 has no r alone, and watches both). x: execution of the instruction at ADDR, \
             without a LEN. A CPU has few debug registers: four on x86.\n\
             r, w, rw: IP is the instruction after the access, and registers hold what the \
             access left in them. x: IP is the instruction at ADDR, registers are those \
             before it. Addr is ADDR. With -k: accesses by the kernel, also to the \
             program's own addresses.",
    example: "ebs -u -t mem:counter:w -- ./program",
    kind: EventKind::Breakpoint,
};

pub(super) static TRACEPOINT: CatalogueType = CatalogueType {
    name: "SUBSYSTEM:NAME",
    aliases: &["tracepoint", "tracepoints"],
    meaning: "a tracepoint of the kernel, or a probe",
    default_interval: 1,
    unit: IntervalUnit::Events,
    promises: Some(promises(
        SampleSource::Tracepoint,
        IpPromise::ReportingPlace,
        AddressPromise::None,
        RegistersPromise::AtReportingPlace,
    )),
    detail: "Fires where the kernel reports one thing: sched:sched_switch, \
             kmem:mm_page_alloc. The names are the directories of events/ in tracefs, which \
             must be mounted. Tracepoints happen in the kernel: say -k. (syscalls:* and \
             probes in programs carry the program's state, and fire with -u too.)\n\
             IP is the place in the kernel; of the registers only IP and SP hold values. \
             syscalls:*: IP and registers of the program at its system call. Addr is 0; the \
             tracepoint's own fields are not recorded.",
    example: "ebs -k -t kmem:mm_page_alloc -- ./program",
    kind: EventKind::Tracepoint,
};
