//! What a program did with its address space by mmap(2), munmap(2) or mremap(2), as samples of
//! `mapping` tell it in PERF_SAMPLE_RAW: 28 bytes, `3A`, the call, 0, and three words.

/// What a call did to a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MappingCall {
    /// mmap(2) of memory of no file: what was there before is gone.
    Map = 16,
    /// mmap(2) of a file.
    MapFile = 17,
    /// munmap(2): nothing is there any more.
    Unmap = 18,
    /// mremap(2): what was at another address, or was longer or shorter.
    Remap = 19,
}

impl MappingCall {
    /// All of them, in the order of their numbers, which no [`crate::AllocatorCall`] has.
    pub const ALL: [MappingCall; 4] =
        [MappingCall::Map, MappingCall::MapFile, MappingCall::Unmap, MappingCall::Remap];

    pub fn of_number(number: u8) -> Option<MappingCall> {
        MappingCall::ALL.into_iter().find(|call| *call as u8 == number)
    }
}

/// A range of addresses that means something else now; it begins at the sample's data address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingChange {
    pub call: MappingCall,
    /// Bytes of the range, as they were asked for: the kernel does whole pages.
    pub length: u64,
    /// Of [`MappingCall::Remap`]: where it was before; otherwise 0.
    pub old: u64,
    /// Of [`MappingCall::Remap`]: how many bytes it had there; 0: it stays there, too.
    pub old_length: u64,
}

const MAGIC: [u8; 2] = *b"3A";
/// MAP_ANONYMOUS, of no file; the same on all machines that are told apart here.
const ANONYMOUS: u64 = 0x20;
/// MREMAP_DONTUNMAP: what was moved stays there, too, empty.
const DONT_UNMAP: u64 = 4;

impl MappingChange {
    /// mmap(2) with these arguments has worked.
    pub fn mapped(length: u64, flags: u64) -> MappingChange {
        let call = if flags & ANONYMOUS == 0 { MappingCall::MapFile } else { MappingCall::Map };
        MappingChange { call, length, old: 0, old_length: 0 }
    }

    /// munmap(2) of so many bytes has worked.
    pub fn unmapped(length: u64) -> MappingChange {
        MappingChange { call: MappingCall::Unmap, length, old: 0, old_length: 0 }
    }

    /// mremap(2) with these arguments has worked.
    pub fn remapped(old: u64, old_length: u64, length: u64, flags: u64) -> MappingChange {
        let old_length = if flags & DONT_UNMAP == 0 { old_length } else { 0 };
        MappingChange { call: MappingCall::Remap, length, old, old_length }
    }

    /// Bytes of it: with the word that says how many, a multiple of 8.
    pub const SIZE: usize = 28;

    /// Reads RAW's bytes, whose words are little-endian; None: they are something else.
    pub fn decode(raw: &[u8]) -> Option<MappingChange> {
        let ([m, a, call, 0], words) = raw.split_first_chunk()? else { return None };
        let (words, []) = words.as_chunks() else { return None };
        let [length, old, old_length] = *words else { return None };
        let call = MappingCall::of_number(*call).filter(|_| [*m, *a] == MAGIC)?;
        let [length, old, old_length] = [length, old, old_length].map(u64::from_le_bytes);
        Some(MappingChange { call, length, old, old_length })
    }

    /// RAW's bytes.
    pub fn encode(self) -> [u8; MappingChange::SIZE] {
        let mut raw = [0; MappingChange::SIZE];
        let [m, a] = MAGIC;
        let words = [self.length, self.old, self.old_length].map(u64::to_le_bytes);
        let head = [m, a, self.call as u8, 0];
        let bytes = head.iter().chain(words.as_flattened());
        raw.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocatorCall, HeapChange};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(
            call in prop::sample::select(MappingCall::ALL.to_vec()),
            words in any::<[u64; 3]>(),
        ) {
            let [length, old, old_length] = words;
            let change = MappingChange { call, length, old, old_length };
            prop_assert_eq!(MappingChange::decode(&change.encode()), Some(change));
            prop_assert_eq!(HeapChange::decode(&change.encode()), None);
        }

        #[test]
        fn other_bytes_are_none(
            head in prop::sample::select(vec![*b"3A\x10\0", *b"3H\x10\0", *b"3A\x01\0", *b"3A\x10\x01"]),
            rest in prop::collection::vec(any::<u8>(), 0..32),
        ) {
            let raw: Vec<u8> = head.into_iter().chain(rest).collect();
            if let Some(change) = MappingChange::decode(&raw) {
                prop_assert_eq!(&change.encode()[..], &raw[..]);
            }
        }
    }

    #[test]
    fn arguments_tell_what_was_done() {
        let is = |call, old, old_length| MappingChange { call, length: 8192, old, old_length };
        // MAP_PRIVATE, alone and with MAP_ANONYMOUS.
        assert_eq!(MappingChange::mapped(8192, 2), is(MappingCall::MapFile, 0, 0));
        assert_eq!(MappingChange::mapped(8192, 0x22), is(MappingCall::Map, 0, 0));
        assert_eq!(MappingChange::unmapped(8192), is(MappingCall::Unmap, 0, 0));
        let remapped = |flags| MappingChange::remapped(0x1000, 4096, 8192, flags);
        // MREMAP_MAYMOVE, alone and with MREMAP_DONTUNMAP.
        assert_eq!(remapped(1), is(MappingCall::Remap, 0x1000, 4096));
        assert_eq!(remapped(5), is(MappingCall::Remap, 0x1000, 0));
    }

    #[test]
    fn no_number_is_of_both_kinds() {
        for call in MappingCall::ALL {
            assert_eq!(MappingCall::of_number(call as u8), Some(call));
            assert_eq!(AllocatorCall::of_number(call as u8), None);
        }
    }
}
