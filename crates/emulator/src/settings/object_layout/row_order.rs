//! Rows whose bytes are in another order.

use super::parse::size;
use crate::geometry::bytes;
use std::fmt;

const PIECES: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowPiece {
    pub(crate) from: u64,
    /// Behind the last.
    pub(crate) to: u64,
    /// Where the first is in a row of the model.
    pub(crate) at: u64,
}

/// The order of the bytes of each row: pieces of it, one behind the other, and
/// what is filled up between them. Bytes of no piece are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// Bytes of a row in the program.
    pub stride: u64,
    /// And in the model.
    pub(crate) pitch: u64,
    pieces: [RowPiece; PIECES],
    count: usize,
}

impl RowOrder {
    pub const MAX_PIECES: usize = PIECES;

    /// From `STRIDE:FROM..TO/FILLING/FROM..TO`; None: it is none.
    pub(super) fn parse(text: &str) -> Option<RowOrder> {
        let (stride, pieces) = text.split_once(':')?;
        let (stride, pieces_text) = (size(stride)?, pieces);
        let mut order =
            RowOrder { stride, pitch: 0, pieces: [RowPiece::default(); PIECES], count: 0 };
        for piece in pieces_text.split('/') {
            let Some((from, to)) = piece.split_once("..") else {
                order.pitch = order.pitch.checked_add(size(piece)?)?;
                continue;
            };
            let (from, to) = (bytes(from)?, size(to)?);
            let length = to.checked_sub(from).filter(|length| *length > 0)?;
            *order.pieces.get_mut(order.count)? = RowPiece { from, to, at: order.pitch };
            order.count += 1;
            order.pitch = order.pitch.checked_add(length)?;
        }
        (order.count > 0).then_some(order)
    }

    pub(crate) fn pieces(&self) -> &[RowPiece] {
        self.pieces.get(..self.count).unwrap_or_default()
    }

    pub(super) fn objection(&self) -> Option<String> {
        let (stride, pieces) = (self.stride, self.pieces());
        if let Some(piece) = pieces.iter().find(|piece| piece.to > stride) {
            return Some(format!("{}..{} is no part of {stride} bytes", piece.from, piece.to));
        }
        for (number, one) in pieces.iter().enumerate() {
            let meets = |other: &&RowPiece| one.from < other.to && other.from < one.to;
            if let Some(other) = pieces.iter().take(number).find(meets) {
                return Some(format!(
                    "{}..{} and {}..{} have bytes in common",
                    other.from, other.to, one.from, one.to
                ));
            }
        }
        None
    }
}

impl fmt::Display for RowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.stride)?;
        let mut end = 0;
        for (number, piece) in self.pieces().iter().enumerate() {
            let between = if number == 0 { "" } else { "/" };
            write!(f, "{between}")?;
            if piece.at > end {
                write!(f, "{}/", piece.at - end)?;
            }
            write!(f, "{}..{}", piece.from, piece.to)?;
            end = piece.at + (piece.to - piece.from);
        }
        match self.pitch > end {
            true => write!(f, "/{}", self.pitch - end),
            false => Ok(()),
        }
    }
}
