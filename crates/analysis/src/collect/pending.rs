//! Samples as they wait to be counted.

use crate::sieve::Doubt;
use perfdata::stream::RoundBatch;
use perfdata::{Cpu, CpuMode, Pid, Task, Tid, Time};
use symbolizer::SampledAddress;

/// What of a sample can be asked for; a field the event lacks is zero and
/// never looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingSample {
    pub(crate) ip: u64,
    pub(crate) time: Time,
    pub(crate) addr: u64,
    pub(crate) period: u64,
    pub(crate) task: Task,
    pub(crate) cpu: Cpu,
    /// Index of the event in the stream.
    pub(crate) event: u32,
    /// Low three bits of misc, and EXACT_IP.
    pub(crate) misc: perfdata::Misc,
    /// What waits with it: words in [`SampleBatch::words`], bytes in
    /// [`SampleBatch::stacks`].
    pub(crate) words: u16,
    pub(crate) stack: u16,
    /// What of its event's filter could not be told from its fields.
    pub(crate) doubt: Option<Doubt>,
}

impl PendingSample {
    #[inline]
    pub(crate) fn at(&self) -> SampledAddress {
        let PendingSample { ip: address, time, .. } = *self;
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

#[derive(Debug, Default)]
pub(crate) struct SampleBatch {
    pub(crate) samples: Vec<PendingSample>,
    pub(crate) words: Vec<u64>,
    pub(crate) stacks: Vec<u8>,
}

/// What waits with a sample, or with several, besides their fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingParts<'b> {
    pub(crate) words: &'b [u64],
    pub(crate) stack: &'b [u8],
}

impl<'b> PendingParts<'b> {
    /// Those of the first sample; the others are left.
    pub(crate) fn take(&mut self, of: &PendingSample) -> PendingParts<'b> {
        let (words, others) = self.words.split_at(usize::from(of.words).min(self.words.len()));
        let (stack, rest) = self.stack.split_at(usize::from(of.stack).min(self.stack.len()));
        *self = PendingParts { words: others, stack: rest };
        PendingParts { words, stack }
    }
}

impl RoundBatch for SampleBatch {
    fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Bytes.
    fn size(&self) -> usize {
        let words = size_of_val(self.words.as_slice());
        size_of_val(self.samples.as_slice()) + words + self.stacks.len()
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
        self.stacks.clear();
    }

    pub(crate) fn parts(&self) -> PendingParts<'_> {
        PendingParts { words: &self.words, stack: &self.stacks }
    }

    pub(crate) fn push(&mut self, held: PendingSample, parts: PendingParts<'_>) {
        self.samples.push(held);
        self.words.extend_from_slice(parts.words);
        self.stacks.extend_from_slice(parts.stack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::stream::RoundBuffer;

    fn capacity(batch: &SampleBatch) -> usize {
        batch.samples.capacity() * size_of::<PendingSample>()
            + batch.words.capacity() * size_of::<u64>()
            + batch.stacks.capacity()
    }

    /// Feeds samples with a word and eight bytes each; a round mark every `round` ones.
    fn feed(limit: usize, round: usize) -> (RoundBuffer<SampleBatch>, Vec<u64>, usize) {
        let (mut waiting, mut out, mut most) =
            (RoundBuffer::<SampleBatch>::new(limit), Vec::new(), 0);
        for ip in 0..20_000u64 {
            let batch = waiting.now();
            let held = PendingSample { ip, words: 1, stack: 8, ..PendingSample::default() };
            batch.push(held, PendingParts { words: &[ip], stack: &ip.to_le_bytes() });
            let mut ready = SampleBatch::default();
            if waiting.is_full() {
                ready = waiting.make_room();
            } else if usize::try_from(ip).unwrap() % round == round - 1 {
                ready = waiting.end_round();
            }
            out.extend(ready.samples.iter().map(|held| held.ip));
            let mut parts = ready.parts();
            for held in &ready.samples {
                let own = parts.take(held);
                assert_eq!((own.words, own.stack), (&[held.ip][..], &held.ip.to_le_bytes()[..]));
            }
            assert!(parts.words.is_empty() && parts.stack.is_empty());
            ready.clear();
            waiting.give_back(ready);
            most = most.max(waiting.batches().into_iter().map(capacity).sum());
        }
        (waiting, out, most)
    }

    #[test]
    fn memory_is_bounded_with_and_without_round_marks() {
        let limit = 100 * (size_of::<PendingSample>() + 16);
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
