//! Chains that came apart: samples, and what their threads' way back to user
//! space told later.

use super::{CallChainWord, parts};
use crate::bytes::RecordWords;
use crate::units::Tid;
use std::collections::{HashMap, VecDeque};

/// Words of all chains that are kept: 64 MiB. Beyond, the oldest go.
const MOST_WORDS: usize = 8 << 20;
/// Words that a chain takes besides its own, about.
const EACH: usize = 16;

/// Chains of user space by what the kernel said in samples that it would send.
#[derive(Clone, Debug, Default)]
pub struct DeferredChains {
    chains: HashMap<DeferredKey, Box<[u64]>>,
    /// As they came.
    order: VecDeque<DeferredKey>,
    words: usize,
}

/// Which chain a sample waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeferredKey {
    /// The thread: another one's number is another one's chain.
    pub tid: Tid,
    /// The kernel's number; the same of all samples of a thread between two
    /// ways back to user space.
    pub cookie: u64,
}

impl DeferredKey {
    /// What the chain of a thread's sample waits for.
    pub fn of(tid: Tid, chain: impl Iterator<Item = u64> + Clone) -> Option<DeferredKey> {
        parts(chain).find_map(|part| match part {
            CallChainWord::Cookie(cookie) => Some(DeferredKey { tid, cookie }),
            _ => None,
        })
    }
}

impl DeferredChains {
    /// Keeps a chain, with its contexts, as its record has it.
    pub fn add(&mut self, key: DeferredKey, chain: RecordWords<'_>) {
        let chain: Box<[u64]> = chain.iter().collect();
        self.words += chain.len() + EACH;
        self.order.push_back(key);
        if let Some(known) = self.chains.insert(key, chain) {
            // It has two places in the order, and gives way at the first.
            self.words -= known.len();
        }
        while self.words > MOST_WORDS {
            let Some(oldest) = self.order.pop_front() else { break };
            let gone = self.chains.remove(&oldest);
            self.words -= EACH + gone.map_or(0, |chain| chain.len());
        }
    }

    /// The chain that was sent for this.
    pub fn get(&self, key: DeferredKey) -> Option<&[u64]> {
        self.chains.get(&key).map(|chain| &**chain)
    }

    /// Appends the words of a sample's chain to `into`, with those that were
    /// sent later in place of their number. False: they were not sent.
    pub fn join(
        &self,
        tid: Tid,
        chain: impl Iterator<Item = u64> + Clone,
        into: &mut Vec<u64>,
    ) -> bool {
        let key = DeferredKey::of(tid, chain.clone());
        let Some(sent) = key.and_then(|key| self.get(key)) else {
            into.extend(chain);
            return key.is_none();
        };
        let own = parts(chain.clone()).position(|part| matches!(part, CallChainWord::Cookie(_)));
        // Without the context that the number has.
        let own = own.map_or(0, |at| at.saturating_sub(1));
        into.extend(chain.take(own));
        into.extend(sent);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;
    use crate::callchain::ChainContext;

    const KERNEL: u64 = ChainContext::KERNEL.0;
    const USER: u64 = ChainContext::USER.0;
    const DEFERRED: u64 = ChainContext::USER_DEFERRED.0;

    fn add(chains: &mut DeferredChains, tid: i32, cookie: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let key = DeferredKey { tid: Tid(tid), cookie };
        chains.add(key, RecordWords::new(&bytes, ByteOrder::Little));
    }

    fn joined(chains: &DeferredChains, tid: i32, chain: &[u64]) -> (bool, Vec<u64>) {
        let mut words = Vec::new();
        (chains.join(Tid(tid), chain.iter().copied(), &mut words), words)
    }

    #[test]
    fn samples_get_what_was_sent_to_their_thread() {
        let mut chains = DeferredChains::default();
        add(&mut chains, 7, 77, &[USER, 0x40, 0x50]);
        let sample = [KERNEL, 0xffff_8000, DEFERRED, 77];
        let whole = vec![KERNEL, 0xffff_8000, USER, 0x40, 0x50];
        assert_eq!(joined(&chains, 7, &sample), (true, whole.clone()));
        assert_eq!(joined(&chains, 7, &sample), (true, whole), "any number of them");
        assert_eq!(joined(&chains, 8, &sample), (false, sample.to_vec()), "another thread");
        assert_eq!(joined(&chains, 7, &[DEFERRED, 77]), (true, vec![USER, 0x40, 0x50]));
        let other = [DEFERRED, 78];
        assert_eq!(joined(&chains, 7, &other), (false, other.to_vec()));
        let usual = [KERNEL, 1, USER, 2];
        assert_eq!(joined(&chains, 7, &usual), (true, usual.to_vec()), "waits for nothing");
    }

    #[test]
    fn chains_take_so_much_memory_and_no_more() {
        let mut chains = DeferredChains::default();
        let long = vec![0x40; 1 << 12];
        for cookie in 0..3000 {
            add(&mut chains, 7, cookie, &long);
            add(&mut chains, 7, 1 << 40, &long);
        }
        let kept: usize = chains.chains.values().map(|chain| chain.len() + EACH).sum();
        assert!(kept <= chains.words && chains.words <= MOST_WORDS, "{kept} {}", chains.words);
        let key = |cookie| DeferredKey { tid: Tid(7), cookie };
        assert!(chains.get(key(0)).is_none() && chains.get(key(2999)).is_some());
        assert_eq!(chains.words, chains.order.len() * EACH + kept - chains.chains.len() * EACH);
    }
}
