//! The fields of the registers, by name.

use super::{IbsCaps, IbsOp};

impl IbsOp {
    /// IBS_OP_CTL bits 15:0 and 26:20, times 16: events between two samples.
    pub fn period(&self) -> u64 {
        let high = match self.caps.contains(IbsCaps::LONG_PERIOD) {
            true => field(self.ctl, 20, 7) << 16,
            false => 0,
        };
        (high | field(self.ctl, 0, 16)) << 4
    }

    /// IBS_OP_CTL bit 19: ops are counted, else clock cycles.
    pub fn counts_ops(&self) -> bool {
        bit(self.ctl, 19)
    }

    /// IBS_OP_CTL bit 16, with [`IbsCaps::ZEN4`]: only ops that missed the L3
    /// cache are sampled.
    pub fn l3_miss_only(&self) -> bool {
        self.caps.contains(IbsCaps::ZEN4) && bit(self.ctl, 16)
    }

    /// IBS_OP_DATA bits 15:0: cycles from completion to retirement.
    pub fn completion_to_retire(&self) -> u16 {
        word(self.data, 0)
    }

    /// IBS_OP_DATA bits 31:16: cycles from tagging to retirement.
    pub fn tag_to_retire(&self) -> u16 {
        word(self.data, 16)
    }

    /// IBS_OP_DATA bit 34: a return; of retired branches only.
    pub fn brn_return(&self) -> bool {
        self.brn_ret() && bit(self.data, 34)
    }

    /// IBS_OP_DATA bit 35: the branch was taken; of retired branches only.
    pub fn brn_taken(&self) -> bool {
        self.brn_ret() && bit(self.data, 35)
    }

    /// IBS_OP_DATA bit 36: the branch was predicted wrongly; of retired
    /// branches only.
    pub fn brn_misp(&self) -> bool {
        self.brn_ret() && bit(self.data, 36)
    }

    /// IBS_OP_DATA bit 37: a branch that retired.
    pub fn brn_ret(&self) -> bool {
        bit(self.data, 37)
    }

    /// IBS_OP_DATA bit 38, with [`IbsCaps::RIP_INVALID`]: `rip` is not the
    /// op's. The kernel then reports the interrupted instruction, without
    /// [`crate::Misc::EXACT_IP`].
    pub fn rip_invalid(&self) -> bool {
        self.caps.contains(IbsCaps::RIP_INVALID) && bit(self.data, 38)
    }

    /// IBS_OP_DATA bit 39, with [`IbsCaps::BRANCH_FUSED`]: compare and branch
    /// in one op.
    pub fn brn_fuse(&self) -> bool {
        self.caps.contains(IbsCaps::BRANCH_FUSED) && bit(self.data, 39)
    }

    /// IBS_OP_DATA bit 40: from microcode.
    pub fn microcode(&self) -> bool {
        bit(self.data, 40)
    }

    /// IBS_OP_DATA3 bit 0: the op loads.
    pub fn ld_op(&self) -> bool {
        bit(self.data3, 0)
    }

    /// IBS_OP_DATA3 bit 1: the op stores.
    pub fn st_op(&self) -> bool {
        bit(self.data3, 1)
    }

    /// IBS_OP_DATA3 bit 2: not in the first-level data TLB.
    pub fn dc_l1_tlb_miss(&self) -> bool {
        bit(self.data3, 2)
    }

    /// IBS_OP_DATA3 bit 3: not in the second-level data TLB.
    pub fn dc_l2_tlb_miss(&self) -> bool {
        bit(self.data3, 3)
    }

    /// IBS_OP_DATA3 bit 7: not in the data cache.
    pub fn dc_miss(&self) -> bool {
        bit(self.data3, 7)
    }

    /// IBS_OP_DATA3 bit 8: the access crosses a boundary at which the CPU
    /// needs a second one.
    pub fn dc_mis_acc(&self) -> bool {
        bit(self.data3, 8)
    }

    /// IBS_OP_DATA3 bit 13: write-combining memory.
    pub fn dc_wc_mem_acc(&self) -> bool {
        bit(self.data3, 13)
    }

    /// IBS_OP_DATA3 bit 14: uncacheable memory; misses, source and latency
    /// then mean nothing.
    pub fn dc_uc_mem_acc(&self) -> bool {
        bit(self.data3, 14)
    }

    /// IBS_OP_DATA3 bit 15: a locked operation.
    pub fn dc_locked_op(&self) -> bool {
        bit(self.data3, 15)
    }

    /// IBS_OP_DATA3 bit 16: the line was under way already, no miss address
    /// buffer was allocated.
    pub fn dc_miss_no_mab_alloc(&self) -> bool {
        bit(self.data3, 16)
    }

    /// IBS_OP_DATA3 bit 17: `lin_addr` is valid.
    pub fn lin_addr_valid(&self) -> bool {
        bit(self.data3, 17)
    }

    /// IBS_OP_DATA3 bit 18: `phys_addr` is valid.
    pub fn phys_addr_valid(&self) -> bool {
        bit(self.data3, 18)
    }

    /// IBS_OP_DATA3 bit 20: not in the second-level cache. Not valid for some
    /// ops of Zen 3: see [`super::IbsErrata`].
    pub fn l2_miss(&self) -> bool {
        bit(self.data3, 20)
    }

    /// IBS_OP_DATA3 bit 21: a software prefetch.
    pub fn sw_pf(&self) -> bool {
        bit(self.data3, 21)
    }

    /// IBS_OP_DATA3 bits 25:22: bytes loaded or stored, 1 to 16,384; None
    /// when not told.
    pub fn memory_width(&self) -> Option<u32> {
        let code = field(self.data3, 22, 4);
        code.checked_sub(1).map(|shift| 1 << shift)
    }

    /// IBS_OP_DATA3 bits 31:26: lines under way when the data cache was
    /// filled.
    pub fn open_memory_requests(&self) -> u8 {
        let [low, ..] = field(self.data3, 26, 6).to_le_bytes();
        low
    }

    /// IBS_OP_DATA3 bits 47:32: core cycles from the miss in the data cache
    /// until the data came; of loads that missed only.
    pub fn dc_miss_lat(&self) -> Option<u16> {
        (self.ld_op() && self.dc_miss()).then(|| word(self.data3, 32))
    }

    /// IBS_OP_DATA3 bits 63:48: core cycles of the first-level TLB's refill;
    /// of misses there only.
    pub fn tlb_refill_lat(&self) -> Option<u16> {
        self.dc_l1_tlb_miss().then(|| word(self.data3, 48))
    }

    /// The data address, when there is one.
    pub fn linear_address(&self) -> Option<u64> {
        self.lin_addr_valid().then_some(self.lin_addr)
    }

    /// The physical data address, when there is one.
    pub fn physical_address(&self) -> Option<u64> {
        self.phys_addr_valid().then_some(self.phys_addr)
    }
}

fn bit(register: u64, place: u32) -> bool {
    register >> place & 1 == 1
}

pub(super) fn field(register: u64, shift: u32, width: u32) -> u64 {
    register >> shift & ((1 << width) - 1)
}

fn word(register: u64, shift: u32) -> u16 {
    let [low, high, ..] = (register >> shift).to_le_bytes();
    u16::from_le_bytes([low, high])
}
