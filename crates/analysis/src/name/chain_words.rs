//! A sample's callers while it waits to be counted, as words.

use perfdata::bytes::RecordWords;
use perfdata::callchain::{has_user, is_known};
use perfdata::registers::RegsAbi;
use perfdata::sample::StackUser;
use perfdata::{ByteOrder, ChainContext, CpuMode, Registers, Sample};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChainWords<'w> {
    /// The chain as recorded, markers and all.
    pub(crate) recorded: &'w [u64],
    /// Whether it has as many calls as the CPU keeps: there may be more.
    pub(crate) is_full: bool,
    /// Registers of user space, one a bit of the event's mask; none without a
    /// stack to unwind.
    pub(crate) registers: &'w [u64],
    /// Whether the task is one of 64 bits.
    is_wide: bool,
    /// Bytes of the stack that are valid.
    valid: u64,
    /// One byte more says that more was asked for than there was.
    stack: &'w [u8],
}

/// Of an event whose branch stacks hold the calls that have not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptCalls {
    /// How many the CPU keeps; None: the recording does not say.
    pub(crate) most: Option<usize>,
}

/// Of the word that tells the length of a recorded chain: it is full.
const FULL: u64 = 1 << 63;

/// Appends a sample's callers, how many words and then they, and its stack. `kept`: its
/// branch stack has calls, which are better than what the kernel knows of user space.
pub(crate) fn push(
    sample: &Sample<'_>,
    kept: Option<KeptCalls>,
    words: &mut Vec<u64>,
    stacks: &mut Vec<u8>,
) {
    let start = words.len();
    let chain = sample.callchain.filter(|chain| is_known(chain.iter())).unwrap_or_default();
    words.extend([0, 0]);
    words.extend(chain.iter());
    let calls = sample.branch_stack.zip(kept);
    let user = chain.iter().position(|word| word == ChainContext::USER.0);
    let mut full = 0;
    if let (Some((calls, kept)), Some(user)) = (calls, user)
        && let Some(newest) = calls.branches().next()
    {
        // A jump (by a PLT, in place of a last call) leads on from where the call
        // went to. What entered the kernel is the first that it recorded.
        let sampled = sample.ip.filter(|_| sample.misc.cpu_mode() == CpuMode::User);
        let first = sampled.or(words.get(start + 2 + user + 1).copied()).unwrap_or(newest.to);
        words.truncate(start + 2 + user + 1);
        words.push(first);
        // As if they were where calls return to, one byte on: all are looked up
        // one byte before.
        words.extend(calls.branches().map(|branch| branch.from.wrapping_add(1)));
        full = if calls.is_full(kept.most) { FULL } else { 0 };
    }
    let recorded = (words.len() - start - 2) as u64 | full;
    if let Some(length) = words.get_mut(start + 1) {
        *length = recorded;
    }
    // A chain that has user space's frames needs no unwinding.
    let is_unwound = !has_user(chain.iter());
    let registers = sample.regs_user.filter(|it| it.abi != RegsAbi::None && is_unwound);
    if let (Some(registers), Some(stack)) = (registers, sample.stack_user) {
        let StackUser { data, dyn_size } = stack;
        let asked = data.len() as u64;
        let valid = dyn_size.unwrap_or(asked).min(asked);
        let is_wide = u64::from(registers.abi == RegsAbi::Bits64);
        words.extend([registers.words.len() as u64, is_wide, valid]);
        words.extend(registers.words.iter());
        let bytes = usize::try_from(valid).unwrap_or(data.len());
        // One copy of many bytes: most of what a sample with a stack costs.
        stacks.extend_from_slice(data.get(..bytes).unwrap_or(data));
        stacks.extend((valid < asked).then_some(0));
    }
    let length = (words.len() - start - 1) as u64;
    if let Some(first) = words.get_mut(start) {
        *first = length;
    }
}

/// What [`push`] appended, and the words that stand behind it.
pub(crate) fn split<'w>(words: &'w [u64], stack: &'w [u8]) -> Option<(ChainWords<'w>, &'w [u64])> {
    let at = |length: u64| usize::try_from(length).ok();
    let (length, rest) = words.split_first()?;
    let (own, behind) = rest.split_at_checked(at(*length)?)?;
    let (chain, own) = own.split_first()?;
    let (recorded, own) = own.split_at_checked(at(*chain & !FULL)?)?;
    let is_full = *chain & FULL != 0;
    let mut taken = ChainWords { recorded, is_full, ..ChainWords::default() };
    if let [registers, is_wide, valid, own @ ..] = own {
        let (registers, _) = own.split_at_checked(at(*registers)?)?;
        taken = ChainWords { registers, is_wide: *is_wide == 1, valid: *valid, stack, ..taken };
    }
    Some((taken, behind))
}

impl<'w> ChainWords<'w> {
    /// A chain that is all there is.
    pub(crate) fn of(recorded: &'w [u64]) -> ChainWords<'w> {
        ChainWords { recorded, ..ChainWords::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.recorded.is_empty() && !self.is_full && !self.has_stack()
    }

    pub(crate) fn has_stack(&self) -> bool {
        !self.registers.is_empty()
    }

    /// Registers, of that mask, in the bytes that are given, and the stack.
    pub(crate) fn lend<'b>(
        &'b self,
        mask: u64,
        registers: &'b mut Vec<u8>,
    ) -> (Registers<'b>, StackUser<'b>) {
        registers.clear();
        registers.extend(self.registers.iter().flat_map(|word| word.to_le_bytes()));
        let abi = if self.is_wide { RegsAbi::Bits64 } else { RegsAbi::Bits32 };
        let words = RecordWords::new(registers, ByteOrder::Little);
        let stack = StackUser { data: self.stack, dyn_size: Some(self.valid) };
        (Registers { abi, mask, words }, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::Misc;
    use perfdata::sample::BranchStack;

    #[test]
    fn callers_come_back_as_they_went() {
        let bytes = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let (chain, registers) = (bytes(&[ChainContext::KERNEL.0, 0x77]), bytes(&[5, 6]));
        let words = |bytes| RecordWords::new(bytes, ByteOrder::Little);
        let data: Vec<u8> = (0..24).collect();
        let sample = Sample {
            callchain: Some(words(&chain)),
            regs_user: Some(Registers { abi: RegsAbi::Bits64, mask: 3, words: words(&registers) }),
            stack_user: Some(StackUser { data: &data, dyn_size: Some(12) }),
            ..Sample::default()
        };
        let mut held = Vec::new();
        let mut stack = Vec::new();
        push(&sample, None, &mut held, &mut stack);
        held.push(99);
        let (callers, behind) = split(&held, &stack).unwrap();
        assert_eq!(behind, [99]);
        assert_eq!(callers.recorded, [ChainContext::KERNEL.0, 0x77]);
        assert!(callers.has_stack());
        let mut lent = Vec::new();
        let (registers, stack) = callers.lend(3, &mut lent);
        assert_eq!(Some(registers), sample.regs_user);
        assert_eq!((stack.dyn_size, &stack.data[..12]), (Some(12), &data[..12]));
        assert!(stack.data.len() > 12, "the copy ends where the stack does");
        for cut in 0..held.len() - 1 {
            assert_eq!(split(&held[..cut], &[]), None, "{cut} words");
        }
    }

    #[test]
    fn calls_that_have_not_returned_stand_in_for_the_frames_of_user_space() {
        let bytes = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let kernel = ChainContext::KERNEL.0;
        let (chain, branches) = (
            bytes(&[kernel, 0x77, ChainContext::USER.0, 0x99]),
            bytes(&[0x41, 0x42, 0, 0x31, 0x32, 0]),
        );
        let words = |bytes| RecordWords::new(bytes, ByteOrder::Little);
        let stack = BranchStack { hw_index: None, entries: words(&branches), counters: None };
        let sample = Sample {
            callchain: Some(words(&chain)),
            branch_stack: Some(stack),
            ..Sample::default()
        };
        let of = |sample: &Sample<'_>, kept| {
            let mut held = Vec::new();
            push(sample, kept, &mut held, &mut Vec::new());
            let (callers, behind) = split(&held, &[]).unwrap();
            assert!(behind.is_empty());
            (callers.recorded.to_vec(), callers.is_full)
        };
        let user = ChainContext::USER.0;
        for (most, is_full) in [(None, false), (Some(3), false), (Some(2), true)] {
            let calls = vec![kernel, 0x77, user, 0x99, 0x42, 0x32];
            assert_eq!(of(&sample, Some(KeptCalls { most })), (calls, is_full));
        }
        assert_eq!(of(&sample, None), (vec![kernel, 0x77, user, 0x99], false));
        let calls = Some(KeptCalls { most: None });
        let sampled = Sample { misc: Misc(2), ip: Some(0x55), ..sample.clone() };
        let expected = vec![kernel, 0x77, user, 0x55, 0x42, 0x32];
        assert_eq!(of(&sampled, calls).0, expected, "in user space");
        let chain = bytes(&[user]);
        let bare = Sample { callchain: Some(words(&chain)), ..sample };
        assert_eq!(of(&bare, calls).0, [user, 0x42, 0x42, 0x32], "nothing else says where");
    }

    #[test]
    fn a_chain_with_frames_of_user_space_needs_no_stack() {
        let chain: Vec<u8> =
            [ChainContext::USER.0, 0x40].iter().flat_map(|word| word.to_le_bytes()).collect();
        let sample = Sample {
            callchain: Some(RecordWords::new(&chain, ByteOrder::Little)),
            regs_user: Some(Registers { abi: RegsAbi::Bits64, ..Registers::default() }),
            stack_user: Some(StackUser { data: &[0; 64], dyn_size: None }),
            ..Sample::default()
        };
        let mut held = Vec::new();
        push(&sample, None, &mut held, &mut Vec::new());
        let (callers, behind) = split(&held, &[]).unwrap();
        assert!(!callers.has_stack() && behind.is_empty());
        assert_eq!(callers.recorded, [ChainContext::USER.0, 0x40]);
    }
}
