//! PERF_RECORD_SAMPLE, in the order of `perf_output_sample()`
//! (kernel/events/core.c).

use super::attr::{self, Attr};
use super::bytes::{Bytes, SAMPLE};

/// What a sample holds; fields that the attr does not ask for are not
/// written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample<'a> {
    pub(crate) misc: u16,
    pub(crate) identifier: u64,
    pub(crate) ip: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) time: u64,
    pub(crate) addr: u64,
    pub(crate) id: u64,
    pub(crate) stream_id: u64,
    pub(crate) cpu: u32,
    pub(crate) period: u64,
    /// As read_format lays it out.
    pub(crate) read: &'a [u64],
    pub(crate) callchain: &'a [u64],
    pub(crate) raw: &'a [u8],
    /// Index of the newest hardware entry.
    pub(crate) branch_index: u64,
    /// From, to, flags.
    pub(crate) branches: &'a [[u64; 3]],
    /// ABI, then a word for each bit of the mask.
    pub(crate) regs_user: (u64, &'a [u64]),
    /// Bytes, and how many of them are real.
    pub(crate) stack_user: (&'a [u8], u64),
    pub(crate) weight: u64,
    pub(crate) data_src: u64,
    pub(crate) transaction: u64,
    pub(crate) regs_intr: (u64, &'a [u64]),
    pub(crate) phys_addr: u64,
    pub(crate) cgroup: u64,
    pub(crate) data_page_size: u64,
    pub(crate) code_page_size: u64,
    pub(crate) aux: &'a [u8],
}

impl Sample<'_> {
    pub(crate) fn put(&self, attr: &Attr, out: &mut Bytes) {
        let has = |bit| attr.sample_type & bit != 0;
        let pair = |first: u32, second: u32| u64::from(second) << 32 | u64::from(first);
        out.record(SAMPLE, self.misc, |out| {
            for (bit, word) in [
                (attr::IDENTIFIER, self.identifier),
                (attr::IP, self.ip),
                (attr::TID, pair(self.pid, self.tid)),
                (attr::TIME, self.time),
                (attr::ADDR, self.addr),
                (attr::ID, self.id),
                (attr::STREAM_ID, self.stream_id),
                (attr::CPU, pair(self.cpu, 0)),
                (attr::PERIOD, self.period),
            ] {
                if has(bit) {
                    out.u64(word);
                }
            }
            if has(attr::READ) {
                out.u64s(self.read);
            }
            self.put_lists(attr, out);
            for (bit, word) in [
                (attr::WEIGHT | attr::WEIGHT_STRUCT, self.weight),
                (attr::DATA_SRC, self.data_src),
                (attr::TRANSACTION, self.transaction),
            ] {
                if has(bit) {
                    out.u64(word);
                }
            }
            if has(attr::REGS_INTR) {
                put_registers(self.regs_intr.0, self.regs_intr.1, out);
            }
            for (bit, word) in [
                (attr::PHYS_ADDR, self.phys_addr),
                (attr::CGROUP, self.cgroup),
                (attr::DATA_PAGE_SIZE, self.data_page_size),
                (attr::CODE_PAGE_SIZE, self.code_page_size),
            ] {
                if has(bit) {
                    out.u64(word);
                }
            }
            if has(attr::AUX) {
                out.u64(self.aux.len() as u64);
                out.raw(self.aux);
            }
        });
    }

    fn put_lists(&self, attr: &Attr, out: &mut Bytes) {
        let has = |bit| attr.sample_type & bit != 0;
        if has(attr::CALLCHAIN) {
            out.u64(self.callchain.len() as u64);
            out.u64s(self.callchain);
        }
        if has(attr::RAW) {
            // The size counts the padding that makes both a multiple of 8.
            let size = (4 + self.raw.len()).next_multiple_of(8) - 4;
            out.u32(u32::try_from(size).unwrap());
            out.raw(self.raw);
            out.pad(8);
        }
        if has(attr::BRANCH_STACK) {
            out.u64(self.branches.len() as u64);
            if attr.branch_sample_type & attr::BRANCH_HW_INDEX != 0 {
                out.u64(self.branch_index);
            }
            self.branches.iter().for_each(|branch| out.u64s(branch));
        }
        if has(attr::REGS_USER) {
            put_registers(self.regs_user.0, self.regs_user.1, out);
        }
        if has(attr::STACK_USER) {
            let (bytes, real) = self.stack_user;
            out.u64(bytes.len() as u64);
            out.raw(bytes);
            if !bytes.is_empty() {
                out.u64(real);
            }
        }
    }
}

/// Words come only with an ABI.
fn put_registers(abi: u64, words: &[u64], out: &mut Bytes) {
    out.u64(abi);
    if abi != 0 {
        out.u64s(words);
    }
}
