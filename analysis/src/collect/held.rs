//! Samples that wait until the side records of their time are in.
//!
//! Rings are drained one after the other, and side records have rings of
//! their own: the mapping that explains a sample may come up to one round
//! later than the sample. So samples of round N are counted when round N+1
//! has ended.

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
    /// Registers that wait with it, words in [`Batch::words`].
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

/// Samples in the order they came, and the words of those that have any.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) samples: Vec<HeldSample>,
    pub(crate) words: Vec<u64>,
}

impl Batch {
    fn bytes(&self) -> usize {
        self.samples.len() * size_of::<HeldSample>() + self.words.len() * size_of::<u64>()
    }

    /// Empties the batch; the memory stays for the next round.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
        self.words.clear();
    }
}

/// The samples of this round and the one before.
#[derive(Debug)]
pub(crate) struct Waiting {
    before: Batch,
    now: Batch,
    limit: usize,
    early: u64,
}

impl Waiting {
    /// Room for so many bytes.
    pub(crate) fn new(limit: usize) -> Waiting {
        Waiting { before: Batch::default(), now: Batch::default(), limit, early: 0 }
    }

    /// Where the next sample goes.
    pub(crate) fn now(&mut self) -> &mut Batch {
        &mut self.now
    }

    /// Whether samples must go before their time, since they take more room
    /// than there is.
    pub(crate) fn is_full(&self) -> bool {
        self.before.bytes() + self.now.bytes() > self.limit
    }

    /// Samples that went before their time.
    pub(crate) fn early(&self) -> u64 {
        self.early
    }

    /// A round has ended: gives the samples of the one before. The batch
    /// comes back by [`Waiting::give_back`].
    pub(crate) fn end_round(&mut self) -> Batch {
        let ready = std::mem::take(&mut self.before);
        self.before = std::mem::take(&mut self.now);
        ready
    }

    /// Gives the older samples to make room.
    pub(crate) fn make_room(&mut self) -> Batch {
        let ready = self.end_round();
        let ready = if ready.samples.is_empty() { std::mem::take(&mut self.before) } else { ready };
        self.early += ready.samples.len() as u64;
        ready
    }

    /// Takes back an emptied batch for its memory.
    pub(crate) fn give_back(&mut self, mut batch: Batch) {
        batch.clear();
        if self.now.samples.capacity() == 0 {
            self.now = batch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(waiting: &Waiting) -> usize {
        let bytes = |batch: &Batch| {
            batch.samples.capacity() * size_of::<HeldSample>()
                + batch.words.capacity() * size_of::<u64>()
        };
        bytes(&waiting.before) + bytes(&waiting.now)
    }

    /// Feeds samples with two words each; a round mark every `round` ones.
    fn feed(limit: usize, round: usize) -> (Waiting, Vec<u64>, usize) {
        let (mut waiting, mut out, mut most) = (Waiting::new(limit), Vec::new(), 0);
        for ip in 0..20_000u64 {
            let batch = waiting.now();
            batch.samples.push(HeldSample { ip, words: 2, ..HeldSample::default() });
            batch.words.extend([ip, ip]);
            let mut ready = Batch::default();
            if waiting.is_full() {
                ready = waiting.make_room();
            } else if usize::try_from(ip).unwrap() % round == round - 1 {
                ready = waiting.end_round();
            }
            out.extend(ready.samples.iter().map(|held| held.ip));
            assert_eq!(ready.words.len(), ready.samples.len() * 2);
            waiting.give_back(ready);
            most = most.max(capacity(&waiting));
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
