//! Why a call failed, and what to change: for events of any kind.

use perfdata::{Attr, AttrFlags, EventType};

use super::{FailedCall, OpenFailure, hardware};
use crate::machine::facts::{Capability, ResourceLimit};
use crate::{Plan, PlannedEvent, Target};

pub(super) fn advice(failure: &OpenFailure, plan: &Plan, event: &PlannedEvent) -> String {
    if let Some(advice) = hardware::advice(failure, event) {
        return advice;
    }
    let attr = &event.attr;
    match failure.errno {
        libc::EACCES => access_advice(failure, plan, attr),
        libc::EPERM => permission_advice(failure, plan, attr),
        libc::ENOENT => missing_advice(failure, attr),
        libc::ENODEV => match failure.cpu {
            Some(cpu) => format!(
                "CPU {cpu} went offline; try again, or bring it back: \
                 echo 1 > /sys/devices/system/cpu/cpu{cpu}/online"
            ),
            None => "a CPU went offline; try again".to_owned(),
        },
        libc::EOPNOTSUPP => format!(
            "this kernel or CPU cannot sample {} with these fields; ebs -h lists the types that \
             can be had here",
            plan.name
        ),
        libc::EBUSY => "somebody else holds it exclusively (another profiler, the NMI watchdog); \
                        end that one, or wait, and try again"
            .to_owned(),
        libc::EMFILE => {
            let limit = match plan.access.nofile {
                Some(ResourceLimit::At(limit)) => format!(", {limit} here"),
                _ => String::new(),
            };
            format!(
                "this process has no file descriptor left (RLIMIT_NOFILE{limit}; one is needed \
                 for each thread and CPU): raise it with ulimit -n"
            )
        }
        libc::ENFILE => "the system has no file descriptor left: end some programs, or raise \
                         sysctl fs.file-max"
            .to_owned(),
        libc::ESRCH => "it has exited meanwhile; choose another target".to_owned(),
        libc::ENOSPC if attr.kind == EventType::BREAKPOINT => {
            "all of the CPU's debug registers are taken (x86 has four), by other breakpoints or a \
             debugger: end one of those and try again"
                .to_owned()
        }
        libc::ENOSPC => {
            "the CPU has no counter left for it: end other profilers and try again".to_owned()
        }
        libc::EOVERFLOW => "call chains deeper than sysctl kernel.perf_event_max_stack were asked \
                            for: raise it"
            .to_owned(),
        libc::EINVAL => invalid_advice(failure, attr),
        libc::E2BIG => too_big_advice(failure, attr),
        libc::ENOMEM => "the kernel has no memory left for it: give smaller rings, end other \
                         programs, or sample fewer CPUs"
            .to_owned(),
        libc::ENOSYS => "this kernel was built without perf events, or a seccomp filter (a \
                         container's) hides them: allow perf_event_open(2) there, or run outside"
            .to_owned(),
        // Never perf_event_open(2)'s own: of the daemon, which opens for others.
        libc::ETIMEDOUT => "the daemon asked the kernel whether you may look at that process, and \
                            had no answer in time: try again in a minute"
            .to_owned(),
        libc::EINTR | libc::EAGAIN => "the kernel was interrupted; try again".to_owned(),
        _ => "perf_event_open(2) gives no reason for that; dmesg may say more".to_owned(),
    }
}

/// Fields of an attr beyond the 112 bytes that every kernel here knows, which
/// events may need: name, where they end, since when.
const LATE_FIELDS: [(&str, u32, &str); 2] = [("config3", 136, "6.3"), ("config4", 144, "6.18")];

/// E2BIG: of the attr (trap 1), or of what reading a group would give.
fn too_big_advice(failure: &OpenFailure, attr: &Attr) -> String {
    let Some(size) = failure.kernel_size else {
        return "what its group counts is too much to be read at once (16 KiB): sample fewer \
                events together"
            .to_owned();
    };
    let is_set = |name| if name == "config3" { attr.config3 != 0 } else { attr.config4 != 0 };
    let late = LATE_FIELDS.iter().find(|(name, end, _)| *end > size && is_set(*name));
    match late {
        Some((name, _, since)) => format!(
            "it needs {name}, which this kernel does not know (Linux {since}; its event \
             descriptions have {size} bytes): leave that term out, or use a newer kernel"
        ),
        None => format!(
            "this kernel takes event descriptions of {size} bytes only; it is older than any \
             that hardmeter was made for (Linux 4.1): use a newer kernel"
        ),
    }
}

const HW_BREAKPOINT_X: u32 = 4;

/// EACCES: paranoid, or somebody else's task.
fn access_advice(failure: &OpenFailure, plan: &Plan, attr: &Attr) -> String {
    let access = &plan.access;
    let level = access.paranoid.map_or_else(|| "unknown".to_owned(), |level| level.to_string());
    let sysctl = |allowed: i32| {
        format!(
            "kernel.perf_event_paranoid is {level}: be root, have CAP_PERFMON, or as root: sysctl \
             kernel.perf_event_paranoid={allowed}"
        )
    };
    // Debian and Ubuntu patch level 3 and up to ask for CAP_SYS_ADMIN
    // whatever else is held (trap 19).
    if access.paranoid.is_some_and(|level| level > 2)
        && access.has(Capability::SysAdmin) != Some(true)
    {
        return format!(
            "kernel.perf_event_paranoid is {level}, which on Debian and Ubuntu kernels forbids perf \
             events to all without CAP_SYS_ADMIN (CAP_PERFMON does not help): be root, or as \
             root: sysctl kernel.perf_event_paranoid=2"
        );
    }
    if access.perfmon() != Some(true) {
        if plan.target.is_of_cpus() {
            return sysctl(0);
        }
        let kernel = !attr.flags.contains(AttrFlags::EXCLUDE_KERNEL);
        if kernel && failure.call == FailedCall::OpenEvent {
            return format!("kernel mode is closed to this user; {}", sysctl(1));
        }
    }
    match plan.target {
        Target::Process(pid) => format!(
            "process {pid} is not this user's, or guards itself (setuid, or not dumpable): be its \
             owner or root, or have CAP_PERFMON or CAP_SYS_PTRACE"
        ),
        Target::Command if failure.call == FailedCall::Enable => {
            "the command became another user's program (setuid): be root".to_owned()
        }
        Target::Command | Target::System | Target::Cgroup => sysctl(-1),
    }
}

/// EPERM: the memory for rings, lockdown, a security module.
fn permission_advice(failure: &OpenFailure, plan: &Plan, attr: &Attr) -> String {
    let access = &plan.access;
    if let FailedCall::Map { .. } = failure.call {
        let free = access.mlock_kb.map_or_else(|| "unknown".to_owned(), |kib| format!("{kib} KiB"));
        let limit = match access.memlock {
            Some(ResourceLimit::Unlimited) => "unlimited".to_owned(),
            Some(ResourceLimit::At(bytes)) => format!("{} KiB", bytes / 1024),
            None => "unknown".to_owned(),
        };
        return format!(
            "this user's locked memory is used up: kernel.perf_event_mlock_kb is {free} a CPU, \
             shared by all of the user's profilers, and RLIMIT_MEMLOCK is {limit}: give smaller \
             rings, raise the limit (ulimit -l), or have CAP_IPC_LOCK"
        );
    }
    if attr.kind == EventType::BREAKPOINT && access.has(Capability::SysAdmin) != Some(true) {
        return "a breakpoint on an address of the kernel needs CAP_SYS_ADMIN: be root, or watch \
                an address of the program"
            .to_owned();
    }
    "a security module, a seccomp filter (a container's) or kernel lockdown forbids it: allow \
     perf_event_open(2) there (SELinux class perf_event, docker --cap-add PERFMON with a seccomp \
     profile), or run outside"
        .to_owned()
}

/// ENOENT: no such PMU, event, or tracepoint.
fn missing_advice(failure: &OpenFailure, attr: &Attr) -> String {
    if attr.kind == EventType::TRACEPOINT && failure.call == FailedCall::OpenEvent {
        return format!(
            "tracepoint number {} is gone: its module was unloaded, or the probe deleted; define \
             it anew and try again",
            attr.config
        );
    }
    format!(
        "no PMU of this kernel has that event (type {}, config {:#x}); ebs -h lists the types that \
         can be had here",
        attr.kind.0, attr.config
    )
}

/// EINVAL: everything else. The attr is ours, so what is left depends on
/// the event and the machine.
fn invalid_advice(failure: &OpenFailure, attr: &Attr) -> String {
    match failure.call {
        FailedCall::Map { pages } => {
            return format!(
                "the kernel takes no ring of {pages} pages here: give another power of two"
            );
        }
        FailedCall::SetProgram => {
            return "this kernel takes no program for that event: leave --in-kernel out".to_owned();
        }
        FailedCall::SetOutput => {
            return "that ring has gone, or belongs to another CPU; try again".to_owned();
        }
        _ => {}
    }
    match attr.kind {
        EventType::BREAKPOINT
            if attr.bp_type == HW_BREAKPOINT_X && attr.config1 > i64::MAX.cast_unsigned() =>
        {
            // arch_build_bp_info(), arch/x86/kernel/hw_breakpoint.c.
            "this kernel takes no execution breakpoint in its own code (one built without \
             CONFIG_KPROBES takes none at all, others none where no kprobe may be): sample a \
             tracepoint of that place instead"
                .to_owned()
        }
        EventType::BREAKPOINT => format!(
            "this CPU's debug registers cannot watch {:#x} that way: try another length (1, 2, 4, \
             8), an aligned address, rw instead of r, or an address outside the kernel's entry \
             code",
            attr.config1
        ),
        EventType::TRACEPOINT => format!(
            "tracepoint number {} does not exist (any more); look its name up again",
            attr.config
        ),
        _ => "this kernel does not know a part of the event's description, even with newer parts \
              left out; ebs -h lists the types that can be had here, and a newer kernel may help"
            .to_owned(),
    }
}
