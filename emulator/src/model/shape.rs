//! How large each structure is and where its words are.

/// One cache or TLB.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Sets; 0 when the level does not exist.
    pub sets: u64,
    /// Entries of a set.
    pub ways: u64,
    /// First of its words in the memory of its owner.
    pub start: u64,
}

impl Level {
    /// Whether it exists.
    #[inline(always)]
    pub fn exists(&self) -> bool {
        self.sets != 0
    }

    /// The set of a line or page, by its number.
    #[inline(always)]
    pub fn set(&self, number: u64) -> u64 {
        let mask = self.sets.wrapping_sub(1);
        if self.sets & mask == 0 {
            number & mask
        } else {
            number.checked_rem(self.sets).unwrap_or(0)
        }
    }
}

/// Everything that a model has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// First level, data.
    pub l1d: Level,
    /// First level, code.
    pub l1i: Level,
    /// Second level.
    pub l2: Level,
    /// Third level, one for all threads.
    pub l3: Level,
    /// First-level data TLB.
    pub dtlb: Level,
    /// Second-level TLB.
    pub stlb: Level,
    /// 8-byte words that each thread needs.
    pub private_words: u64,
    /// 8-byte words that a space needs.
    pub common_words: u64,
}

impl Shape {
    /// The shape as it lies in memory.
    pub fn words(&self) -> [u64; 20] {
        let levels = [self.l1d, self.l1i, self.l2, self.l3, self.dtlb, self.stlb];
        let mut words = [0; 20];
        for (place, level) in words.chunks_exact_mut(3).zip(levels) {
            place.copy_from_slice(&[level.sets, level.ways, level.start]);
        }
        words[18] = self.private_words;
        words[19] = self.common_words;
        words
    }
}
