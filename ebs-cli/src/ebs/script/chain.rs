//! The frames of a sample's call chain, innermost first.

use perfdata::bytes::RecordWords;
use perfdata::callchain::{CallChainWord, has_user, is_cut, is_known, parts};
use perfdata::registers::RegsAbi;
use perfdata::sample::StackUser;
use perfdata::{ChainContext, CpuMode, Registers, Sample};
use symbolizer::{ChainEnd, StackFrame};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) mode: CpuMode,
    /// Of the instruction sampled, then of those that the calls return to.
    pub(super) address: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CopiedStack<'a> {
    pub(super) registers: Registers<'a>,
    pub(super) stack: StackUser<'a>,
}

/// What the recording of an event tells of user space's part of a chain
/// besides the chain itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Besides {
    /// The branch stack holds the calls that have not returned.
    pub(super) calls: bool,
    /// How many of them the CPU keeps, if the recording says so.
    pub(super) most_calls: Option<usize>,
    pub(super) stack: bool,
    /// The register of user space that says where the program was.
    pub(super) instruction_pointer: Option<u32>,
}

/// The stack of user space that a sample has, if its chain leaves that to who
/// reads it.
pub(super) fn copied_stack<'a>(sample: &Sample<'a>, besides: Besides) -> Option<CopiedStack<'a>> {
    if !besides.stack || besides.calls || has_user(believed(sample).iter()) {
        return None;
    }
    // Threads of the kernel have none.
    let registers = sample.regs_user.filter(|it| it.abi != RegsAbi::None)?;
    Some(CopiedStack { registers, stack: sample.stack_user? })
}

/// The frames of a sample. A chain with a marker that means nothing is not
/// believed, as perf does. `unwound`: those of the stack that was copied. Where
/// it has none the first is known all the same: the instruction pointer, of the
/// kernel and of user space.
pub(super) fn frames<'a>(
    sample: &Sample<'a>,
    besides: Besides,
    unwound: &'a [StackFrame],
) -> impl Iterator<Item = Frame> + use<'a> {
    let chain = parts(believed(sample).iter());
    let calls = sample.branch_stack.filter(|_| besides.calls);
    let calls = calls.filter(|stack| stack.branches().next().is_some());
    let user = CallChainWord::Context(ChainContext::USER);
    let calls = calls.filter(|_| chain.clone().any(|part| part == user));
    let has_calls = calls.is_some();
    let mut mode = CpuMode::User;
    let own = chain.take_while(move |part| !(has_calls && *part == user));
    let recorded = own.filter_map(move |part| match part {
        CallChainWord::Address(address) => Some(Frame { mode, address }),
        CallChainWord::Context(context) => {
            mode = context.cpu_mode().unwrap_or(mode);
            None
        }
        CallChainWord::Cookie(_) => None,
    });
    let newest = calls.and_then(|stack| stack.branches().next()).map(|branch| branch.to);
    let callers = calls.into_iter().flat_map(|stack| stack.branches().map(|it| it.from));
    let called = newest.into_iter().chain(callers);
    let user = |address| Frame { mode: CpuMode::User, address };
    let (mut is_bare, mut has_user) = (calls.is_none(), calls.is_some());
    recorded.clone().for_each(|frame| {
        is_bare = false;
        has_user |= frame.mode == CpuMode::User;
    });
    let alone = Frame { mode: sample.misc.cpu_mode(), address: sample.ip.unwrap_or_default() };
    let alone = Some(alone).filter(|_| besides.stack && is_bare && sample.ip.is_some());
    // The innermost of its frames is the same.
    let alone = alone.filter(|it| unwound.is_empty() || it.mode != CpuMode::User);
    has_user |= alone.is_some_and(|frame| frame.mode == CpuMode::User);
    let unknown = besides.stack && !has_user && unwound.is_empty();
    let registers = sample.regs_user.filter(|_| unknown);
    let entered =
        registers.zip(besides.instruction_pointer).and_then(|(registers, ip)| registers.get(ip));
    let unwound = unwound.iter().map(StackFrame::code);
    recorded
        .chain(called.map(user))
        .chain(alone)
        .chain(entered.into_iter().chain(unwound).map(user))
}

/// Whether user space's part of a chain was to come later and did not.
pub(super) fn is_unsent(sample: &Sample<'_>) -> bool {
    parts(believed(sample).iter()).any(|part| matches!(part, CallChainWord::Cookie(_)))
}

/// Why a chain ends whose frames took the place of a copied stack.
pub(super) fn end_of_frames(sample: &Sample<'_>, besides: Besides) -> Option<ChainEnd> {
    let chain = believed(sample);
    if !besides.stack || besides.calls || !has_user(chain.iter()) {
        return None;
    }
    Some(if is_cut(chain.iter()) { ChainEnd::CopyTooShort } else { ChainEnd::Root })
}

/// Whether a chain has as many calls as the CPU keeps: there may be more.
pub(super) fn is_full(sample: &Sample<'_>, besides: Besides) -> bool {
    let calls = sample.branch_stack.filter(|_| besides.calls && has_user(believed(sample).iter()));
    calls.is_some_and(|calls| calls.is_full(besides.most_calls))
}

/// The chain of a sample, if sense can be made of it.
fn believed<'a>(sample: &Sample<'a>) -> RecordWords<'a> {
    sample.callchain.filter(|chain| is_known(chain.iter())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Besides, Frame, frames, is_full};
    use perfdata::bytes::RecordWords;
    use perfdata::registers::RegsAbi;
    use perfdata::sample::BranchStack;
    use perfdata::{ByteOrder, ChainContext, CpuMode, Misc, Registers, Sample};

    const KERNEL: u64 = ChainContext::KERNEL.0;
    const USER: u64 = ChainContext::USER.0;
    const USER_DEFERRED: u64 = ChainContext::USER_DEFERRED.0;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn of(chain: &[u64], branches: Option<&[u64]>) -> Vec<(CpuMode, u64)> {
        let (chain, branch_bytes) = (bytes(chain), bytes(branches.unwrap_or_default()));
        let entries = RecordWords::new(&branch_bytes, ByteOrder::Little);
        let stack = BranchStack { hw_index: None, entries, counters: None };
        let sample = Sample {
            callchain: Some(RecordWords::new(&chain, ByteOrder::Little)),
            branch_stack: branches.map(|_| stack),
            ..Sample::default()
        };
        let calls = Besides { calls: true, ..Besides::default() };
        frames(&sample, calls, &[]).map(|Frame { mode, address }| (mode, address)).collect()
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
    }

    #[test]
    fn what_makes_no_sense_is_no_chain() {
        assert_eq!(of(&[USER, 0x40_1000, 7_u64.wrapping_neg()], None), []);
        assert_eq!(of(&[], None), [], "as perf does");
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
        let empty = of(&[KERNEL, 0xffff_8000, USER, 0x99], Some(&[]));
        let recorded = [(CpuMode::Kernel, 0xffff_8000), (CpuMode::User, 0x99)];
        assert_eq!(empty, recorded, "without branches the chain's own frame is the caller");
    }

    #[test]
    fn a_chain_of_as_many_calls_as_the_cpu_keeps_is_full() {
        let (chain, branches) = (bytes(&[USER, 0x99]), bytes(&[0x41, 0x42, 0, 0x31, 0x32, 0]));
        let words = |bytes| RecordWords::new(bytes, ByteOrder::Little);
        let stack = BranchStack { hw_index: None, entries: words(&branches), counters: None };
        let sample = Sample {
            callchain: Some(words(&chain)),
            branch_stack: Some(stack),
            ..Sample::default()
        };
        for (calls, most_calls, full) in [
            (true, Some(2), true),
            (true, Some(3), false),
            (true, None, false),
            (false, Some(2), false),
        ] {
            let besides = Besides { calls, most_calls, ..Besides::default() };
            assert_eq!(is_full(&sample, besides), full, "{besides:?}");
        }
        let of_kernel = bytes(&[KERNEL, 0xffff_8000]);
        let of_kernel = Sample { callchain: Some(words(&of_kernel)), ..sample };
        let besides = Besides { calls: true, most_calls: Some(2), ..Besides::default() };
        assert!(!is_full(&of_kernel, besides), "no frame of user space is shown");
    }

    /// Of a sample of the kernel's or of user space's, with the instruction
    /// pointer that user space had in register 8.
    fn unwound_by_others(misc: Misc, chain: &[u64], ip: u64) -> Vec<(CpuMode, u64)> {
        let (chain, words) = (bytes(chain), bytes(&[ip]));
        let words = RecordWords::new(&words, ByteOrder::Little);
        let sample = Sample {
            misc,
            ip: Some(0x77),
            callchain: Some(RecordWords::new(&chain, ByteOrder::Little)),
            regs_user: Some(Registers { abi: RegsAbi::Bits64, mask: 1 << 8, words }),
            ..Sample::default()
        };
        let stack = Besides { stack: true, instruction_pointer: Some(8), ..Besides::default() };
        frames(&sample, stack, &[]).map(|Frame { mode, address }| (mode, address)).collect()
    }

    #[test]
    fn stacks_that_others_unwind_have_the_frames_that_are_known() {
        let (kernel, user) = (Misc(1), Misc(2));
        assert_eq!(unwound_by_others(user, &[], 0x99), [(CpuMode::User, 0x77)]);
        let entered = (CpuMode::User, 0x99);
        assert_eq!(unwound_by_others(kernel, &[], 0x99), [(CpuMode::Kernel, 0x77), entered]);
        let chain = [KERNEL, 0xffff_8000];
        let expected = [(CpuMode::Kernel, 0xffff_8000), entered];
        assert_eq!(unwound_by_others(kernel, &chain, 0x99), expected);
        let chain = [KERNEL, 0xffff_8000, USER, 0x55];
        let expected = [(CpuMode::Kernel, 0xffff_8000), (CpuMode::User, 0x55)];
        assert_eq!(unwound_by_others(kernel, &chain, 0x99), expected, "the chain has its own");
        let none = Sample { ip: None, ..Sample::default() };
        assert_eq!(frames(&none, Besides { stack: true, ..Besides::default() }, &[]).count(), 0);
    }
}
