//! Where each field of a sample is, computed once per attr.
//!
//! Up to nine words come first, each at a place that the attr alone decides;
//! what follows has counts of its own and is walked in order.

mod decode;
mod encode;

use crate::attr::{Attr, AttrFlags, BranchSampleType, ReadFormat, SampleType};
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};
use crate::sideband::SampleId;
use crate::units::{Cpu, Pid, Task, Tid, Time};

/// Why an attr has no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "{field} {bits:#x} has bits that this version does not know: {unknown:#x}; \
         read this recording with a newer hardmeter"
    )]
    UnknownBits {
        /// Which mask of the attr: `sample_type`, `read_format` or
        /// `branch_sample_type`.
        field: &'static str,
        bits: u64,
        unknown: u64,
    },
    #[error("sample_type {bits:#x} asks for both WEIGHT and WEIGHT_STRUCT, which no kernel allows")]
    TwoWeights { bits: u64 },
}

/// Why a payload is no sample of this layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    #[error("sample field {field}: {short}")]
    Short { field: &'static str, short: Short },
    /// A field holds what no kernel writes there: an unknown register ABI, or
    /// a length that would put the next field off its 8-byte boundary.
    #[error("sample field {field} holds {value} at offset {offset}, which no kernel writes")]
    Value { field: &'static str, value: u64, offset: usize },
    /// More than zero padding follows the last field: the sample belongs to
    /// another attr, or holds a field that the attr does not tell.
    #[error("{count} bytes follow the last field of the sample at offset {offset}")]
    Left { offset: usize, count: usize },
}

/// Why a sample cannot be written with this layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The sample lacks a field of the layout, has one too many, or one of
    /// another shape than the attr says.
    #[error("sample field {field} does not fit the attr's sample_type")]
    Field { field: &'static str },
    #[error("a record of {size} bytes is beyond the limit of 65,535")]
    TooLong { size: usize },
}

/// The fields of one word each that come first, in the order of
/// perf_output_sample(), kernel/events/core.c (trap 31).
const PREFIX: [(SampleType, &str); 9] = [
    (SampleType::IDENTIFIER, "IDENTIFIER"),
    (SampleType::IP, "IP"),
    (SampleType::TID, "TID"),
    (SampleType::TIME, "TIME"),
    (SampleType::ADDR, "ADDR"),
    (SampleType::ID, "ID"),
    (SampleType::STREAM_ID, "STREAM_ID"),
    (SampleType::CPU, "CPU"),
    (SampleType::PERIOD, "PERIOD"),
];

const VARYING_FIELDS: SampleType = SampleType::CALLCHAIN
    .union(SampleType::RAW)
    .union(SampleType::BRANCH_STACK)
    .union(SampleType::STACK_USER)
    .union(SampleType::AUX);

/// Fields of one word after the first.
const WORD_FIELDS: SampleType = SampleType::WEIGHT
    .union(SampleType::WEIGHT_STRUCT)
    .union(SampleType::DATA_SRC)
    .union(SampleType::TRANSACTION)
    .union(SampleType::PHYS_ADDR)
    .union(SampleType::CGROUP)
    .union(SampleType::DATA_PAGE_SIZE)
    .union(SampleType::CODE_PAGE_SIZE);

/// The fields of the sample_id trailer: perf_event_header__init_id() and
/// __perf_event__output_id_sample(), kernel/events/core.c.
const TRAILER: [SampleType; 6] = [
    SampleType::TID,
    SampleType::TIME,
    SampleType::ID,
    SampleType::STREAM_ID,
    SampleType::CPU,
    SampleType::IDENTIFIER,
];

const KNOWN_SAMPLE_TYPE: u64 = (1 << 25) - 1;
const KNOWN_READ_FORMAT: u64 = (1 << 5) - 1;
const KNOWN_BRANCH: u64 = (1 << 20) - 1;

/// Place of an absent field: beyond any prefix.
const ABSENT: u8 = u8::MAX;

/// How samples and trailers of one attr are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleLayout {
    order: ByteOrder,
    fields: SampleType,
    read_format: ReadFormat,
    branch: BranchSampleType,
    regs_user: u64,
    regs_intr: u64,
    /// Offset of each field of [`PREFIX`], bytes, or [`ABSENT`].
    at: [u8; PREFIX.len()],
    prefix_size: u8,
    trailer_size: u8,
    /// Bytes of every sample, or [`VARYING`].
    size: u32,
}

/// Size of samples that have fields of no fixed length, or that cannot be
/// read.
const VARYING: u32 = u32::MAX;

impl SampleLayout {
    /// Computes the layout of an attr's records in a stream of this order.
    ///
    /// # Errors
    /// sample_type and read_format bits that are not known here; and
    /// branch_sample_type bits not known here when branches are sampled,
    /// since two of the known ones add words to the stack and a newer one may
    /// as well.
    pub fn new(attr: &Attr, order: ByteOrder) -> Result<SampleLayout, LayoutError> {
        let fields = attr.sample_type;
        known("sample_type", fields.bits(), KNOWN_SAMPLE_TYPE)?;
        known("read_format", attr.read_format.bits(), KNOWN_READ_FORMAT)?;
        if fields.contains(SampleType::BRANCH_STACK) {
            known("branch_sample_type", attr.branch_sample_type.bits(), KNOWN_BRANCH)?;
        }
        if fields.contains(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT) {
            return Err(LayoutError::TwoWeights { bits: fields.bits() });
        }
        let mut layout = SampleLayout::of_trailers(attr, order);
        layout.size = layout.fixed_size();
        Ok(layout)
    }

    /// The layout of trailers, of an attr whose samples cannot be read: no
    /// sample [`fits`](SampleLayout::fits) it. The kernel has never let a
    /// field of the trailer depend on another mask.
    pub(crate) fn of_trailers(attr: &Attr, order: ByteOrder) -> SampleLayout {
        let fields = attr.sample_type;
        let mut at = [ABSENT; PREFIX.len()];
        let mut prefix_size = 0;
        for (place, (bit, _)) in at.iter_mut().zip(PREFIX) {
            if fields.contains(bit) {
                *place = prefix_size;
                prefix_size += 8;
            }
        }
        let mut trailer_size = 0;
        if attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) {
            for _ in TRAILER.into_iter().filter(|&bit| fields.contains(bit)) {
                trailer_size += 8;
            }
        }
        SampleLayout {
            order,
            fields,
            read_format: attr.read_format,
            branch: attr.branch_sample_type,
            regs_user: attr.sample_regs_user,
            regs_intr: attr.sample_regs_intr,
            at,
            prefix_size,
            trailer_size,
            size: VARYING,
        }
    }

    /// Whether a sample's length is that of all samples of this layout, none
    /// of whose fields has a length of its own. Registers count as there:
    /// samples of tasks without any are shorter, and do not fit.
    #[inline]
    pub(crate) fn fits(&self, payload: &[u8]) -> bool {
        u32::try_from(payload.len()).is_ok_and(|size| size == self.size)
    }

    fn fixed_size(&self) -> u32 {
        if self.fields.intersects(VARYING_FIELDS)
            || self.fields.contains(SampleType::READ)
                && self.read_format.contains(ReadFormat::GROUP)
        {
            return VARYING;
        }
        let has = |bit| u32::from(self.fields.contains(bit));
        let read = has(SampleType::READ) * (1 + self.read_format.bits().count_ones());
        let user = has(SampleType::REGS_USER) * (1 + self.regs_user.count_ones());
        let interrupt = has(SampleType::REGS_INTR) * (1 + self.regs_intr.count_ones());
        let words = (self.fields & WORD_FIELDS).bits().count_ones();
        u32::from(self.prefix_size) + 8 * (read + user + interrupt + words)
    }

    /// The fields that samples hold.
    pub fn fields(&self) -> SampleType {
        self.fields
    }

    /// The byte order of the stream.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The instruction pointer alone, at its fixed place. None when the
    /// layout has none, or the payload ends before it.
    #[inline]
    pub fn peek_ip(&self, payload: &[u8]) -> Option<u64> {
        self.prefix_word(payload, 1)
    }

    /// Process and thread alone.
    #[inline]
    pub fn peek_task(&self, payload: &[u8]) -> Option<Task> {
        self.prefix_word(payload, 2).map(|word| task(word, self.order))
    }

    #[inline]
    pub fn peek_time(&self, payload: &[u8]) -> Option<Time> {
        self.prefix_word(payload, 3).map(Time)
    }

    /// The data address alone.
    #[inline]
    pub fn peek_addr(&self, payload: &[u8]) -> Option<u64> {
        self.prefix_word(payload, 4)
    }

    #[inline]
    pub fn peek_cpu(&self, payload: &[u8]) -> Option<Cpu> {
        self.prefix_word(payload, 7).map(|word| cpu(word, self.order))
    }

    #[inline]
    pub fn peek_period(&self, payload: &[u8]) -> Option<u64> {
        self.prefix_word(payload, 8)
    }

    /// The event id alone: IDENTIFIER if there, else ID.
    #[inline]
    pub fn peek_id(&self, payload: &[u8]) -> Option<u64> {
        self.prefix_word(payload, 0).or_else(|| self.prefix_word(payload, 5))
    }

    #[inline]
    fn prefix_word(&self, payload: &[u8], field: usize) -> Option<u64> {
        let at = self.at[field];
        if at == ABSENT {
            return None;
        }
        let at = usize::from(at);
        let bytes: [u8; 8] = payload.get(at..at + 8)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Bytes of the sample_id trailer on records other than SAMPLE; 0
    /// without `sample_id_all`.
    pub fn trailer_size(&self) -> usize {
        usize::from(self.trailer_size)
    }

    /// Reads the sample_id trailer from the END of a sideband record's payload
    /// (trap 31). Without `sample_id_all` every field is None.
    ///
    /// # Errors
    /// [`SampleError::Short`] when the payload is shorter than the trailer.
    pub fn trailer(&self, payload: &[u8]) -> Result<SampleId, SampleError> {
        let mut id = SampleId::default();
        let (wanted, left) = (self.trailer_size(), payload.len());
        if wanted == 0 {
            return Ok(id);
        }
        let Some(start) = left.checked_sub(wanted) else {
            let short = Short { offset: 0, wanted, left };
            return Err(SampleError::Short { field: "sample_id trailer", short });
        };
        let mut cursor = Cursor::new(&payload[start..], self.order);
        let mut next = |bit| match self.fields.contains(bit) {
            true => cursor.u64().ok(),
            false => None,
        };
        id.task = next(SampleType::TID).map(|word| task(word, self.order));
        id.time = next(SampleType::TIME).map(Time);
        id.id = next(SampleType::ID);
        id.stream_id = next(SampleType::STREAM_ID);
        id.cpu = next(SampleType::CPU).map(|word| cpu(word, self.order));
        id.identifier = next(SampleType::IDENTIFIER);
        Ok(id)
    }

    /// Appends the trailer; nothing without `sample_id_all`.
    ///
    /// # Errors
    /// [`EncodeError::Field`] when `id` lacks a field of the layout or has
    /// one too many; `out` is then as it was.
    pub fn encode_trailer(&self, id: &SampleId, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let all = self.trailer_size != 0;
        let words = [
            id.task.map(|task| task_word(task, self.order)),
            id.time.map(|time| time.0),
            id.id,
            id.stream_id,
            id.cpu.map(|cpu| cpu_word(cpu, self.order)),
            id.identifier,
        ];
        for (bit, word) in TRAILER.into_iter().zip(words) {
            if word.is_some() != (all && self.fields.contains(bit)) {
                return Err(EncodeError::Field { field: field_name(bit) });
            }
        }
        let mut writer = ByteWriter::new(out, self.order);
        words.into_iter().flatten().for_each(|word| writer.u64(word));
        Ok(())
    }
}

fn known(field: &'static str, bits: u64, known: u64) -> Result<(), LayoutError> {
    match bits & !known {
        0 => Ok(()),
        unknown => Err(LayoutError::UnknownBits { field, bits, unknown }),
    }
}

fn field_name(bit: SampleType) -> &'static str {
    PREFIX.iter().find(|(known, _)| *known == bit).map_or("sample_id trailer", |(_, name)| name)
}

/// Two 32-bit values that share a word, first in memory first.
#[inline]
fn halves(word: u64, order: ByteOrder) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    let (low, high) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    match order {
        ByteOrder::Little => (low, high),
        ByteOrder::Big => (high, low),
    }
}

fn word_of(first: u32, second: u32, order: ByteOrder) -> u64 {
    match order {
        ByteOrder::Little => u64::from(second) << 32 | u64::from(first),
        ByteOrder::Big => u64::from(first) << 32 | u64::from(second),
    }
}

#[inline]
fn task(word: u64, order: ByteOrder) -> Task {
    let (pid, tid) = halves(word, order);
    Task { pid: Pid(pid.cast_signed()), tid: Tid(tid.cast_signed()) }
}

fn task_word(task: Task, order: ByteOrder) -> u64 {
    word_of(task.pid.0.cast_unsigned(), task.tid.0.cast_unsigned(), order)
}

/// The CPU number; the other half of its word is reserved.
#[inline]
fn cpu(word: u64, order: ByteOrder) -> Cpu {
    Cpu(halves(word, order).0)
}

fn cpu_word(cpu: Cpu, order: ByteOrder) -> u64 {
    word_of(cpu.0, 0, order)
}

#[cfg(test)]
mod tests;
