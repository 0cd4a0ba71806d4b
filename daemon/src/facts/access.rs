//! Rights and limits of this process where perf_event_open(2) cares.

/// Linux capabilities that perf events know. [linux/capability.h]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Lock memory beyond the limits.
    IpcLock,
    /// Look into other users' processes.
    SysPtrace,
    /// The old key to everything.
    SysAdmin,
    /// See kernel addresses in /proc/kallsyms.
    Syslog,
    /// Performance monitoring (Linux 5.8).
    Perfmon,
}

impl Capability {
    fn bit(self) -> u64 {
        1 << match self {
            Capability::IpcLock => 14,
            Capability::SysPtrace => 19,
            Capability::SysAdmin => 21,
            Capability::Syslog => 34,
            Capability::Perfmon => 38,
        }
    }
}

/// A set of capabilities: `CapEff` of /proc/self/status, bit per number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Whether the set holds `capability`.
    pub fn has(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// What the kernel calls perfmon_capable(): CAP_PERFMON or CAP_SYS_ADMIN.
    pub fn perfmon(self) -> bool {
        self.has(Capability::Perfmon) || self.has(Capability::SysAdmin)
    }
}

/// A soft limit of /proc/self/limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// The most that is allowed, in the limit's unit.
    At(u64),
}

/// /sys/kernel/security/lockdown: how far the kernel keeps root out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lockdown {
    /// Off.
    None,
    /// The kernel cannot be changed.
    Integrity,
    /// Nor can its data be read: registers are refused.
    Confidentiality,
}

/// Rights and limits; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Effective user id.
    pub uid: Option<u32>,
    /// Effective capabilities. Outside the initial user namespace they do
    /// not count for perf events and are given as empty.
    pub capabilities: Option<Capabilities>,
    /// sysctl kernel.perf_event_paranoid, -1 to 4.
    pub paranoid: Option<i32>,
    /// sysctl kernel.perf_event_mlock_kb: KiB of ring for each CPU that a
    /// user may map without charge.
    pub mlock_kb: Option<u64>,
    /// sysctl kernel.perf_event_max_sample_rate, samples a second.
    pub max_sample_rate: Option<u64>,
    /// sysctl kernel.kptr_restrict, 0 to 2.
    pub kptr_restrict: Option<i32>,
    /// Lockdown state.
    pub lockdown: Option<Lockdown>,
    /// RLIMIT_MEMLOCK, bytes.
    pub memlock: Option<Limit>,
    /// RLIMIT_NOFILE, descriptors.
    pub nofile: Option<Limit>,
}
