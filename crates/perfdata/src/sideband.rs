//! Every record that is not a sample: mappings, names, births and deaths,
//! losses. Layouts are those of perf_event_open(2) and kernel/events/core.c.

mod error;
mod fields;
mod mapping;

#[cfg(test)]
mod identity;
#[cfg(test)]
mod tests;

pub use error::SidebandError;
pub use mapping::{FileIdentity, Mapping};

use crate::bytes::{ByteOrder, ByteWriter, RecordWords};
use crate::header::{Misc, RecordHeader, RecordType};
use crate::units::{Cpu, Pid, Task, Tid, Time};
use fields::{Fields, SidebandField, lineage, put_lineage, put_task};

/// One namespace of PERF_RECORD_NAMESPACES: net, uts, ipc, pid, user, mnt,
/// cgroup in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceLink {
    /// Device number of nsfs.
    pub device: u64,
    /// Inode number: the namespace's identity.
    pub inode: u64,
}

/// From one list: the records, their types, and how they are read and written.
///
/// The second part has the records whose bytes are not simply one field after
/// the other.
macro_rules! sideband_records {
    (
        listed {
            $($(#[$doc:meta])* $kind:ident =
                $variant:ident { $($field:ident: $type:ty = $name:literal),* };)*
        }
        by_hand {
            $($(#[$hand_doc:meta])* $hand_kind:ident = $hand:ident
                $(($tuple:ty))? $({ $($hand_field:ident: $hand_type:ty),* })?;)*
        }
    ) => {
        /// A sideband record's body, decoded.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum SidebandRecord<'a> {
            $($(#[$doc])* $variant { $($field: $type),* },)*
            $($(#[$hand_doc])* $hand $(($tuple))? $({ $($hand_field: $hand_type),* })?,)*
            /// A type this version does not decode: skipped by size, body kept.
            Unknown { kind: RecordType, body: &'a [u8] },
        }

        impl<'a> SidebandRecord<'a> {
            /// The record's type.
            pub fn kind(&self) -> RecordType {
                match self {
                    $(SidebandRecord::$variant { .. } => RecordType::$kind,)*
                    $(SidebandRecord::$hand { .. } => RecordType::$hand_kind,)*
                    SidebandRecord::Unknown { kind, .. } => *kind,
                }
            }

            /// None for the types that are read by hand.
            fn decode_listed(fields: &mut Fields<'a>) -> Option<Result<SidebandRecord<'a>, SidebandError>> {
                let read = match fields.kind {
                    $(RecordType::$kind => |fields: &mut Fields<'a>| {
                        Ok(SidebandRecord::$variant { $($field: fields.get($name)?),* })
                    },)*
                    _ => return None,
                };
                Some(read(fields))
            }

            fn encode_listed(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
                match self {
                    $(SidebandRecord::$variant { $($field),* } => {
                        $($field.encode(w)?;)*
                    })*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

sideband_records! {
    listed {
        COMM = Comm { task: Task = "pid", name: &'a [u8] = "comm" };
        /// The ring was full: `lost` records of event `id` (trap 26).
        LOST = Lost { id: u64 = "id", lost: u64 = "lost" };
        LOST_SAMPLES = LostSamples { lost: u64 = "lost" };
        THROTTLE = Throttle { time: Time = "time", id: u64 = "id", stream_id: u64 = "stream_id" };
        UNTHROTTLE = Unthrottle {
            time: Time = "time",
            id: u64 = "id",
            stream_id: u64 = "stream_id"
        };
        SWITCH_CPU_WIDE = SwitchCpuWide {
            next_prev_pid: Pid = "next_prev_pid",
            next_prev_tid: Tid = "next_prev_tid"
        };
        NAMESPACES = Namespaces { task: Task = "pid", links: Vec<NamespaceLink> = "nr_namespaces" };
        KSYMBOL = Ksymbol {
            address: u64 = "addr",
            length: u32 = "len",
            kind: u16 = "ksym_type",
            flags: u16 = "flags",
            name: &'a [u8] = "name"
        };
        BPF_EVENT = BpfEvent {
            kind: u16 = "type",
            flags: u16 = "flags",
            id: u32 = "id",
            tag: [u8; 8] = "tag"
        };
        CGROUP = Cgroup { id: u64 = "id", path: &'a [u8] = "path" };
        AUX = Aux { offset: u64 = "aux_offset", size: u64 = "aux_size", flags: u64 = "flags" };
        ITRACE_START = ItraceStart { task: Task = "pid" };
        AUX_OUTPUT_HW_ID = AuxOutputHwId { hw_id: u64 = "hw_id" };
        /// User space's part of the chains of samples that have the cookie, of the
        /// thread that the trailer names (Linux 6.18). The chain is as in a
        /// sample, contexts and all.
        CALLCHAIN_DEFERRED = CallchainDeferred {
            cookie: u64 = "cookie",
            chain: RecordWords<'a> = "ips"
        };
    }
    by_hand {
        MMAP = Mmap(Mapping<'a>);
        MMAP2 = Mmap2(Mapping<'a>);
        FORK = Fork { task: Task, parent: Task, time: Time };
        EXIT = Exit { task: Task, parent: Task, time: Time };
        /// The values' layout depends on the attr's read_format: they stay bytes.
        READ = Read { task: Task, values: &'a [u8] };
        SWITCH = Switch;
        TEXT_POKE = TextPoke { address: u64, old: &'a [u8], new: &'a [u8] };
    }
}

impl<'a> SidebandRecord<'a> {
    /// Decodes a record's bytes after the header and WITHOUT its trailer
    /// (`SampleLayout::trailer_size` bytes at the end are the caller's to
    /// cut off). Bytes after the last field are padding and are not looked
    /// at: kernels may add fields there.
    ///
    /// # Errors
    /// A field that the body is too short for, or a build id that is too
    /// long.
    pub fn decode(
        header: RecordHeader,
        body: &'a [u8],
        order: ByteOrder,
    ) -> Result<SidebandRecord<'a>, SidebandError> {
        let mut fields = Fields::new(header.kind, body, order);
        Ok(match header.kind {
            RecordType::MMAP => SidebandRecord::Mmap(Mapping::decode_mmap(&mut fields)?),
            RecordType::MMAP2 => {
                SidebandRecord::Mmap2(Mapping::decode_mmap2(&mut fields, header.misc)?)
            }
            RecordType::FORK => {
                let (task, parent, time) = lineage(&mut fields)?;
                SidebandRecord::Fork { task, parent, time }
            }
            RecordType::EXIT => {
                let (task, parent, time) = lineage(&mut fields)?;
                SidebandRecord::Exit { task, parent, time }
            }
            RecordType::READ => {
                SidebandRecord::Read { task: fields.get("pid")?, values: fields.rest() }
            }
            RecordType::SWITCH => SidebandRecord::Switch,
            RecordType::TEXT_POKE => {
                let address = fields.get("addr")?;
                let (old, new): (u16, u16) = (fields.get("old_len")?, fields.get("new_len")?);
                let old = fields.bytes("old bytes", old.into())?;
                SidebandRecord::TextPoke {
                    address,
                    old,
                    new: fields.bytes("new bytes", new.into())?,
                }
            }
            kind => SidebandRecord::decode_listed(&mut fields)
                .unwrap_or(Ok(SidebandRecord::Unknown { kind, body }))?,
        })
    }

    /// Appends a whole record: header (its misc is `misc`, with
    /// [`Misc::MMAP_BUILD_ID`] as an MMAP2 needs it), body, then `trailer` as
    /// already encoded bytes.
    ///
    /// # Errors
    /// A record beyond 65,535 bytes, or a field that the type has no place
    /// for. `out` is as before then.
    pub fn encode(
        &self,
        misc: Misc,
        trailer: &[u8],
        order: ByteOrder,
        out: &mut Vec<u8>,
    ) -> Result<(), SidebandError> {
        let kind = self.kind();
        let misc = match self {
            SidebandRecord::Mmap2(mapping) => mapping.misc(misc),
            _ => misc,
        };
        let mut body = Vec::new();
        self.encode_body(&mut ByteWriter::new(&mut body, order))?;
        let size = RecordHeader::SIZE + body.len() + trailer.len();
        let size = u16::try_from(size).map_err(|_| SidebandError::TooLong { kind, size })?;
        RecordHeader { kind, misc, size }.encode(&mut ByteWriter::new(out, order));
        out.extend_from_slice(&body);
        out.extend_from_slice(trailer);
        Ok(())
    }

    fn encode_body(&self, w: &mut ByteWriter<'_>) -> Result<(), SidebandError> {
        let kind = self.kind();
        let written = match *self {
            SidebandRecord::Mmap(mapping) => mapping.encode_mmap(w),
            SidebandRecord::Mmap2(mapping) => mapping.encode_mmap2(w),
            SidebandRecord::Fork { task, parent, time }
            | SidebandRecord::Exit { task, parent, time } => {
                put_lineage(w, task, parent, time);
                Ok(())
            }
            SidebandRecord::Read { task, values } => {
                put_task(w, task);
                w.raw(values);
                Ok(())
            }
            SidebandRecord::TextPoke { address, old, new } => {
                let start = w.len();
                w.u64(address);
                for text in [old, new] {
                    let too_long = |_| SidebandError::TooLong { kind, size: text.len() };
                    w.u16(u16::try_from(text.len()).map_err(too_long)?);
                }
                w.raw(old);
                w.raw(new);
                w.pad(start, 8);
                Ok(())
            }
            SidebandRecord::Unknown { body, .. } => {
                w.raw(body);
                Ok(())
            }
            _ => self.encode_listed(w),
        };
        written.map_err(|problem| SidebandError::Unencodable { kind, problem })
    }
}

/// The trailer of sideband records under `sample_id_all`; fields as the attr's
/// sample_type says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleId {
    /// Thread that the record is about, or was made by.
    pub task: Option<Task>,
    pub time: Option<Time>,
    pub id: Option<u64>,
    /// Event id, children told apart.
    pub stream_id: Option<u64>,
    pub cpu: Option<Cpu>,
    /// Event id, last.
    pub identifier: Option<u64>,
}
