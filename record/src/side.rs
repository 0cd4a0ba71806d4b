//! Every record that is not a sample: mappings, names, births and deaths,
//! losses.

use crate::bytes::{ByteOrder, Short};
use crate::header::{Misc, RecordHeader, RecordType};
use crate::units::{Cpu, Pid, Task, Tid, Time};

/// The trailer of side records under `sample_id_all`; fields as the attr's
/// sample_type says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleId {
    /// Thread that the record is about, or was made by.
    pub task: Option<Task>,
    /// When.
    pub time: Option<Time>,
    /// Event id.
    pub id: Option<u64>,
    /// Event id, children told apart.
    pub stream_id: Option<u64>,
    /// CPU.
    pub cpu: Option<Cpu>,
    /// Event id, last.
    pub identifier: Option<u64>,
}

/// Which file a mapping shows, as MMAP2's union has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIdentity<'a> {
    /// PERF_RECORD_MMAP: none.
    Unknown,
    /// Device and inode.
    Inode {
        /// Major device number.
        major: u32,
        /// Minor device number.
        minor: u32,
        /// Inode number.
        inode: u64,
        /// Inode generation.
        generation: u64,
    },
    /// Under [`Misc::MMAP_BUILD_ID`]: 1 to 20 bytes.
    BuildId(&'a [u8]),
}

/// MMAP or MMAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Whose address space; pid -1 and tid 0 for the kernel's own.
    pub task: Task,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file, bytes.
    pub page_offset: u64,
    /// Which file.
    pub file: FileIdentity<'a>,
    /// PROT_* bits; MMAP2 only.
    pub protection: Option<u32>,
    /// MAP_* bits; MMAP2 only.
    pub flags: Option<u32>,
    /// Path, or a name in brackets; bytes as the target chose them.
    pub path: &'a [u8],
}

/// A side record's body, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in perf_event_open(2)")]
pub enum SideRecord<'a> {
    Mmap(Mapping<'a>),
    Mmap2(Mapping<'a>),
    Comm { task: Task, name: &'a [u8] },
    Fork { task: Task, parent: Task, time: Time },
    Exit { task: Task, parent: Task, time: Time },
    /// The ring was full: `lost` records of event `id` (trap 26).
    Lost { id: u64, lost: u64 },
    LostSamples { lost: u64 },
    Throttle { time: Time, id: u64, stream_id: u64 },
    Unthrottle { time: Time, id: u64, stream_id: u64 },
    Read { task: Task, values: &'a [u8] },
    Switch,
    SwitchCpuWide { next_prev_pid: Pid, next_prev_tid: Tid },
    Namespaces { task: Task, links: Vec<NamespaceLink> },
    Ksymbol { address: u64, length: u32, kind: u16, flags: u16, name: &'a [u8] },
    BpfEvent { kind: u16, flags: u16, id: u32, tag: [u8; 8] },
    Cgroup { id: u64, path: &'a [u8] },
    TextPoke { address: u64, old: &'a [u8], new: &'a [u8] },
    Aux { offset: u64, size: u64, flags: u64 },
    ItraceStart { task: Task },
    AuxOutputHwId { hw_id: u64 },
    /// A type this version does not decode: skipped by size, body kept.
    Unknown { kind: RecordType, body: &'a [u8] },
}

/// One namespace of PERF_RECORD_NAMESPACES: mnt, uts, ipc, pid, user, net,
/// cgroup in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceLink {
    /// Device number of nsfs.
    pub device: u64,
    /// Inode number: the namespace's identity.
    pub inode: u64,
}

/// Why bytes are no side record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// A field is cut off.
    #[error("{kind} record, field {field}: {short}")]
    Short {
        /// Record type.
        kind: RecordType,
        /// Field as perf_event_open(2) names it.
        field: &'static str,
        /// Where and how much.
        short: Short,
    },
    /// A build id longer than the 20 bytes it has room for.
    #[error("MMAP2 record has a build id of {size} bytes; at most 20 are possible")]
    BuildIdSize {
        /// Its size byte.
        size: u8,
    },
    /// The record would be longer than 65,535 bytes.
    #[error("a {kind} record of {size} bytes is beyond the limit of 65,535")]
    TooLong {
        /// Record type.
        kind: RecordType,
        /// Bytes that it would take.
        size: usize,
    },
}

impl<'a> SideRecord<'a> {
    /// Decodes a record's bytes after the header and WITHOUT its trailer
    /// (`SampleLayout::trailer_size` bytes at the end are the caller's to
    /// cut off).
    pub fn decode(
        _header: RecordHeader,
        _body: &'a [u8],
        _order: ByteOrder,
    ) -> Result<SideRecord<'a>, SideError> {
        todo!()
    }

    /// Appends a whole record: header (its misc is `misc`, plus the bit that
    /// a build id needs), body, then `trailer` as already encoded bytes.
    pub fn encode(
        &self,
        _misc: Misc,
        _trailer: &[u8],
        _order: ByteOrder,
        _out: &mut Vec<u8>,
    ) -> Result<(), SideError> {
        todo!()
    }

    /// The record's type.
    pub fn kind(&self) -> RecordType {
        todo!()
    }
}
