//! The masks of an attr: which bit asks for what.

use bitflags::bitflags;

bitflags! {
    /// `PERF_SAMPLE_*`: which fields a sample holds. Unknown bits are kept;
    /// [`crate::SampleLayout`] refuses them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SampleType: u64 {
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
        const TOTAL_TIME_ENABLED = 1 << 0;
        const TOTAL_TIME_RUNNING = 1 << 1; const ID = 1 << 2; const GROUP = 1 << 3;
        const LOST = 1 << 4;
        const _ = !0;
    }

    /// The bit field of the attr, bit 0 first. `precise_ip` (two bits) has
    /// methods of its own on [`Attr`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct AttrFlags: u64 {
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
        /// The branches are the calls that have not returned.
        const CALL_STACK = 1 << 11;
        /// Each stack starts with the index of its newest hardware entry.
        const HW_INDEX = 1 << 17;
        /// Each stack ends with a word of counters per branch.
        const COUNTERS = 1 << 19;
        const _ = !0;
    }
}
