//! The eight bytes before every record: type, misc, size.

use crate::bytes::{ByteWriter, Cursor, Short};
use std::fmt;

/// `perf_event_header.type`; unknown values survive and print as numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(pub u32);

macro_rules! record_types {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl RecordType {
            $($(#[$doc])* pub const $name: RecordType = RecordType($value);)*

            /// The name after PERF_RECORD_, when this type is known.
            pub fn name(self) -> Option<&'static str> {
                match self.0 { $($value => Some(stringify!($name)),)* _ => None }
            }
        }
    };
}

record_types! {
    MMAP = 1; LOST = 2; COMM = 3; EXIT = 4; THROTTLE = 5; UNTHROTTLE = 6; FORK = 7; READ = 8;
    SAMPLE = 9; MMAP2 = 10; AUX = 11; ITRACE_START = 12; LOST_SAMPLES = 13; SWITCH = 14;
    SWITCH_CPU_WIDE = 15; NAMESPACES = 16; KSYMBOL = 17; BPF_EVENT = 18; CGROUP = 19;
    TEXT_POKE = 20; AUX_OUTPUT_HW_ID = 21; CALLCHAIN_DEFERRED = 22;
    HEADER_ATTR = 64; HEADER_EVENT_TYPE = 65; HEADER_TRACING_DATA = 66; HEADER_BUILD_ID = 67;
    FINISHED_ROUND = 68; ID_INDEX = 69; AUXTRACE_INFO = 70; AUXTRACE = 71; AUXTRACE_ERROR = 72;
    THREAD_MAP = 73; CPU_MAP = 74; STAT_CONFIG = 75; STAT = 76; STAT_ROUND = 77;
    EVENT_UPDATE = 78; TIME_CONV = 79; HEADER_FEATURE = 80; COMPRESSED = 81;
    FINISHED_INIT = 82; COMPRESSED2 = 83;
}

impl RecordType {
    /// Bytes of an AUXTRACE record (`struct perf_record_auxtrace`,
    /// tools/lib/perf/include/perf/event.h), without the trace behind it.
    const AUXTRACE_SIZE: usize = 48;

    /// Whether a record of this type and size, header included, announces a
    /// trace that follows it outside its size. AUXTRACE records of other sizes
    /// do not: some recorders use the number for records of their own.
    pub fn announces_trace(self, size: usize) -> bool {
        self == RecordType::AUXTRACE && size == RecordType::AUXTRACE_SIZE
    }
}

impl fmt::Debug for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "record type {}", self.0),
        }
    }
}

/// `perf_event_header.misc`: the privilege level, and bits whose meaning
/// depends on the record type (trap 33).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Misc(pub u16);

impl Misc {
    /// On MMAP: the mapping is not executable.
    pub const MMAP_DATA: Misc = Misc(1 << 13);
    /// On COMM: the name changed by exec.
    pub const COMM_EXEC: Misc = Misc(1 << 13);
    /// On FORK as perf writes it: the child is about to exec.
    pub const FORK_EXEC: Misc = Misc(1 << 13);
    /// On SWITCH: the task leaves the CPU.
    pub const SWITCH_OUT: Misc = Misc(1 << 13);
    /// On SAMPLE: the IP is the instruction that caused the event. The only
    /// proof of precision (trap 4).
    pub const EXACT_IP: Misc = Misc(1 << 14);
    /// On SWITCH: the task was preempted.
    pub const SWITCH_OUT_PREEMPT: Misc = Misc(1 << 14);
    /// On MMAP2: the union holds a build id.
    pub const MMAP_BUILD_ID: Misc = Misc(1 << 14);
    /// On LOST_SAMPLES as perf writes it: dropped by a BPF filter.
    pub const LOST_SAMPLES_BPF: Misc = Misc(1 << 15);

    /// Whether every bit of `bits` is set.
    pub fn contains(self, bits: Misc) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The privilege level the record was taken at.
    pub fn cpu_mode(self) -> CpuMode {
        CpuMode::from_bits(self.0 & 7)
    }
}

/// Privilege level of a record: `misc & 7`. Trust this, never the attr's
/// exclude bits (trap 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuMode {
    /// 0, or a value no kernel writes.
    Unknown,
    /// 1.
    Kernel,
    /// 2.
    User,
    /// 3.
    Hypervisor,
    /// 4.
    GuestKernel,
    /// 5.
    GuestUser,
}

impl CpuMode {
    /// The bits of misc that say so.
    pub fn bits(self) -> u16 {
        match self {
            CpuMode::Unknown => 0,
            CpuMode::Kernel => 1,
            CpuMode::User => 2,
            CpuMode::Hypervisor => 3,
            CpuMode::GuestKernel => 4,
            CpuMode::GuestUser => 5,
        }
    }

    /// From the low three bits of misc.
    pub fn from_bits(bits: u16) -> CpuMode {
        match bits {
            1 => CpuMode::Kernel,
            2 => CpuMode::User,
            3 => CpuMode::Hypervisor,
            4 => CpuMode::GuestKernel,
            5 => CpuMode::GuestUser,
            _ => CpuMode::Unknown,
        }
    }
}

/// What an EVENT_UPDATE tells: `PERF_EVENT_UPDATE__*`.
/// [tools/lib/perf/include/perf/event.h]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateKind(pub(crate) u64);

impl UpdateKind {
    pub(crate) const UNIT: UpdateKind = UpdateKind(0);
    pub(crate) const SCALE: UpdateKind = UpdateKind(1);
    pub(crate) const NAME: UpdateKind = UpdateKind(2);
    pub(crate) const CPUS: UpdateKind = UpdateKind(3);
}

/// `struct perf_event_header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    pub kind: RecordType,
    /// Privilege level and per-type bits.
    pub misc: Misc,
    /// Bytes of the record, this header included; 8 to 65,535.
    pub size: u16,
}

impl RecordHeader {
    /// Bytes that a header takes.
    pub const SIZE: usize = 8;

    /// Reads a header; says nothing about whether `size` is sensible.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<RecordHeader, Short> {
        let kind = RecordType(cursor.u32()?);
        Ok(RecordHeader { kind, misc: Misc(cursor.u16()?), size: cursor.u16()? })
    }

    /// Appends the header.
    pub fn encode(&self, writer: &mut ByteWriter<'_>) {
        writer.u32(self.kind.0);
        writer.u16(self.misc.0);
        writer.u16(self.size);
    }
}
