//! PERF_SAMPLE_BRANCH_STACK: recent branches, newest first.

use crate::bytes::{ByteOrder, RecordWords};

/// PERF_SAMPLE_BRANCH_STACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchStack<'a> {
    /// Index of the newest hardware entry, with HW_INDEX.
    pub hw_index: Option<u64>,
    /// Three words a branch: from, to, flags.
    pub entries: RecordWords<'a>,
    /// One word a branch, with COUNTERS.
    pub counters: Option<RecordWords<'a>>,
}

/// `struct perf_branch_entry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Address of the branch instruction, or of the one before it.
    pub from: u64,
    /// Address it went to.
    pub to: u64,
    /// How it went.
    pub flags: BranchFlags,
}

impl<'a> BranchStack<'a> {
    /// The branches, newest first.
    pub fn branches(&self) -> impl Iterator<Item = Branch> + use<'a> {
        let entries = self.entries;
        (0..entries.len() / 3).filter_map(move |index| {
            let word = |at| entries.get(index * 3 + at);
            let flags = BranchFlags { word: word(2)?, order: entries.order() };
            Some(Branch { from: word(0)?, to: word(1)?, flags })
        })
    }

    /// Whether it has as many branches as the CPU keeps, so that there may have
    /// been more. `most`: how many that are; None: nobody says.
    pub fn is_full(&self, most: Option<usize>) -> bool {
        most.is_some_and(|most| self.branches().count() >= most)
    }
}

/// The bit fields of `struct perf_branch_entry`. Big-endian machines allocate
/// them from the most significant bit down, and the header does not mirror
/// them, so the word alone does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchFlags {
    word: u64,
    order: ByteOrder,
}

impl BranchFlags {
    /// The target was predicted wrongly; with [`Self::predicted`] false too,
    /// the machine does not say.
    pub fn mispredicted(self) -> bool {
        self.field(0, 1) != 0
    }

    /// The target was predicted.
    pub fn predicted(self) -> bool {
        self.field(1, 1) != 0
    }

    /// The branch was in a memory transaction.
    pub fn in_transaction(self) -> bool {
        self.field(2, 1) != 0
    }

    /// The branch aborted a memory transaction.
    pub fn aborted(self) -> bool {
        self.field(3, 1) != 0
    }

    /// Core cycles since the branch before; 0 when not measured.
    pub fn cycles(self) -> u16 {
        let [low, high, ..] = self.field(4, 16).to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// PERF_BR_*: conditional, call, return and so on; 0 unknown.
    pub fn kind(self) -> u8 {
        self.field(20, 4).to_le_bytes()[0]
    }

    /// PERF_BR_NEW_*, which counts when [`Self::kind`] is 15.
    pub fn new_kind(self) -> u8 {
        self.field(26, 4).to_le_bytes()[0]
    }

    /// What perf script calls the kind; empty when it is not known.
    pub fn kind_name(self) -> &'static str {
        const KINDS: [&str; 15] = [
            "",
            "COND",
            "UNCOND",
            "IND",
            "CALL",
            "IND_CALL",
            "RET",
            "SYSCALL",
            "SYSRET",
            "COND_CALL",
            "COND_RET",
            "ERET",
            "IRQ",
            "SERROR",
            "NO_TX",
        ];
        const NEW_KINDS: [&str; 8] = [
            "FAULT_ALGN",
            "FAULT_DATA",
            "FAULT_INST",
            "ARCH_1",
            "ARCH_2",
            "ARCH_3",
            "ARCH_4",
            "ARCH_5",
        ];
        let named = match self.kind() {
            15 => NEW_KINDS.get(usize::from(self.new_kind())),
            kind => KINDS.get(usize::from(kind)),
        };
        named.copied().unwrap_or_default()
    }

    fn field(self, shift: u32, width: u32) -> u64 {
        let shift = match self.order {
            ByteOrder::Little => shift,
            ByteOrder::Big => 64 - shift - width,
        };
        self.word >> shift & ((1 << width) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{BranchStack, ByteOrder, RecordWords};

    /// mispred, cycles 0x1234, type 3, as compilers of both orders lay out
    /// the struct.
    #[test]
    fn bit_fields_are_read_in_both_orders() {
        let little = [0x41, 0x23, 0x31, 0, 0, 0, 0, 0];
        let big = [0x81, 0x23, 0x43, 0, 0, 0, 0, 0];
        for (order, flags) in [(ByteOrder::Little, little), (ByteOrder::Big, big)] {
            let mut bytes = [0; 24];
            let from = if order == ByteOrder::Little { 0 } else { 7 };
            bytes[from] = 9;
            bytes[16..].copy_from_slice(&flags);
            let entries = RecordWords::new(&bytes, order);
            let stack = BranchStack { hw_index: None, entries, counters: None };
            let branches: Vec<_> = stack.branches().collect();
            assert_eq!(branches.len(), 1);
            assert_eq!((branches[0].from, branches[0].to), (9, 0));
            let flags = branches[0].flags;
            assert!(flags.mispredicted() && !flags.predicted());
            assert!(!flags.in_transaction() && !flags.aborted());
            assert_eq!((flags.cycles(), flags.kind()), (0x1234, 3), "{order:?}");
        }
    }
}
