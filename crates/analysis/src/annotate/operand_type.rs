//! On whose data the instructions of a routine work.

use super::operand::operands;
use crate::name::access_types::{TypeAndMember, WHOLE};
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceNames;
use iced_x86::Instruction;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use symbolizer::{Place, SampledAddress};

/// A type, and the member of it that an instruction accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandType {
    /// As its language writes it.
    pub of: String,
    /// As tables have it; `-`: the type has none.
    pub member: String,
    /// How many other members samples of the instruction are on.
    pub others: usize,
}

impl std::fmt::Display for OperandType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.of)?;
        if self.member != WHOLE {
            write!(f, ".{}", self.member)?;
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, ", and {others} more"),
        }
    }
}

/// What samples tell of the types of one routine's operands; of instructions
/// without any the code alone tells.
#[derive(Debug)]
pub(super) struct RoutineTypes {
    /// A sample that lies in it: whose memory holds the code.
    witness: SampledAddress,
    sampled: BTreeMap<u64, FxHashMap<TypeAndMember, u64>>,
}

impl RoutineTypes {
    pub(super) fn new(witness: SampledAddress) -> RoutineTypes {
        RoutineTypes { witness, sampled: BTreeMap::new() }
    }

    pub(super) fn add(
        &mut self,
        address: u64,
        types: &FxHashMap<TypeAndMember, u64>,
        lookup: &Lookup,
    ) {
        let known = self.sampled.entry(address).or_default();
        for (typed, count) in types {
            let typed = typed
                .of
                .as_undecided()
                .and_then(|number| lookup.undecided.decided_type(number))
                .unwrap_or(*typed);
            if typed.of.as_name().is_ok() {
                *known.entry(typed).or_default() += count;
            }
        }
    }

    pub(super) fn of(
        &self,
        instruction: &Instruction,
        place: Place,
        lookup: &mut Lookup,
    ) -> Option<OperandType> {
        if operands(instruction).is_empty() {
            return None;
        }
        let sampled = self.sampled.get(&place.address).filter(|types| !types.is_empty());
        let (typed, others) = match sampled {
            Some(types) => (commonest(types, &lookup.places)?, types.len() - 1),
            None => (lookup.types.operand_type(self.witness, place, &mut lookup.places)?, 0),
        };
        let (of, member) =
            (lookup.places.name_or_lack(typed.of), lookup.places.name_or_lack(typed.member));
        Some(OperandType { of, member, others })
    }
}

/// What most samples tell; of as many the first by name.
fn commonest(types: &FxHashMap<TypeAndMember, u64>, places: &PlaceNames) -> Option<TypeAndMember> {
    let rank = |(typed, count): (&TypeAndMember, &u64)| {
        let name = places.name_or_lack(typed.of) + &places.name_or_lack(typed.member);
        ((std::cmp::Reverse(*count), name), *typed)
    };
    types.iter().map(rank).min_by(|a, b| a.0.cmp(&b.0)).map(|(_, typed)| typed)
}
