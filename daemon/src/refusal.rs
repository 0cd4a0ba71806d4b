//! Why a request cannot be planned, and the way out.

use std::path::PathBuf;

use record::Pid;

use crate::catalogue::MOUNT_TRACEFS;
use crate::event_spec::EventSpecError;

/// A request that cannot be served here. Every text says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "fields are the values that the texts quote")]
pub enum Refusal {
    /// The event's text names none.
    #[error(transparent)]
    Event(#[from] EventSpecError),
    /// Masks for a type that has none.
    #[error("-m {masks}: {event} has no event masks; leave -m out")]
    Masks { event: String, masks: String },
    /// Neither user nor kernel mode was asked for.
    #[error("no mode given: say -u (user), -k (kernel), or both")]
    ModeMissing,
    /// An interval of 0.
    #[error("interval 0 would sample nothing; say -i 1 for every event, or more")]
    IntervalZero,
    /// An interval that no counter holds.
    #[error("interval {interval} is too large; say -i with at most 9223372036854775807 (2^63 - 1)")]
    IntervalTooLarge { interval: u64 },
    /// A ring of no pages.
    #[error("a ring of 0 pages holds nothing; give at least 1, or leave the size out")]
    RingEmpty,
    /// A type that this machine does not have.
    #[error(
        "{event} is not to be had here: {why}{}; {advice}",
        if nearest.is_empty() { String::new() } else { format!(". Nearest: {}", nearest.join(", ")) }
    )]
    Unavailable { event: String, why: String, nearest: Vec<String>, advice: String },
    /// `-u` alone on a type that fires in the kernel.
    #[error("{event} happens in the kernel and would give no record with -u alone: use -k")]
    KernelOnly { event: &'static str },
    /// No tracefs to look a tracepoint up in.
    #[error("{event}: tracefs is not mounted, so its number is unknown; {}", MOUNT_TRACEFS)]
    NoTracefs { event: String },
    /// tracefs is there but closed.
    #[error(
        "{event}: {} may not be read by this user; be root, or as root: \
         mount -o remount,gid=GROUP,mode=750 {}",
        place.display(),
        place.display()
    )]
    TracefsForbidden { event: String, place: PathBuf },
    /// The kernel has no such tracepoint.
    #[error(
        "this kernel has no tracepoint {event}{suggestion}; perf list tracepoint, or the \
         directories under events/ in tracefs, name those it has"
    )]
    NoTracepoint { event: String, suggestion: String },
    /// A breakpoint in the kernel's half without `-k`.
    #[error("{event} is an address of the kernel: use -k, or watch an address of the program")]
    KernelAddress { event: String },
    /// A breakpoint in the kernel's half without the right.
    #[error("{event} is an address of the kernel: watching it needs CAP_SYS_ADMIN; be root")]
    KernelBreakpointDenied { event: String },
    /// A breakpoint at an address that nothing can access.
    #[error(
        "{event} lies neither in a program's address space nor in the kernel's: nothing can \
         access it; check the address"
    )]
    AddressOutside { event: String },
    /// Kernel mode, and the sysctl forbids it.
    #[error(
        "kernel.perf_event_paranoid is {paranoid}, so kernel mode (-k) needs CAP_PERFMON: use -u \
         alone, be root, or as root: sysctl kernel.perf_event_paranoid=1"
    )]
    KernelDenied { paranoid: i32 },
    /// The whole system, and the sysctl forbids it.
    #[error(
        "kernel.perf_event_paranoid is {paranoid}, so sampling the whole system needs \
         CAP_PERFMON: name a command or a PID, be root, or as root: \
         sysctl kernel.perf_event_paranoid=0"
    )]
    SystemDenied { paranoid: i32 },
    /// A PID that no process can have.
    #[error("{pid} is no process id: give a number above 0, as ps shows it")]
    PidOutside { pid: Pid },
    /// No such process.
    #[error("no process has PID {pid}: it may have exited; ps -e shows those that run")]
    NoProcess { pid: Pid },
    /// The process has exited.
    #[error("process {pid} has exited (zombie): nothing is left to sample; choose another PID")]
    Zombie { pid: Pid },
    /// A thread was named, not a process.
    #[error("{pid} is a thread of process {leader}: use PID {leader}, all its threads are sampled")]
    Thread { pid: Pid, leader: Pid },
    /// A kernel thread in user mode.
    #[error("{pid} is a thread of the kernel and never runs user code: use -k")]
    KernelThread { pid: Pid },
    /// Another user's process.
    #[error(
        "process {pid} belongs to user {theirs}, and this user ({ours}) may not look into it: be \
         that user or root, or have CAP_PERFMON"
    )]
    OtherUser { pid: Pid, theirs: u32, ours: u32 },
    /// The list of CPUs is unknown.
    #[error(
        "cannot tell which CPUs are online: /sys/devices/system/cpu/online is not readable; mount \
         sysfs at /sys"
    )]
    NoCpus,
}

impl Refusal {
    /// Whether the request itself is malformed (exit status 2), rather than
    /// not to be had on this machine (exit status 1).
    pub fn is_usage(&self) -> bool {
        match self {
            Refusal::Event(_)
            | Refusal::Masks { .. }
            | Refusal::ModeMissing
            | Refusal::IntervalZero
            | Refusal::IntervalTooLarge { .. }
            | Refusal::RingEmpty
            | Refusal::KernelOnly { .. }
            | Refusal::KernelAddress { .. }
            | Refusal::AddressOutside { .. }
            | Refusal::PidOutside { .. } => true,
            Refusal::Unavailable { .. }
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
            | Refusal::NoCpus => false,
        }
    }
}
