//! All that a stream said of its machine and recorder.

use super::feature::{BuildId, CacheDescription, Feature, FeatureId};
use crate::arch::Arch;
use crate::attr::EventType;
use crate::kernel_list::PackedKernelList;
use crate::units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Features seen so far; the last of a kind counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// Version of the recorder.
    pub version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs that could be online, and that were.
    pub nr_cpus: Option<(u32, u32)>,
    /// Model of the CPU, for people.
    pub cpu_description: Option<String>,
    /// Model of the CPU, for programs.
    pub cpu_id: Option<String>,
    /// Memory of the machine, KiB.
    pub total_memory: Option<u64>,
    /// The recorder's command line.
    pub command_line: Vec<String>,
    /// PMU types and their names.
    pub pmus: Vec<(u32, String)>,
    /// Caches of the machine.
    pub caches: Vec<CacheDescription>,
    /// Times of the first and last sample.
    pub sample_time: Option<(Time, Time)>,
    /// How the machine is built and the recording was made.
    pub details: BTreeMap<FeatureId, Feature>,
    /// Objects that samples hit, and what they were built as.
    pub build_ids: Vec<BuildId>,
    /// Features not decoded here, as bytes; up to [`FeatureId::LAST`].
    pub others: BTreeMap<FeatureId, Vec<u8>>,
    /// Features of a file that are not read, as they may be large and say
    /// nothing here ([`FeatureId::is_skipped`]); their sizes, bytes.
    pub unread: BTreeMap<FeatureId, u64>,
    /// The symbols of the kernel, of recorders that keep them.
    pub kernel_list: Option<Arc<PackedKernelList>>,
    /// Where the features of a file stand, read or not, for who copies them;
    /// without those that could not be read. None of a pipe.
    pub sections: Vec<FeatureSection>,
}

/// Where the bytes of a feature stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSection {
    pub id: FeatureId,
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Features {
    /// Architecture of the recorded machine; that of this program when the
    /// stream does not say.
    pub fn machine(&self) -> Arch {
        self.arch.as_deref().map_or_else(Arch::here, Arch::from_machine)
    }

    /// Bytes of a data cache line of the recorded machine: that of the data
    /// cache nearest to the core.
    pub fn cache_line_size(&self) -> Option<u32> {
        let data = self.caches.iter().filter(|cache| cache.kind != "Instruction");
        data.min_by_key(|cache| cache.level).map(|cache| cache.line_size).filter(|&size| size > 0)
    }

    /// How many branches, or calls that have not returned, a sample of such an
    /// event has at most: `branches` of what its PMU can do. None: not said.
    pub fn branches_kept(&self, kind: EventType) -> Option<usize> {
        let name = self.pmus.iter().find(|(number, _)| *number == kind.0).map(|(_, name)| name);
        let of = |pairs: &[(String, String)]| -> Option<usize> {
            pairs.iter().find(|(name, _)| name == "branches")?.1.parse().ok()
        };
        if let (Some(Feature::PmuCaps(pmus)), Some(name)) =
            (self.details.get(&FeatureId::PMU_CAPS), name)
            && let Some((_, pairs)) = pmus.iter().find(|(pmu, _)| pmu == name)
        {
            return of(pairs);
        }
        match self.details.get(&FeatureId::CPU_PMU_CAPS) {
            Some(Feature::CpuPmuCaps(pairs)) => of(pairs),
            _ => None,
        }
    }

    pub(super) fn insert(&mut self, feature: Feature) {
        match feature {
            Feature::Hostname(text) => self.hostname = Some(text),
            Feature::OsRelease(text) => self.os_release = Some(text),
            Feature::Version(text) => self.version = Some(text),
            Feature::Arch(text) => self.arch = Some(text),
            Feature::NrCpus { available, online } => self.nr_cpus = Some((available, online)),
            Feature::CpuDescription(text) => self.cpu_description = Some(text),
            Feature::CpuId(text) => self.cpu_id = Some(text),
            Feature::TotalMemory(kib) => self.total_memory = Some(kib),
            Feature::CommandLine(words) => self.command_line = words,
            Feature::PmuMappings(pmus) => self.pmus = pmus,
            Feature::Caches(caches) => self.caches = caches,
            Feature::SampleTime { first, last } => self.sample_time = Some((first, last)),
            // Names go to the events, not here.
            Feature::EventDescriptions(_) => {}
            Feature::BuildIds(ids) => self.build_ids.extend(ids),
            Feature::Other { id, data } => {
                self.others.insert(id, data);
            }
            detail => {
                self.details.insert(detail.id(), detail);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_branches_are_kept_is_what_the_events_pmu_says() {
        let pairs = |branches: &str| {
            vec![("pmu_name".into(), "any".into()), ("branches".into(), branches.into())]
        };
        let mut features = Features::default();
        assert_eq!(features.branches_kept(EventType(4)), None);
        features.insert(Feature::CpuPmuCaps(pairs("32")));
        assert_eq!(features.branches_kept(EventType(4)), Some(32), "PMUs need no names for it");
        let of_cores = [("cpu_core".into(), pairs("32")), ("cpu_atom".into(), pairs("8"))];
        let mut hybrid = Features::default();
        hybrid.insert(Feature::PmuMappings(vec![(4, "cpu_core".into()), (9, "cpu_atom".into())]));
        hybrid.insert(Feature::PmuCaps(of_cores.into()));
        let kept = [4, 9, 77].map(|kind| hybrid.branches_kept(EventType(kind)));
        assert_eq!(kept, [Some(32), Some(8), None]);
        features.insert(Feature::CpuPmuCaps(pairs("many")));
        assert_eq!(features.branches_kept(EventType(4)), None);
    }
}
