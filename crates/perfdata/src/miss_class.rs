//! Why a cache missed, as the emulated PMU tells it in PERF_SAMPLE_RAW: four
//! bytes, `3C`, the level, the class.

use crate::named_enum::named_enum;
use std::fmt;
use std::str::FromStr;

named_enum! {
    /// Why a miss is one: Hill's three classes, what is between two of them, and what
    /// other cores did.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum MissClass {
        /// The cache never had the line.
        Cold = 1 => "cold",
        /// Another core's write took the line away.
        Sharing = 2 => "sharing",
        /// A fully associative LRU cache of the same size would have had it.
        Conflict = 3 => "conflict",
        /// That would not, but one of 1.1 times the size: at a cliff of capacity.
        Edge = 4 => "edge",
        /// Neither would.
        Capacity = 5 => "capacity",
    }
}

impl MissClass {
    pub fn of_number(number: u8) -> Option<MissClass> {
        MissClass::ALL.into_iter().find(|class| *class as u8 == number)
    }
}

impl fmt::Display for MissClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no class of misses; possible are cold, sharing, conflict, edge, capacity")]
pub struct UnknownMissClass;

impl FromStr for MissClass {
    type Err = UnknownMissClass;

    fn from_str(word: &str) -> Result<MissClass, UnknownMissClass> {
        MissClass::ALL.into_iter().find(|class| class.name() == word).ok_or(UnknownMissClass)
    }
}

/// A miss of a level, classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifiedMiss {
    /// Number of the data cache, from 1 on.
    pub level: u8,
    /// Why; None: whoever told knew it no more.
    pub class: Option<MissClass>,
}

const MAGIC: [u8; 2] = *b"3C";

impl ClassifiedMiss {
    /// Bytes of it: with the word that says how many, a multiple of 8.
    pub const SIZE: usize = 4;

    /// Reads RAW's bytes; None: they are something else.
    pub fn decode(raw: &[u8]) -> Option<ClassifiedMiss> {
        let [m, c, level, class] = *raw else { return None };
        let known = class == 0 || MissClass::of_number(class).is_some();
        ([m, c] == MAGIC && level != 0 && known)
            .then(|| ClassifiedMiss { level, class: MissClass::of_number(class) })
    }

    /// RAW's bytes.
    pub fn encode(self) -> [u8; ClassifiedMiss::SIZE] {
        let [m, c] = MAGIC;
        [m, c, self.level, self.class.map_or(0, |class| class as u8)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_read_again() {
        for class in MissClass::ALL {
            assert_eq!(class.name().parse(), Ok(class));
            assert_eq!(MissClass::of_number(class as u8), Some(class));
        }
        assert_eq!("Cold".parse::<MissClass>(), Err(UnknownMissClass));
        assert_eq!(MissClass::of_number(0), None);
        assert_eq!(MissClass::of_number(6), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            level in 1_u8..=3,
            class in prop::option::of(prop::sample::select(MissClass::ALL.to_vec())),
        ) {
            let miss = ClassifiedMiss { level, class };
            prop_assert_eq!(ClassifiedMiss::decode(&miss.encode()), Some(miss));
        }

        #[test]
        fn other_bytes_are_none(raw in prop::collection::vec(any::<u8>(), 0..9)) {
            if let Some(miss) = ClassifiedMiss::decode(&raw) {
                prop_assert_eq!(&miss.encode()[..], &raw[..]);
            }
        }
    }
}
