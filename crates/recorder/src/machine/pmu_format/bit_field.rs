//! `config:0-7,32-35`: bits of one config word that hold one value.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigWord {
    Config,
    Config1,
    Config2,
    Config3,
    Config4,
}

impl ConfigWord {
    pub const ALL: [ConfigWord; 5] = [
        ConfigWord::Config,
        ConfigWord::Config1,
        ConfigWord::Config2,
        ConfigWord::Config3,
        ConfigWord::Config4,
    ];

    pub fn from_name(name: &str) -> Option<ConfigWord> {
        ConfigWord::ALL.into_iter().find(|word| word.name() == name)
    }

    /// "config", "config1"...
    pub fn name(self) -> &'static str {
        match self {
            ConfigWord::Config => "config",
            ConfigWord::Config1 => "config1",
            ConfigWord::Config2 => "config2",
            ConfigWord::Config3 => "config3",
            ConfigWord::Config4 => "config4",
        }
    }

    pub(super) fn index(self) -> usize {
        match self {
            ConfigWord::Config => 0,
            ConfigWord::Config1 => 1,
            ConfigWord::Config2 => 2,
            ConfigWord::Config3 => 3,
            ConfigWord::Config4 => 4,
        }
    }
}

impl fmt::Display for ConfigWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bits of one word; the lowest of them holds the lowest bit of the value,
/// in whatever order the ranges are listed (as perf_pmu__format_pack reads
/// them).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitField {
    word: ConfigWord,
    mask: u64,
}

impl BitField {
    /// A field of the bits that are set in `mask`; None when none is.
    pub fn new(word: ConfigWord, mask: u64) -> Option<BitField> {
        (mask != 0).then_some(BitField { word, mask })
    }

    /// Reads `WORD:BITS`, BITS being single bits and ascending ranges with
    /// commas between. None for any other text.
    pub(super) fn parse(text: &str) -> Option<BitField> {
        let (word, ranges) = text.split_once(':')?;
        let word = ConfigWord::from_name(word.trim())?;
        let mut mask = 0;
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (parse_bit(first)?, parse_bit(last)?);
            if first > last {
                return None;
            }
            mask |= u64::MAX >> (63 - last) & u64::MAX << first;
        }
        BitField::new(word, mask)
    }

    pub fn word(&self) -> ConfigWord {
        self.word
    }

    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Number of bits, 1 to 64.
    pub fn width(&self) -> u32 {
        self.mask.count_ones()
    }

    pub fn max(&self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// The field's bits of the word for `value`; None when it is too wide.
    pub fn deposit(&self, value: u64) -> Option<u64> {
        if value > self.max() {
            return None;
        }
        let mut word = 0;
        let mut value = value;
        for bit in self.bits() {
            word |= (value & 1) << bit;
            value >>= 1;
        }
        Some(word)
    }

    pub fn extract(&self, word: u64) -> u64 {
        let bits = self.bits().enumerate();
        bits.fold(0, |value, (at, bit)| value | (word >> bit & 1) << at)
    }

    fn bits(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..64).filter(move |bit| mask >> bit & 1 == 1)
    }
}

fn parse_bit(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|bit| *bit < 64)
}

impl fmt::Display for BitField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.word)?;
        let mut bits = self.bits().peekable();
        let mut comma = "";
        while let Some(first) = bits.next() {
            let mut last = first;
            while let Some(next) = bits.next_if(|bit| *bit == last + 1) {
                last = next;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}
