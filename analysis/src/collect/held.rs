//! Samples as they wait to be counted.

use crate::collect::two_rounds::RoundBatch;
use crate::sieve::Doubt;
use record::{Cpu, CpuMode, Pid, Task, Tid, Time};
use symbolizer::SampledAddress;

/// What of a sample can be asked for; a field the event lacks is zero and
/// never looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldSample {
    pub(crate) ip: u64,
    pub(crate) time: Time,
    pub(crate) addr: u64,
    pub(crate) period: u64,
    pub(crate) task: Task,
    pub(crate) cpu: Cpu,
    /// Index of the event in the stream.
    pub(crate) event: u32,
    /// Low three bits of misc, and EXACT_IP.
    pub(crate) misc: record::Misc,
    /// Registers that wait with it, words in [`SampleBatch::words`].
    pub(crate) words: u16,
    /// What of its event's filter could not be told from its fields.
    pub(crate) doubt: Option<Doubt>,
}

impl HeldSample {
    /// Where it was taken.
    #[inline]
    pub(crate) fn at(&self) -> SampledAddress {
        let HeldSample { ip: address, time, .. } = *self;
        SampledAddress { mode: self.mode(), pid: self.pid(), address, time }
    }

    pub(crate) fn mode(&self) -> CpuMode {
        self.misc.cpu_mode()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.task.pid
    }

    pub(crate) fn tid(&self) -> Tid {
        self.task.tid
    }
}

/// Samples of a round, and the words of those that have any.
#[derive(Debug, Default)]
pub(crate) struct SampleBatch {
    pub(crate) samples: Vec<HeldSample>,
    pub(crate) words: Vec<u64>,
}

impl RoundBatch for SampleBatch {
    fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Bytes.
    fn size(&self) -> usize {
        size_of_val(self.samples.as_slice()) + size_of_val(self.words.as_slice())
    }

    fn samples(&self) -> u64 {
        self.samples.len() as u64
    }
}

impl SampleBatch {
    /// Empties the batch; the memory stays for the next round.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::two_rounds::TwoRounds;

    fn capacity(batch: &SampleBatch) -> usize {
        batch.samples.capacity() * size_of::<HeldSample>()
            + batch.words.capacity() * size_of::<u64>()
    }

    /// Feeds samples with two words each; a round mark every `round` ones.
    fn feed(limit: usize, round: usize) -> (TwoRounds<SampleBatch>, Vec<u64>, usize) {
        let (mut waiting, mut out, mut most) =
            (TwoRounds::<SampleBatch>::new(limit), Vec::new(), 0);
        for ip in 0..20_000u64 {
            let batch = waiting.now();
            batch.samples.push(HeldSample { ip, words: 2, ..HeldSample::default() });
            batch.words.extend([ip, ip]);
            let mut ready = SampleBatch::default();
            if waiting.is_full() {
                ready = waiting.make_room();
            } else if usize::try_from(ip).unwrap() % round == round - 1 {
                ready = waiting.end_round();
            }
            out.extend(ready.samples.iter().map(|held| held.ip));
            assert_eq!(ready.words.len(), ready.samples.len() * 2);
            ready.clear();
            waiting.give_back(ready);
            most = most.max(waiting.batches().into_iter().map(capacity).sum());
        }
        (waiting, out, most)
    }

    #[test]
    fn memory_is_bounded_with_and_without_round_marks() {
        let limit = 100 * (size_of::<HeldSample>() + 16);
        for round in [7, 49, 50, 300, usize::MAX] {
            let (mut waiting, mut out, most) = feed(limit, round);
            // A Vec grows to at most twice of what is in it.
            assert!(most <= 4 * limit, "{most} bytes at a limit of {limit}");
            assert_eq!(waiting.early() > 0, round > 50, "{round}");
            for _ in 0..2 {
                out.extend(waiting.end_round().samples.iter().map(|held| held.ip));
            }
            assert_eq!(out, (0..20_000).collect::<Vec<u64>>(), "each once, in order");
        }
    }
}
