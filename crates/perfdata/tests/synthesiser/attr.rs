//! `struct perf_event_attr` (include/uapi/linux/perf_event.h).

use super::bytes::Bytes;

/// Bits of sample_type.
pub(crate) const IP: u64 = 1;
pub(crate) const TID: u64 = 1 << 1;
pub(crate) const TIME: u64 = 1 << 2;
pub(crate) const ADDR: u64 = 1 << 3;
pub(crate) const READ: u64 = 1 << 4;
pub(crate) const CALLCHAIN: u64 = 1 << 5;
pub(crate) const ID: u64 = 1 << 6;
pub(crate) const CPU: u64 = 1 << 7;
pub(crate) const PERIOD: u64 = 1 << 8;
pub(crate) const STREAM_ID: u64 = 1 << 9;
pub(crate) const RAW: u64 = 1 << 10;
pub(crate) const BRANCH_STACK: u64 = 1 << 11;
pub(crate) const REGS_USER: u64 = 1 << 12;
pub(crate) const STACK_USER: u64 = 1 << 13;
pub(crate) const WEIGHT: u64 = 1 << 14;
pub(crate) const DATA_SRC: u64 = 1 << 15;
pub(crate) const IDENTIFIER: u64 = 1 << 16;
pub(crate) const TRANSACTION: u64 = 1 << 17;
pub(crate) const REGS_INTR: u64 = 1 << 18;
pub(crate) const PHYS_ADDR: u64 = 1 << 19;
pub(crate) const AUX: u64 = 1 << 20;
pub(crate) const CGROUP: u64 = 1 << 21;
pub(crate) const DATA_PAGE_SIZE: u64 = 1 << 22;
pub(crate) const CODE_PAGE_SIZE: u64 = 1 << 23;
pub(crate) const WEIGHT_STRUCT: u64 = 1 << 24;

/// Of branch_sample_type: any, and with the newest entry's index.
pub(crate) const BRANCH_ANY: u64 = 1 << 3;
pub(crate) const BRANCH_HW_INDEX: u64 = 1 << 17;

/// Of read_format.
pub(crate) const READ_ID: u64 = 1 << 2;
pub(crate) const READ_LOST: u64 = 1 << 4;

/// XMM0 to XMM15 take two bits each of a mask of registers; before them the
/// 64-bit ones but DS, ES, FS and GS.
pub(crate) const GENERAL: u64 = 0x00ff_0fff;
pub(crate) const XMM: u64 = 0xffff_ffff_0000_0000;

/// Bits of the flags.
pub(crate) const MMAP_RECORDS: u64 = 1 << 8;
pub(crate) const COMM_RECORDS: u64 = 1 << 9;
pub(crate) const TASK_RECORDS: u64 = 1 << 13;
pub(crate) const PRECISE_2: u64 = 2 << 15;
pub(crate) const MMAP_DATA_RECORDS: u64 = 1 << 17;
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(crate) const EXCLUDE_GUEST: u64 = 1 << 20;
pub(crate) const MMAP2_RECORDS: u64 = 1 << 23;
pub(crate) const COMM_EXEC_RECORDS: u64 = 1 << 24;

pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const HARDWARE_RAW: u32 = 4;
/// `PERF_COUNT_SW_DUMMY`.
pub(crate) const DUMMY: u64 = 9;

/// Bytes that [`Attr::put`] writes: those of perf 5.12 to 6.2, which refuses
/// more.
pub(crate) const SIZE: u32 = 128;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attr {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    pub(crate) period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) config1: u64,
    pub(crate) config2: u64,
    pub(crate) branch_sample_type: u64,
    pub(crate) regs_user: u64,
    pub(crate) stack_user: u32,
    pub(crate) regs_intr: u64,
}

impl Attr {
    pub(crate) fn put(&self, out: &mut Bytes) {
        out.u32(self.kind);
        out.u32(SIZE);
        out.u64s(&[self.config, self.period, self.sample_type, self.read_format, self.flags]);
        // wakeup_events, bp_type
        out.u64(0);
        out.u64s(&[self.config1, self.config2, self.branch_sample_type, self.regs_user]);
        out.u32(self.stack_user);
        // clockid
        out.u32(0);
        out.u64(self.regs_intr);
        // aux_watermark, sample_max_stack; aux_sample_size; sig_data
        out.u64s(&[0, 0, 0]);
    }
}
