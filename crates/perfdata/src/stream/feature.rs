//! HEADER_FEATURE: what a recorder says of the machine and of itself
//! (tools/perf/util/header.c; perf.data-file-format.txt).

mod build_id;
mod event_name;
mod field;

pub use build_id::BuildId;
pub use event_name::EventName;
pub(crate) use event_name::MOST_EVENTS;

use crate::bytes::{ByteOrder, ByteWriter, Cursor, FixedField, Short};
use crate::units::Time;
use field::{FeatureField, ListItem, feature_structs};
use std::fmt;

/// `HEADER_*` of tools/perf/util/header.h; unknown ones survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureId(pub u64);

impl FeatureId {
    pub const TRACING_DATA: FeatureId = FeatureId(1);
    pub const BRANCH_STACK: FeatureId = FeatureId(15);
    pub const AUXTRACE: FeatureId = FeatureId(18);
    pub const BPF_PROG_INFO: FeatureId = FeatureId(25);
    pub const BPF_BTF: FeatureId = FeatureId(26);
    /// Ours: the files that names come from, as a zip archive. perf passes
    /// over bits that it does not know.
    pub const EMBEDDED_FILES: FeatureId = FeatureId(255);
    /// The header of a file has a bit for each of 256 (HEADER_FEAT_BITS):
    /// records with an id beyond say nothing.
    pub const LAST: FeatureId = FeatureId(255);

    /// Whether a file's feature is passed over: formats of tracepoints, an
    /// index of AUX data, BPF programs and their types, carried files.
    pub fn is_skipped(self) -> bool {
        use FeatureId as Id;
        matches!(
            self,
            Id::TRACING_DATA | Id::AUXTRACE | Id::BPF_PROG_INFO | Id::BPF_BTF | Id::EMBEDDED_FILES
        )
    }
}

impl fmt::Display for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feature {}", self.0)
    }
}

/// From one list: the features that are decoded, their numbers, and how they
/// are read and written: their fields one after the other, behind a version
/// (always 1) where there is one.
macro_rules! features {
    ($(
        $(#[$doc:meta])*
        $id:ident = $number:literal $(version $version:ty)?:
        $variant:ident
            $(($value:ident: $type:ty))?
            $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })?
    )*) => {
        impl FeatureId {
            $(pub const $id: FeatureId = FeatureId($number);)*
        }

        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Feature {
            $(
                $(#[$doc])*
                $variant $(($type))? $({ $($(#[$field_doc])* $field: $field_type,)* })?,
            )*
            /// Not decoded here.
            Other {
                id: FeatureId,
                data: Vec<u8>,
            },
        }

        impl Feature {
            /// Decodes a feature's bytes, those after its id.
            ///
            /// # Errors
            /// A field that is cut off.
            pub fn decode(id: FeatureId, data: &[u8], order: ByteOrder) -> Result<Feature, Short> {
                let c = &mut Cursor::new(data, order);
                Ok(match id {
                    $(FeatureId::$id => {
                        $(<$version as FixedField>::decode(c)?;)?
                        Feature::$variant
                            $((<$type as FeatureField>::decode(c)?))?
                            $({ $($field: FeatureField::decode(c)?,)* })?
                    })*
                    id => Feature::Other { id, data: data.to_vec() },
                })
            }

            /// Which feature this is.
            pub fn id(&self) -> FeatureId {
                match self {
                    $(Feature::$variant { .. } => FeatureId::$id,)*
                    Feature::Other { id, .. } => *id,
                }
            }

            /// Bytes of memory that it takes, about. Those that are not decoded
            /// are kept as they are.
            pub(super) fn memory(&self) -> usize {
                match self {
                    $(Feature::$variant $(($value))? $({ $($field,)* })? => {
                        [$($value.memory())? $($($field.memory()),*)?].iter().sum()
                    })*
                    Feature::Other { .. } => 0,
                }
            }

            /// Appends the feature's bytes, those after its id. Strings lose
            /// what comes after a NUL.
            pub(crate) fn encode(&self, w: &mut ByteWriter<'_>) {
                match self {
                    $(Feature::$variant $(($value))? $({ $($field,)* })? => {
                        $(FixedField::encode(&<$version>::from(1_u8), w);)?
                        $(FeatureField::encode($value, w);)?
                        $($(FeatureField::encode($field, w);)*)?
                    })*
                    Feature::Other { data, .. } => w.raw(data),
                }
            }
        }
    };
}

features! {
    /// Objects that samples hit, and what they were built as.
    BUILD_ID = 2: BuildIds(ids: Vec<BuildId>)
    /// `uname -n` of the recorded machine.
    HOSTNAME = 3: Hostname(name: String)
    /// `uname -r`.
    OSRELEASE = 4: OsRelease(release: String)
    /// Version of the recorder.
    VERSION = 5: Version(version: String)
    /// `uname -m`.
    ARCH = 6: Arch(arch: String)
    /// CPUs of the machine.
    NRCPUS = 7: NrCpus {
        /// That could be online.
        available: u32,
        /// That were.
        online: u32,
    }
    /// Model of the CPU, for people.
    CPUDESC = 8: CpuDescription(model: String)
    /// Model of the CPU, for programs: vendor, family, model, stepping.
    CPUID = 9: CpuId(model: String)
    /// Memory of the machine, KiB.
    TOTAL_MEM = 10: TotalMemory(kib: u64)
    /// The recorder's command line.
    CMDLINE = 11: CommandLine(words: Vec<String>)
    /// Names of the events.
    EVENT_DESC = 12: EventDescriptions(names: Vec<EventName>)
    /// CPUs that share cores, and threads that share one. What follows the
    /// lists (core, package and die of each CPU) has no count of its own, and
    /// is not read.
    CPU_TOPOLOGY = 13: CpuTopology {
        /// Lists of CPUs of each package: `0-7`.
        packages: Vec<String>,
        /// Lists of CPUs of each core: `0,4`.
        cores: Vec<String>,
    }
    /// Nodes of memory.
    NUMA_TOPOLOGY = 14: NumaNodes(nodes: Vec<NumaNode>)
    /// PMU names and the `perf_event_attr.type` each had.
    PMU_MAPPINGS = 16: PmuMappings(pmus: Vec<(u32, String)>)
    /// Events that were counted together.
    GROUP_DESC = 17: Groups(groups: Vec<EventGroup>)
    /// Caches of the machine, each kind once.
    CACHE = 20 version u32: Caches(caches: Vec<CacheDescription>)
    /// Times of the first and last sample.
    SAMPLE_TIME = 21: SampleTime {
        first: Time,
        last: Time,
    }
    /// Which blocks of memory belong to which node.
    MEM_TOPOLOGY = 22 version u64: MemoryBlocks {
        block_size: u64,
        /// Node, number of blocks, and a bit for each that is its own.
        nodes: Vec<(u64, u64, Vec<u64>)>,
    }
    /// Nanoseconds between ticks of the clock of the samples' times.
    CLOCKID = 23: ClockResolution(nanoseconds: u64)
    /// How records were packed.
    COMPRESSED = 27 version u32: Compression(compression: Compression)
    /// What the core PMU can do, name and value.
    CPU_PMU_CAPS = 28: CpuPmuCaps(caps: Vec<(String, String)>)
    /// The same moment on two clocks.
    CLOCK_DATA = 29 version u32: ClockReference {
        /// `clockid` of the samples' times.
        clockid: u32,
        /// Time of day, nanoseconds.
        wall: u64,
        /// That clock, nanoseconds.
        clock: u64,
    }
    /// PMUs of a hybrid machine's kinds of core, and their CPUs.
    HYBRID_TOPOLOGY = 30: HybridTopology(pmus: Vec<(String, String)>)
    /// What PMUs can do: name, capabilities with values.
    PMU_CAPS = 31: PmuCaps(pmus: Vec<(String, Vec<(String, String)>)>)
}

feature_structs! {
    /// One kind of cache, as /sys/devices/system/cpu/cpu*/cache/index* has it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CacheDescription {
        /// 1 is nearest to the core.
        pub level: u32,
        pub line_size: u32,
        pub sets: u32,
        /// Lines of a set.
        pub ways: u32,
        /// `Data`, `Instruction` or `Unified`.
        pub kind: String,
        /// Size as sysfs says it: `32K`.
        pub size: String,
        /// CPUs that share it: `0,4`.
        pub cpus: String,
    }

    /// A node of memory.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NumaNode {
        pub node: u32,
        /// KiB.
        pub total: u64,
        /// KiB.
        pub free: u64,
        /// List of CPUs: `0-3`.
        pub cpus: String,
    }

    /// Events that were counted together.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct EventGroup {
        /// As typed, or perf's `{anon_group}`.
        pub name: String,
        /// Number of its first event.
        pub leader: u32,
        pub members: u32,
    }

    /// How records were packed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Compression {
        /// 1 is zstd.
        pub kind: u32,
        /// Of zstd.
        pub level: u32,
        /// Unpacked bytes to one packed, rounded.
        pub ratio: u32,
        /// Bytes of the rings.
        pub ring: u32,
    }
}

impl ListItem for CacheDescription {}
impl ListItem for NumaNode {}
impl ListItem for EventGroup {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{Attr, EventType};
    use crate::header::Misc;

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

    fn bytes(feature: &Feature, order: ByteOrder) -> Vec<u8> {
        let mut out = Vec::new();
        feature.encode(&mut ByteWriter::new(&mut out, order));
        out
    }

    fn all(order: ByteOrder) -> Vec<Feature> {
        let attr = Attr { kind: EventType::SOFTWARE, config: 2, ..Attr::default() };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let build_id = |id: Vec<u8>, path: &str| BuildId {
            misc: Misc(1 << 15 | 2),
            pid: -1,
            id,
            path: path.into(),
        };
        let cache = CacheDescription {
            level: 1,
            line_size: 64,
            sets: 64,
            ways: 8,
            kind: "Data".into(),
            size: "32K".into(),
            cpus: "0".into(),
        };
        vec![
            Feature::Hostname("a host".into()),
            Feature::OsRelease(String::new()),
            Feature::Version("6.1".into()),
            Feature::Arch("aarch64".into()),
            Feature::NrCpus { available: 8, online: 3 },
            // A name of exactly the alignment needs room for its NUL.
            Feature::CpuDescription("x".repeat(64)),
            Feature::CpuId("AuthenticAMD,25,1,1".into()),
            Feature::TotalMemory(1 << 40),
            Feature::CommandLine(vec!["ebs".into(), "-k".into(), String::new()]),
            Feature::EventDescriptions(vec![
                EventName::new(&attr, &[1, 2], "page_fault", order).unwrap(),
                EventName::new(&attr, &[], "other", order).unwrap(),
            ]),
            Feature::PmuMappings(vec![(4, "cpu".into()), (1, "software".into())]),
            Feature::Caches(vec![
                cache.clone(),
                CacheDescription { kind: "Instruction".into(), ..cache },
            ]),
            Feature::SampleTime { first: Time(1), last: Time(u64::MAX) },
            Feature::Other { id: FeatureId(99), data: vec![1, 2, 3] },
            Feature::BuildIds(vec![
                build_id(vec![7; 20], "/bin/true"),
                build_id(vec![8; 16], "[k]"),
            ]),
            Feature::CpuTopology {
                packages: vec!["0-3".into()],
                cores: vec!["0,2".into(), "1,3".into()],
            },
            Feature::NumaNodes(vec![NumaNode { node: 1, total: 2, free: 3, cpus: "0-3".into() }]),
            Feature::Groups(vec![EventGroup { name: "{a,b}".into(), leader: 0, members: 2 }]),
            Feature::MemoryBlocks {
                block_size: 1 << 27,
                nodes: vec![(0, 64, vec![5]), (1, 65, vec![6, 7])],
            },
            Feature::ClockResolution(1),
            Feature::Compression(Compression { kind: 1, level: 2, ratio: 3, ring: 4 }),
            Feature::CpuPmuCaps(vec![pair("branches", "32"), pair("max_precise", "3")]),
            Feature::ClockReference { clockid: 1, wall: 2, clock: 3 },
            Feature::HybridTopology(vec![pair("cpu_core", "0-3"), pair("cpu_atom", "4-11")]),
            Feature::PmuCaps(vec![("cpu_core".into(), vec![pair("branches", "32")])]),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for order in ORDERS {
            for feature in all(order) {
                let data = bytes(&feature, order);
                assert_eq!(Feature::decode(feature.id(), &data, order), Ok(feature));
            }
        }
    }

    /// The first bytes of the CACHE section that perf 6.1 wrote on an AMD EPYC.
    #[test]
    fn a_cache_as_perf_writes_it() {
        let mut data = Vec::new();
        for word in [1u32, 1, 1, 64, 64, 8] {
            data.extend(word.to_le_bytes());
        }
        for text in ["Data", "32K", "0"] {
            data.extend(64u32.to_le_bytes());
            let mut padded = [0; 64];
            padded[..text.len()].copy_from_slice(text.as_bytes());
            data.extend(padded);
        }
        let Ok(Feature::Caches(caches)) =
            Feature::decode(FeatureId::CACHE, &data, ByteOrder::Little)
        else {
            panic!("no caches")
        };
        let cache = &caches[0];
        assert_eq!((cache.level, cache.line_size, cache.sets, cache.ways), (1, 64, 64, 8));
        assert_eq!((&*cache.kind, &*cache.size, &*cache.cpus), ("Data", "32K", "0"));
        assert_eq!(bytes(&Feature::Caches(caches), ByteOrder::Little), data);
    }

    #[test]
    fn every_cut_is_an_error_and_no_count_reserves_memory() {
        for feature in all(ByteOrder::Little) {
            let data = bytes(&feature, ByteOrder::Little);
            if matches!(feature, Feature::Other { .. }) {
                continue;
            }
            // A list of build ids may end after any of them.
            let ends: &[usize] = match feature {
                Feature::BuildIds(_) => &[0, 100],
                _ => &[],
            };
            for cut in
                (0..data.len()).filter(|cut| !ends.iter().any(|end| (*end..end + 8).contains(cut)))
            {
                let result = Feature::decode(feature.id(), &data[..cut], ByteOrder::Little);
                assert!(result.is_err(), "{feature:?} cut to {cut}");
            }
        }
        let hostile = [0xff; 16];
        for id in [FeatureId::HOSTNAME, FeatureId::CMDLINE, FeatureId::EVENT_DESC, FeatureId::CACHE]
        {
            assert!(Feature::decode(id, &hostile, ByteOrder::Little).is_err(), "{id}");
        }
    }

    #[test]
    fn the_line_size_is_that_of_the_nearest_data_cache() {
        let mut features = crate::stream::Features::default();
        assert_eq!(features.cache_line_size(), None);
        let cache = |level, kind: &str, line_size| CacheDescription {
            level,
            line_size,
            kind: kind.into(),
            ..CacheDescription::default()
        };
        let caches =
            vec![cache(2, "Unified", 128), cache(1, "Instruction", 32), cache(1, "Data", 64)];
        features.insert(Feature::Caches(caches));
        assert_eq!(features.cache_line_size(), Some(64));
    }

    /// Two nodes of 272 blocks: perf writes how many bits follow once more.
    #[test]
    fn memory_blocks_as_perf_writes_them() {
        let words: [u64; 17] =
            [1, 1 << 27, 2, 0, 272, 272, 0x3fff, !0, !0, !0, 0xffff, 1, 272, 272, 0, 0, !0];
        let mut data: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        assert!(Feature::decode(FeatureId::MEM_TOPOLOGY, &data, ByteOrder::Little).is_err());
        data.extend([7u64, 8].into_iter().flat_map(u64::to_le_bytes));
        let blocks =
            vec![(0, 272, vec![0x3fff, !0, !0, !0, 0xffff]), (1, 272, vec![0, 0, !0, 7, 8])];
        let expected = Feature::MemoryBlocks { block_size: 1 << 27, nodes: blocks };
        let read = Feature::decode(FeatureId::MEM_TOPOLOGY, &data, ByteOrder::Little);
        assert_eq!(read, Ok(expected));
    }
}
