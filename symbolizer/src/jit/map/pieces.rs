//! What is seen of routines that lie over each other.

use super::Listed;
use std::collections::BinaryHeap;

/// A stretch of addresses of one routine that no newer one covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Its number among the routines.
    pub(super) routine: u32,
}

/// The pieces in order of address, at most two for each routine; disjoint.
/// `routines` are in order of their starts. Goes from the lowest address up,
/// with the routines that reach there in a heap, the newest on top.
pub(super) fn seen(routines: &[Listed]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut reaching: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let of = |number: u32| routines.get(number as usize);
    let (mut at, mut next) = (0, 0_u32);
    loop {
        while let Some(starting) = of(next).filter(|routine| routine.start <= at) {
            reaching.push((starting.name, next));
            next += 1;
        }
        let top = reaching.peek().and_then(|(_, number)| Some((*number, of(*number)?.last())));
        let Some((routine, last)) = top else {
            // Nothing reaches here: on to the next start.
            match of(next) {
                Some(starting) => at = starting.start,
                None => break,
            }
            continue;
        };
        if last < at {
            reaching.pop();
            continue;
        }
        let last = of(next).map_or(last, |starting| last.min(starting.start - 1));
        match pieces.last_mut() {
            Some(piece) if piece.routine == routine && piece.last.wrapping_add(1) == at => {
                piece.last = last;
            }
            _ => pieces.push(Piece { first: at, last, routine }),
        }
        match last.checked_add(1) {
            Some(behind) => at = behind,
            None => break,
        }
    }
    pieces
}
