//! HEADER_FEATURE: what a recorder says of the machine and of itself
//! (tools/perf/util/header.c; perf.data-file-format.txt).

use super::decoder::EVENTS;
use super::detail::Detail;
use super::update::text;
use crate::attr::Attr;
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};
use crate::units::Time;
use std::fmt;

/// Strings are padded so that their length is a multiple of this, and so are
/// perf's own.
const STRING_ALIGNMENT: usize = 64;

/// `HEADER_*` of tools/perf/util/header.h; unknown ones survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureId(pub u64);

#[allow(missing_docs, reason = "named as in perf.data-file-format.txt")]
impl FeatureId {
    pub const TRACING_DATA: FeatureId = FeatureId(1);
    pub const BUILD_ID: FeatureId = FeatureId(2);
    pub const HOSTNAME: FeatureId = FeatureId(3);
    pub const OSRELEASE: FeatureId = FeatureId(4);
    pub const VERSION: FeatureId = FeatureId(5);
    pub const ARCH: FeatureId = FeatureId(6);
    pub const NRCPUS: FeatureId = FeatureId(7);
    pub const CPUDESC: FeatureId = FeatureId(8);
    pub const CPUID: FeatureId = FeatureId(9);
    pub const TOTAL_MEM: FeatureId = FeatureId(10);
    pub const CMDLINE: FeatureId = FeatureId(11);
    pub const EVENT_DESC: FeatureId = FeatureId(12);
    pub const CPU_TOPOLOGY: FeatureId = FeatureId(13);
    pub const NUMA_TOPOLOGY: FeatureId = FeatureId(14);
    pub const BRANCH_STACK: FeatureId = FeatureId(15);
    pub const PMU_MAPPINGS: FeatureId = FeatureId(16);
    pub const GROUP_DESC: FeatureId = FeatureId(17);
    pub const AUXTRACE: FeatureId = FeatureId(18);
    pub const CACHE: FeatureId = FeatureId(20);
    pub const SAMPLE_TIME: FeatureId = FeatureId(21);
    pub const MEM_TOPOLOGY: FeatureId = FeatureId(22);
    pub const CLOCKID: FeatureId = FeatureId(23);
    pub const BPF_PROG_INFO: FeatureId = FeatureId(25);
    pub const BPF_BTF: FeatureId = FeatureId(26);
    pub const COMPRESSED: FeatureId = FeatureId(27);
    pub const CPU_PMU_CAPS: FeatureId = FeatureId(28);
    pub const CLOCK_DATA: FeatureId = FeatureId(29);
    pub const HYBRID_TOPOLOGY: FeatureId = FeatureId(30);
    pub const PMU_CAPS: FeatureId = FeatureId(31);
    /// Ours: the files that names come from, as a zip archive. perf passes
    /// over bits that it does not know.
    pub const CARRIED_FILES: FeatureId = FeatureId(255);
    /// The header of a file has a bit for each of 256 (HEADER_FEAT_BITS):
    /// records with an id beyond say nothing.
    pub const LAST: FeatureId = FeatureId(255);

    /// Whether a file's feature is passed over: formats of tracepoints, an
    /// index of AUX data, BPF programs and their types, carried files.
    pub fn is_skipped(self) -> bool {
        use FeatureId as Id;
        matches!(
            self,
            Id::TRACING_DATA | Id::AUXTRACE | Id::BPF_PROG_INFO | Id::BPF_BTF | Id::CARRIED_FILES
        )
    }
}

impl fmt::Display for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feature {}", self.0)
    }
}

/// One feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    /// `uname -n` of the recorded machine.
    Hostname(String),
    /// `uname -r`.
    OsRelease(String),
    /// Version of the recorder.
    Version(String),
    /// `uname -m`.
    Arch(String),
    /// CPUs of the machine.
    NrCpus {
        /// That could be online.
        available: u32,
        /// That were.
        online: u32,
    },
    /// Model of the CPU, for people.
    CpuDescription(String),
    /// Model of the CPU, for programs: vendor, family, model, stepping.
    CpuId(String),
    /// Memory of the machine, KiB.
    TotalMemory(u64),
    /// The recorder's command line.
    CommandLine(Vec<String>),
    /// Names of the events.
    EventDescriptions(Vec<EventName>),
    /// PMU names and the `perf_event_attr.type` each had.
    PmuMappings(Vec<(u32, String)>),
    /// Caches of the machine, each kind once.
    Caches(Vec<CacheDescription>),
    /// Times of the first and last sample.
    SampleTime {
        /// First.
        first: Time,
        /// Last.
        last: Time,
    },
    /// How the machine is built and the recording was made.
    Detail(Detail),
    /// Not decoded here.
    Other {
        /// Which.
        id: FeatureId,
        /// Its bytes.
        data: Vec<u8>,
    },
}

/// An event and its name in EVENT_DESC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// Bytes of its attr, as the recorder knew it.
    pub attr: Vec<u8>,
    /// Its ids.
    pub ids: Vec<u64>,
    /// Its name.
    pub name: String,
}

/// One kind of cache, as /sys/devices/system/cpu/cpu*/cache/index* has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheDescription {
    /// 1 is nearest to the core.
    pub level: u32,
    /// Bytes of a line.
    pub line_size: u32,
    /// Sets.
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

impl Feature {
    /// Decodes a feature's bytes, those after its id.
    ///
    /// # Errors
    /// A field that is cut off.
    pub fn decode(id: FeatureId, data: &[u8], order: ByteOrder) -> Result<Feature, Short> {
        let mut c = Cursor::new(data, order);
        let c = &mut c;
        Ok(match id {
            FeatureId::HOSTNAME => Feature::Hostname(string(c)?),
            FeatureId::OSRELEASE => Feature::OsRelease(string(c)?),
            FeatureId::VERSION => Feature::Version(string(c)?),
            FeatureId::ARCH => Feature::Arch(string(c)?),
            FeatureId::NRCPUS => Feature::NrCpus { available: c.u32()?, online: c.u32()? },
            FeatureId::CPUDESC => Feature::CpuDescription(string(c)?),
            FeatureId::CPUID => Feature::CpuId(string(c)?),
            FeatureId::TOTAL_MEM => Feature::TotalMemory(c.u64()?),
            FeatureId::CMDLINE => Feature::CommandLine(list(c, string)?),
            FeatureId::EVENT_DESC => event_descriptions(c)?,
            FeatureId::PMU_MAPPINGS => {
                Feature::PmuMappings(list(c, |c| Ok((c.u32()?, string(c)?)))?)
            }
            FeatureId::CACHE => {
                // version, always 1
                c.u32()?;
                Feature::Caches(list(c, cache)?)
            }
            FeatureId::SAMPLE_TIME => {
                Feature::SampleTime { first: Time(c.u64()?), last: Time(c.u64()?) }
            }
            id => match Detail::decode(id, c) {
                Some(detail) => Feature::Detail(detail?),
                None => Feature::Other { id, data: data.to_vec() },
            },
        })
    }

    /// Which feature this is.
    pub fn id(&self) -> FeatureId {
        match self {
            Feature::Hostname(_) => FeatureId::HOSTNAME,
            Feature::OsRelease(_) => FeatureId::OSRELEASE,
            Feature::Version(_) => FeatureId::VERSION,
            Feature::Arch(_) => FeatureId::ARCH,
            Feature::NrCpus { .. } => FeatureId::NRCPUS,
            Feature::CpuDescription(_) => FeatureId::CPUDESC,
            Feature::CpuId(_) => FeatureId::CPUID,
            Feature::TotalMemory(_) => FeatureId::TOTAL_MEM,
            Feature::CommandLine(_) => FeatureId::CMDLINE,
            Feature::EventDescriptions(_) => FeatureId::EVENT_DESC,
            Feature::PmuMappings(_) => FeatureId::PMU_MAPPINGS,
            Feature::Caches(_) => FeatureId::CACHE,
            Feature::SampleTime { .. } => FeatureId::SAMPLE_TIME,
            Feature::Detail(detail) => detail.id(),
            Feature::Other { id, .. } => *id,
        }
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn memory(&self) -> usize {
        match self {
            Feature::Hostname(text)
            | Feature::OsRelease(text)
            | Feature::Version(text)
            | Feature::Arch(text)
            | Feature::CpuDescription(text)
            | Feature::CpuId(text) => text.len(),
            Feature::CommandLine(words) => words.iter().map(|word| of_text(word)).sum(),
            Feature::PmuMappings(pmus) => pmus.iter().map(|(_, name)| 8 + of_text(name)).sum(),
            Feature::Caches(caches) => {
                let texts = |it: &CacheDescription| {
                    of_text(&it.kind) + of_text(&it.size) + of_text(&it.cpus)
                };
                caches.iter().map(|cache| 16 + texts(cache)).sum()
            }
            Feature::Detail(detail) => detail.memory(),
            Feature::NrCpus { .. } | Feature::TotalMemory(_) | Feature::SampleTime { .. } => 0,
            // Names go to events, others are kept as they are.
            Feature::EventDescriptions(_) | Feature::Other { .. } => 0,
        }
    }

    /// Appends the feature's bytes, those after its id. Strings lose what
    /// comes after a NUL.
    pub(crate) fn encode(&self, w: &mut ByteWriter<'_>) {
        match self {
            Feature::Hostname(text)
            | Feature::OsRelease(text)
            | Feature::Version(text)
            | Feature::Arch(text)
            | Feature::CpuDescription(text)
            | Feature::CpuId(text) => put_string(w, text),
            Feature::NrCpus { available, online } => {
                w.u32(*available);
                w.u32(*online);
            }
            Feature::TotalMemory(kib) => w.u64(*kib),
            Feature::CommandLine(words) => put_list(w, words, |w, word| put_string(w, word)),
            Feature::EventDescriptions(events) => put_event_descriptions(w, events),
            Feature::PmuMappings(pmus) => put_list(w, pmus, |w, (kind, name)| {
                w.u32(*kind);
                put_string(w, name);
            }),
            Feature::Caches(caches) => {
                w.u32(1);
                put_list(w, caches, put_cache);
            }
            Feature::SampleTime { first, last } => {
                w.u64(first.0);
                w.u64(last.0);
            }
            Feature::Detail(detail) => detail.encode(w),
            Feature::Other { data, .. } => w.raw(data),
        }
    }
}

/// Bytes of memory of a text in a list that may have room for as many more.
pub(super) fn of_text(text: &str) -> usize {
    text.len() + 2 * size_of::<String>()
}

/// Length, then that many bytes, NULs at their end.
pub(super) fn string(c: &mut Cursor<'_>) -> Result<String, Short> {
    let length = c.u32()?;
    Ok(text(c.take(usize::try_from(length).unwrap_or(usize::MAX))?))
}

pub(super) fn list<T>(
    c: &mut Cursor<'_>,
    item: impl Fn(&mut Cursor<'_>) -> Result<T, Short>,
) -> Result<Vec<T>, Short> {
    let count = c.u32()?;
    // Not collect(): it would reserve what a hostile count says.
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(c)?);
    }
    Ok(items)
}

fn cache(c: &mut Cursor<'_>) -> Result<CacheDescription, Short> {
    Ok(CacheDescription {
        level: c.u32()?,
        line_size: c.u32()?,
        sets: c.u32()?,
        ways: c.u32()?,
        kind: string(c)?,
        size: string(c)?,
        cpus: string(c)?,
    })
}

fn event_descriptions(c: &mut Cursor<'_>) -> Result<Feature, Short> {
    let (count, attr_size) = (c.u32()?, c.u32()?);
    let mut events = Vec::new();
    // There are no more events to be named.
    for _ in 0..count.min(EVENTS) {
        let attr = c.take(usize::try_from(attr_size).unwrap_or(usize::MAX))?.to_vec();
        let ids = u64::from(c.u32()?);
        let name = string(c)?;
        events.push(EventName { attr, ids: c.words(ids)?.iter().collect(), name });
    }
    Ok(Feature::EventDescriptions(events))
}

pub(super) fn put_string(w: &mut ByteWriter<'_>, text: &str) {
    let text = text.split('\0').next().unwrap_or_default();
    let padded = (text.len() + 1).next_multiple_of(STRING_ALIGNMENT);
    w.u32(count(padded));
    let start = w.len();
    w.raw(text.as_bytes());
    w.u8(0);
    w.pad(start, STRING_ALIGNMENT);
}

pub(super) fn put_list<T>(
    w: &mut ByteWriter<'_>,
    items: &[T],
    put: impl Fn(&mut ByteWriter<'_>, &T),
) {
    w.u32(count(items.len()));
    for item in items {
        put(w, item);
    }
}

fn put_cache(w: &mut ByteWriter<'_>, cache: &CacheDescription) {
    w.u32(cache.level);
    w.u32(cache.line_size);
    w.u32(cache.sets);
    w.u32(cache.ways);
    for text in [&cache.kind, &cache.size, &cache.cpus] {
        put_string(w, text);
    }
}

fn put_event_descriptions(w: &mut ByteWriter<'_>, events: &[EventName]) {
    // One size for all attrs: shorter ones are zero-extended, as the kernel
    // would.
    let size = events.iter().map(|event| event.attr.len()).max().unwrap_or(0);
    w.u32(count(events.len()));
    w.u32(count(size));
    for event in events {
        let start = w.len();
        w.raw(&event.attr);
        while w.len() < start + size {
            w.u8(0);
        }
        w.u32(count(event.ids.len()));
        put_string(w, &event.name);
        for &id in &event.ids {
            w.u64(id);
        }
    }
}

/// Counts beyond 32 bits do not fit a record and are refused with it.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl EventName {
    /// Describes an event; its attr takes as many bytes as in HEADER_ATTR.
    ///
    /// # Errors
    /// An attr that cannot be written.
    pub fn new(
        attr: &Attr,
        ids: &[u64],
        name: &str,
        order: ByteOrder,
    ) -> Result<EventName, crate::attr::AttrError> {
        let mut bytes = Vec::new();
        attr.encode(super::write::attr_size(attr), order, &mut bytes)?;
        Ok(EventName { attr: bytes, ids: ids.to_vec(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::EventType;
    use crate::header::Misc;
    use crate::stream::{BuildId, Compression, EventGroup, NumaNode};

    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

    fn bytes(feature: &Feature, order: ByteOrder) -> Vec<u8> {
        let mut out = Vec::new();
        feature.encode(&mut ByteWriter::new(&mut out, order));
        out
    }

    fn all(order: ByteOrder) -> Vec<Feature> {
        let attr = Attr { kind: EventType::SOFTWARE, config: 2, ..Attr::default() };
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
        ]
        .into_iter()
        .chain(details().into_iter().map(Feature::Detail))
        .collect()
    }

    fn details() -> Vec<Detail> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let build_id = |id: Vec<u8>, path: &str| BuildId {
            misc: Misc(1 << 15 | 2),
            pid: -1,
            id,
            path: path.into(),
        };
        vec![
            Detail::BuildIds(vec![
                build_id(vec![7; 20], "/bin/true"),
                build_id(vec![8; 16], "[k]"),
            ]),
            Detail::CpuTopology {
                packages: vec!["0-3".into()],
                cores: vec!["0,2".into(), "1,3".into()],
            },
            Detail::NumaNodes(vec![NumaNode { node: 1, total: 2, free: 3, cpus: "0-3".into() }]),
            Detail::Groups(vec![EventGroup { name: "{a,b}".into(), leader: 0, members: 2 }]),
            Detail::MemoryBlocks {
                block_size: 1 << 27,
                nodes: vec![(0, 64, vec![5]), (1, 65, vec![6, 7])],
            },
            Detail::ClockResolution(1),
            Detail::Compression(Compression { kind: 1, level: 2, ratio: 3, ring: 4 }),
            Detail::CpuPmuCaps(vec![pair("branches", "32"), pair("max_precise", "3")]),
            Detail::ClockReference { clockid: 1, wall: 2, clock: 3 },
            Detail::HybridTopology(vec![pair("cpu_core", "0-3"), pair("cpu_atom", "4-11")]),
            Detail::PmuCaps(vec![("cpu_core".into(), vec![pair("branches", "32")])]),
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
                Feature::Detail(Detail::BuildIds(_)) => &[0, 100],
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
        let expected = Detail::MemoryBlocks { block_size: 1 << 27, nodes: blocks };
        let read = Feature::decode(FeatureId::MEM_TOPOLOGY, &data, ByteOrder::Little);
        assert_eq!(read, Ok(Feature::Detail(expected)));
    }
}
