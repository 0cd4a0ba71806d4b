//! What a sample says that a program did with its memory, as it waits with the sample.

use perfdata::{HeapChange, MappingCall, MappingChange};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryChange {
    Block(HeapChange),
    Mapping(MappingChange),
}

impl MemoryChange {
    /// What PERF_SAMPLE_RAW says; None: something else.
    pub(crate) fn decode(raw: &[u8]) -> Option<MemoryChange> {
        let block = HeapChange::decode(raw).map(MemoryChange::Block);
        block.or_else(|| MappingChange::decode(raw).map(MemoryChange::Mapping))
    }

    /// As words; which function of an allocator it was nobody asks.
    pub(crate) fn to_words(self) -> [u64; 4] {
        match self {
            MemoryChange::Block(HeapChange { size, old, began, .. }) => [0, size, old, began],
            MemoryChange::Mapping(MappingChange { call, length, old, old_length }) => {
                [u64::from(call as u8), length, old, old_length]
            }
        }
    }

    pub(crate) fn of_words(words: [u64; 4]) -> MemoryChange {
        let [number, size, old, last] = words;
        match u8::try_from(number).ok().and_then(MappingCall::of_number) {
            Some(call) => {
                MemoryChange::Mapping(MappingChange { call, length: size, old, old_length: last })
            }
            None => MemoryChange::Block(HeapChange { call: None, size, old, began: last }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_waits_is_what_came(
            call in prop::option::of(prop::sample::select(MappingCall::ALL.to_vec())),
            words in any::<[u64; 3]>(),
        ) {
            let [size, old, last] = words;
            let block = HeapChange { call: None, size, old, began: last };
            let (change, raw) = match call {
                None => (MemoryChange::Block(block), block.encode()),
                Some(call) => {
                    let change = MappingChange { call, length: size, old, old_length: last };
                    (MemoryChange::Mapping(change), change.encode())
                }
            };
            prop_assert_eq!(MemoryChange::decode(&raw), Some(change));
            prop_assert_eq!(MemoryChange::of_words(change.to_words()), change);
        }
    }
}
