//! The words of a call chain: addresses, and between them whose they are.

mod deferred;

pub use deferred::{DeferredChains, DeferredKey};

use crate::header::CpuMode;

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

#[cfg(test)]
mod tests {
    use super::*;

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
        const USER: u64 = ChainContext::USER.0;
        let cut = |words: &[u64]| is_cut(words.iter().copied());
        assert!(cut(&[USER, 0x40, USER]) && cut(&[KERNEL, 1, USER, 0x40, 0x41, USER]));
        assert!(!cut(&[USER, 0x40]) && !cut(&[USER]) && !cut(&[]));
        assert!(!cut(&[KERNEL, USER]), "no address of either");
        assert!(!cut(&[USER, 0x40, DEFERRED, USER]), "a cookie");
    }
}
