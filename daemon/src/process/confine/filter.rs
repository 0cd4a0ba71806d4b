//! The system calls of a worker (seccomp(2)).
//!
//! Three filters, of which the kernel takes the strictest answer:
//! - what a worker is for is let through, all else is EPERM: a call that a
//!   newer C library comes to make costs what it was for, not the user's
//!   sessions;
//! - what only somebody who has taken the worker over would try ends it;
//! - clone3(2), whose flags a filter cannot see, is ENOSYS, so that the C
//!   library takes clone(2), which may make threads only.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use sampling::sys::procmap::PROCMAP_QUERY;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::sys::namespace::PID_FROM_NAMESPACE;

/// What a worker does with files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Files {
    /// Reads what its user may read.
    #[default]
    Read,
    /// The same, and keeps the segments of a standing session.
    Record,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread, and those it makes.
pub(super) fn apply(files: Files) -> io::Result<()> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
        tracing::warn!("no filter of system calls is known for this machine's architecture");
        return Ok(());
    };
    for program in programs(files, arch).map_err(io::Error::other)? {
        apply_filter(&program).map_err(|error| {
            io::Error::other(format!("the worker's system calls cannot be confined: {error}"))
        })?;
    }
    Ok(())
}

/// The filter that forbids seccomp(2) itself is the last.
fn programs(files: Files, arch: TargetArch) -> Result<[BpfProgram; 3], Error> {
    let errno = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let old = always(&[libc::SYS_clone3]);
    let compile = |rules, otherwise, matched| -> Result<BpfProgram, Error> {
        Ok(SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?)
    };
    Ok([
        compile(deadly()?, SeccompAction::Allow, SeccompAction::KillProcess)?,
        compile(old, SeccompAction::Allow, errno(libc::ENOSYS))?,
        compile(needed(files)?, errno(libc::EPERM), SeccompAction::Allow)?,
    ])
}

fn always(calls: &[c_long]) -> Rules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

/// An argument: of its bits in `mask`, just `value`.
fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, Error> {
    let operator = SeccompCmpOp::MaskedEq(mask);
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?)
}

/// A rule for each value that an argument may have.
fn one_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, Error> {
    let rule = |&value: &u64| Ok(SeccompRule::new(vec![masked(argument, 0xffff_ffff, value)?])?);
    values.iter().map(rule).collect()
}

/// Programs, other ids, other processes' memory and descriptors, the kernel.
fn deadly() -> Result<Rules, Error> {
    let mut rules = always(&[
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setgroups,
        libc::SYS_capset,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_open_by_handle_at,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_kexec_load,
        libc::SYS_listen,
    ]);
    // Of sockets, only those that leave the machine.
    let network = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET];
    let network = network.map(|family| u64::from(family.unsigned_abs()));
    rules.insert(libc::SYS_socket, one_of(0, &network)?);
    Ok(rules)
}

/// Found by running all tests of the daemon under strace(1).
const PLAIN: [c_long; 68] = [
    // Descriptors.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    // Files.
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    // Memory and threads.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_membarrier,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Who, when, how much.
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_uname,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    // What it is all for.
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_open,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

/// What a standing session takes besides.
const RECORDING: [c_long; 9] = [
    libc::SYS_flock,
    libc::SYS_fdatasync,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_renameat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
];

/// The same of older kinds, which newer architectures have not.
#[cfg(target_arch = "x86_64")]
const OLDER: [c_long; 7] = [
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_readlink,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [c_long; 0] = [];

/// ioctl(2): of events, of mappings, of namespaces, of the runtime's sockets.
const IOCTLS: [u64; 10] = [
    0x2400,      // PERF_EVENT_IOC_ENABLE
    0x2401,      // PERF_EVENT_IOC_DISABLE
    0x4008_2404, // PERF_EVENT_IOC_PERIOD
    0x2405,      // PERF_EVENT_IOC_SET_OUTPUT
    0x8008_2407, // PERF_EVENT_IOC_ID
    0x4004_2408, // PERF_EVENT_IOC_SET_BPF, of a program that the supervisor has loaded
    PROCMAP_QUERY as u64,
    PID_FROM_NAMESPACE as u64,
    0x5421, // FIONBIO
    0x5401, // TCGETS
];

/// fcntl(2): of descriptors. Not whom they signal (F_SETOWN, F_SETSIG): the
/// kernel lets whoever is user 0 signal anybody so, without any capability.
pub(super) const FCNTLS: [libc::c_int; 6] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
];

/// prctl(2): names of threads, and what rustix asks for the page size.
const PRCTLS: [u64; 2] = [
    15,          // PR_SET_NAME
    0x4155_5856, // PR_GET_AUXV
];

/// ptrace(2): what an attach takes.
const TRACING: [libc::c_uint; 4] =
    [libc::PTRACE_SEIZE, libc::PTRACE_CONT, libc::PTRACE_LISTEN, libc::PTRACE_GETEVENTMSG];

/// Any flag of openat(2) that writes or makes something; O_TMPFILE holds
/// O_DIRECTORY, which does neither.
const WRITING: i32 = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_TRUNC
    | libc::O_APPEND
    | (libc::O_TMPFILE & !libc::O_DIRECTORY);

fn needed(files: Files) -> Result<Rules, Error> {
    let mut rules = always(&PLAIN);
    rules.extend(always(&OLDER));
    let mut only = |call: c_long, conditions: Vec<SeccompCondition>| {
        rules.insert(call, vec![SeccompRule::new(conditions)?]);
        Ok::<(), Error>(())
    };
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    only(libc::SYS_mmap, vec![masked(2, executable, 0)?])?;
    only(libc::SYS_mprotect, vec![masked(2, executable, 0)?])?;
    // Its own limits, and not those of others of its user: a limit can kill.
    only(libc::SYS_prlimit64, vec![masked(0, u64::from(u32::MAX), 0)?])?;
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    only(libc::SYS_clone, vec![masked(0, thread, thread)?])?;
    let writing = u64::from(WRITING.unsigned_abs());
    #[cfg(target_arch = "x86_64")]
    only(libc::SYS_open, vec![masked(1, writing, 0)?])?;
    match files {
        Files::Read => only(libc::SYS_openat, vec![masked(2, writing, 0)?])?,
        Files::Record => {
            // What is written is named in a directory, and is no link.
            let plain = u64::from(libc::O_NOFOLLOW.unsigned_abs());
            let rules_of_opening = vec![
                SeccompRule::new(vec![masked(2, writing, 0)?])?,
                SeccompRule::new(vec![masked(2, plain, plain)?])?,
            ];
            rules.insert(libc::SYS_openat, rules_of_opening);
            rules.extend(always(&RECORDING));
        }
    }
    // The second filter's answer to it.
    rules.insert(libc::SYS_clone3, Vec::new());
    rules.insert(libc::SYS_prctl, one_of(0, &PRCTLS)?);
    rules.insert(libc::SYS_ioctl, one_of(1, &IOCTLS)?);
    rules.insert(libc::SYS_fcntl, one_of(1, &FCNTLS.map(|one| u64::from(one.unsigned_abs())))?);
    rules.insert(libc::SYS_ptrace, one_of(0, &TRACING.map(u64::from))?);
    Ok(rules)
}
