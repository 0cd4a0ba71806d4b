//! Features that say how the machine is built and how the recording was
//! made: read for whoever asks, needed by no report. Layouts:
//! perf.data-file-format.txt and the `process_*` functions of
//! tools/perf/util/header.c.

use super::feature::{FeatureId, list, of_text, put_list, put_string, string};
use super::update::text;
use crate::bytes::{ByteWriter, Cursor, Short};
use crate::header::{Misc, RecordHeader, RecordType};

/// On build ids: byte 20 says how long the id is
/// (PERF_RECORD_MISC_BUILD_ID_SIZE).
const BUILD_ID_SIZE: u16 = 1 << 15;
/// Bytes of a build id's place, the byte that may say its length included.
const BUILD_ID_PLACE: usize = 24;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Objects that samples hit, and what they were built as.
    BuildIds(Vec<BuildId>),
    /// CPUs that share cores, and threads that share one.
    CpuTopology {
        /// Lists of CPUs of each package: `0-7`.
        packages: Vec<String>,
        /// Lists of CPUs of each core: `0,4`.
        cores: Vec<String>,
    },
    /// Nodes of memory.
    NumaNodes(Vec<NumaNode>),
    /// Events that were counted together.
    Groups(Vec<EventGroup>),
    /// Which blocks of memory belong to which node.
    MemoryBlocks {
        /// Bytes of a block.
        block_size: u64,
        /// Node, number of blocks, and a bit for each that is its own.
        nodes: Vec<(u64, u64, Vec<u64>)>,
    },
    /// Nanoseconds between ticks of the clock of the samples' times.
    ClockResolution(u64),
    /// How records were packed.
    Compression(Compression),
    /// What the core PMU can do, name and value.
    CpuPmuCaps(Vec<(String, String)>),
    /// The same moment on two clocks.
    ClockReference {
        /// `clockid` of the samples' times.
        clockid: u32,
        /// Time of day, nanoseconds.
        wall: u64,
        /// That clock, nanoseconds.
        clock: u64,
    },
    /// PMUs of a hybrid machine's kinds of core, and their CPUs.
    HybridTopology(Vec<(String, String)>),
    /// What PMUs can do: name, capabilities with values.
    PmuCaps(Vec<(String, Vec<(String, String)>)>),
}

/// An object and what it was built as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildId {
    /// Privilege level of its code, and bits of perf's own.
    pub misc: Misc,
    /// Guest it belongs to; -1 is the host.
    pub pid: i32,
    /// Up to 20 bytes.
    pub id: Vec<u8>,
    /// Its path, or a name in brackets.
    pub path: String,
}

/// A node of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
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
    /// Events in it.
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

impl Detail {
    /// Decodes a feature's bytes; None for another feature.
    pub(super) fn decode(id: FeatureId, c: &mut Cursor<'_>) -> Option<Result<Detail, Short>> {
        Some(match id {
            FeatureId::BUILD_ID => build_ids(c).map(Detail::BuildIds),
            FeatureId::CPU_TOPOLOGY => cpu_topology(c),
            FeatureId::NUMA_TOPOLOGY => list(c, numa_node).map(Detail::NumaNodes),
            FeatureId::GROUP_DESC => list(c, group).map(Detail::Groups),
            FeatureId::MEM_TOPOLOGY => memory_blocks(c),
            FeatureId::CLOCKID => c.u64().map(Detail::ClockResolution),
            FeatureId::COMPRESSED => compression(c).map(Detail::Compression),
            FeatureId::CPU_PMU_CAPS => list(c, pair).map(Detail::CpuPmuCaps),
            FeatureId::CLOCK_DATA => clock_reference(c),
            FeatureId::HYBRID_TOPOLOGY => list(c, pair).map(Detail::HybridTopology),
            FeatureId::PMU_CAPS => list(c, pmu_caps).map(Detail::PmuCaps),
            _ => return None,
        })
    }

    pub(super) fn id(&self) -> FeatureId {
        match self {
            Detail::BuildIds(_) => FeatureId::BUILD_ID,
            Detail::CpuTopology { .. } => FeatureId::CPU_TOPOLOGY,
            Detail::NumaNodes(_) => FeatureId::NUMA_TOPOLOGY,
            Detail::Groups(_) => FeatureId::GROUP_DESC,
            Detail::MemoryBlocks { .. } => FeatureId::MEM_TOPOLOGY,
            Detail::ClockResolution(_) => FeatureId::CLOCKID,
            Detail::Compression(_) => FeatureId::COMPRESSED,
            Detail::CpuPmuCaps(_) => FeatureId::CPU_PMU_CAPS,
            Detail::ClockReference { .. } => FeatureId::CLOCK_DATA,
            Detail::HybridTopology(_) => FeatureId::HYBRID_TOPOLOGY,
            Detail::PmuCaps(_) => FeatureId::PMU_CAPS,
        }
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn memory(&self) -> usize {
        let of_pairs = |pairs: &[(String, String)]| -> usize {
            pairs.iter().map(|(name, value)| of_text(name) + of_text(value)).sum()
        };
        match self {
            Detail::BuildIds(ids) => ids.iter().map(BuildId::memory).sum(),
            Detail::CpuTopology { packages, cores } => {
                packages.iter().chain(cores).map(|cpus| of_text(cpus)).sum()
            }
            Detail::NumaNodes(nodes) => nodes.iter().map(|it| 48 + of_text(&it.cpus)).sum(),
            Detail::Groups(groups) => groups.iter().map(|it| 16 + of_text(&it.name)).sum(),
            Detail::MemoryBlocks { nodes, .. } => {
                nodes.iter().map(|(.., bits)| 80 + size_of_val(bits.as_slice())).sum()
            }
            Detail::CpuPmuCaps(pairs) | Detail::HybridTopology(pairs) => of_pairs(pairs),
            Detail::PmuCaps(pmus) => {
                pmus.iter().map(|(name, pairs)| 48 + of_text(name) + of_pairs(pairs)).sum()
            }
            Detail::ClockResolution(_) | Detail::Compression(_) | Detail::ClockReference { .. } => {
                0
            }
        }
    }

    pub(super) fn encode(&self, w: &mut ByteWriter<'_>) {
        match self {
            Detail::BuildIds(ids) => ids.iter().for_each(|id| id.encode(w)),
            Detail::CpuTopology { packages, cores } => {
                put_list(w, packages, |w, text| put_string(w, text));
                put_list(w, cores, |w, text| put_string(w, text));
            }
            Detail::NumaNodes(nodes) => put_list(w, nodes, |w, node| {
                w.u32(node.node);
                w.u64(node.total);
                w.u64(node.free);
                put_string(w, &node.cpus);
            }),
            Detail::Groups(groups) => put_list(w, groups, |w, group| {
                put_string(w, &group.name);
                w.u32(group.leader);
                w.u32(group.members);
            }),
            Detail::MemoryBlocks { block_size, nodes } => {
                [1, *block_size, nodes.len() as u64].into_iter().for_each(|word| w.u64(word));
                for (node, blocks, bits) in nodes {
                    w.u64(*node);
                    w.u64(*blocks);
                    w.u64(64 * bits.len() as u64);
                    bits.iter().for_each(|&word| w.u64(word));
                }
            }
            Detail::ClockResolution(nanoseconds) => w.u64(*nanoseconds),
            Detail::Compression(it) => {
                [1, it.kind, it.level, it.ratio, it.ring].into_iter().for_each(|word| w.u32(word));
            }
            Detail::CpuPmuCaps(pairs) | Detail::HybridTopology(pairs) => {
                put_pairs(w, pairs);
            }
            Detail::ClockReference { clockid, wall, clock } => {
                w.u32(1);
                w.u32(*clockid);
                w.u64(*wall);
                w.u64(*clock);
            }
            Detail::PmuCaps(pmus) => put_list(w, pmus, |w, (name, pairs)| {
                put_pairs(w, pairs);
                put_string(w, name);
            }),
        }
    }
}

impl BuildId {
    /// Reads what follows the header of a HEADER_BUILD_ID record.
    pub(super) fn decode(misc: Misc, c: &mut Cursor<'_>) -> Result<BuildId, Short> {
        let pid = c.i32()?;
        let place = c.take(BUILD_ID_PLACE)?;
        let length = match misc.0 & BUILD_ID_SIZE {
            0 => 20,
            _ => place.get(20).map_or(20, |&length| usize::from(length).min(20)),
        };
        let id = place.iter().copied().take(length).collect();
        Ok(BuildId { misc, pid, id, path: text(c.rest()) })
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn memory(&self) -> usize {
        2 * size_of::<BuildId>() + 32 + self.path.len()
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        let path = (self.path.len() + 1).next_multiple_of(64);
        let size = u16::try_from(RecordHeader::SIZE + 4 + BUILD_ID_PLACE + path);
        let misc = Misc(self.misc.0 | BUILD_ID_SIZE);
        // A path that no record holds is left out.
        let Ok(size) = size else { return };
        RecordHeader { kind: RecordType::HEADER_BUILD_ID, misc, size }.encode(w);
        w.u32(self.pid.cast_unsigned());
        let mut place = [0; BUILD_ID_PLACE];
        let length = self.id.len().min(20);
        place[..length].copy_from_slice(&self.id[..length]);
        place[20] = u8::try_from(length).unwrap_or(20);
        w.raw(&place);
        let start = w.len();
        w.raw(self.path.as_bytes());
        w.u8(0);
        w.pad(start, 64);
    }
}

fn build_ids(c: &mut Cursor<'_>) -> Result<Vec<BuildId>, Short> {
    let mut ids = Vec::new();
    while c.left() >= RecordHeader::SIZE {
        let header = RecordHeader::decode(c)?;
        let Some(body) = usize::from(header.size).checked_sub(RecordHeader::SIZE) else { break };
        ids.push(BuildId::decode(header.misc, &mut Cursor::new(c.take(body)?, c.order()))?);
    }
    Ok(ids)
}

/// What follows the lists (core, package and die of each CPU) has no count
/// of its own, and is not read.
fn cpu_topology(c: &mut Cursor<'_>) -> Result<Detail, Short> {
    Ok(Detail::CpuTopology { packages: list(c, string)?, cores: list(c, string)? })
}

fn numa_node(c: &mut Cursor<'_>) -> Result<NumaNode, Short> {
    Ok(NumaNode { node: c.u32()?, total: c.u64()?, free: c.u64()?, cpus: string(c)? })
}

fn group(c: &mut Cursor<'_>) -> Result<EventGroup, Short> {
    Ok(EventGroup { name: string(c)?, leader: c.u32()?, members: c.u32()? })
}

fn memory_blocks(c: &mut Cursor<'_>) -> Result<Detail, Short> {
    // version, always 1
    c.u64()?;
    let (block_size, count) = (c.u64()?, c.u64()?);
    let mut nodes = Vec::new();
    for _ in 0..count {
        let (node, blocks) = (c.u64()?, c.u64()?);
        let bits = c.u64()?;
        nodes.push((node, blocks, c.words(bits.div_ceil(64))?.iter().collect()));
    }
    Ok(Detail::MemoryBlocks { block_size, nodes })
}

fn compression(c: &mut Cursor<'_>) -> Result<Compression, Short> {
    // version, always 1
    c.u32()?;
    Ok(Compression { kind: c.u32()?, level: c.u32()?, ratio: c.u32()?, ring: c.u32()? })
}

fn clock_reference(c: &mut Cursor<'_>) -> Result<Detail, Short> {
    // version, always 1
    c.u32()?;
    Ok(Detail::ClockReference { clockid: c.u32()?, wall: c.u64()?, clock: c.u64()? })
}

fn pair(c: &mut Cursor<'_>) -> Result<(String, String), Short> {
    Ok((string(c)?, string(c)?))
}

fn put_pairs(w: &mut ByteWriter<'_>, pairs: &[(String, String)]) {
    put_list(w, pairs, |w, (name, value)| {
        put_string(w, name);
        put_string(w, value);
    });
}

fn pmu_caps(c: &mut Cursor<'_>) -> Result<(String, Vec<(String, String)>), Short> {
    let caps = list(c, pair)?;
    Ok((string(c)?, caps))
}
