//! The order of a table's rows.

use crate::query::key::{Key, KeyError};
use crate::query::nearest::nearest;
use std::fmt;
use std::str::FromStr;

/// Order of rows. Ties are broken by address, then by name, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Most samples first.
    Count,
    /// Largest share first: by period where shares are of periods.
    #[default]
    Share,
    /// Most cycles of latencies first, as [`crate::report::Latencies::share`]
    /// counts them: what costs most. Only with [`accesses`](crate::Query::accesses).
    Cycles,
    /// Longest mean latency first. Only with [`accesses`](crate::Query::accesses).
    Latency,
    /// Lowest address first (the first key that has one).
    Address,
    /// By name (the first key that has one).
    Name,
    /// By the value of this key, ascending.
    Key(Key),
}

/// Orders that are no keys.
const WORDS: [(&str, Sort); 6] = [
    ("share", Sort::Share),
    ("count", Sort::Count),
    ("address", Sort::Address),
    ("name", Sort::Name),
    ("cycles", Sort::Cycles),
    ("latency", Sort::Latency),
];

/// Why a word is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SortError {
    /// No such word.
    #[error(
        "{word:?} is no order of rows; {}there are share, count, address, name, with --mem cycles \
         and latency, and each key of --by",
        suggestion(.nearest)
    )]
    Unknown {
        /// The word as typed.
        word: String,
        /// Known words like it, best first.
        nearest: Vec<&'static str>,
    },
    /// Meant as a key, and none.
    #[error(transparent)]
    Key(KeyError),
}

fn suggestion(nearest: &[&'static str]) -> String {
    match nearest {
        [] => String::new(),
        words => format!("did you mean {}? ", words.join(" or ")),
    }
}

impl Sort {
    /// Every word that stands for an order but `reg:NAME`.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word).chain(Key::words())
    }
}

impl FromStr for Sort {
    type Err = SortError;

    fn from_str(word: &str) -> Result<Sort, SortError> {
        if let Some((_, sort)) = WORDS.iter().find(|(known, _)| *known == word) {
            return Ok(sort.clone());
        }
        match word.parse() {
            Ok(key) => Ok(Sort::Key(key)),
            Err(KeyError::Unknown { word, .. }) => {
                let nearest = nearest(&word, Sort::words());
                Err(SortError::Unknown { word, nearest })
            }
            Err(error) => Err(SortError::Key(error)),
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, WORDS.iter().find(|(_, sort)| sort == self)) {
            (Sort::Key(key), _) => key.fmt(f),
            (_, known) => f.pad(known.map_or("", |(word, _)| word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_orders_are_one_to_one() {
        for word in Sort::words() {
            assert_eq!(word.parse::<Sort>().unwrap().to_string(), word);
        }
        assert_eq!("reg:cx".parse(), Ok(Sort::Key(Key::Register("cx".into()))));
    }

    #[test]
    fn a_word_that_is_no_order_is_told_the_orders() {
        let said = |word: &str| word.parse::<Sort>().unwrap_err().to_string();
        assert_eq!(
            said("foo"),
            "\"foo\" is no order of rows; there are share, count, address, name, with --mem \
             cycles and latency, and each key of --by"
        );
        assert!(said("latancy").contains("did you mean latency?"), "{}", said("latancy"));
        assert!(said("routin").contains("did you mean routine or"), "{}", said("routin"));
        assert!(said("reg:").contains("name of a register"), "{}", said("reg:"));
    }
}
