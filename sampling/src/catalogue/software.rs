//! Types that a kernel gives without any PMU. What the fields mean was
//! measured; docs/events.md says how.

use record::SoftwareEvent;

use super::{CatalogueType, EventKind, IntervalUnit, Software, promises};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, Promises, RegistersPromise, SampleSource,
};

const FAULT: Promises = promises(
    SampleSource::KernelSoftware,
    IpPromise::Causing,
    AddressPromise::Faulting,
    RegistersPromise::BeforeInstruction,
);

const CLOCK: Promises = promises(
    SampleSource::KernelTimer,
    IpPromise::Interrupted,
    AddressPromise::None,
    RegistersPromise::BeforeInstruction,
);

const SCHEDULER: Promises = promises(
    SampleSource::KernelSoftware,
    IpPromise::ReportingPlace,
    AddressPromise::None,
    RegistersPromise::AtReportingPlace,
);

const fn software(event: SoftwareEvent) -> EventKind {
    EventKind::Software(Software { event, kernel_only: false, never_on_x86: false })
}

const fn scheduler(event: SoftwareEvent) -> EventKind {
    EventKind::Software(Software { event, kernel_only: true, never_on_x86: false })
}

const fn not_on_x86(event: SoftwareEvent) -> EventKind {
    EventKind::Software(Software { event, kernel_only: false, never_on_x86: true })
}

pub(super) static TYPES: &[CatalogueType] = &[
    CatalogueType {
        name: "page_fault",
        aliases: &["page-faults", "page_faults", "faults", "pagefault"],
        meaning: "an access to a page that is not mapped, or not writable yet",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(FAULT),
        detail: "Fires on each page fault that an instruction takes: the first touch of a fresh \
                 page, a write to a shared page, a page that must be read from disk. With -k: \
                 faults that the kernel takes, mostly when it copies to or from a program's \
                 memory.\n\
                 IP is the instruction that faulted; it has not taken effect and runs again. \
                 Addr is the exact data address that it asked for (for a fetch, the address of \
                 the code). Registers are those before the instruction.",
        example: "ebs -u -t page_fault -c 50000 -- make -j",
        kind: software(SoftwareEvent::PAGE_FAULTS),
    },
    CatalogueType {
        name: "minor_fault",
        aliases: &["minor-faults", "minor_faults"],
        meaning: "a page fault served from memory",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(FAULT),
        detail: "The page faults that needed no disk: fresh zeroed pages, copies on write, files \
                 in the page cache. IP, addr and registers as for page_fault.",
        example: "ebs -u -t minor_fault -- ./program",
        kind: software(SoftwareEvent::MINOR_FAULTS),
    },
    CatalogueType {
        name: "major_fault",
        aliases: &["major-faults", "major_faults"],
        meaning: "a page fault that waited for a disk",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(FAULT),
        detail: "The page faults that had to read from a file or from swap. IP, addr and \
                 registers as for page_fault.",
        example: "ebs -u -k -t major_fault -- ./program",
        kind: software(SoftwareEvent::MAJOR_FAULTS),
    },
    CatalogueType {
        name: "cpu_clock",
        aliases: &["cpu-clock"],
        meaning: "time on the CPU's clock",
        default_interval: 1_000_000,
        unit: IntervalUnit::Nanoseconds,
        promises: Some(CLOCK),
        detail: "A timer of the kernel interrupts the CPU; a sample is written when the mode is \
                 among those asked for. The interval is in nanoseconds, at least 10000, the \
                 kernel's own limit.\n\
                 IP is where the timer found the CPU, so it shows where time is spent, at no \
                 particular instruction: it slides to where interrupts are let in. Addr is 0. \
                 Registers belong to IP.",
        example: "ebs -u -k -i 1000000 -t cpu_clock -- ./program",
        kind: software(SoftwareEvent::CPU_CLOCK),
    },
    CatalogueType {
        name: "task_clock",
        aliases: &["task-clock"],
        meaning: "time that the sampled tasks ran",
        default_interval: 1_000_000,
        unit: IntervalUnit::Nanoseconds,
        promises: Some(CLOCK),
        detail: "As cpu_clock, by the time that the task itself has run.",
        example: "ebs -u -t task_clock 4711",
        kind: software(SoftwareEvent::TASK_CLOCK),
    },
    CatalogueType {
        name: "context_switch",
        aliases: &["context-switches", "context_switches", "cs"],
        meaning: "a task leaves a CPU",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(SCHEDULER),
        detail: "Fires when the scheduler takes the task off its CPU, of its own will or not. It \
                 happens in the kernel: say -k.\n\
                 IP is a place in the scheduler, much the same in every record; the tasks, CPUs and \
                 times are what the records tell. Addr is 0. Of the registers only IP and SP \
                 hold values, the others are 0.",
        example: "ebs -k -t context_switch -- ./program",
        kind: scheduler(SoftwareEvent::CONTEXT_SWITCHES),
    },
    CatalogueType {
        name: "cpu_migration",
        aliases: &["cpu-migrations", "cpu_migrations", "migrations"],
        meaning: "a task moves to another CPU",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(SCHEDULER),
        detail: "Fires when the task is first run on another CPU than before. It happens in the \
                 kernel: say -k. IP, addr and registers as for context_switch.",
        example: "ebs -k -t cpu_migration -- ./program",
        kind: scheduler(SoftwareEvent::CPU_MIGRATIONS),
    },
    CatalogueType {
        name: "alignment_fault",
        aliases: &["alignment-faults", "alignment_faults"],
        meaning: "an unaligned access that the kernel had to mend",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(FAULT),
        detail: "Fires where the CPU cannot access unaligned data and the kernel does it in its \
                 place. x86 CPUs do it themselves: no x86 kernel counts this. (For accesses that \
                 straddle cache lines there is split_load_retired, where the CPU has it.)\n\
                 IP is the instruction, addr its data.",
        example: "ebs -u -t alignment_fault -- ./program",
        kind: not_on_x86(SoftwareEvent::ALIGNMENT_FAULTS),
    },
    CatalogueType {
        name: "emulation_fault",
        aliases: &["emulation-faults", "emulation_faults"],
        meaning: "an instruction that the kernel ran in software",
        default_interval: 1,
        unit: IntervalUnit::Events,
        promises: Some(FAULT),
        detail: "Fires where the CPU lacks an instruction and the kernel does its work, as for \
                 old instructions on 64-bit Arm. No x86 kernel counts this.\n\
                 IP is the instruction; addr is its data where it has any.",
        example: "ebs -u -t emulation_fault -- ./program",
        kind: not_on_x86(SoftwareEvent::EMULATION_FAULTS),
    },
];

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
             or decimal, aligned to LEN. r, w, rw: loads, stores, both (both unless said; \
             x86 has no r alone, and watches both). x: execution of the instruction at ADDR, \
             without a LEN. A CPU has few debug registers: four on x86.\n\
             r, w, rw: IP is the instruction after the access, and registers hold what the \
             access left in them. x: IP is the instruction at ADDR, registers are those \
             before it. Addr is ADDR. With -k: accesses by the kernel, also to the \
             program's own addresses.",
    example: "ebs -u -t mem:0x4040c0/8:w -- ./program",
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
