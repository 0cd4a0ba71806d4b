//! A recording without the names of its machine, its users and their files,
//! and without bytes of their memory.
//!
//! What is not known to be harmless is left out. Addresses, process ids and
//! times stay: a recording without them shows nothing.

mod chains;
mod features;
mod files;
mod samples;
mod tokens;

use super::content::Content;
use anyhow::Result;
use chains::{MappedCode, cleaned};
pub(super) use features::Anonymous;
use perfdata::aggregate::AggregatePart;
use perfdata::bytes::{ByteWriter, Cursor, RecordWords};
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::{FeatureId, SampleRecord, StreamDecoder, StreamRecord, note, write};
use perfdata::{ByteOrder, CpuMode, Misc, RecordHeader, RecordType, SidebandRecord};
use samples::Memory;
use tokens::{Kind, Tokens};

/// Bytes of a thread's name, in THREAD_MAP.
const COMM: usize = 16;
/// `PERF_RECORD_KSYMBOL_TYPE_OOL`: the kernel's own names.
const OUT_OF_LINE: u16 = 2;
/// What an EVENT_UPDATE tells first: its type and the event's id.
const UPDATE_FRONT: usize = RecordHeader::SIZE + 16;
/// Type of an EVENT_UPDATE with a text of ours.
const UNIT: u64 = 0;
/// Keys that the notes of ours have, the one before and the other after.
const NOTES: [&str; 2] = ["source", "delivered"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keep {
    pub(super) build_ids: bool,
    pub(super) registers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It names nobody.
    AsItIs,
    /// [`Anonymiser::take_changed`] stands for it.
    Changed,
    LeftOut,
}

#[derive(Clone, Copy)]
struct SideFrame<'a> {
    misc: Misc,
    trailer: &'a [u8],
    order: ByteOrder,
}

#[derive(Debug)]
pub(super) struct Anonymiser {
    keep: Keep,
    tokens: Tokens,
    /// Of each event, once its first sample came.
    memory: Vec<Memory>,
    mapped: MappedCode,
    blanked: u64,
    changed: Vec<u8>,
}

impl Anonymiser {
    pub(super) fn new(keep: Keep) -> Anonymiser {
        Anonymiser {
            keep,
            tokens: Tokens::default(),
            memory: Vec::new(),
            mapped: MappedCode::default(),
            blanked: 0,
            changed: Vec::new(),
        }
    }

    /// The record that stands for the last one. To be given back, as its
    /// memory is used again.
    pub(super) fn take_changed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.changed)
    }

    pub(super) fn give_back(&mut self, changed: Vec<u8>) {
        self.changed = changed;
    }

    /// Decides about a record, whose bytes are not empty.
    pub(super) fn record(
        &mut self,
        stream: &StreamDecoder,
        record: &StreamRecord<'_>,
        bytes: &[u8],
    ) -> Verdict {
        self.changed.clear();
        match record {
            StreamRecord::Sample(sample) => self.sample(stream, *sample),
            StreamRecord::Sideband { event, misc, record, .. } => {
                let size = stream.events().get(*event).map_or(0, |it| it.layout.trailer_size());
                let trailer = &bytes[bytes.len().saturating_sub(size)..];
                self.side(record, SideFrame { misc: *misc, trailer, order: stream.order() })
            }
            StreamRecord::EventUpdate(_) => self.update(bytes, stream.order()),
            StreamRecord::Aggregate { part, .. } => self.aggregate(part, bytes, stream.order()),
            StreamRecord::Skipped(kind) => self.skipped(*kind, bytes, stream.order()),
            StreamRecord::Feature
            | StreamRecord::Event(_)
            | StreamRecord::FinishedRound
            | StreamRecord::FinishedInit => Verdict::AsItIs,
            _ => Verdict::LeftOut,
        }
    }

    pub(super) fn feature(
        &mut self,
        id: FeatureId,
        content: &Content,
        order: ByteOrder,
    ) -> Result<Anonymous> {
        if id == FeatureId::BUILD_ID && self.keep.build_ids {
            let ids = features::build_ids(&content.to_bytes()?, order, &mut self.tokens);
            return Ok(ids.map_or(Anonymous::LeftOut, Anonymous::Bytes));
        }
        Ok(features::feature(id, order))
    }

    pub(super) fn told(&self) -> String {
        let mut replaced = self.tokens.counts();
        replaced.push("the host name".to_owned());
        let blanked = match self.blanked {
            0 => String::new(),
            count => format!("; taken out of {count} samples: what was in memory"),
        };
        let kept = match (self.keep.build_ids, self.keep.registers) {
            (true, true) => "build ids, register values, ",
            (true, false) => "build ids, ",
            (false, true) => "register values, ",
            (false, false) => "",
        };
        format!(
            "; replaced: {}{blanked}. Still there: {kept}names of events \
             and of the kernel, addresses, process ids, times, kernel release, \
             CPU model",
            replaced.join(", ")
        )
    }

    fn sample(&mut self, stream: &StreamDecoder, record: SampleRecord<'_>) -> Verdict {
        let Some(event) = record.description(stream) else { return Verdict::LeftOut };
        while let Some(event) = stream.events().get(self.memory.len()) {
            self.memory.push(Memory::of(event, stream.features(), self.keep));
        }
        let memory = self.memory[record.event];
        if !memory.is_any() {
            return Verdict::AsItIs;
        }
        let Some(sample) = record.decode(stream) else { return Verdict::LeftOut };
        let blanked = samples::blank(memory, event, sample, &self.mapped, &mut self.changed);
        self.blanked += u64::from(blanked == Some(true));
        match blanked {
            Some(true) => Verdict::Changed,
            Some(false) => Verdict::AsItIs,
            None => Verdict::LeftOut,
        }
    }

    fn side(&mut self, record: &SidebandRecord<'_>, frame: SideFrame<'_>) -> Verdict {
        let name = match record {
            SidebandRecord::Mmap(mapping) | SidebandRecord::Mmap2(mapping) => {
                return self.mapping(record.kind(), mapping, frame);
            }
            SidebandRecord::CallchainDeferred { cookie, chain } => {
                return self.deferred(*cookie, *chain, frame);
            }
            SidebandRecord::Comm { name, .. } => self.tokens.token(Kind::Thread, name),
            SidebandRecord::Cgroup { path, .. } => self.tokens.token(Kind::Cgroup, path),
            SidebandRecord::Ksymbol { kind, name, .. } if *kind != OUT_OF_LINE => {
                self.tokens.token(Kind::Program, name)
            }
            SidebandRecord::BpfEvent { .. } => Vec::new(),
            SidebandRecord::Unknown { .. } => return Verdict::LeftOut,
            _ => return Verdict::AsItIs,
        };
        let changed = match *record {
            SidebandRecord::Comm { task, .. } => SidebandRecord::Comm { task, name: &name },
            SidebandRecord::Cgroup { id, .. } => SidebandRecord::Cgroup { id, path: &name },
            SidebandRecord::Ksymbol { address, length, kind, flags, .. } => {
                SidebandRecord::Ksymbol { address, length, kind, flags, name: &name }
            }
            SidebandRecord::BpfEvent { kind, flags, id, .. } => {
                SidebandRecord::BpfEvent { kind, flags, id, tag: [0; 8] }
            }
            _ => return Verdict::LeftOut,
        };
        self.put(&changed, frame)
    }

    /// Callers of the program's are cleaned as those of samples.
    fn deferred(&mut self, cookie: u64, chain: RecordWords<'_>, frame: SideFrame<'_>) -> Verdict {
        let mut callers = Vec::new();
        let replaced = chains::clean(chain, &self.mapped, &mut callers);
        self.blanked += u64::from(replaced > 0);
        let chain = RecordWords::new(&callers, chain.order());
        self.put(&SidebandRecord::CallchainDeferred { cookie, chain }, frame)
    }

    fn mapping(
        &mut self,
        kind: RecordType,
        mapping: &Mapping<'_>,
        frame: SideFrame<'_>,
    ) -> Verdict {
        let misc = frame.misc;
        if misc.cpu_mode() == CpuMode::User && !misc.contains(Misc::MMAP_DATA) {
            self.mapped.add(mapping);
        }
        let replaced = files::replaced(mapping.path, &mut self.tokens);
        let number = replaced.as_ref().map_or(0, |(number, _)| *number);
        let path = replaced.map_or_else(|| mapping.path.to_owned(), |(_, path)| path);
        let inode = FileIdentity::Inode { major: 0, minor: 0, inode: number, generation: 0 };
        let (file, misc) = match mapping.file {
            FileIdentity::BuildId(_) if !self.keep.build_ids => {
                (inode, Misc(misc.0 & !Misc::MMAP_BUILD_ID.0))
            }
            FileIdentity::Inode { .. } => (inode, misc),
            file => (file, misc),
        };
        let mapping = Mapping { file, path: &path, ..*mapping };
        let changed = match kind {
            RecordType::MMAP => SidebandRecord::Mmap(mapping),
            // Of RHEL 7's only the path is known.
            _ => SidebandRecord::Mmap2(Mapping {
                protection: mapping.protection.or(Some(0)),
                flags: mapping.flags.or(Some(0)),
                ..mapping
            }),
        };
        self.put(&changed, SideFrame { misc, ..frame })
    }

    fn put(&mut self, record: &SidebandRecord<'_>, frame: SideFrame<'_>) -> Verdict {
        let SideFrame { misc, trailer, order } = frame;
        match record.encode(misc, trailer, order, &mut self.changed) {
            Ok(()) => Verdict::Changed,
            Err(_) => Verdict::LeftOut,
        }
    }

    /// Names, units and CPUs of events stay, and our notes: programs wrote them.
    fn update(&mut self, bytes: &[u8], order: ByteOrder) -> Verdict {
        let kind = Cursor::new(&bytes[RecordHeader::SIZE..], order).u64();
        let text = bytes.get(UPDATE_FRONT..).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches('\0');
        let is_ours = || NOTES.iter().any(|key| note::value(text, key).is_some());
        match kind == Ok(UNIT) && note::is_note(text) && !is_ours() {
            true => Verdict::LeftOut,
            false => Verdict::AsItIs,
        }
    }

    /// Registers may hold what was in memory, and so may callers: of sites, too.
    fn aggregate(&mut self, part: &AggregatePart, bytes: &[u8], order: ByteOrder) -> Verdict {
        let id = Cursor::new(&bytes[UPDATE_FRONT - 8..], order).u64();
        let mut part = part.clone();
        let mut is_changed = false;
        for site in &mut part.sites {
            let has_registers = !self.keep.registers && !site.registers.is_empty();
            if has_registers {
                site.registers.clear();
                site.taken.iter_mut().for_each(|hit| hit.registers.clear());
            }
            let chain = site.chain.as_deref().unwrap_or_default();
            let callers: Vec<u64> = cleaned(chain.iter().copied(), &self.mapped).collect();
            let has_memory = callers != chain;
            if has_memory {
                site.chain = Some(callers.into());
            }
            if has_registers || has_memory {
                self.blanked = self.blanked.saturating_add(site.count);
                is_changed = true;
            }
        }
        if !is_changed {
            return Verdict::AsItIs;
        }
        let written =
            id.ok().and_then(|id| write::aggregate_part(id, &part, order, &mut self.changed).ok());
        match written {
            Some(()) => Verdict::Changed,
            None => Verdict::LeftOut,
        }
    }

    fn skipped(&mut self, kind: RecordType, bytes: &[u8], order: ByteOrder) -> Verdict {
        match kind {
            RecordType::THREAD_MAP => self.thread_map(bytes, order),
            RecordType::ID_INDEX
            | RecordType::TIME_CONV
            | RecordType::CPU_MAP
            | RecordType::HEADER_EVENT_TYPE
            | RecordType::HEADER_FEATURE
            | RecordType::HEADER_TRACING_DATA => Verdict::AsItIs,
            _ => Verdict::LeftOut,
        }
    }

    /// Threads that were recorded: how many, then of each its id and name.
    fn thread_map(&mut self, bytes: &[u8], order: ByteOrder) -> Verdict {
        let (front, threads) = bytes.split_at(bytes.len().min(RecordHeader::SIZE + 8));
        self.changed.extend_from_slice(front);
        for thread in threads.chunks_exact(8 + COMM) {
            let (id, name) = thread.split_at(8);
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(COMM);
            let mut token = match end {
                0 => Vec::new(),
                end => self.tokens.token(Kind::Thread, &name[..end]),
            };
            token.resize(COMM, 0);
            let mut w = ByteWriter::new(&mut self.changed, order);
            w.raw(id);
            w.raw(&token);
        }
        match self.changed.len() == bytes.len() {
            true => Verdict::Changed,
            false => Verdict::LeftOut,
        }
    }
}
