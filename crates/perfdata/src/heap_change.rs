//! What an allocator did, as the emulated PMU tells it in PERF_SAMPLE_RAW of its events of the
//! heap: 28 bytes, `3H`, the call, 0, and three words.

use crate::AllocatorCall;

/// A block of the heap that was allocated or given back; its address is the sample's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapChange {
    /// The function that was called; None: whoever told knew it no more.
    pub call: Option<AllocatorCall>,
    /// Bytes that were asked for; 0 of blocks that are given back.
    pub size: u64,
    /// Address of the block that was there before, of those that change their size, and of the
    /// block itself when it is given back; 0: none.
    pub old: u64,
    /// No later than the call began, of the samples' clock: what another thread was given since
    /// at the address of the old block is not that block.
    pub began: u64,
}

const MAGIC: [u8; 2] = *b"3H";

impl HeapChange {
    /// Bytes of it: with the word that says how many, a multiple of 8.
    pub const SIZE: usize = 28;

    /// Reads RAW's bytes, whose words are little-endian as the machine's are that is emulated;
    /// None: they are something else.
    pub fn decode(raw: &[u8]) -> Option<HeapChange> {
        let ([m, h, call, 0], words) = raw.split_first_chunk()? else { return None };
        let (words, []) = words.as_chunks() else { return None };
        let [size, old, began] = *words else { return None };
        let known = *call == 0 || AllocatorCall::of_number(*call).is_some();
        ([*m, *h] == MAGIC && known).then(|| HeapChange {
            call: AllocatorCall::of_number(*call),
            size: u64::from_le_bytes(size),
            old: u64::from_le_bytes(old),
            began: u64::from_le_bytes(began),
        })
    }

    /// RAW's bytes.
    pub fn encode(self) -> [u8; HeapChange::SIZE] {
        let mut raw = [0; HeapChange::SIZE];
        let [m, h] = MAGIC;
        let words = [self.size, self.old, self.began].map(u64::to_le_bytes);
        let head = [m, h, self.call.map_or(0, |call| call as u8), 0];
        let bytes = head.iter().chain(words.as_flattened());
        raw.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(
            call in prop::option::of(prop::sample::select(AllocatorCall::ALL.to_vec())),
            words in any::<[u64; 3]>(),
        ) {
            let [size, old, began] = words;
            let change = HeapChange { call, size, old, began };
            prop_assert_eq!(HeapChange::decode(&change.encode()), Some(change));
        }

        #[test]
        fn other_bytes_are_none(
            head in prop::sample::select(vec![*b"3H\x01\0", *b"3C\x01\x02", *b"3H\x09\0", *b"3H\0\x01"]),
            rest in prop::collection::vec(any::<u8>(), 0..32),
        ) {
            let raw: Vec<u8> = head.into_iter().chain(rest).collect();
            if let Some(change) = HeapChange::decode(&raw) {
                prop_assert_eq!(&change.encode()[..], &raw[..]);
            }
        }
    }
}
