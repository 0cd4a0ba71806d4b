//! `struct perf_event_attr`: the request for one event, as the kernel and
//! perf.data spell it.

mod codec;

pub use codec::AttrError;

use bitflags::bitflags;

/// `perf_event_attr.type`. Dynamic PMUs have numbers from
/// /sys/bus/event_source/devices/*/type, so any value is possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventType(pub u32);

#[allow(missing_docs, reason = "PERF_TYPE_* of perf_event_open(2)")]
impl EventType {
    pub const HARDWARE: EventType = EventType(0);
    pub const SOFTWARE: EventType = EventType(1);
    pub const TRACEPOINT: EventType = EventType(2);
    pub const HW_CACHE: EventType = EventType(3);
    pub const RAW: EventType = EventType(4);
    pub const BREAKPOINT: EventType = EventType(5);
}

bitflags! {
    /// `PERF_SAMPLE_*`: which fields a sample holds. Unknown bits are kept;
    /// [`crate::SampleLayout`] refuses them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SampleType: u64 {
        #[allow(missing_docs, reason = "named as in perf_event_open(2)")]
        const IP = 1 << 0;
        const TID = 1 << 1; const TIME = 1 << 2; const ADDR = 1 << 3; const READ = 1 << 4;
        const CALLCHAIN = 1 << 5; const ID = 1 << 6; const CPU = 1 << 7; const PERIOD = 1 << 8;
        const STREAM_ID = 1 << 9; const RAW = 1 << 10; const BRANCH_STACK = 1 << 11;
        const REGS_USER = 1 << 12; const STACK_USER = 1 << 13; const WEIGHT = 1 << 14;
        const DATA_SRC = 1 << 15; const IDENTIFIER = 1 << 16; const TRANSACTION = 1 << 17;
        const REGS_INTR = 1 << 18; const PHYS_ADDR = 1 << 19; const AUX = 1 << 20;
        const CGROUP = 1 << 21; const DATA_PAGE_SIZE = 1 << 22; const CODE_PAGE_SIZE = 1 << 23;
        const WEIGHT_STRUCT = 1 << 24;
        const _ = !0;
    }

    /// `PERF_FORMAT_*`: what read(2) and PERF_SAMPLE_READ give.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ReadFormat: u64 {
        #[allow(missing_docs, reason = "named as in perf_event_open(2)")]
        const TOTAL_TIME_ENABLED = 1 << 0;
        const TOTAL_TIME_RUNNING = 1 << 1; const ID = 1 << 2; const GROUP = 1 << 3;
        const LOST = 1 << 4;
        const _ = !0;
    }

    /// The bit field of the attr, bit 0 first. `precise_ip` (two bits) has
    /// methods of its own on [`Attr`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AttrFlags: u64 {
        #[allow(missing_docs, reason = "named as in perf_event_open(2)")]
        const DISABLED = 1 << 0;
        const INHERIT = 1 << 1; const PINNED = 1 << 2; const EXCLUSIVE = 1 << 3;
        const EXCLUDE_USER = 1 << 4; const EXCLUDE_KERNEL = 1 << 5; const EXCLUDE_HV = 1 << 6;
        const EXCLUDE_IDLE = 1 << 7; const MMAP = 1 << 8; const COMM = 1 << 9; const FREQ = 1 << 10;
        const INHERIT_STAT = 1 << 11; const ENABLE_ON_EXEC = 1 << 12; const TASK = 1 << 13;
        const WATERMARK = 1 << 14; const PRECISE_IP = 3 << 15; const MMAP_DATA = 1 << 17;
        const SAMPLE_ID_ALL = 1 << 18; const EXCLUDE_HOST = 1 << 19; const EXCLUDE_GUEST = 1 << 20;
        const EXCLUDE_CALLCHAIN_KERNEL = 1 << 21; const EXCLUDE_CALLCHAIN_USER = 1 << 22;
        const MMAP2 = 1 << 23; const COMM_EXEC = 1 << 24; const USE_CLOCKID = 1 << 25;
        const CONTEXT_SWITCH = 1 << 26; const WRITE_BACKWARD = 1 << 27; const NAMESPACES = 1 << 28;
        const KSYMBOL = 1 << 29; const BPF_EVENT = 1 << 30; const AUX_OUTPUT = 1 << 31;
        const CGROUP = 1 << 32; const TEXT_POKE = 1 << 33; const BUILD_ID = 1 << 34;
        const INHERIT_THREAD = 1 << 35; const REMOVE_ON_EXEC = 1 << 36; const SIGTRAP = 1 << 37;
        const DEFER_CALLCHAIN = 1 << 38; const DEFER_OUTPUT = 1 << 39;
        const _ = !0;
    }

    /// `PERF_SAMPLE_BRANCH_*`: which branches are recorded and how.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct BranchSampleType: u64 {
        /// Each stack starts with the index of its newest hardware entry.
        const HW_INDEX = 1 << 17;
        /// Each stack ends with a word of counters per branch.
        const COUNTERS = 1 << 19;
        const _ = !0;
    }
}

/// How often an event is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// A sample every so many events; 0 counts only.
    Period(u64),
    /// The kernel aims at so many samples a second and varies the period.
    Frequency(u64),
}

/// `struct perf_event_attr`, every published field. Fields that a shorter
/// `size` leaves out are zero. [uapi/linux/perf_event.h]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields are named as in perf_event_open(2)")]
pub struct Attr {
    pub kind: EventType,
    /// `size` as read: what the recorder's kernel knew. The encoder takes
    /// the size to write as an argument.
    pub size: u32,
    pub config: u64,
    /// `sample_period`, or `sample_freq` under [`AttrFlags::FREQ`]; see
    /// [`Attr::sampling`].
    pub sample_period: u64,
    pub sample_type: SampleType,
    pub read_format: ReadFormat,
    pub flags: AttrFlags,
    /// `wakeup_events`, or `wakeup_watermark` (bytes) under
    /// [`AttrFlags::WATERMARK`].
    pub wakeup: u32,
    pub bp_type: u32,
    /// `config1`, or the breakpoint's address.
    pub config1: u64,
    /// `config2`, or the breakpoint's length in bytes.
    pub config2: u64,
    pub branch_sample_type: BranchSampleType,
    /// One bit a register, numbered as [`crate::registers`] says.
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clockid: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub aux_sample_size: u32,
    /// Bit 0 start_paused, bit 1 pause, bit 2 resume (Linux 6.13).
    pub aux_action: u32,
    pub sig_data: u64,
    pub config3: u64,
    /// Linux 6.18 and later: `size` 144.
    pub config4: u64,
}

impl Attr {
    /// Period or frequency, as the `freq` bit says.
    pub fn sampling(&self) -> Sampling {
        if self.flags.contains(AttrFlags::FREQ) {
            Sampling::Frequency(self.sample_period)
        } else {
            Sampling::Period(self.sample_period)
        }
    }

    /// `precise_ip`, 0 to 3. What was asked for, no proof (trap 4).
    pub fn precise_ip(&self) -> u8 {
        u8::try_from((self.flags.bits() >> 15) & 3).unwrap_or(0)
    }

    /// Sets `precise_ip`; only its two low bits count.
    pub fn set_precise_ip(&mut self, level: u8) {
        let bits = self.flags.bits() & !AttrFlags::PRECISE_IP.bits();
        self.flags = AttrFlags::from_bits_retain(bits | (u64::from(level & 3) << 15));
    }
}
