//! A sample's chain, and what its thread told of it later.

use perfdata::bytes::RecordWords;
use perfdata::callchain::{DeferredChains, DeferredKey};
use perfdata::{Attr, AttrFlags, ByteOrder, Sample, SampleId};

/// Joins chains that the kernel deferred to the samples that wait for them.
#[derive(Debug, Default)]
pub(super) struct ChainJoiner {
    sent: DeferredChains,
    words: Vec<u64>,
    /// Of the last one that was joined.
    bytes: Vec<u8>,
}

impl ChainJoiner {
    pub(super) fn sent(&mut self, cookie: u64, chain: RecordWords<'_>, id: &SampleId) {
        let tid = id.task.unwrap_or_default().tid;
        self.sent.add(DeferredKey { tid, cookie }, chain);
    }

    pub(super) fn has(&self, chain: DeferredKey) -> bool {
        self.sent.get(chain).is_some()
    }

    /// Completes a sample of an event; or says for what it waits.
    pub(super) fn join<'a>(
        &'a mut self,
        attr: &Attr,
        sample: &mut Sample<'a>,
    ) -> Result<(), DeferredKey> {
        let deferred = attr.flags.contains(AttrFlags::DEFER_CALLCHAIN);
        let Some(chain) = sample.callchain.filter(|_| deferred) else { return Ok(()) };
        let tid = sample.task.unwrap_or_default().tid;
        let Some(key) = DeferredKey::of(tid, chain.iter()) else { return Ok(()) };
        self.words.clear();
        if !self.sent.join(tid, chain.iter(), &mut self.words) {
            return Err(key);
        }
        self.bytes.clear();
        self.bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        sample.callchain = Some(RecordWords::new(&self.bytes, ByteOrder::Little));
        Ok(())
    }
}
