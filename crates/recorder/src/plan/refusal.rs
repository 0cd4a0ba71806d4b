//! Why a request cannot be planned, and the way out.

use std::path::PathBuf;

use perfdata::Pid;

use crate::catalogue::{MOUNT_TRACEFS, MaskError};
use crate::machine::facts::Version;
use crate::request::event_spec::EventSpecError;
use crate::request::{CallGraph, SampleConditionsError};

/// A request that cannot be served here. Every text says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Event(#[from] EventSpecError),
    #[error("{event} is not emulated: {why}")]
    NotEmulated { event: String, why: String },
    #[error("{event}: the emulated PMU sees user code only: say -u without -k")]
    EmulatedUserOnly { event: &'static str },
    #[error("{event}: the emulated PMU runs a command or a process: name one")]
    EmulatedSystem { event: String },
    #[error(
        "{event}: the emulated PMU runs x86-64 programs on Linux only, and this is no x86-64 machine"
    )]
    EmulatedMachine { event: &'static str },
    #[error("-m {masks}: {event} has no event masks when it is emulated; leave -m out")]
    EmulatedMasks { event: &'static str, masks: String },
    #[error("-m {masks}: {event} has no event masks; leave -m out")]
    Masks { event: String, masks: String },
    #[error(
        "{event} is emulated here, and the emulated PMU has no kernel to count in: leave --in-kernel \
         out"
    )]
    EmulatedInKernel { event: String },
    #[error("--classify exact: {why}")]
    EmulatedClasses { why: String },
    #[error("--heap: {why}")]
    Heap { why: String },
    #[error("--layout: {why}")]
    EmulatedLayouts { why: String },
    #[error("--keep: {0}")]
    SampleConditions(#[from] SampleConditionsError),
    #[error(
        "--keep {key}: samples of {event} have none; ebs -h lists the types, and those of a PMU's \
         loads and stores may have it"
    )]
    KeepLacks { event: String, key: &'static str },
    #[error(
        "{option}: {event} has no data addresses; page_fault, breakpoints (mem:ADDR) and a PMU's \
         loads and stores have them"
    )]
    NoAddress { event: String, option: &'static str },
    #[error(
        "{event}: what a program in the kernel leaves out of a tracepoint is hidden from everybody's \
         perf: count it with --in-kernel=aggregate, whose --keep hides nothing"
    )]
    FilteredTracepoint { event: String },
    #[error("{event} is asked for twice: say it once, or leave one of the two out")]
    Twice { event: String },
    #[error("{count} events are asked for; use {most} at most")]
    TooManyEvents { count: usize, most: usize },
    #[error(
        "{emulated} is emulated here and {counted} is not: nothing samples both in one run, so \
         leave one of the two out"
    )]
    MixedSources { emulated: String, counted: String },
    #[error(
        "{event}: what is counted in the kernel has its callers by frame pointers alone, not by \
         {how}: say --call-graph fp, or leave --in-kernel out"
    )]
    CountedCallers { event: String, how: crate::request::CallGraph },
    #[error("{event}: --call-graph lbr is not to be had: {why}; say fp or dwarf")]
    NoBranchStack { event: String, why: String },
    #[error(
        "{event}: --call-graph dwarf takes registers, and this architecture's are not known here: \
         say fp"
    )]
    NoUserRegisters { event: String },
    #[error(
        "{event}: --call-graph {how} is the machine's: the emulated PMU copies the stack, say dwarf"
    )]
    EmulatedCallers { event: &'static str, how: CallGraph },
    #[error("no mode given: say -u (user), -k (kernel), or both")]
    ModeMissing,
    /// `-u` with `:k`, or the other way round.
    #[error("{event}: its modifiers and -u or -k exclude each other; say the mode once")]
    ModesExclude { event: String },
    /// `:h` without `:u` and `:k`.
    #[error(
        "{event}: h alone counts the hypervisor's own code, which is not sampled here: say :u, :k, \
         or leave the letters to -u and -k"
    )]
    HypervisorOnly { event: String },
    #[error("interval 0 would sample nothing; say -i 1 for every event, or more")]
    IntervalZero,
    #[error("interval {interval} is too large; say -i with at most 9223372036854775807 (2^63 - 1)")]
    IntervalTooLarge { interval: u64 },
    #[error("a ring of 0 pages holds nothing; give at least 1, or leave the size out")]
    RingEmpty,
    #[error(
        "{event} is not to be had here: {why}{}; {advice}",
        if nearest.is_empty() { String::new() } else { format!(". Nearest: {}", nearest.join(", ")) }
    )]
    Unavailable { event: String, why: String, nearest: Vec<String>, advice: String },
    #[error("{event}: {why}")]
    NoEncoding { event: String, why: String },
    #[error(transparent)]
    Mask(#[from] MaskError),
    #[error(
        "{event} is an event of {pmu}, and /sys/bus/event_source/devices has none: {}",
        device_advice(pmu)
    )]
    NoDevice { event: String, pmu: String },
    #[error("{event} has precise_ip {most} at most, not {asked}: say :{}", "p".repeat((*most).into()))]
    TooPrecise { event: String, asked: u8, most: u8 },
    #[error(
        "{event}: {pmu} takes :p and gives IPs with skid all the same (Intel's and AMD's CPUs alone \
         sample precisely): leave it out"
    )]
    NoPrecision { event: String, pmu: String },
    #[error(
        "{event}: AMD samples precisely by IBS only, which stands in for cycles, r076 and r0c1 and \
         nothing else: leave :p out (the IP then has skid), or say -t l1_cache_miss or another type"
    )]
    NotForwarded { event: String },
    #[error("{event}: this machine has no PMU {pmu}{suggestion}")]
    NoPmu { event: String, pmu: String, suggestion: String },
    #[error("{event}: {pmu} is not sampled: {why}")]
    Unsampled { event: String, pmu: String, why: &'static str },
    #[error(
        "{event}: this CPU has several kinds of cores, and a code means something else on each: say \
         PMU/config={config:#x}/ with one of {pmus}"
    )]
    CodeOfManyCores { event: String, config: u64, pmus: String },
    #[error("{event}: the kernel gives {pmu} no number (no file `type` in its directory)")]
    NoPmuType { event: String, pmu: String },
    #[error(
        "{event}: {pmu} has no term {term} here (no such file under \
         /sys/bus/event_source/devices/{pmu}/format): a newer kernel may have it"
    )]
    NoTerm { event: String, pmu: String, term: &'static str },
    #[error(
        "{event}: {pmu} has no field for the bits {bits:#x} of {word} (see the files under \
         /sys/bus/event_source/devices/{pmu}/format): a newer kernel may have it, or this CPU does \
         not"
    )]
    FormatLacks { event: String, pmu: String, word: String, bits: u64 },
    #[error("{event}: {pmu}: {error}")]
    Terms { event: String, pmu: String, error: String },
    #[error(
        "{event} promises exact IPs, and {pmu} samples nothing precisely here (its caps/max_precise \
         is 0: a guest whose host keeps PEBS to itself, or PEBS is switched off); --allow-skid \
         samples with skid"
    )]
    NotPrecise { event: String, pmu: String },
    #[error(
        "{event} is told here by the instruction at each sample's IP, and {pmu} has no exact IPs \
         (its caps/max_precise): with skid it would be another instruction"
    )]
    NeedsExactIp { event: String, pmu: String },
    #[error("{event}: interval {interval} is too short for this CPU; say -i {least} or more")]
    IntervalTooShort { event: String, interval: u64, least: u64 },
    #[error(
        "{event} needs AMD IBS, which follows a process only since Linux 6.2 (this is {version}): \
         leave the command or PID out to sample the whole system"
    )]
    IbsOnTask { event: String, version: Version },
    #[error(
        "{event} needs latencies and sources of data, which AMD IBS gives since Linux 6.1 (this is \
         {version}): use l2_cache_miss, or a newer kernel"
    )]
    IbsMemory { event: String, version: Version },
    #[error(
        "{event} needs AMD IBS, which on this kernel samples user and kernel mode together \
         (swfilt, about Linux 6.14, tells them apart), and kernel.perf_event_paranoid is \
         {paranoid}: be root, have CAP_PERFMON, or as root: sysctl kernel.perf_event_paranoid=1"
    )]
    IbsSeesKernel { event: String, paranoid: i32 },
    #[error("{event} happens in the kernel and would give no record with -u alone: use -k")]
    KernelOnly { event: &'static str },
    #[error("{event}: tracefs is not mounted, so its number is unknown; {}", MOUNT_TRACEFS)]
    NoTracefs { event: String },
    #[error(
        "{event}: {} may not be read by this user; be root, or as root: \
         mount -o remount,gid=GROUP,mode=750 {}",
        place.display(),
        place.display()
    )]
    TracefsForbidden { event: String, place: PathBuf },
    #[error(
        "this kernel has no tracepoint {event}{suggestion}; perf list tracepoint, or the \
         directories under events/ in tracefs, name those it has"
    )]
    NoTracepoint { event: String, suggestion: String },
    #[error(
        "{event}: where a name lies is looked up by `ebs -t` when it samples; here an address is \
         needed: mem:ADDR"
    )]
    PlaceUnknown { event: String },
    #[error("{event} is an address of the kernel: use -k, or watch an address of the program")]
    KernelAddress { event: String },
    #[error("{event} is an address of the kernel: watching it needs CAP_SYS_ADMIN; be root")]
    KernelBreakpointDenied { event: String },
    #[error(
        "{event} lies neither in a program's address space nor in the kernel's: nothing can \
         access it; check the address"
    )]
    AddressOutside { event: String },
    #[error(
        "kernel.perf_event_paranoid is {paranoid}, so kernel mode (-k) needs CAP_PERFMON: use -u \
         alone, be root, or as root: sysctl kernel.perf_event_paranoid=1"
    )]
    KernelDenied { paranoid: i32 },
    #[error(
        "kernel.perf_event_paranoid is {paranoid}, so sampling the whole system needs \
         CAP_PERFMON: name a command or a PID, be root, or as root: \
         sysctl kernel.perf_event_paranoid=0"
    )]
    SystemDenied { paranoid: i32 },
    #[error("{pid} is no process id: give a number above 0, as ps shows it")]
    PidOutside { pid: Pid },
    #[error("no process has PID {pid}: it may have exited; ps -e shows those that run")]
    NoProcess { pid: Pid },
    #[error("process {pid} has exited (zombie): nothing is left to sample; choose another PID")]
    Zombie { pid: Pid },
    #[error("{pid} is a thread of process {leader}: use PID {leader}, all its threads are sampled")]
    Thread { pid: Pid, leader: Pid },
    #[error("{pid} is a thread of the kernel and never runs user code: use -k")]
    KernelThread { pid: Pid },
    #[error(
        "process {pid} belongs to user {theirs}, and this user ({ours}) may not look into it: be \
         that user or root, or have CAP_PERFMON"
    )]
    OtherUser { pid: Pid, theirs: u32, ours: u32 },
    #[error("{event}: no CPU of {pmus} is online; bring one online, or name another event")]
    Offline { event: String, pmus: String },
    #[error(
        "cannot tell which CPUs are online: /sys/devices/system/cpu/online is not readable; mount \
         sysfs at /sys"
    )]
    NoCpus,
}

fn device_advice(pmu: &str) -> &'static str {
    match pmu {
        "ibs_op" => {
            "switch IBS on in the firmware's setup, load the kernel's amd_ibs, or leave the \
                     guest"
        }
        _ => "ebs list names the PMUs there are",
    }
}

impl Refusal {
    /// Types or events that come near and are to be had, best first.
    pub fn nearest(&self) -> &[String] {
        match self {
            Refusal::Unavailable { nearest, .. }
            | Refusal::Event(EventSpecError::Unknown { nearest, .. }) => nearest,
            _ => &[],
        }
    }

    /// Whether the request itself is malformed (exit status 2), rather than
    /// not to be had on this machine (exit status 1).
    pub fn is_usage(&self) -> bool {
        match self {
            Refusal::Event(_)
            | Refusal::Masks { .. }
            | Refusal::EmulatedMasks { .. }
            | Refusal::EmulatedUserOnly { .. }
            | Refusal::EmulatedSystem { .. }
            | Refusal::EmulatedInKernel { .. }
            | Refusal::EmulatedClasses { .. }
            | Refusal::Heap { .. }
            | Refusal::EmulatedLayouts { .. }
            | Refusal::EmulatedCallers { .. }
            | Refusal::CountedCallers { .. }
            | Refusal::Twice { .. }
            | Refusal::TooManyEvents { .. }
            | Refusal::MixedSources { .. }
            | Refusal::FilteredTracepoint { .. }
            | Refusal::SampleConditions(_)
            | Refusal::KeepLacks { .. }
            | Refusal::NoAddress { .. }
            | Refusal::Mask(_)
            | Refusal::Terms { .. }
            | Refusal::CodeOfManyCores { .. }
            | Refusal::TooPrecise { .. }
            | Refusal::IntervalTooShort { .. }
            | Refusal::ModeMissing
            | Refusal::ModesExclude { .. }
            | Refusal::HypervisorOnly { .. }
            | Refusal::IntervalZero
            | Refusal::IntervalTooLarge { .. }
            | Refusal::RingEmpty
            | Refusal::KernelOnly { .. }
            | Refusal::KernelAddress { .. }
            | Refusal::PlaceUnknown { .. }
            | Refusal::AddressOutside { .. }
            | Refusal::PidOutside { .. } => true,
            Refusal::Unavailable { .. }
            | Refusal::NotEmulated { .. }
            | Refusal::EmulatedMachine { .. }
            | Refusal::NoEncoding { .. }
            | Refusal::NoDevice { .. }
            | Refusal::NotForwarded { .. }
            | Refusal::NoPrecision { .. }
            | Refusal::NoPmu { .. }
            | Refusal::Unsampled { .. }
            | Refusal::NoPmuType { .. }
            | Refusal::FormatLacks { .. }
            | Refusal::NoTerm { .. }
            | Refusal::NotPrecise { .. }
            | Refusal::NeedsExactIp { .. }
            | Refusal::NoBranchStack { .. }
            | Refusal::NoUserRegisters { .. }
            | Refusal::IbsOnTask { .. }
            | Refusal::IbsSeesKernel { .. }
            | Refusal::IbsMemory { .. }
            | Refusal::NoTracefs { .. }
            | Refusal::TracefsForbidden { .. }
            | Refusal::NoTracepoint { .. }
            | Refusal::KernelBreakpointDenied { .. }
            | Refusal::KernelDenied { .. }
            | Refusal::SystemDenied { .. }
            | Refusal::NoProcess { .. }
            | Refusal::Zombie { .. }
            | Refusal::Thread { .. }
            | Refusal::KernelThread { .. }
            | Refusal::OtherUser { .. }
            | Refusal::Offline { .. }
            | Refusal::NoCpus => false,
        }
    }
}

impl Refusal {
    /// Whether it is rights that are missing, which a daemon may have.
    pub fn is_denial(&self) -> bool {
        matches!(
            self,
            Refusal::KernelDenied { .. }
                | Refusal::SystemDenied { .. }
                | Refusal::OtherUser { .. }
                | Refusal::IbsSeesKernel { .. }
        )
    }
}
