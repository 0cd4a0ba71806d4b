//! The words of a call chain: addresses, and between them whose they are.

use crate::bytes::RecordWords;
use crate::header::CpuMode;
use crate::units::Tid;
use std::collections::{HashMap, VecDeque};

/// `enum perf_callchain_context`: a word of a chain that says whose addresses
/// follow. [uapi/linux/perf_event.h]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainContext(pub u64);

impl ChainContext {
    /// PERF_CONTEXT_HV: a hypervisor's.
    pub const HV: ChainContext = ChainContext(32_u64.wrapping_neg());
    /// PERF_CONTEXT_KERNEL.
    pub const KERNEL: ChainContext = ChainContext(128_u64.wrapping_neg());
    /// PERF_CONTEXT_USER: the program's.
    pub const USER: ChainContext = ChainContext(512_u64.wrapping_neg());
    /// PERF_CONTEXT_USER_DEFERRED (Linux 6.18): the program's come in a record
    /// of their own, by the number that follows.
    pub const USER_DEFERRED: ChainContext = ChainContext(640_u64.wrapping_neg());
    /// PERF_CONTEXT_GUEST: a virtual machine's, its kernel's or not.
    pub const GUEST: ChainContext = ChainContext(2048_u64.wrapping_neg());
    /// PERF_CONTEXT_GUEST_KERNEL.
    pub const GUEST_KERNEL: ChainContext = ChainContext(2176_u64.wrapping_neg());
    /// PERF_CONTEXT_GUEST_USER.
    pub const GUEST_USER: ChainContext = ChainContext(2560_u64.wrapping_neg());
    /// PERF_CONTEXT_MAX: words from here on are no addresses.
    pub const MAX: ChainContext = ChainContext(4095_u64.wrapping_neg());

    /// Whose addresses follow, where that is known.
    #[inline]
    pub fn cpu_mode(self) -> Option<CpuMode> {
        Some(match self {
            ChainContext::HV => CpuMode::Hypervisor,
            ChainContext::KERNEL => CpuMode::Kernel,
            ChainContext::USER | ChainContext::USER_DEFERRED => CpuMode::User,
            ChainContext::GUEST | ChainContext::GUEST_KERNEL => CpuMode::GuestKernel,
            ChainContext::GUEST_USER => CpuMode::GuestUser,
            _ => return None,
        })
    }
}

/// What a word of a chain is, by those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallChainWord {
    /// An instruction's, or one to which a call returns. Before any context
    /// they are the program's.
    Address(u64),
    /// Whose follow.
    Context(ChainContext),
    /// By which a deferred chain is found. The kernel counts it up.
    Cookie(u64),
}

/// What the words of a chain are, in their order.
#[inline]
pub fn parts<W>(words: W) -> impl Iterator<Item = CallChainWord> + Clone + use<W>
where
    W: Iterator<Item = u64> + Clone,
{
    words.scan(false, |is_cookie, word| {
        let was = std::mem::replace(is_cookie, false);
        Some(match word {
            word if was => CallChainWord::Cookie(word),
            word if word < ChainContext::MAX.0 => CallChainWord::Address(word),
            word => {
                *is_cookie = word == ChainContext::USER_DEFERRED.0;
                CallChainWord::Context(ChainContext(word))
            }
        })
    })
}

/// Whether all contexts of a chain are known. Others may have any addresses
/// behind them, and perf, too, believes nothing of such a chain.
pub fn is_known(words: impl Iterator<Item = u64> + Clone) -> bool {
    parts(words).all(|part| match part {
        CallChainWord::Context(context) => context.cpu_mode().is_some(),
        _ => true,
    })
}

/// Whether a chain has itself what there is of the program's part.
pub fn has_user(words: impl Iterator<Item = u64> + Clone) -> bool {
    let mut parts = parts(words);
    match parts.next() {
        Some(CallChainWord::Address(_)) => true,
        first => first.into_iter().chain(parts).any(|part| part == USER),
    }
}

/// Whether a chain that was unwound from a copied stack goes on further out than
/// the copy: `PERF_CONTEXT_USER` stands once more behind its last address. The
/// kernel puts no context there, and to perf it is a part without addresses.
pub fn is_cut(words: impl Iterator<Item = u64> + Clone) -> bool {
    let last = parts(words).fold([None; 2], |[_, last], part| [last, Some(part)]);
    matches!(last, [Some(CallChainWord::Address(_)), Some(USER)])
}

const USER: CallChainWord = CallChainWord::Context(ChainContext::USER);

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

    const USER: u64 = ChainContext::USER.0;
    const KERNEL: u64 = ChainContext::KERNEL.0;
    const DEFERRED: u64 = ChainContext::USER_DEFERRED.0;

    fn of(words: &[u64]) -> Vec<CallChainWord> {
        parts(words.iter().copied()).collect()
    }

    #[test]
    fn a_cookie_is_a_number_whatever_it_looks_like() {
        let context = |context| CallChainWord::Context(ChainContext(context));
        let expected = [
            context(KERNEL),
            CallChainWord::Address(0xffff_8000_0000_1000),
            context(DEFERRED),
            CallChainWord::Cookie(KERNEL),
            CallChainWord::Address(0x40),
        ];
        assert_eq!(of(&[KERNEL, 0xffff_8000_0000_1000, DEFERRED, KERNEL, 0x40]), expected);
        assert_eq!(of(&[DEFERRED, DEFERRED]), [context(DEFERRED), CallChainWord::Cookie(DEFERRED)]);
    }

    #[test]
    fn contexts_are_known_or_the_chain_is_not_believed() {
        let known = |words: &[u64]| is_known(words.iter().copied());
        assert!(known(&[]) && known(&[KERNEL, 1, ChainContext::GUEST.0, 2]));
        assert!(!known(&[ChainContext::USER.0, 1, 7_u64.wrapping_neg()]));
        assert!(known(&[DEFERRED, 7_u64.wrapping_neg()]), "a cookie");
        assert!(!known(&[ChainContext::MAX.0]));
    }

    #[test]
    fn the_programs_part_is_marked_or_stands_first() {
        let has = |words: &[u64]| has_user(words.iter().copied());
        assert!(has(&[0x40]) && has(&[KERNEL, 1, ChainContext::USER.0, 2]));
        assert!(has(&[ChainContext::USER.0]), "none, but it was looked for");
        assert!(!has(&[]) && !has(&[KERNEL, 1]));
        assert!(!has(&[KERNEL, 1, DEFERRED, ChainContext::USER.0]), "a cookie");
    }

    #[test]
    fn a_context_behind_the_last_address_says_that_there_are_more() {
        let cut = |words: &[u64]| is_cut(words.iter().copied());
        assert!(cut(&[USER, 0x40, USER]) && cut(&[KERNEL, 1, USER, 0x40, 0x41, USER]));
        assert!(!cut(&[USER, 0x40]) && !cut(&[USER]) && !cut(&[]));
        assert!(!cut(&[KERNEL, USER]), "no address of either");
        assert!(!cut(&[USER, 0x40, DEFERRED, USER]), "a cookie");
    }

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
