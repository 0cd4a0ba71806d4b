//! An object that the model sees in another layout than the program has it.

/// Objects that can be so in one run.
pub const MOST: usize = 8;

/// Where each byte of an object is for the model: in rows of another pitch,
/// some of which are shifted, and with a part of each row elsewhere. Words,
/// as the tracer writes them.
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
}

impl MovedObject {
    /// None.
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

    /// As it lies in memory.
    pub fn words(&self) -> [u64; WORDS] {
        [
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
        ]
    }
}

/// Words of a [`MovedObject`].
const WORDS: usize = size_of::<MovedObject>() / 8;

/// Where the model has an address of the program's.
#[cold]
#[inline(never)]
pub fn placed(objects: &[MovedObject], address: u64) -> u64 {
    objects.iter().find_map(|object| object.place(address)).unwrap_or(address)
}
