//! PERF_RECORD_SAMPLE, in the order of `perf_output_sample()`
//! (kernel/events/core.c).

use super::attr;
use super::bytes::{Bytes, SAMPLE};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) misc: u16,
    pub(crate) identifier: u64,
    pub(crate) ip: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) time: u64,
    pub(crate) addr: u64,
    pub(crate) cpu: u32,
    pub(crate) period: u64,
    pub(crate) weight: u64,
    pub(crate) data_src: u64,
}

impl Sample {
    pub(crate) fn put(&self, sample_type: u64, out: &mut Bytes) {
        let has = |bit| sample_type & bit != 0;
        let pair = |first: u32, second: u32| u64::from(second) << 32 | u64::from(first);
        out.record(SAMPLE, self.misc, |out| {
            for (bit, word) in [
                (attr::IDENTIFIER, self.identifier),
                (attr::IP, self.ip),
                (attr::TID, pair(self.pid, self.tid)),
                (attr::TIME, self.time),
                (attr::ADDR, self.addr),
                (attr::CPU, pair(self.cpu, 0)),
                (attr::PERIOD, self.period),
                (attr::WEIGHT, self.weight),
                (attr::DATA_SRC, self.data_src),
            ] {
                if has(bit) {
                    out.u64(word);
                }
            }
        });
    }
}
