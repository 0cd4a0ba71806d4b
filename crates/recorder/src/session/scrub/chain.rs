//! The call chain in a sample's bytes.

use perfdata::callchain::{CallChainWord, parts};
use perfdata::{Attr, CpuMode, SampleType};

use super::{KERNEL_HALF, WORD};

/// Words of a chain at most that are looked at: more than the kernel's record of 64 KiB has.
const MOST: u64 = 8192;

/// Where it lies: behind the fields of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainField {
    /// Offset of its length from the record's start, bytes.
    at: usize,
}

impl ChainField {
    /// Of an attr that asks for one, and not for counter values, which would lie before it.
    pub(super) fn of(attr: &Attr) -> Option<ChainField> {
        let is_asked = attr.sample_type.contains(SampleType::CALLCHAIN);
        is_asked.then(|| ChainField { at: behind_fixed(attr.sample_type) })
    }

    /// The offset of what follows, in a record of which `word` gives the words; None: it is
    /// cut off.
    pub(super) fn end(self, word: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let words = word(self.at).filter(|words| *words <= MOST)?;
        Some(self.at + WORD * (1 + usize::try_from(words).ok()?))
    }

    /// Whether a frame is the kernel's; also when nobody can tell.
    pub(super) fn shows_kernel(self, word: impl Fn(usize) -> Option<u64>) -> bool {
        let Some(end) = self.end(&word) else { return true };
        // A word that is cut off is taken for the kernel's.
        let words = (self.at + WORD..end).step_by(WORD);
        parts(words.map(|at| word(at).unwrap_or(KERNEL_HALF))).any(|part| match part {
            CallChainWord::Address(frame) => frame & KERNEL_HALF != 0,
            CallChainWord::Context(context) => context.cpu_mode() != Some(CpuMode::User),
            CallChainWord::Cookie(_) => false,
        })
    }
}

/// Offset from a record's start of what follows the fields of fixed size, bytes: a word each,
/// PERIOD the last of them, as perf_output_sample() (kernel/events/core.c) writes them.
pub(in crate::session) fn behind_fixed(fields: SampleType) -> usize {
    let fixed = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::ID
        | SampleType::STREAM_ID
        | SampleType::CPU
        | SampleType::PERIOD;
    let words = (fields & fixed).bits().count_ones() as usize;
    WORD * (1 + words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::ChainContext;

    #[test]
    fn frames_of_the_kernel_are_seen_wherever_they_stand() {
        let sample_type = SampleType::IP | SampleType::TID | SampleType::CALLCHAIN;
        let chain = ChainField::of(&Attr { sample_type, ..Attr::default() }).unwrap();
        const USER: u64 = ChainContext::USER.0;
        const USER_DEFERRED: u64 = ChainContext::USER_DEFERRED.0;
        let (user, kernel) = (0x7fff_0000_1234, 0xffff_8000_0000_1234);
        let shows = |frames: &[u64], told: u64| {
            let words = [&[0, user, 0, told], frames].concat();
            let word = |at: usize| words.get(at / WORD).copied();
            (chain.shows_kernel(word), chain.end(word))
        };
        assert_eq!(shows(&[], 0), (false, Some(32)), "an empty chain");
        assert_eq!(shows(&[USER, user, user], 3), (false, Some(56)));
        assert!(shows(&[USER, user, kernel], 3).0);
        assert!(shows(&[ChainContext::KERNEL.0, USER, user], 3).0, "the kernel's marker");
        assert!(shows(&[USER, user], 3).0, "cut off");
        assert!(shows(&[USER, user], u64::MAX).0, "a length that no record has");
        assert!(!shows(&[USER_DEFERRED, kernel], 2).0, "a number, no frame");
        assert!(shows(&[USER_DEFERRED, kernel, kernel], 3).0);
        let without = Attr { sample_type: SampleType::IP, ..Attr::default() };
        assert_eq!(ChainField::of(&without), None);
    }
}
