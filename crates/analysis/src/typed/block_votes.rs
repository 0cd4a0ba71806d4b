//! The type of heap blocks: what accesses that code tells of say of others.
//!
//! Blocks of one size that were asked for by one chain of calls hold the same.
//! Each access to one whose type the code tells is a vote that such blocks
//! hold this type there; what nearly all votes agree with is their type.

use super::typed_operand::within;
use super::typed_operand::{TypedPlace, is_alike};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::sync::Arc;
use symbolizer::ObjectId;
use types::{ProgramTypes, TypeId, TypeTable};

/// Different votes on blocks of one origin that are kept.
const MOST_DIFFERENT: usize = 256;
/// Votes on all of them.
const MOST_VOTES: usize = 1 << 20;
/// Types that blocks of one origin are compared with.
const MOST_CANDIDATES: usize = 16;
/// Of so many votes one may differ: structures that are used as two things.
const ONE_IN: u64 = 10;

/// Blocks that are taken to hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockOrigin {
    /// The calls that led to the allocation, by number.
    pub(crate) chain: u32,
    /// Bytes that were asked for.
    pub(crate) size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockPlace {
    pub(crate) origin: BlockOrigin,
    /// Bytes from the block's start.
    pub(crate) offset: u64,
}

/// What the code says of an access to a block: a type of an object, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodeVote {
    pub(crate) object: ObjectId,
    pub(crate) of: TypeId,
    /// Bytes from the start of that.
    pub(crate) offset: u64,
}

#[derive(Debug, Default)]
pub(crate) struct BlockVotes {
    ballots: FxHashMap<BlockOrigin, TypeBallot>,
    programs: FxHashMap<ObjectId, Arc<ProgramTypes>>,
    different: usize,
}

/// Votes on blocks of one origin, by offset in the block.
#[derive(Debug, Default)]
struct TypeBallot {
    votes: FxHashMap<(u64, CodeVote), u64>,
}

/// What blocks of an origin hold: one of a type, or several one after the other.
#[derive(Clone, Debug)]
pub(crate) struct BlockType {
    pub(crate) program: Arc<ProgramTypes>,
    pub(crate) object: ObjectId,
    holds: BlockElements,
}

/// Things of a type, from a byte of the block on. What lies before the first and behind the last
/// that was seen may be anything: a hash table's control bytes are behind its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockElements {
    of: TypeId,
    size: u64,
    /// Where the first that was seen begins.
    first: u64,
    /// Where the last that was seen begins.
    last: u64,
}

#[derive(Debug)]
struct TypeCandidate {
    block: BlockType,
    votes: u64,
}

impl BlockVotes {
    /// The code says that an access to a block is one of a type.
    pub(crate) fn add(&mut self, at: BlockPlace, vote: CodeVote, program: &Arc<ProgramTypes>) {
        let ballot = self.ballots.entry(at.origin).or_default();
        let key = (at.offset, vote);
        if let Some(count) = ballot.votes.get_mut(&key) {
            *count = count.saturating_add(1);
        } else if ballot.votes.len() < MOST_DIFFERENT && self.different < MOST_VOTES {
            self.different += 1;
            ballot.votes.insert(key, 1);
            self.programs.entry(vote.object).or_insert_with(|| Arc::clone(program));
        }
    }

    /// What blocks of an origin hold; None: nobody told, or not all the same.
    pub(crate) fn decide(&self, origin: BlockOrigin) -> Option<BlockType> {
        let ballot = self.ballots.get(&origin)?;
        let all: u64 = ballot.votes.values().sum();
        let mut best: Option<(u64, u64, BlockType)> = None;
        for candidate in self.candidates(origin, ballot) {
            let (in_favour, size) = (self.in_favour(ballot, &candidate), candidate.holds.size);
            // What a part of it was taken for says less than the whole.
            let is_better =
                |(votes, of, _): &(u64, u64, BlockType)| (*votes, *of) < (in_favour, size);
            if best.as_ref().is_none_or(is_better) {
                best = Some((in_favour, size, candidate));
            }
        }
        let (in_favour, _, found) = best?;
        ((all - in_favour).saturating_mul(ONE_IN) <= all).then_some(found)
    }

    /// Types that somebody votes for and that blocks of this size can be of, each once; of many
    /// those with the most votes of their own.
    fn candidates(&self, origin: BlockOrigin, ballot: &TypeBallot) -> Vec<BlockType> {
        let mut votes: Vec<_> = ballot.votes.iter().collect();
        // The order of a hash table is nobody's.
        votes.sort_unstable();
        let mut found: Vec<TypeCandidate> = Vec::new();
        for ((at, vote), count) in votes {
            let Some(program) = self.programs.get(&vote.object) else { continue };
            let size = program.types.size_of(vote.of).filter(|size| *size > 0);
            let (Some(size), Some(start)) = (size, at.checked_sub(vote.offset)) else { continue };
            let is_same = |it: &&mut TypeCandidate| {
                let BlockElements { of, first, .. } = it.block.holds;
                it.block.object == vote.object
                    && first % size == start % size
                    && is_alike(&program.types, of, vote.of)
            };
            if let Some(known) = found.iter_mut().find(is_same) {
                let BlockElements { first, last, .. } = &mut known.block.holds;
                *first = (*first).min(start);
                *last = (*last).max(start);
                known.votes = known.votes.saturating_add(*count);
            } else {
                let holds = BlockElements { of: vote.of, size, first: start, last: start };
                let (program, object) = (Arc::clone(program), vote.object);
                let block = BlockType { program, object, holds };
                found.push(TypeCandidate { block, votes: *count });
            }
        }
        found.retain(|it| it.block.fits(origin.size));
        found.sort_by_key(|it| Reverse(it.votes));
        found.into_iter().take(MOST_CANDIDATES).map(|it| it.block).collect()
    }

    fn in_favour(&self, ballot: &TypeBallot, candidate: &BlockType) -> u64 {
        let agrees = |at: u64, vote: &CodeVote| {
            let types = &candidate.program.types;
            vote.object == candidate.object
                && candidate
                    .place(at)
                    .and_then(|place| within(types, place.of, place.offset?, vote.of))
                    == Some(vote.offset)
        };
        let votes = ballot.votes.iter().filter(|((at, vote), _)| agrees(*at, vote));
        votes.map(|(_, count)| *count).sum()
    }
}

impl BlockType {
    /// Whether a block of some bytes can hold nothing but these.
    fn fits(&self, bytes: u64) -> bool {
        let BlockElements { of, size, first, last } = self.holds;
        let Some(room) = bytes.checked_sub(first) else { return false };
        if let Some(array) = self.program.types.open_array(of) {
            return first == last && room >= array.start;
        }
        // Of several, two must have been seen: a pool may begin with one.
        room == size || room.is_multiple_of(size) && first < last
    }

    pub(crate) fn place(&self, at: u64) -> Option<TypedPlace> {
        let BlockElements { of, size, first, last } = self.holds;
        let within = at.checked_sub(first)?;
        let offset = match self.program.types.open_array(of) {
            Some(_) => within,
            None if at - last.min(at) < size => within % size,
            None => return None,
        };
        // Of bytes nothing is known but that they are some.
        Some(TypedPlace { of, offset: Some(offset).filter(|_| size > 1) })
    }

    /// Where in a type that the code knows a byte of such a block is.
    pub(crate) fn place_in(&self, known: TypeId, at: u64) -> Option<TypedPlace> {
        let types: &TypeTable = &self.program.types;
        let place = self.place(at)?;
        let offset = within(types, place.of, place.offset?, known)?;
        Some(TypedPlace { of: known, offset: Some(offset) })
    }
}
