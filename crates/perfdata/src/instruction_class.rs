//! Classes of instructions that event types of hardmeter count, as a set.
//!
//! Only the names are here: which instruction is of which class is decided
//! where instructions are decoded (analysis).

use crate::named_enum::named_enum;
use std::fmt;
use std::str::FromStr;

named_enum! {
    /// One class. An instruction can be of several: `addps xmm0, [rax]` is
    /// [`PackedSp`](InstructionClass::PackedSp), and reads memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum InstructionClass {
        /// Computes on packed single-precision numbers (SSE, AVX).
        PackedSp => "packed_sp",
        /// Computes on packed double-precision numbers.
        PackedDp => "packed_dp",
        /// Computes on one single-precision number in a vector register.
        ScalarSp => "scalar_sp",
        /// Computes on one double-precision number in a vector register.
        ScalarDp => "scalar_dp",
        /// Computes on integers in MMX registers (64 bits).
        Mmx64 => "mmx64",
        /// Computes on packed integers in xmm registers or wider ones.
        Mmx128 => "mmx128",
        /// Computes on x87 floating-point numbers.
        X87 => "x87",
        /// Loads, stores or copies an x87, MMX or vector register.
        X87SimdMoves => "x87_simd_moves",
        ReadsMemory => "reads_memory",
        WritesMemory => "writes_memory",
        /// Reads memory, writes it, or both.
        AccessesMemory => "accesses_memory",
        /// Reads memory across the border of a 64-byte line; needs the data
        /// address besides the instruction.
        SplitLoad => "split_load",
    }
}

impl fmt::Display for InstructionClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no class of instructions is called `{word}`; there are {}", names())]
pub struct UnknownInstructionClass {
    pub word: String,
}

fn names() -> String {
    InstructionClass::ALL.map(InstructionClass::name).join(", ")
}

impl FromStr for InstructionClass {
    type Err = UnknownInstructionClass;

    fn from_str(word: &str) -> Result<InstructionClass, UnknownInstructionClass> {
        let found = InstructionClass::ALL.into_iter().find(|class| class.name() == word);
        found.ok_or_else(|| UnknownInstructionClass { word: word.to_owned() })
    }
}

/// A set of classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InstructionClasses(u16);

impl InstructionClasses {
    pub const NONE: InstructionClasses = InstructionClasses(0);

    /// The set with one more class.
    pub const fn with(self, class: InstructionClass) -> InstructionClasses {
        InstructionClasses(self.0 | 1 << class as u16)
    }

    /// Whether the class is in the set.
    pub const fn contains(self, class: InstructionClass) -> bool {
        self.0 >> class as u16 & 1 == 1
    }

    /// The classes in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = InstructionClass> {
        InstructionClass::ALL.into_iter().filter(move |&class| self.contains(class))
    }
}

impl FromIterator<InstructionClass> for InstructionClasses {
    fn from_iter<I: IntoIterator<Item = InstructionClass>>(classes: I) -> InstructionClasses {
        classes.into_iter().fold(InstructionClasses::NONE, InstructionClasses::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_by_name() {
        for class in InstructionClass::ALL {
            assert_eq!(class.name().parse(), Ok(class));
        }
        let error = "packed".parse::<InstructionClass>().unwrap_err().to_string();
        assert!(error.contains("`packed`") && error.ends_with("accesses_memory, split_load"));
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let two: InstructionClasses =
            [InstructionClass::X87, InstructionClass::PackedSp].into_iter().collect();
        assert_eq!(
            two.iter().collect::<Vec<_>>(),
            [InstructionClass::PackedSp, InstructionClass::X87]
        );
        let all: InstructionClasses = InstructionClass::ALL.into_iter().collect();
        assert_eq!(all.iter().count(), InstructionClass::ALL.len());
        assert!(
            InstructionClass::ALL
                .into_iter()
                .all(|class| !InstructionClasses::NONE.contains(class))
        );
    }
}
