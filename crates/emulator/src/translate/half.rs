//! The two translations of a program.

use crate::block;

/// Which of the two translations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Half {
    /// All that the model wants to hear of is looked up.
    #[default]
    Modelled,
    /// Instructions are counted, nothing else: for what lies between bursts.
    Bare,
}

impl Half {
    /// As HALF of a block has it.
    #[must_use]
    pub fn of(word: u64) -> Half {
        if word == block::BARE { Half::Bare } else { Half::Modelled }
    }

    /// The word for HALF.
    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            Half::Modelled => block::MODELLED,
            Half::Bare => block::BARE,
        }
    }

    /// Offset in a block of the table of its indirect branches.
    #[must_use]
    pub fn table(self) -> usize {
        match self {
            Half::Modelled => block::BRANCHES,
            Half::Bare => block::BARE_BRANCHES,
        }
    }
}
