//! Why a program cannot be loaded, and what to do about it.

use std::io;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("{0}")]
    SampleConditions(#[from] super::SampleConditionsError),
    #[error(
        "tables of {sites} sites: a power of two from {} to {} is possible",
        super::SiteTables::MIN_SITES,
        super::SiteTables::MAX_SITES
    )]
    Sites { sites: u32 },
    #[error("the programs that count in the kernel are for x86-64")]
    Machine,
    /// No atomic exchange, and maps that count as locked memory.
    #[error("programs that count in the kernel take Linux 5.12, and this is {release}")]
    OldKernel { release: String },
    #[error(
        "programs in the kernel take {missing}, which this process does not have: run it with \
         them (root has), or through ebsd"
    )]
    Rights { missing: &'static str },
    #[error(
        "bpf(2) is not permitted though the capabilities are there: a seccomp filter (of a \
         container: allow bpf) or a security module forbids it, or they are those of a user \
         namespace other than the first"
    )]
    Forbidden,
    /// ENOSYS.
    #[error("this kernel has no bpf(2) (CONFIG_BPF_SYSCALL), or a seccomp filter hides it")]
    NoSystemCall,
    #[error(
        "/sys/kernel/btf/vmlinux is missing: weights and data sources of samples, and whose hits \
         of tracepoints are, are found by the kernel's types; use a kernel with \
         CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf,
    #[error(
        "hits of tracepoints are not filtered in the kernel, only aggregated: a program that \
         hides one hides it from every recorder on the machine"
    )]
    FilteredTracepoint,
    #[error(
        "a hit of {name} counts as many nanoseconds, which no program is told: it is sampled \
         through rings only"
    )]
    WeighedTracepoint { name: String },
    #[error(
        "hits of tracepoints in a control group are not counted in the kernel: name a process, or \
         the whole system"
    )]
    TracepointOfGroup,
    /// The kernel gives programs the callers of precise events whole or not at
    /// all (perf_event_set_bpf_prog()).
    #[error(
        "the callers of {name}, which is precise, are shown to programs with the kernel's frames, \
         and those are not this user's to see: leave -g out"
    )]
    PreciseCallers { name: String },
    #[error(
        "whose hits of tracepoints are is told by pids of the initial namespace, and this \
         process is in another: run it outside of the container"
    )]
    PidNamespace,
    #[error("the kernel's types do not help: {text}")]
    Btf { text: String },
    #[error(
        "the kernel is locked down (confidentiality) and lets no program read its memory, which \
         weights, data sources and tracepoints take; `lockdown=integrity` or less allows it"
    )]
    Lockdown,
    #[error("this kernel's programs have no {helper}: {since}")]
    Helper { helper: String, since: &'static str },
    #[error("the kernel's verifier refuses the program ({errno}): {log}")]
    Refused { errno: String, log: String },
    #[error(
        "the kernel has no memory for {bytes} bytes of tables: ask for fewer sites, or raise \
         the memory limit of the control group"
    )]
    Memory { bytes: u64 },
    /// More slots than an array can have.
    #[error("tables of {bytes} bytes for {rows} CPUs are too many slots for one array")]
    TooLarge { bytes: u64, rows: u32 },
    #[error("{call}: {error}")]
    Failed { call: &'static str, error: String },
    #[error("the compiled program cannot be used: {text}")]
    Object { text: String },
    #[error("{0}")]
    ByDaemon(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoadStep {
    Map { bytes: u64 },
    Program { log: String },
}

/// CAP_PERFMON and CAP_BPF, and what once was both. [linux/capability.h]
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

impl LoadError {
    pub(super) fn of(step: LoadStep, error: &io::Error) -> LoadError {
        LoadError::with_rights(step, error, effective())
    }

    /// `rights`: effective capabilities, where they are known.
    fn with_rights(step: LoadStep, error: &io::Error, rights: Option<u64>) -> LoadError {
        if let LoadStep::Program { log } = &step
            && let Some(helper) = unknown_helper(log)
        {
            return match helper {
                "bpf_probe_read_kernel" => LoadError::Lockdown,
                "bpf_get_current_ancestor_cgroup_id" => LoadError::Helper {
                    helper: helper.to_owned(),
                    since: "keep no control group, or use Linux 5.15 or later",
                },
                _ => LoadError::Helper {
                    helper: helper.to_owned(),
                    since: "it is too old to count in the kernel",
                },
            };
        }
        match (error.raw_os_error(), step) {
            (Some(libc::EPERM), LoadStep::Program { log }) if !log.is_empty() => {
                LoadError::Refused { errno: error.to_string(), log }
            }
            (Some(libc::EPERM | libc::EACCES), LoadStep::Map { .. })
            | (Some(libc::EPERM), LoadStep::Program { .. }) => match missing(rights) {
                Some(missing) => LoadError::Rights { missing },
                None => LoadError::Forbidden,
            },
            (Some(libc::ENOSYS), _) => LoadError::NoSystemCall,
            (Some(libc::ENOMEM | libc::E2BIG), LoadStep::Map { bytes }) => {
                LoadError::Memory { bytes }
            }
            (Some(libc::EINVAL | libc::EACCES | libc::E2BIG), LoadStep::Program { log }) => {
                LoadError::Refused { errno: error.to_string(), log }
            }
            (_, LoadStep::Map { .. }) => {
                LoadError::Failed { call: "BPF_MAP_CREATE", error: error.to_string() }
            }
            (_, LoadStep::Program { .. }) => {
                LoadError::Failed { call: "BPF_PROG_LOAD", error: error.to_string() }
            }
        }
    }
}

/// The helper that the verifier's words end with, as kernels of different age
/// put it.
fn unknown_helper(log: &str) -> Option<&str> {
    let said = ["unknown func ", "cannot use helper "];
    let (_, rest) = said.iter().find_map(|words| log.rsplit_once(words))?;
    rest.split('#').next()
}

fn missing(rights: Option<u64>) -> Option<&'static str> {
    let rights = rights?;
    if rights & SYS_ADMIN != 0 {
        return None;
    }
    match (rights & BPF != 0, rights & PERFMON != 0) {
        (false, false) => Some("CAP_BPF and CAP_PERFMON"),
        (false, true) => Some("CAP_BPF"),
        (true, false) => Some("CAP_PERFMON"),
        (true, true) => None,
    }
}

fn effective() -> Option<u64> {
    let sets = rustix::thread::capabilities(None).ok()?;
    Some(sets.effective.bits())
}
