//! How a PMU's terms become the config words of its events: what
//! /sys/bus/event_source/devices/PMU/format and events hold.

mod alias;
mod bit_field;
mod pack;
mod terms;

use std::collections::BTreeMap;
use std::fmt;

pub use alias::Alias;
pub(crate) use alias::{AliasAttribute, companion};
pub use bit_field::{BitField, ConfigWord};
pub use pack::TermError;
pub(crate) use pack::unknown;
pub use terms::{Term, TermValue, Terms, TermsError};

#[cfg(test)]
mod tests;

/// `config` and `config1` to `config4` of an attr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConfigWords {
    /// By [`ConfigWord`]: `words[0]` is `config`.
    pub words: [u64; 5],
}

impl ConfigWords {
    pub fn get(&self, word: ConfigWord) -> u64 {
        self.words[word.index()]
    }

    pub fn get_mut(&mut self, word: ConfigWord) -> &mut u64 {
        &mut self.words[word.index()]
    }

    pub fn is_zero(&self) -> bool {
        self.words == [0; 5]
    }
}

impl fmt::Display for ConfigWords {
    /// The words that are not 0, as terms: "config=0x1cd,config1=0x1e".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = ConfigWord::ALL.into_iter().filter(|&word| self.get(word) != 0);
        for (index, word) in set.enumerate() {
            write!(f, "{}{word}={:#x}", if index == 0 { "" } else { "," }, self.get(word))?;
        }
        if self.is_zero() { f.write_str("config=0x0") } else { Ok(()) }
    }
}

/// What one file of a PMU's `format` directory says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermFormat {
    Bits(BitField),
    /// Something else, verbatim: a newer kernel's word. Terms of that name
    /// are refused.
    Unknown(String),
    Unreadable(String),
}

impl TermFormat {
    pub fn parse(text: &str) -> TermFormat {
        let text = text.trim();
        BitField::parse(text).map_or_else(|| TermFormat::Unknown(text.to_owned()), TermFormat::Bits)
    }
}

/// The terms that a PMU takes: its `format` directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats(BTreeMap<String, TermFormat>);

impl Formats {
    /// The format of that name; case counts, as in sysfs.
    pub fn get(&self, name: &str) -> Option<&TermFormat> {
        self.0.get(name)
    }

    pub fn bits(&self, name: &str) -> Option<&BitField> {
        match self.0.get(name) {
            Some(TermFormat::Bits(bits)) => Some(bits),
            _ => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &TermFormat)> {
        self.0.iter().map(|(name, format)| (name.as_str(), format))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there are formats and each tells its bits.
    pub fn are_known(&self) -> bool {
        !self.0.is_empty() && self.0.values().all(|format| matches!(format, TermFormat::Bits(_)))
    }

    /// The set bits of `config` that no format describes: a kernel or a CPU
    /// with these formats cannot take them.
    pub fn uncovered(&self, config: &ConfigWords) -> ConfigWords {
        let mut left = *config;
        for (_, format) in self.iter() {
            if let TermFormat::Bits(bits) = format {
                *left.get_mut(bits.word()) &= !bits.mask();
            }
        }
        left
    }
}

impl<N: Into<String>> FromIterator<(N, TermFormat)> for Formats {
    fn from_iter<I: IntoIterator<Item = (N, TermFormat)>>(formats: I) -> Formats {
        Formats(formats.into_iter().map(|(name, format)| (name.into(), format)).collect())
    }
}
