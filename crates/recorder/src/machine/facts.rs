//! What is known of the machine and of our rights on it: read once, under a
//! given root, so that tests and other machines' trees work alike.
//!
//! `None` means unknown: the file is missing or may not be read. A file that
//! is there but malformed is an error that names path, line and word.

mod access;
mod cache;
mod cpu;
#[cfg(test)]
mod fixture_trees;
mod hypervisor;
mod kernel;
mod node;
mod pmu;
mod pmu_description;
mod process;
mod trace_formats;
mod tracefs;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

pub use access::{AccessFacts, Capabilities, Capability, Lockdown, ResourceLimit};
pub use cache::{CacheFacts, CacheKind};
pub use cpu::{Cpus, cpu_list, listed, online_cpus};
#[cfg(test)]
pub(crate) use fixture_trees::FixtureTrees;
pub use hypervisor::Hypervisor;
pub use kernel::{KernelFacts, Version};
pub use node::NodeFacts;
pub use pmu::Pmu;
pub use pmu_description::{NamedTerm, PackedTerms, PmuDescription};
pub use process::ProcessState;
pub use trace_formats::NoFormat;
pub use tracefs::{Tracefs, TracepointState};
pub use tree::FactsError;

use crate::machine::Tracepoint;
use perfdata::Pid;
use tree::Tree;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub kernel: KernelFacts,
    pub cpus: Cpus,
    /// Caches of CPU 0, as the kernel numbers them.
    pub caches: Vec<CacheFacts>,
    /// Nodes of memory, ascending.
    pub nodes: Vec<NodeFacts>,
    /// /sys/bus/event_source/devices, by name; None when there is no such
    /// directory.
    pub pmus: Option<Vec<Pmu>>,
    pub hypervisor: Hypervisor,
    /// Bytes of a page (AT_PAGESZ).
    pub page_size: Option<u64>,
    /// MemTotal of /proc/meminfo, KiB.
    pub memory_kib: Option<u64>,
    pub tracefs: Tracefs,
    pub access: AccessFacts,
    /// The tracepoints of the request that [`Facts::read_for`] was given, by `SUBSYSTEM:NAME`.
    pub tracepoints: BTreeMap<String, TracepointState>,
    /// The process of the request that [`Facts::read_for`] was given.
    pub process: Option<ProcessState>,
}

impl Facts {
    /// Reads everything that does not depend on a request. `root` holds
    /// `proc` and `sys`: "/" for this machine. Of the PMUs, those of the
    /// cores are described.
    pub fn read(root: &Path) -> Result<Facts, FactsError> {
        let tree = Tree::new(root);
        let mut cpus = Cpus::read(&tree)?;
        if root == Path::new("/") {
            cpus.ask_cpu();
        }
        let mut facts = Facts {
            kernel: KernelFacts::read(&tree, &cpus)?,
            hypervisor: Hypervisor::read(&tree, &cpus)?,
            caches: cache::read(&tree)?,
            nodes: node::read(&tree)?,
            pmus: pmu::read(&tree, pmu::DEVICES)?,
            page_size: access::page_size(&tree)?,
            memory_kib: access::memory_kib(&tree)?,
            tracefs: Tracefs::read(&tree)?,
            access: AccessFacts::read(&tree)?,
            cpus,
            tracepoints: BTreeMap::new(),
            process: None,
        };
        facts.describe(&tree, pmu::DEVICES, Pmu::is_core)?;
        Ok(facts)
    }

    /// Looks a tracepoint up; `root` as for [`Facts::read`].
    pub(crate) fn look_up(&mut self, root: &Path, point: &Tracepoint) -> Result<(), FactsError> {
        let state = self.tracefs.look_up(&Tree::new(root), point)?;
        self.tracepoints.insert(point.to_string(), state);
        Ok(())
    }

    /// Describes the PMU of that name; likewise.
    pub(crate) fn describe_pmu(&mut self, root: &Path, name: &str) -> Result<(), FactsError> {
        self.describe(&Tree::new(root), pmu::DEVICES, |have| have.name == name)
    }

    pub(crate) fn look_at(&mut self, root: &Path, pid: Pid) -> Result<(), FactsError> {
        self.process = ProcessState::read(&Tree::new(root), pid)?;
        Ok(())
    }

    /// Describes the PMUs that [`Facts::read`] left out; `root` as there.
    pub fn read_all_pmus(&mut self, root: &Path) -> Result<(), FactsError> {
        self.describe(&Tree::new(root), pmu::DEVICES, |_| true)
    }

    /// `SUBSYSTEM:NAME` of every tracepoint of the kernel; None where tracefs
    /// is not mounted or closed to us. `root` as for [`Facts::read`].
    pub fn tracepoints(&self, root: &Path) -> Result<Option<Vec<String>>, FactsError> {
        self.tracefs.names(&Tree::new(root))
    }

    /// What a copy of another machine shows: `dir/devices` is its
    /// /sys/bus/event_source/devices, `dir/cpuinfo` (if any) its
    /// /proc/cpuinfo. All PMUs are described, all else is unknown.
    pub fn read_tree(dir: &Path, kernel: Option<Version>) -> Result<Facts, FactsError> {
        const DEVICES: &str = "devices";
        let tree = Tree::new(dir);
        for path in [dir.to_owned(), tree.path(DEVICES)] {
            if !path.is_dir() {
                return Err(FactsError::NoTree { path });
            }
        }
        let cpus = Cpus::read_identity(&tree, "cpuinfo")?;
        let Some(pmus) = pmu::read(&tree, DEVICES)? else {
            return Err(FactsError::NoTree { path: tree.path(DEVICES) });
        };
        let mut facts = Facts { pmus: Some(pmus), ..Facts::default() };
        facts.describe(&tree, DEVICES, |_| true)?;
        facts.kernel = KernelFacts {
            release: kernel.map(|version| version.to_string()),
            version: kernel,
            machine: kernel::machine_of(&cpus, facts.pmus.as_deref().unwrap_or_default()),
            ..KernelFacts::default()
        };
        facts.hypervisor = Hypervisor::of(&cpus);
        facts.cpus = cpus;
        Ok(facts)
    }

    fn describe(
        &mut self,
        tree: &Tree<'_>,
        devices: &str,
        which: impl Fn(&Pmu) -> bool,
    ) -> Result<(), FactsError> {
        let chosen = self.pmus.iter_mut().flatten().filter(|pmu| which(pmu));
        for pmu in chosen {
            pmu.describe(tree, devices)?;
        }
        Ok(())
    }

    pub fn pmu(&self, name: &str) -> Option<&Pmu> {
        self.pmus.iter().flatten().find(|pmu| pmu.name == name)
    }

    /// Bytes of a page; 4096 when unknown.
    pub fn page_bytes(&self) -> u64 {
        self.page_size.unwrap_or(4096)
    }

    /// Bytes of a line of the first data cache, when known.
    pub fn cache_line(&self) -> Option<u32> {
        let data = self.caches.iter().find(|cache| cache.kind != CacheKind::Instruction);
        data.and_then(|cache| cache.line_bytes)
    }

    /// Whether a PMU of a CPU core is there, one that counts cache misses.
    pub fn has_core_pmu(&self) -> bool {
        self.pmus.iter().flatten().any(Pmu::is_core)
    }
}
