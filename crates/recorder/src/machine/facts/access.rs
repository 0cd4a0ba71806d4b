//! Rights and limits of this process where perf_event_open(2) cares.

use super::tree::{FactsError, Tree};

/// Linux capabilities that perf events know. [linux/capability.h]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Lock memory beyond the limits.
    IpcLock,
    SysPtrace,
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
pub enum ResourceLimit {
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
pub struct AccessFacts {
    /// Real user id: what the kernel compares with a target's ids.
    pub uid: Option<u32>,
    /// Effective capabilities. Outside the initial user namespace they do
    /// not count for perf events and are given as empty.
    pub capabilities: Option<Capabilities>,
    /// sysctl kernel.perf_event_paranoid, -1 to 4.
    pub paranoid: Option<i32>,
    /// sysctl kernel.perf_event_mlock_kb: KiB of ring for each CPU that a
    /// user may map without charge.
    pub mlock_kb: Option<u64>,
    /// sysctl kernel.kptr_restrict, 0 to 2.
    pub kptr_restrict: Option<i32>,
    pub lockdown: Option<Lockdown>,
    /// This process is in a user namespace other than the initial one.
    pub in_namespace: bool,
    /// RLIMIT_MEMLOCK, bytes.
    pub memlock: Option<ResourceLimit>,
    /// RLIMIT_NOFILE, descriptors.
    pub nofile: Option<ResourceLimit>,
}

impl AccessFacts {
    pub(super) fn read(tree: &Tree<'_>) -> Result<AccessFacts, FactsError> {
        let (uid, capabilities) = read_status(tree)?;
        let (memlock, nofile) = read_limits(tree)?;
        let sysctl = |name: &str| format!("proc/sys/kernel/{name}");
        let in_namespace = !in_initial_namespace(tree)?;
        Ok(AccessFacts {
            uid,
            capabilities: if in_namespace {
                capabilities.map(|_| Capabilities::default())
            } else {
                capabilities
            },
            paranoid: tree.number(sysctl("perf_event_paranoid"))?,
            mlock_kb: tree.number(sysctl("perf_event_mlock_kb"))?,
            kptr_restrict: tree.number(sysctl("kptr_restrict"))?,
            lockdown: read_lockdown(tree)?,
            in_namespace,
            memlock,
            nofile,
        })
    }

    /// Whether `capability` is held; None when unknown.
    pub fn has(&self, capability: Capability) -> Option<bool> {
        self.capabilities.map(|set| set.has(capability))
    }

    /// Whether perf events are free of paranoid's levels; None when unknown.
    pub fn perfmon(&self) -> Option<bool> {
        self.capabilities.map(Capabilities::perfmon)
    }

    /// Whether kernel events are certainly refused (trap 19).
    pub fn kernel_denied(&self) -> bool {
        self.perfmon() == Some(false) && self.paranoid.is_some_and(|level| level > 1)
    }

    /// Whether events of whole CPUs are certainly refused (trap 19).
    pub fn system_denied(&self) -> bool {
        self.perfmon() == Some(false) && self.paranoid.is_some_and(|level| level > 0)
    }

    /// Whether ring memory is limited: perf_mmap() looks at neither limit
    /// with CAP_IPC_LOCK or paranoid -1.
    pub fn rings_limited(&self) -> bool {
        self.has(Capability::IpcLock) != Some(true) && self.paranoid.is_none_or(|level| level > -1)
    }
}

fn read_status(tree: &Tree<'_>) -> Result<(Option<u32>, Option<Capabilities>), FactsError> {
    let file = "proc/self/status";
    let (mut uid, mut capabilities) = (None, None);
    for (index, line) in tree.text(file)?.unwrap_or_default().lines().enumerate() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let word = value.split_ascii_whitespace().next().unwrap_or("");
        let malformed = |expected| tree.malformed(file, index + 1, word, expected);
        match key {
            "Uid" => uid = Some(word.parse().map_err(|_| malformed("user id"))?),
            "CapEff" => {
                let bits = u64::from_str_radix(word, 16).map_err(|_| malformed("hex mask"))?;
                capabilities = Some(Capabilities(bits));
            }
            _ => {}
        }
    }
    Ok((uid, capabilities))
}

/// The initial user namespace maps every id to itself; the kernel asks for
/// capabilities there.
fn in_initial_namespace(tree: &Tree<'_>) -> Result<bool, FactsError> {
    let Some(map) = tree.word("proc/self/uid_map")? else { return Ok(true) };
    Ok(map.split_ascii_whitespace().eq(["0", "0", "4294967295"]))
}

/// Soft limits. Columns are aligned with spaces and names hold spaces, so
/// the value is what follows the name.
fn read_limits(
    tree: &Tree<'_>,
) -> Result<(Option<ResourceLimit>, Option<ResourceLimit>), FactsError> {
    let file = "proc/self/limits";
    let (mut memlock, mut nofile) = (None, None);
    for (index, line) in tree.text(file)?.unwrap_or_default().lines().enumerate() {
        for (name, limit) in [("Max locked memory", &mut memlock), ("Max open files", &mut nofile)]
        {
            let Some(rest) = line.strip_prefix(name) else { continue };
            let word = rest.split_ascii_whitespace().next().unwrap_or("");
            *limit = Some(match word {
                "unlimited" => ResourceLimit::Unlimited,
                _ => ResourceLimit::At(
                    word.parse().map_err(|_| tree.malformed(file, index + 1, word, "limit"))?,
                ),
            });
        }
    }
    Ok((memlock, nofile))
}

/// `none [integrity] confidentiality`: the bracketed word counts.
fn read_lockdown(tree: &Tree<'_>) -> Result<Option<Lockdown>, FactsError> {
    let file = "sys/kernel/security/lockdown";
    let Some(text) = tree.word(file)? else { return Ok(None) };
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    match chosen.map(|(word, _)| word) {
        Some("none") => Ok(Some(Lockdown::None)),
        Some("integrity") => Ok(Some(Lockdown::Integrity)),
        Some("confidentiality") => Ok(Some(Lockdown::Confidentiality)),
        _ => Err(tree.malformed(file, 1, &text, "lockdown state")),
    }
}

/// AT_PAGESZ of the auxiliary vector: pairs of native words. [getauxval(3)]
pub(super) fn page_size(tree: &Tree<'_>) -> Result<Option<u64>, FactsError> {
    const AT_PAGESZ: u64 = 6;
    let bytes = tree.bytes("proc/self/auxv")?.unwrap_or_default();
    let (words, _) = bytes.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let size = pairs.iter().find(|pair| u64::from_ne_bytes(pair[0]) == AT_PAGESZ);
    Ok(size.map(|pair| u64::from_ne_bytes(pair[1])).filter(|size| size.is_power_of_two()))
}

pub(super) fn memory_kib(tree: &Tree<'_>) -> Result<Option<u64>, FactsError> {
    let file = "proc/meminfo";
    for (index, line) in tree.text(file)?.unwrap_or_default().lines().enumerate() {
        let Some(rest) = line.strip_prefix("MemTotal:") else { continue };
        let word = rest.split_ascii_whitespace().next().unwrap_or("");
        let kib = word.parse().map_err(|_| tree.malformed(file, index + 1, word, "size in KiB"))?;
        return Ok(Some(kib));
    }
    Ok(None)
}
