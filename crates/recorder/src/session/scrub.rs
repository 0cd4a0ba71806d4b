//! The second filter: records that a user without permission for the kernel
//! should never have been given.
//!
//! The kernel filters first. A PMU that skids, a hypervisor, or a mistake of
//! a driver can still put the kernel's state into a user's sample; fields at
//! fixed offsets show it.

use perfdata::callchain::{CallChainWord, parts};
use perfdata::{Attr, CpuMode, Misc, SampleType};

use crate::PlannedEvent;
use crate::catalogue::promises::SampleSource;

/// Looks at the fixed fields of one event's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleScrubber {
    /// Offset of the IP from the record's start, bytes.
    ip: Option<usize>,
    addr: Option<usize>,
    chain: Option<ChainField>,
    ibs: Option<IbsFields>,
}

/// Fields of IBS' samples behind those of fixed places.
///
/// The kernel takes mode and IP from the op that was tagged, and registers
/// from the interrupt, which may have found the kernel at work
/// (perf_ibs_handle_irq(), arch/x86/events/amd/ibs.c). What it copies of IBS'
/// registers holds a physical address, and addresses of an earlier op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IbsFields {
    /// Offset of what follows the fixed fields, and of the chain behind them if there is one.
    from: usize,
    chain: Option<ChainField>,
    fields: SampleType,
    registers: u64,
    user_registers: u64,
}

/// The upper half of the address space is the kernel's on each 64-bit
/// machine that perf knows.
const KERNEL_HALF: u64 = 1 << 63;
const WORD: usize = size_of::<u64>();
/// The stack pointer in masks of registers (PERF_REG_X86_SP).
const SP: u32 = 7;
/// Where IBS' registers lie, behind 4 bytes of size and 4 of capabilities.
const RIP: usize = 8 + WORD;
const DATA3: usize = 8 + 4 * WORD;
const LINEAR_ADDRESS: usize = DATA3 + WORD;
const PHYSICAL_ADDRESS: usize = LINEAR_ADDRESS + WORD;
/// Of IBS_OP_DATA3: which of the addresses are those of the op.
const LINEAR_VALID: u64 = 1 << 17;
const PHYSICAL_VALID: u64 = 1 << 18;

impl SampleScrubber {
    pub(super) fn of(event: &PlannedEvent) -> SampleScrubber {
        let is_ibs = event.promises.source == SampleSource::Ibs;
        SampleScrubber {
            ibs: is_ibs.then(|| IbsFields::of(&event.attr)),
            ..SampleScrubber::new(&event.attr)
        }
    }

    /// For samples of this attr, by something else than IBS.
    pub fn new(attr: &Attr) -> SampleScrubber {
        // As perf_output_sample() (kernel/events/core.c) writes them.
        let order = [
            SampleType::IDENTIFIER,
            SampleType::IP,
            SampleType::TID,
            SampleType::TIME,
            SampleType::ADDR,
        ];
        let offset = |field: SampleType| {
            let before = order.iter().take_while(|&&earlier| earlier != field);
            let words = before.filter(|&&earlier| attr.sample_type.contains(earlier)).count();
            attr.sample_type.contains(field).then_some(WORD * (1 + words))
        };
        SampleScrubber {
            ip: offset(SampleType::IP),
            addr: offset(SampleType::ADDR),
            chain: ChainField::of(attr),
            ibs: None,
        }
    }

    /// Whether a sample shows something of the kernel: its mode is not the
    /// user's, or its instruction, data, a caller or, with IBS, stack lies in
    /// the kernel's half. `word` gives the word at an offset from the record's
    /// start; a record too short for its fields shows what nobody can tell.
    pub fn shows_kernel(&self, misc: Misc, word: impl Fn(usize) -> Option<u64>) -> bool {
        let in_kernel =
            |at: Option<usize>| at.is_some_and(|at| word(at).is_none_or(|w| w & KERNEL_HALF != 0));
        misc.cpu_mode() != CpuMode::User
            || in_kernel(self.ip)
            || in_kernel(self.addr)
            || self.chain.is_some_and(|chain| chain.shows_kernel(&word))
            || self.ibs.is_some_and(|ibs| !ibs.is_users_stack(&word))
    }

    /// Takes out of a record that is passed on what no user needs of IBS'
    /// registers: what is not of the op, and what is physical.
    pub(super) fn blank(&self, record: &mut [u8]) {
        let Some(ibs) = self.ibs.filter(|ibs| ibs.fields.contains(SampleType::RAW)) else { return };
        let word = |at: usize| {
            let bytes = record.get(at..)?.first_chunk();
            bytes.copied().map(u64::from_ne_bytes)
        };
        let Some(at) = ibs.raw(word) else { return };
        let Some(raw) = record.get_mut(at..) else { return };
        let size = raw.first_chunk().map_or(0, |size| u32::from_ne_bytes(*size) as usize);
        let end = raw.len().min(size_of::<u32>() + size);
        let mut has_linear = false;
        if let Some(word) = raw.get_mut(DATA3..).and_then(<[u8]>::first_chunk_mut) {
            let data3 = u64::from_ne_bytes(*word);
            has_linear = data3 & LINEAR_VALID != 0;
            *word = (data3 & !PHYSICAL_VALID).to_ne_bytes();
        }
        let behind = if has_linear { PHYSICAL_ADDRESS } else { LINEAR_ADDRESS };
        for taken_out in [RIP..(RIP + WORD).min(end), behind..end] {
            if let Some(bytes) = raw.get_mut(taken_out) {
                bytes.fill(0);
            }
        }
    }
}

impl IbsFields {
    fn of(attr: &Attr) -> IbsFields {
        IbsFields {
            from: behind_fixed(attr.sample_type),
            chain: ChainField::of(attr),
            fields: attr.sample_type,
            registers: attr.sample_regs_intr,
            user_registers: attr.sample_regs_user,
        }
    }

    /// Where RAW would begin; None: the record is cut off.
    fn raw(&self, word: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        self.chain.map_or(Some(self.from), |chain| chain.end(word))
    }

    /// Whether the registers, if there are any, are those of user mode.
    fn is_users_stack(&self, word: impl Fn(usize) -> Option<u64>) -> bool {
        let has = |field| self.fields.contains(field);
        if !has(SampleType::REGS_INTR) {
            return true;
        }
        // Never asked for of IBS.
        let unknown = SampleType::READ | SampleType::BRANCH_STACK;
        if self.fields.intersects(unknown) || self.registers >> SP & 1 == 0 {
            return false;
        }
        // The number of the ABI, then the registers; 0: there are none.
        let at = self.registers_at(&word);
        match at.and_then(|at| Some((at, word(at)?))) {
            Some((_, 0)) => true,
            Some((at, _)) => {
                let before = (self.registers & ((1 << SP) - 1)).count_ones() as usize;
                word(at + WORD * (1 + before)).is_some_and(|stack| stack & KERNEL_HALF == 0)
            }
            None => false,
        }
    }

    fn registers_at(&self, word: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let has = |field| self.fields.contains(field);
        let size = |word: u64| u16::try_from(word).ok().map(usize::from);
        let mut at = self.raw(&word)?;
        if has(SampleType::RAW) {
            // Four bytes, the first in memory on the only machines with IBS.
            at += size_of::<u32>() + size(word(at)? & u64::from(u32::MAX))?;
        }
        if has(SampleType::REGS_USER) {
            let registers = self.user_registers.count_ones() as usize;
            at += WORD * (1 + if word(at)? == 0 { 0 } else { registers });
        }
        if has(SampleType::STACK_USER) {
            // The size, so many bytes, and how many of them are real.
            at += match size(word(at)?)? {
                0 => WORD,
                bytes => WORD + bytes + WORD,
            };
        }
        let words = SampleType::WEIGHT
            | SampleType::WEIGHT_STRUCT
            | SampleType::DATA_SRC
            | SampleType::TRANSACTION;
        Some(at + WORD * (self.fields & words).bits().count_ones() as usize)
    }
}

/// Words of a chain at most that are looked at: more than the kernel's record of 64 KiB has.
const MAX_CHAIN_WORDS: u64 = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChainField {
    /// Offset of its length from the record's start, bytes.
    at: usize,
}

impl ChainField {
    /// Of an attr that asks for one, and not for counter values, which would lie before it.
    fn of(attr: &Attr) -> Option<ChainField> {
        let is_asked = attr.sample_type.contains(SampleType::CALLCHAIN);
        is_asked.then(|| ChainField { at: behind_fixed(attr.sample_type) })
    }

    /// The offset of what follows, in a record of which `word` gives the words; None: it is
    /// cut off.
    fn end(self, word: impl Fn(usize) -> Option<u64>) -> Option<usize> {
        let words = word(self.at).filter(|words| *words <= MAX_CHAIN_WORDS)?;
        Some(self.at + WORD * (1 + usize::try_from(words).ok()?))
    }

    /// Whether a frame is the kernel's; also when nobody can tell.
    fn shows_kernel(self, word: impl Fn(usize) -> Option<u64>) -> bool {
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
    fn kernel_addresses_and_modes_are_seen() {
        const USER: Misc = Misc(2);
        let attr = Attr {
            sample_type: SampleType::IDENTIFIER
                | SampleType::IP
                | SampleType::TID
                | SampleType::TIME
                | SampleType::ADDR,
            ..Attr::default()
        };
        let scrub = SampleScrubber::new(&attr);
        let record = |ip: u64, addr: u64| {
            let words = [0, 7, ip, 0, 0, addr];
            move |at: usize| words.get(at / 8).copied()
        };
        let (user, kernel) = (0x7fff_0000_1234, 0xffff_8000_0000_0000);
        assert!(!scrub.shows_kernel(USER, record(user, user)));
        assert!(scrub.shows_kernel(USER, record(kernel, user)));
        assert!(scrub.shows_kernel(USER, record(user, kernel)));
        for mode in [0, 1, 3, 4, 5, 7] {
            assert!(scrub.shows_kernel(Misc(mode), record(user, user)), "mode {mode}");
        }
        assert!(scrub.shows_kernel(USER, |at| (at < 24).then_some(0)), "too short for its address");
        let without =
            SampleScrubber::new(&Attr { sample_type: SampleType::TID, ..Attr::default() });
        assert!(!without.shows_kernel(USER, |_| Some(kernel)), "no field to look at");
    }

    /// A sample of IBS as a kernel writes it for what a memory type asks.
    fn sample_of_ibs(stack: u64) -> Vec<u8> {
        let registers = [0xa, 0xb, 0xc, 0xd, 0x51, 0xd1, 0xb9, stack, 0x246];
        let raw_words = [1u64 << 18, 0x40_1200, 0xd1, 0xd2, 0xd3, 0x7f00, 0x1234_5000, 0x99];
        let mut bytes = Vec::new();
        let mut words = |words: &[u64]| bytes.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        words(&[0, 0x40_1200, 1, 0x7fff_0000_1234]);
        words(&[(4 + 8 * 8) | 0x1ff << 32]);
        words(&raw_words);
        words(&[3, 2]);
        words(&registers);
        bytes
    }

    fn scrub_of_ibs() -> SampleScrubber {
        let attr = Attr {
            sample_type: SampleType::IP
                | SampleType::TID
                | SampleType::ADDR
                | SampleType::RAW
                | SampleType::WEIGHT
                | SampleType::REGS_INTR,
            sample_regs_intr: 0x1ff,
            ..Attr::default()
        };
        SampleScrubber { ibs: Some(IbsFields::of(&attr)), ..SampleScrubber::new(&attr) }
    }

    #[test]
    fn registers_of_the_kernel_are_seen_behind_an_op_of_the_users() {
        const USER: Misc = Misc(2);
        let shows = |record: &[u8]| {
            let word = |at: usize| record.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes);
            scrub_of_ibs().shows_kernel(USER, word)
        };
        assert!(!shows(&sample_of_ibs(0x7fff_ffff_e000)));
        assert!(shows(&sample_of_ibs(0xffff_c900_005b_3d40)));
        let mut none = sample_of_ibs(0xffff_c900_005b_3d40);
        let abi = none.len() - 10 * WORD;
        none[abi] = 0;
        assert!(!shows(&none[..=abi + 7]), "a task without registers");
        for short in 8..none.len() {
            let record = &sample_of_ibs(0x7fff_ffff_e000)[..short];
            assert_eq!(shows(record), short < abi + 9 * WORD, "cut off at {short}");
        }
    }

    /// The same sample, with a chain, registers and stack of the user's.
    #[test]
    fn registers_of_the_kernel_are_seen_behind_callers() {
        const USER: Misc = Misc(2);
        let attr = Attr {
            sample_type: SampleType::IP
                | SampleType::CALLCHAIN
                | SampleType::RAW
                | SampleType::REGS_USER
                | SampleType::STACK_USER
                | SampleType::WEIGHT
                | SampleType::REGS_INTR,
            sample_regs_intr: 0x1ff,
            sample_regs_user: 0x180,
            sample_stack_user: 16,
            ..Attr::default()
        };
        let scrub =
            SampleScrubber { ibs: Some(IbsFields::of(&attr)), ..SampleScrubber::new(&attr) };
        let user_frame = perfdata::ChainContext::USER.0;
        for (caller, copied, stack, shown) in [
            (0x40_1200, 16, 0x7fff_ffff_e000, false),
            (0x40_1200, 0, 0x7fff_ffff_e000, false),
            (0x40_1200, 16, 0xffff_c900_005b_3d40, true),
            (0xffff_ffff_8100_0000, 16, 0x7fff_ffff_e000, true),
        ] {
            let raw = [(4 + 8) | 1 << 32, 0];
            let registers = [0xa, 0xb, 0xc, 0xd, 0x51, 0xd1, 0xb9, stack, 0x246];
            let copy: &[u64] = if copied == 0 { &[0] } else { &[16, 1, 2, 16] };
            let chain = [2, user_frame, caller];
            let words = [
                &[0, 0x40_1200],
                &chain[..],
                &raw,
                &[2, 0x7fff_0000, 0x40_1200],
                copy,
                &[3, 2],
                &registers,
            ]
            .concat();
            let word = |at: usize| words.get(at / WORD).copied();
            assert_eq!(scrub.shows_kernel(USER, word), shown, "{caller:#x} {copied} {stack:#x}");
        }
    }

    #[test]
    fn of_ibs_registers_only_what_is_the_ops_own_is_passed_on() {
        let blanked = |data3: u64| -> Vec<u64> {
            let mut record = sample_of_ibs(0);
            let at = 32 + DATA3;
            record[at..at + WORD].copy_from_slice(&data3.to_ne_bytes());
            scrub_of_ibs().blank(&mut record);
            record[40..104].as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
        };
        let (linear, physical) = (LINEAR_VALID | 0xd3, PHYSICAL_VALID | 0xd3);
        assert_eq!(blanked(linear), [1 << 18, 0, 0xd1, 0xd2, linear, 0x7f00, 0, 0]);
        assert_eq!(blanked(physical), [1 << 18, 0, 0xd1, 0xd2, 0xd3, 0, 0, 0], "of an earlier op");
        let whole = sample_of_ibs(0);
        for short in 0..whole.len() {
            scrub_of_ibs().blank(&mut whole.clone()[..short]);
        }
    }

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
