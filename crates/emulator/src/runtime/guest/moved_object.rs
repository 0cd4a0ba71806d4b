//! An object that the model sees in another layout than the program has it.

/// Objects that can be so in one run.
pub const MAX_OBJECTS: usize = 8;
/// Pieces that a row of one can be in.
pub const PIECES: usize = 16;

/// Bytes of a row that are elsewhere in the row.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedPiece {
    pub from: u64,
    /// Behind the last.
    pub to: u64,
    /// Where the first is in a row of the model.
    pub at: u64,
}

impl MovedPiece {
    pub const NONE: MovedPiece = MovedPiece { from: 0, to: 0, at: 0 };
}

/// Where each byte of an object is for the model: in rows of another pitch,
/// some of which are shifted, and with a part of each row elsewhere, or all of each row
/// in pieces. Words, as the tracer writes them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedObject {
    /// Its first byte in the program.
    pub start: u64,
    /// Behind its last one.
    pub end: u64,
    /// Bytes of a row in the program; at least 1.
    pub stride: u64,
    /// Where its first row is for the model.
    pub base: u64,
    /// From one row to the next there.
    pub pitch: u64,
    /// Row n is further by n modulo this, ...
    pub colours: u64,
    /// ... times this.
    pub shift: u64,
    /// The part of each row that is elsewhere: from here ...
    pub hot: u64,
    /// ... to before here.
    pub cold: u64,
    /// Where the first row's part is; the others' follow.
    pub hot_base: u64,
    /// Not 0: rows are in pieces, and what is in none of them is where the part is.
    pub in_pieces: u64,
    pub pieces: [MovedPiece; PIECES],
}

impl MovedObject {
    pub const NONE: MovedObject = MovedObject {
        start: 0,
        end: 0,
        stride: 1,
        base: 0,
        pitch: 1,
        colours: 1,
        shift: 0,
        hot: 0,
        cold: 0,
        hot_base: 0,
        in_pieces: 0,
        pieces: [MovedPiece::NONE; PIECES],
    };

    /// Where the model has a byte of the program's; None: it is none of the
    /// object's.
    #[inline(always)]
    pub fn place(&self, address: u64) -> Option<u64> {
        let within = address >= self.start && address < self.end;
        if !within {
            return None;
        }
        let at = address.wrapping_sub(self.start);
        let (row, rest) = (at.checked_div(self.stride)?, at.checked_rem(self.stride)?);
        if self.in_pieces != 0 {
            return Some(self.in_row(row, rest));
        }
        let apart = self.cold.wrapping_sub(self.hot);
        if rest >= self.hot && rest < self.cold {
            let of_row = self.hot_base.wrapping_add(row.wrapping_mul(apart));
            return Some(of_row.wrapping_add(rest.wrapping_sub(self.hot)));
        }
        let colour = row.checked_rem(self.colours)?.wrapping_mul(self.shift);
        let of_row = self.base.wrapping_add(row.wrapping_mul(self.pitch)).wrapping_add(colour);
        let closed = if rest >= self.cold { apart } else { 0 };
        Some(of_row.wrapping_add(rest).wrapping_sub(closed))
    }

    fn in_row(&self, row: u64, rest: u64) -> u64 {
        for piece in &self.pieces {
            if rest >= piece.from && rest < piece.to {
                let of_row = self.base.wrapping_add(row.wrapping_mul(self.pitch));
                return of_row.wrapping_add(piece.at).wrapping_add(rest.wrapping_sub(piece.from));
            }
        }
        self.hot_base.wrapping_add(row.wrapping_mul(self.stride)).wrapping_add(rest)
    }

    pub fn words(&self) -> [u64; WORDS] {
        let first = [
            self.start,
            self.end,
            self.stride,
            self.base,
            self.pitch,
            self.colours,
            self.shift,
            self.hot,
            self.cold,
            self.hot_base,
            self.in_pieces,
        ];
        let pieces = self.pieces.iter().flat_map(|piece| [piece.from, piece.to, piece.at]);
        let mut words = [0; WORDS];
        for (word, value) in words.iter_mut().zip(first.into_iter().chain(pieces)) {
            *word = value;
        }
        words
    }
}

const WORDS: usize = size_of::<MovedObject>() / 8;

#[cold]
#[inline(never)]
pub fn placed(objects: &[MovedObject], address: u64) -> u64 {
    objects.iter().find_map(|object| object.place(address)).unwrap_or(address)
}
