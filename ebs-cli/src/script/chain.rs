//! The frames of a sample's call chain, innermost first.

use record::bytes::Words;
use record::{CpuMode, Sample};

/// PERF_CONTEXT_MAX: words from here on are no addresses, they say whose
/// addresses follow.
const MARKERS: u64 = 4095_u64.wrapping_neg();
/// PERF_CONTEXT_USER.
const USER: u64 = 512_u64.wrapping_neg();
/// PERF_CONTEXT_USER_DEFERRED: a word follows that is no address; what it
/// stands for comes in a record of its own.
const USER_DEFERRED: u64 = 640_u64.wrapping_neg();

/// An address on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Whose address it is.
    pub(super) mode: CpuMode,
    /// Of the instruction sampled, then of those that the calls return to.
    pub(super) address: u64,
}

/// The frames of a sample. With `calls`, its branch stack holds the calls of
/// user space that have not returned, which the chain itself does not know.
/// A chain with a marker that means nothing is not believed, as perf does.
pub(super) fn frames<'a>(
    sample: &Sample<'a>,
    calls: bool,
) -> impl Iterator<Item = Frame> + use<'a> {
    let chain = sample.callchain.unwrap_or_default();
    let end = believed(&chain);
    let user = chain.iter().take(end).position(|word| word == USER).filter(|_| calls);
    let (end, branches) = match (user, sample.branch_stack) {
        (Some(at), Some(branches)) => (at, Some(branches)),
        _ => (end, None),
    };
    let mut mode = CpuMode::User;
    let recorded = chain.iter().take(end).filter_map(move |word| {
        if word < MARKERS {
            return Some(Frame { mode, address: word });
        }
        mode = mode_of(word).unwrap_or(mode);
        None
    });
    let newest = branches.and_then(|stack| stack.branches().next()).map(|branch| branch.to);
    let callers = branches.into_iter().flat_map(|stack| stack.branches().map(|it| it.from));
    let called = newest.into_iter().chain(callers);
    recorded.chain(called.map(|address| Frame { mode: CpuMode::User, address }))
}

/// How many words of a chain can be made sense of.
fn believed(chain: &Words<'_>) -> usize {
    let end = chain.iter().position(|word| word == USER_DEFERRED).unwrap_or(chain.len());
    let mut markers = chain.iter().take(end).filter(|word| *word >= MARKERS);
    if markers.all(|word| mode_of(word).is_some()) { end } else { 0 }
}

/// What a marker says, `enum perf_callchain_context`.
fn mode_of(marker: u64) -> Option<CpuMode> {
    Some(match marker.wrapping_neg() {
        32 => CpuMode::Hypervisor,
        128 => CpuMode::Kernel,
        512 => CpuMode::User,
        2048 | 2176 => CpuMode::GuestKernel,
        2560 => CpuMode::GuestUser,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Frame, USER, USER_DEFERRED, frames};
    use record::bytes::Words;
    use record::sample::BranchStack;
    use record::{ByteOrder, CpuMode, Sample};

    const KERNEL: u64 = 128_u64.wrapping_neg();

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn of(chain: &[u64], branches: Option<&[u64]>) -> Vec<(CpuMode, u64)> {
        let (chain, branch_bytes) = (bytes(chain), bytes(branches.unwrap_or_default()));
        let entries = Words::new(&branch_bytes, ByteOrder::Little);
        let stack = BranchStack { hw_index: None, entries, counters: None };
        let sample = Sample {
            callchain: Some(Words::new(&chain, ByteOrder::Little)),
            branch_stack: branches.map(|_| stack),
            ..Sample::default()
        };
        frames(&sample, true).map(|Frame { mode, address }| (mode, address)).collect()
    }

    #[test]
    fn markers_say_whose_addresses_follow() {
        let frames = of(&[KERNEL, 0xffff_8000, 0xffff_9000, USER, 0x40_1000], None);
        let expected = [
            (CpuMode::Kernel, 0xffff_8000),
            (CpuMode::Kernel, 0xffff_9000),
            (CpuMode::User, 0x40_1000),
        ];
        assert_eq!(frames, expected);
        assert_eq!(of(&[0x40_1000], None), [(CpuMode::User, 0x40_1000)], "before any marker");
        assert_eq!(of(&[], None), []);
    }

    #[test]
    fn what_makes_no_sense_is_no_chain() {
        assert_eq!(of(&[USER, 0x40_1000, 7_u64.wrapping_neg()], None), []);
        let deferred = of(&[KERNEL, 0xffff_8000, USER_DEFERRED, 77], None);
        assert_eq!(deferred, [(CpuMode::Kernel, 0xffff_8000)], "77 is a cookie");
    }

    #[test]
    fn calls_that_have_not_returned_are_the_user_space_part() {
        let calls = [0x41, 0x42, 0, 0x31, 0x32, 0];
        let frames = of(&[KERNEL, 0xffff_8000, USER, 0x99], Some(&calls));
        let expected = [
            (CpuMode::Kernel, 0xffff_8000),
            (CpuMode::User, 0x42),
            (CpuMode::User, 0x41),
            (CpuMode::User, 0x31),
        ];
        assert_eq!(frames, expected);
        let in_kernel = of(&[KERNEL, 0xffff_8000], Some(&calls));
        assert_eq!(in_kernel, [(CpuMode::Kernel, 0xffff_8000)]);
    }
}
