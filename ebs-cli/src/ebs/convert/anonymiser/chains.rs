//! Call chains without what was in memory.
//!
//! The kernel finds the callers of user space by frame pointers, and where a
//! program keeps something else in that register the words of a chain are
//! whatever lay on the stack: pieces of text, keys. A word stays when it is
//! the address of code that was mapped; another one may be anything, and
//! becomes 0. Mapped is what an earlier record of the file says: callers in
//! what a record later in the round maps are taken out, too.

use perfdata::ChainContext;
use perfdata::bytes::{ByteWriter, RecordWords};
use perfdata::callchain::{CallChainWord, parts};
use perfdata::sideband::Mapping;
use std::collections::BTreeMap;

/// Stretches that are kept apart: beyond, the gaps between some are taken for
/// mapped, too.
const MOST: usize = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct MappedCode {
    /// First and last address of stretches that do not touch.
    stretches: BTreeMap<u64, u64>,
}

impl MappedCode {
    pub(super) fn add(&mut self, mapping: &Mapping<'_>) {
        let (mut first, length) = (mapping.start, mapping.length);
        if length == 0 {
            return;
        }
        let mut last = first.saturating_add(length - 1);
        let reach = last.saturating_add(1);
        while let Some((&start, &end)) = self.stretches.range(..=reach).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            (first, last) = (first.min(start), last.max(end));
            self.stretches.remove(&start);
        }
        self.stretches.insert(first, last);
        if self.stretches.len() > MOST {
            self.join_first();
        }
    }

    fn join_first(&mut self) {
        let Some((first, _)) = self.stretches.pop_first() else { return };
        let Some((_, last)) = self.stretches.pop_first() else { return };
        self.stretches.insert(first, last);
    }

    fn holds(&self, address: u64) -> bool {
        self.stretches.range(..=address).next_back().is_some_and(|(_, last)| address <= *last)
    }
}

/// Appends a chain with 0 for each word that is no address of code; says how
/// many there were. The kernel's part stays: it unwinds its own stacks by
/// tables, and tells no word that is not its own code's.
pub(super) fn clean(chain: RecordWords<'_>, mapped: &MappedCode, out: &mut Vec<u8>) -> u64 {
    let mut w = ByteWriter::new(out, chain.order());
    let mut replaced = 0;
    for (word, cleaned) in chain.iter().zip(cleaned(chain.iter(), mapped)) {
        w.u64(cleaned);
        replaced += u64::from(cleaned != word);
    }
    replaced
}

/// The words of a chain, with 0 for those that [`clean`] takes out.
pub(super) fn cleaned(
    chain: impl Iterator<Item = u64> + Clone,
    mapped: &MappedCode,
) -> impl Iterator<Item = u64> {
    let mut context = ChainContext::USER;
    chain.clone().zip(parts(chain)).map(move |(word, part)| {
        let stays = match part {
            CallChainWord::Context(next) => {
                context = next;
                true
            }
            CallChainWord::Cookie(_) => true,
            CallChainWord::Address(word) if context == ChainContext::KERNEL => is_upper(word),
            CallChainWord::Address(word) => mapped.holds(word),
        };
        if stays { word } else { 0 }
    })
}

/// Whether a word can be an address of the kernel: all bits are set above
/// those that any machine translates (57), or the machine has 32.
fn is_upper(word: u64) -> bool {
    word >> 56 == 0xff || u32::try_from(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::sideband::FileIdentity;
    use perfdata::{ByteOrder, Task};

    fn mapped(stretches: &[(u64, u64)]) -> MappedCode {
        let mut mapped = MappedCode::default();
        for &(start, length) in stretches {
            let inode = FileIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 };
            mapped.add(&Mapping {
                task: Task::default(),
                start,
                length,
                page_offset: 0,
                file: inode,
                protection: None,
                flags: None,
                path: b"",
            });
        }
        mapped
    }

    #[test]
    fn stretches_that_touch_are_one() {
        let code = mapped(&[(0x1000, 0x1000), (0x4000, 0x1000), (0x2000, 0x2000), (0, 0)]);
        assert_eq!(code.stretches, BTreeMap::from([(0x1000, 0x4fff)]));
        let code = mapped(&[(0x1000, 0x1000), (0x4000, 0x1000), (0x1800, 0x100)]);
        assert_eq!(code.stretches, BTreeMap::from([(0x1000, 0x1fff), (0x4000, 0x4fff)]));
        let code = mapped(&[(u64::MAX - 0xfff, 0x1000), (0, u64::MAX)]);
        assert_eq!(code.stretches, BTreeMap::from([(0, u64::MAX)]));
        for (address, held) in [(0xfff, false), (0x1000, true), (0x1fff, true), (0x2000, false)] {
            let code = mapped(&[(0x1000, 0x1000), (0x4000, 0x1000)]);
            assert_eq!(code.holds(address), held, "{address:#x}");
        }
    }

    #[test]
    fn many_stretches_take_no_more_memory() {
        let many: Vec<_> = (0..MOST as u64 + 100).map(|at| (at * 0x2000, 0x1000)).collect();
        let code = mapped(&many);
        assert_eq!(code.stretches.len(), MOST);
        assert!(many.iter().all(|(start, _)| code.holds(*start)));
    }

    #[test]
    fn words_that_are_no_addresses_of_code_are_taken_out() {
        let (kernel, user) = (ChainContext::KERNEL.0, ChainContext::USER.0);
        let text = u64::from_le_bytes(*b"m/.cargo");
        let short = u64::from_le_bytes(*b"secret\0\0");
        let far = u64::from_le_bytes(*b"\x07abcdef\xf0");
        let code = 0xffff_ffff_8100_1000;
        let chain = [kernel, code, user, 0x40_1000, text, short, far, 0x40_2000];
        let bytes: Vec<u8> = chain.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut out = Vec::new();
        let words = RecordWords::new(&bytes, ByteOrder::Little);
        let mapped = mapped(&[(0x40_1000, 0x1000)]);
        assert_eq!(clean(words, &mapped, &mut out), 4);
        let kept: Vec<u64> = RecordWords::new(&out, ByteOrder::Little).iter().collect();
        assert_eq!(kept, [kernel, code, user, 0x40_1000, 0, 0, 0, 0]);
        let deferred =
            [ChainContext::USER_DEFERRED.0, 0x1_0000_0007].map(u64::to_be_bytes).concat();
        out.clear();
        clean(RecordWords::new(&deferred, ByteOrder::Big), &MappedCode::default(), &mut out);
        assert_eq!(out, deferred, "a number of the kernel's own");
    }
}
