//! Every record that is not a sample: mappings, names, births and deaths,
//! losses. A file per family of kinds; layouts are those of
//! perf_event_open(2) and kernel/events/core.c.

mod chain;
mod error;
mod fields;
mod kernel;
mod loss;
mod mapping;
mod task;
mod trace;

#[cfg(test)]
mod identity;

pub use error::SideError;
pub use mapping::{FileIdentity, Mapping};
pub use task::NamespaceLink;

use crate::bytes::{ByteOrder, ByteWriter, RecordWords};
use crate::header::{Misc, RecordHeader, RecordType};
use crate::units::{Cpu, Pid, Task, Tid, Time};
use fields::Fields;

/// A side record's body, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in perf_event_open(2)")]
pub enum SideRecord<'a> {
    Mmap(Mapping<'a>),
    Mmap2(Mapping<'a>),
    Comm {
        task: Task,
        name: &'a [u8],
    },
    Fork {
        task: Task,
        parent: Task,
        time: Time,
    },
    Exit {
        task: Task,
        parent: Task,
        time: Time,
    },
    /// The ring was full: `lost` records of event `id` (trap 26).
    Lost {
        id: u64,
        lost: u64,
    },
    LostSamples {
        lost: u64,
    },
    Throttle {
        time: Time,
        id: u64,
        stream_id: u64,
    },
    Unthrottle {
        time: Time,
        id: u64,
        stream_id: u64,
    },
    Read {
        task: Task,
        values: &'a [u8],
    },
    Switch,
    SwitchCpuWide {
        next_prev_pid: Pid,
        next_prev_tid: Tid,
    },
    Namespaces {
        task: Task,
        links: Vec<NamespaceLink>,
    },
    Ksymbol {
        address: u64,
        length: u32,
        kind: u16,
        flags: u16,
        name: &'a [u8],
    },
    BpfEvent {
        kind: u16,
        flags: u16,
        id: u32,
        tag: [u8; 8],
    },
    Cgroup {
        id: u64,
        path: &'a [u8],
    },
    TextPoke {
        address: u64,
        old: &'a [u8],
        new: &'a [u8],
    },
    Aux {
        offset: u64,
        size: u64,
        flags: u64,
    },
    ItraceStart {
        task: Task,
    },
    AuxOutputHwId {
        hw_id: u64,
    },
    /// User space's part of the chains of samples that have the cookie, of the
    /// thread that the trailer names.
    CallchainDeferred {
        cookie: u64,
        /// As in a sample, contexts and all.
        chain: RecordWords<'a>,
    },
    /// A type this version does not decode: skipped by size, body kept.
    Unknown {
        kind: RecordType,
        body: &'a [u8],
    },
}

impl<'a> SideRecord<'a> {
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
    ) -> Result<SideRecord<'a>, SideError> {
        let mut fields = Fields::new(header.kind, body, order);
        match header.kind {
            RecordType::MMAP => Mapping::decode_mmap(&mut fields).map(SideRecord::Mmap),
            RecordType::MMAP2 => {
                Mapping::decode_mmap2(&mut fields, header.misc).map(SideRecord::Mmap2)
            }
            RecordType::COMM => task::comm(&mut fields),
            RecordType::FORK | RecordType::EXIT => task::birth_or_death(&mut fields),
            RecordType::SWITCH => Ok(SideRecord::Switch),
            RecordType::SWITCH_CPU_WIDE => task::switch_cpu_wide(&mut fields),
            RecordType::NAMESPACES => task::namespaces(&mut fields),
            RecordType::LOST => loss::lost(&mut fields),
            RecordType::LOST_SAMPLES => loss::lost_samples(&mut fields),
            RecordType::THROTTLE | RecordType::UNTHROTTLE => loss::throttle(&mut fields),
            RecordType::READ => loss::read(&mut fields),
            RecordType::KSYMBOL => kernel::ksymbol(&mut fields),
            RecordType::BPF_EVENT => kernel::bpf_event(&mut fields),
            RecordType::CGROUP => kernel::cgroup(&mut fields),
            RecordType::TEXT_POKE => kernel::text_poke(&mut fields),
            RecordType::AUX => trace::aux(&mut fields),
            RecordType::ITRACE_START => trace::itrace_start(&mut fields),
            RecordType::AUX_OUTPUT_HW_ID => trace::aux_output_hw_id(&mut fields),
            RecordType::CALLCHAIN_DEFERRED => chain::deferred(&mut fields),
            kind => Ok(SideRecord::Unknown { kind, body }),
        }
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
    ) -> Result<(), SideError> {
        let start = out.len();
        let done = self.append(misc, trailer, order, out);
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    fn append(
        &self,
        misc: Misc,
        trailer: &[u8],
        order: ByteOrder,
        out: &mut Vec<u8>,
    ) -> Result<(), SideError> {
        let start = out.len();
        let misc = match self {
            SideRecord::Mmap2(mapping) => mapping.misc(misc),
            _ => misc,
        };
        let mut header = RecordHeader { kind: self.kind(), misc, size: 0 };
        header.encode(&mut ByteWriter::new(out, order));
        self.encode_body(&mut ByteWriter::new(out, order))?;
        out.extend_from_slice(trailer);
        let size = out.len() - start;
        header.size =
            u16::try_from(size).map_err(|_| SideError::TooLong { kind: self.kind(), size })?;
        let mut finished = Vec::with_capacity(RecordHeader::SIZE);
        header.encode(&mut ByteWriter::new(&mut finished, order));
        out[start..start + RecordHeader::SIZE].copy_from_slice(&finished);
        Ok(())
    }

    fn encode_body(&self, w: &mut ByteWriter<'_>) -> Result<(), SideError> {
        match self {
            SideRecord::Mmap(mapping) => mapping.encode_mmap(w)?,
            SideRecord::Mmap2(mapping) => mapping.encode_mmap2(w)?,
            SideRecord::Comm { task, name } => task::encode_comm(w, *task, name)?,
            SideRecord::Fork { task, parent, time } | SideRecord::Exit { task, parent, time } => {
                task::encode_birth_or_death(w, *task, *parent, *time);
            }
            SideRecord::Switch => {}
            SideRecord::SwitchCpuWide { next_prev_pid, next_prev_tid } => {
                fields::put_task(w, Task { pid: *next_prev_pid, tid: *next_prev_tid });
            }
            SideRecord::Namespaces { task, links } => task::encode_namespaces(w, *task, links),
            SideRecord::Lost { id, lost } => fields::put_words(w, &[*id, *lost]),
            SideRecord::LostSamples { lost } => w.u64(*lost),
            SideRecord::Throttle { time, id, stream_id }
            | SideRecord::Unthrottle { time, id, stream_id } => {
                fields::put_words(w, &[time.0, *id, *stream_id]);
            }
            SideRecord::Read { task, values } => {
                fields::put_task(w, *task);
                w.raw(values);
            }
            SideRecord::Ksymbol { .. }
            | SideRecord::BpfEvent { .. }
            | SideRecord::Cgroup { .. }
            | SideRecord::TextPoke { .. } => kernel::encode(self, w)?,
            SideRecord::Aux { offset, size, flags } => {
                fields::put_words(w, &[*offset, *size, *flags]);
            }
            SideRecord::ItraceStart { task } => fields::put_task(w, *task),
            SideRecord::AuxOutputHwId { hw_id } => w.u64(*hw_id),
            SideRecord::CallchainDeferred { cookie, chain } => chain::encode(w, *cookie, *chain),
            SideRecord::Unknown { body, .. } => w.raw(body),
        }
        Ok(())
    }

    /// The record's type.
    pub fn kind(&self) -> RecordType {
        match self {
            SideRecord::Mmap(_) => RecordType::MMAP,
            SideRecord::Mmap2(_) => RecordType::MMAP2,
            SideRecord::Comm { .. } => RecordType::COMM,
            SideRecord::Fork { .. } => RecordType::FORK,
            SideRecord::Exit { .. } => RecordType::EXIT,
            SideRecord::Lost { .. } => RecordType::LOST,
            SideRecord::LostSamples { .. } => RecordType::LOST_SAMPLES,
            SideRecord::Throttle { .. } => RecordType::THROTTLE,
            SideRecord::Unthrottle { .. } => RecordType::UNTHROTTLE,
            SideRecord::Read { .. } => RecordType::READ,
            SideRecord::Switch => RecordType::SWITCH,
            SideRecord::SwitchCpuWide { .. } => RecordType::SWITCH_CPU_WIDE,
            SideRecord::Namespaces { .. } => RecordType::NAMESPACES,
            SideRecord::Ksymbol { .. } => RecordType::KSYMBOL,
            SideRecord::BpfEvent { .. } => RecordType::BPF_EVENT,
            SideRecord::Cgroup { .. } => RecordType::CGROUP,
            SideRecord::TextPoke { .. } => RecordType::TEXT_POKE,
            SideRecord::Aux { .. } => RecordType::AUX,
            SideRecord::ItraceStart { .. } => RecordType::ITRACE_START,
            SideRecord::AuxOutputHwId { .. } => RecordType::AUX_OUTPUT_HW_ID,
            SideRecord::CallchainDeferred { .. } => RecordType::CALLCHAIN_DEFERRED,
            SideRecord::Unknown { kind, .. } => *kind,
        }
    }
}

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
