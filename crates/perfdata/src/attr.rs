//! `struct perf_event_attr`: the request for one event, as the kernel and
//! perf.data spell it.

mod codec;
mod masks;

pub use codec::AttrError;
pub use masks::{AttrFlags, BranchSampleType, ReadFormat, SampleType};

/// `perf_event_attr.type`. Dynamic PMUs have numbers from
/// /sys/bus/event_source/devices/*/type, so any value is possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventType(pub u32);

impl EventType {
    pub const HARDWARE: EventType = EventType(0);
    pub const SOFTWARE: EventType = EventType(1);
    pub const TRACEPOINT: EventType = EventType(2);
    pub const HW_CACHE: EventType = EventType(3);
    pub const RAW: EventType = EventType(4);
    pub const BREAKPOINT: EventType = EventType(5);
}

/// How often an event is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SamplingRate {
    /// A sample every so many events; 0 counts only.
    Period(u64),
    /// The kernel aims at so many samples a second and varies the period.
    Frequency(u64),
}

/// `struct perf_event_attr`, every published field. Fields that a shorter
/// `size` leaves out are zero. [uapi/linux/perf_event.h]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
    pub fn sampling(&self) -> SamplingRate {
        if self.flags.contains(AttrFlags::FREQ) {
            SamplingRate::Frequency(self.sample_period)
        } else {
            SamplingRate::Period(self.sample_period)
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
