//! Types of accesses to heap blocks that wait until all samples are counted.

use super::access_types::{AccessTypes, TypeAndMember};
use super::key_value::Missing;
use super::place_names::PlaceNames;
use crate::typed::access_type::{AccessType, TypedBy};
use crate::typed::block_votes::{BlockPlace, BlockType, BlockVotes, CodeVote};
use crate::typed::object_types::TypedAccess;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use symbolizer::ObjectId;
use types::TypeId;

/// Different accesses that wait.
const MOST_UNDECIDED: usize = 1 << 18;

/// Accesses whose type other accesses to such blocks may tell.
#[derive(Debug, Default)]
pub(crate) struct UndecidedTypes {
    votes: BlockVotes,
    numbers: FxHashMap<UndecidedAccess, u32>,
    waiting: Vec<WaitingType>,
    /// Samples that there was no room for.
    left_out: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UndecidedAccess {
    place: BlockPlace,
    /// Bytes that are accessed; 0: not known.
    bytes: u64,
    known: Option<KnownType>,
    /// What is shown where nothing is decided.
    otherwise: TypeAndMember,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KnownType {
    object: ObjectId,
    of: TypeId,
}

#[derive(Debug)]
struct WaitingType {
    access: UndecidedAccess,
    samples: u64,
    decided: TypeAndMember,
    by_code: Option<TypedAccess>,
    by_block: Option<TypedAccess>,
}

#[derive(Clone, Debug)]
pub(crate) enum BlockAccess {
    /// Its code tells all.
    Known(TypedAccess),
    /// It waits until all samples are counted, under a number.
    Waiting(u32),
    /// There is no room to wait: what its code tells, or why that tells nothing.
    Left(Result<TypedAccess, TypeAndMember>),
}

impl UndecidedTypes {
    /// The type of an access to a heap block: what code says of it, or a number by which it is
    /// known when all samples are counted.
    pub(crate) fn access_in_block(
        &mut self,
        found: Result<TypedAccess, TypeAndMember>,
        place: BlockPlace,
        types: &mut AccessTypes,
        places: &mut PlaceNames,
    ) -> BlockAccess {
        let access = match &found {
            Err(otherwise) => {
                UndecidedAccess { place, bytes: 0, known: None, otherwise: *otherwise }
            }
            Ok(typed) => {
                self.take_vote(typed, place);
                let TypedAccess { object, found, bytes, ref program } = *typed;
                // What its code says holds, of bytes too: they may lie beside what others vote for.
                let is_bytes = found.place.is_bytes(&program.types);
                if found.by != TypedBy::Code || found.place.offset.is_some() || is_bytes {
                    return BlockAccess::Known(typed.clone());
                }
                let known = Some(KnownType { object, of: found.place.of });
                let otherwise = types.type_and_member(typed, places);
                UndecidedAccess { place, bytes, known, otherwise }
            }
        };
        match self.wait(access, found.as_ref().ok()) {
            Some(number) => BlockAccess::Waiting(number),
            None => BlockAccess::Left(found),
        }
    }

    /// Decides by what was counted so far of all that wait.
    pub(crate) fn decide(&mut self, types: &mut AccessTypes, places: &mut PlaceNames) {
        let mut of_blocks = FxHashMap::default();
        for number in 0..self.waiting.len() {
            let Some(access) = self.waiting.get(number).map(|it| it.access) else {
                continue;
            };
            let (votes, origin) = (&self.votes, access.place.origin);
            let block = of_blocks.entry(origin).or_insert_with(|| votes.decide(origin));
            let typed = block.as_ref().and_then(|block| access.typed(block));
            let decided =
                typed.as_ref().map_or(access.otherwise, |it| types.type_and_member(it, places));
            if let Some(waiting) = self.waiting.get_mut(number) {
                (waiting.decided, waiting.by_block) = (decided, typed);
            }
        }
    }

    /// Samples whose code told no type and whose block does, by why it told none.
    pub(crate) fn told_by_blocks(&self, places: &PlaceNames) -> BTreeMap<&'static str, u64> {
        let mut told: BTreeMap<&'static str, u64> = BTreeMap::new();
        for WaitingType { access, samples, decided, .. } in &self.waiting {
            if *decided != access.otherwise
                && let Err(Missing::Name(reason)) = access.otherwise.of.as_name()
            {
                let count = told.entry(places.unresolved(reason).tag).or_default();
                *count = count.saturating_add(*samples);
            }
        }
        told
    }

    pub(crate) fn decided_type(&self, number: u32) -> Option<TypeAndMember> {
        let at = usize::try_from(number).ok()?;
        self.waiting.get(at).map(|waiting| waiting.decided)
    }

    /// What was decided of an access by its number, not in words; None: nothing, and its
    /// code tells nothing.
    pub(crate) fn decided_access(&self, number: u32) -> Option<&TypedAccess> {
        let at = usize::try_from(number).ok()?;
        let waiting = self.waiting.get(at)?;
        waiting.by_block.as_ref().or(waiting.by_code.as_ref())
    }

    /// The number of an access that waits; None: there is no room for it.
    fn wait(&mut self, access: UndecidedAccess, by_code: Option<&TypedAccess>) -> Option<u32> {
        let UndecidedTypes { numbers, waiting, left_out, .. } = self;
        let number = match numbers.get(&access) {
            Some(number) => *number,
            None if waiting.len() < MOST_UNDECIDED => {
                let number = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
                numbers.insert(access, number);
                let (decided, by_code) = (access.otherwise, by_code.cloned());
                waiting.push(WaitingType { access, samples: 0, decided, by_code, by_block: None });
                number
            }
            None => {
                *left_out = left_out.saturating_add(1);
                return None;
            }
        };
        if let Some(waiting) = usize::try_from(number).ok().and_then(|at| waiting.get_mut(at)) {
            waiting.samples = waiting.samples.saturating_add(1);
        }
        Some(number)
    }

    /// Lets an access to a heap block tell what such blocks hold, if its code says.
    pub(crate) fn take_vote(&mut self, typed: &TypedAccess, at: BlockPlace) {
        let TypedAccess { object, found, ref program, .. } = *typed;
        if let (TypedBy::Code, Some(offset)) = (found.by, found.place.offset) {
            self.votes.add(at, CodeVote { object, of: found.place.of, offset }, program);
        }
    }

    pub(crate) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} samples were not asked for what their block of the heap holds: \
                 {MOST_UNDECIDED} different accesses may wait for that",
                self.left_out
            )
        })
    }
}

impl UndecidedAccess {
    fn typed(&self, block: &BlockType) -> Option<TypedAccess> {
        let at = self.place.offset;
        let place = match self.known {
            Some(known) if known.object == block.object => block.place_in(known.of, at)?,
            Some(_) => return None,
            None => block.place(at)?,
        };
        let found = AccessType { place, by: TypedBy::Block };
        let (program, object) = (block.program.clone(), block.object);
        Some(TypedAccess { program, object, found, bytes: self.bytes })
    }
}
