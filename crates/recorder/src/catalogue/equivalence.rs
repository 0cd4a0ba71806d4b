//! How near an event of a CPU comes to a type.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Equivalence {
    Exact,
    /// The kernel chose the CPU's event for a name of perf's; which one it is, and
    /// what that counts, differs by CPU and kernel.
    Mapped,
    /// It counts something close; the encoding's note says what.
    Near,
    /// More is sampled, and samples of the type's instructions are kept.
    Emulated,
}

impl fmt::Display for Equivalence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Equivalence::Exact => "exact",
            Equivalence::Mapped => "as the kernel maps it",
            Equivalence::Near => "near",
            Equivalence::Emulated => "emulated",
        })
    }
}

impl FromStr for Equivalence {
    type Err = UnknownEquivalence;

    fn from_str(word: &str) -> Result<Equivalence, UnknownEquivalence> {
        match word {
            "exact" => Ok(Equivalence::Exact),
            "near" => Ok(Equivalence::Near),
            "emulated" => Ok(Equivalence::Emulated),
            _ => Err(UnknownEquivalence { word: word.to_owned() }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of exact, near, emulated")]
pub struct UnknownEquivalence {
    pub word: String,
}
