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

use libc::{c_int, c_long};
use recorder::sys::procmap::PROCMAP_QUERY;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::sys::namespace::PID_FROM_NAMESPACE;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Reads what its user may read.
    #[default]
    Read,
    /// The same, and keeps the segments of a standing session.
    Record,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread, and those it makes.
pub(super) fn apply(files: FileAccess) -> io::Result<()> {
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
fn programs(files: FileAccess, arch: TargetArch) -> Result<[BpfProgram; 3], Error> {
    let errno = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let compile = |rules, otherwise, matched| -> Result<BpfProgram, Error> {
        Ok(SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?)
    };
    let needed = match files {
        FileAccess::Read => rules(&[ALLOWED, LEGACY], &[ALLOWED_IF, READING_IF])?,
        FileAccess::Record => rules(&[ALLOWED, LEGACY, RECORDING], &[ALLOWED_IF, RECORDING_IF])?,
    };
    Ok([
        compile(rules(&[FATAL], &[FATAL_IF])?, SeccompAction::Allow, SeccompAction::KillProcess)?,
        compile(rules(&[NOT_IMPLEMENTED], &[])?, SeccompAction::Allow, errno(libc::ENOSYS))?,
        compile(needed, errno(libc::EPERM), SeccompAction::Allow)?,
    ])
}

fn rules(always: &[&[c_long]], by_arguments: &[&[CallRule]]) -> Result<Rules, Error> {
    let mut rules: Rules =
        always.iter().copied().flatten().map(|&call| (call, Vec::new())).collect();
    for CallRule { call, one_of } in by_arguments.iter().copied().flatten() {
        rules.insert(*call, one_of.iter().map(rule).collect::<Result<_, Error>>()?);
    }
    Ok(rules)
}

fn rule(of: &ArgumentRule) -> Result<SeccompRule, Error> {
    let operator = SeccompCmpOp::MaskedEq(of.mask.into());
    let length = SeccompCmpArgLen::Dword;
    let condition = SeccompCondition::new(of.argument, length, operator, of.value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// Numbers of system calls.
macro_rules! calls {
    ($($call:ident)*) => { &[$(libc::$call),*] };
}

/// What the lower half of an argument is to be: of its bits in `mask`, just
/// `value`.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ArgumentRule {
    /// Its place, from 0.
    argument: u8,
    mask: u32,
    pub(in super::super) value: u32,
}

#[derive(Clone, Copy, Debug)]
struct CallRule {
    call: c_long,
    one_of: &'static [ArgumentRule],
}

const fn is(argument: u8, value: u32) -> ArgumentRule {
    ArgumentRule { argument, mask: u32::MAX, value }
}

const fn without(argument: u8, bits: c_int) -> ArgumentRule {
    ArgumentRule { argument, mask: bits.cast_unsigned(), value: 0 }
}

const fn with(argument: u8, bits: c_int) -> ArgumentRule {
    ArgumentRule { argument, mask: bits.cast_unsigned(), value: bits.cast_unsigned() }
}

/// Programs, other ids, other processes' memory and descriptors, the kernel.
const FATAL: &[c_long] = calls![
    SYS_execve SYS_execveat SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid
    SYS_setresgid SYS_setgroups SYS_capset SYS_process_vm_readv SYS_process_vm_writev
    SYS_pidfd_getfd SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_unshare SYS_setns
    SYS_bpf SYS_keyctl SYS_add_key SYS_request_key SYS_userfaultfd SYS_io_uring_setup
    SYS_open_by_handle_at SYS_init_module SYS_finit_module SYS_kexec_load SYS_listen
];

/// Of sockets, only those that leave the machine.
const FATAL_IF: &[CallRule] = &[CallRule {
    call: libc::SYS_socket,
    one_of: &[
        is(0, libc::AF_INET.cast_unsigned()),
        is(0, libc::AF_INET6.cast_unsigned()),
        is(0, libc::AF_NETLINK.cast_unsigned()),
        is(0, libc::AF_PACKET.cast_unsigned()),
    ],
}];

/// What the C library is to take for missing.
const NOT_IMPLEMENTED: &[c_long] = &[libc::SYS_clone3];

/// Found by running all tests of the daemon under strace(1).
const ALLOWED: &[c_long] = calls![
    // Descriptors.
    SYS_read SYS_readv SYS_pread64 SYS_write SYS_writev SYS_close SYS_lseek SYS_pipe2
    SYS_eventfd2 SYS_ppoll SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2
    SYS_sendmsg SYS_sendto SYS_recvmsg SYS_recvfrom SYS_shutdown SYS_getsockopt SYS_getsockname
    // Files.
    SYS_fstat SYS_newfstatat SYS_statx SYS_statfs SYS_fstatfs SYS_getdents64 SYS_readlinkat
    SYS_faccessat SYS_faccessat2 SYS_getcwd
    // Memory and threads.
    SYS_brk SYS_munmap SYS_mremap SYS_madvise SYS_futex SYS_membarrier SYS_set_robust_list
    SYS_set_tid_address SYS_rseq SYS_sched_yield SYS_sched_getaffinity SYS_getcpu
    SYS_sigaltstack SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_restart_syscall
    SYS_exit SYS_exit_group
    // Who, when, how much.
    SYS_getpid SYS_getppid SYS_gettid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid
    SYS_getgroups SYS_uname SYS_getrandom SYS_getrusage SYS_clock_gettime SYS_clock_getres
    SYS_clock_nanosleep
    // What it is all for.
    SYS_perf_event_open SYS_pidfd_open SYS_wait4 SYS_waitid
    // The filter of what is absent answers it.
    SYS_clone3
];

/// The same of older kinds, which newer architectures have not.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[c_long] = calls![
    SYS_poll SYS_epoll_wait SYS_readlink SYS_stat SYS_lstat SYS_access SYS_arch_prctl
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[c_long] = &[];

const ALLOWED_IF: &[CallRule] = &[
    // Nothing that is written can be run.
    CallRule { call: libc::SYS_mmap, one_of: &[without(2, libc::PROT_EXEC)] },
    CallRule { call: libc::SYS_mprotect, one_of: &[without(2, libc::PROT_EXEC)] },
    // Its own limits, and not those of others of its user: a limit can kill.
    CallRule { call: libc::SYS_prlimit64, one_of: &[is(0, 0)] },
    CallRule { call: libc::SYS_clone, one_of: &[with(0, libc::CLONE_THREAD)] },
    #[cfg(target_arch = "x86_64")]
    CallRule { call: libc::SYS_open, one_of: &[without(1, WRITING)] },
    // Names of threads, and what rustix asks for the page size.
    CallRule {
        call: libc::SYS_prctl,
        one_of: &[
            is(0, 15),          // PR_SET_NAME
            is(0, 0x4155_5856), // PR_GET_AUXV
        ],
    },
    // Of events, of mappings, of namespaces, of the runtime's sockets.
    CallRule {
        call: libc::SYS_ioctl,
        one_of: &[
            is(1, 0x2400),      // PERF_EVENT_IOC_ENABLE
            is(1, 0x2401),      // PERF_EVENT_IOC_DISABLE
            is(1, 0x4008_2404), // PERF_EVENT_IOC_PERIOD
            is(1, 0x2405),      // PERF_EVENT_IOC_SET_OUTPUT
            is(1, 0x8008_2407), // PERF_EVENT_IOC_ID
            is(1, 0x4004_2408), // PERF_EVENT_IOC_SET_BPF, of a program that the supervisor has loaded
            is(1, PROCMAP_QUERY),
            is(1, PID_FROM_NAMESPACE),
            is(1, 0x5421), // FIONBIO
            is(1, 0x5401), // TCGETS
        ],
    },
    CallRule { call: libc::SYS_fcntl, one_of: FCNTLS },
    // What an attach takes.
    CallRule {
        call: libc::SYS_ptrace,
        one_of: &[
            is(0, libc::PTRACE_SEIZE),
            is(0, libc::PTRACE_CONT),
            is(0, libc::PTRACE_LISTEN),
            is(0, libc::PTRACE_GETEVENTMSG),
        ],
    },
];

/// fcntl(2): of descriptors. Not whom they signal (F_SETOWN, F_SETSIG): the
/// kernel lets whoever is user 0 signal anybody so, without any capability.
pub(in super::super) const FCNTLS: &[ArgumentRule] = &[
    is(1, libc::F_DUPFD.cast_unsigned()),
    is(1, libc::F_DUPFD_CLOEXEC.cast_unsigned()),
    is(1, libc::F_GETFD.cast_unsigned()),
    is(1, libc::F_SETFD.cast_unsigned()),
    is(1, libc::F_GETFL.cast_unsigned()),
    is(1, libc::F_SETFL.cast_unsigned()),
];

/// Any flag of openat(2) that writes or makes something; O_TMPFILE holds
/// O_DIRECTORY, which does neither.
const WRITING: c_int = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_TRUNC
    | libc::O_APPEND
    | (libc::O_TMPFILE & !libc::O_DIRECTORY);

const READING_IF: &[CallRule] =
    &[CallRule { call: libc::SYS_openat, one_of: &[without(2, WRITING)] }];

/// What a standing session takes besides.
const RECORDING: &[c_long] = calls![
    SYS_flock SYS_fdatasync SYS_fsync SYS_ftruncate SYS_renameat SYS_unlinkat SYS_mkdirat
    SYS_getpriority SYS_setpriority
];

/// What it writes is named in a directory, and is no link.
const RECORDING_IF: &[CallRule] = &[CallRule {
    call: libc::SYS_openat,
    one_of: &[without(2, WRITING), with(2, libc::O_NOFOLLOW)],
}];
