//! How large each structure is, where its words are, and what it costs.

use core::mem::offset_of;

use super::{CacheLevel, ShadowShape, Shadows};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelShape {
    /// Sets; 0 when the level does not exist.
    pub sets: u64,
    pub ways: u64,
    /// First of its words in the memory of its owner, those of its order aside.
    pub start: u64,
}

impl LevelShape {
    #[inline(always)]
    pub fn exists(&self) -> bool {
        self.sets != 0
    }

    /// The set where their number is no power of two.
    #[cold]
    #[inline(never)]
    fn set_of_any(&self, number: u64) -> u64 {
        number.checked_rem(self.sets).unwrap_or(0)
    }

    /// The set of a line or page, by its number.
    #[inline(always)]
    pub fn set(&self, number: u64) -> u64 {
        let mask = self.sets.wrapping_sub(1);
        if self.sets & mask == 0 { number & mask } else { self.set_of_any(number) }
    }
}

/// Cycles that things take; those of caches are from the begin of the access.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCosts {
    /// By [`LineSource`](super::LineSource).
    pub lines: [u64; 5],
    /// More, by [`TranslationSource`](super::TranslationSource).
    pub pages: [u64; 4],
    /// More for a load that waits for a store it cannot take data from.
    pub blocked: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub l1d: LevelShape,
    pub l1i: LevelShape,
    pub l2: LevelShape,
    /// Third level, one for all threads.
    pub l3: LevelShape,
    pub dtlb: LevelShape,
    pub stlb: LevelShape,
    /// Entries of the hash of the first-level TLB, minus 1.
    pub page_hash: u64,
    /// Begin of the directory of who may have a line in the common words.
    pub directory: u64,
    /// Begin of the owners of pages there.
    pub owners: u64,
    /// Begin of the prefetcher's table in the private words; 0: none.
    pub prefetch: u64,
    /// Begin of the store buffer there; 0: none.
    pub forward: u64,
    /// 8-byte words that each thread needs.
    pub private_words: u64,
    /// 8-byte words that a space needs.
    pub common_words: u64,
    /// The ways for which [`Core::quick`](super::Core::quick) is; 0: it is
    /// not for this shape.
    pub quick: u64,
    /// What levels would hold if they were fully associative.
    pub shadows: Shadows,
    pub costs: AccessCosts,
    /// How many of `large` are in use.
    pub huge_pages: u64,
    /// Ranges whose pages are not of 4 KiB: begin, end, log2 of the size; in
    /// their order.
    pub large: [[[u64; 3]; QUARTER]; 4],
}

/// Words of a [`Shape`] before the ranges of large pages.
const SHAPE_WORDS: usize = offset_of!(Shape, huge_pages) / 8;
/// Ranges of large pages that a space can have.
pub const MAX_HUGE_PAGES: usize = 4 * QUARTER;
/// As many as an array may have whose default is known.
const QUARTER: usize = 32;

/// Sets of the first level for which there is a quick way.
pub(super) const QUICK_SETS: u64 = 64;

/// Entries of the store buffer.
pub(super) const STORES: u64 = 56;
/// Entries of the prefetcher's table.
pub(super) const STRIDES: u64 = 256;
/// Words of an entry of the first-level TLB: one line of the host's.
pub(super) const PAGE_WORDS: u64 = 8;
/// There are as many words at least, and all of the first level is in them:
/// places in so many need no check.
pub(super) const NEAR: usize = 2048;

impl Shape {
    /// With a shadow of each level that is there and asked for; to be placed.
    pub fn with_shadows(mut self, of: impl Fn(CacheLevel) -> bool) -> Shape {
        let Shape { l1d, l2, l3, .. } = self;
        let shadow = |level, shape| {
            if of(level) { ShadowShape::of(shape) } else { ShadowShape::default() }
        };
        self.shadows = Shadows {
            first: shadow(CacheLevel::First, l1d),
            second: shadow(CacheLevel::Second, l2),
            third: shadow(CacheLevel::Third, l3),
        };
        self
    }

    /// Gives each structure its words. The levels' sets and ways are taken as
    /// they are, their begins are set.
    pub fn place(mut self, prefetch: bool, forward: bool) -> Shape {
        // The first word counts hidden lines; the rest keeps lines aligned.
        let mut at = 8;
        let mut take = |words: u64| {
            let start = at;
            at += words.next_multiple_of(8);
            start
        };
        let size = |level: LevelShape| level.sets * level.ways;
        // The words of order of a first level are just before its start.
        for level in [&mut self.l1d, &mut self.l1i] {
            take(level.sets);
            level.start = take(2 * size(*level));
        }
        let pages = size(self.dtlb);
        self.page_hash = (4 * pages).next_power_of_two() - 1;
        self.dtlb.start = take(PAGE_WORDS * pages + self.dtlb.sets + self.page_hash + 1);
        self.stlb.start = take(size(self.stlb));
        self.prefetch = if prefetch { take(2 * STRIDES) } else { 0 };
        self.forward = if forward { take(2 * STORES + 1) } else { 0 };
        self.l2.start = take(size(self.l2));
        for shadow in [&mut self.shadows.first, &mut self.shadows.second] {
            shadow.start = take(shadow.words());
        }
        self.private_words = at.max(NEAR as u64);
        self.l3.start = 0;
        let l3 = size(self.l3).next_multiple_of(8);
        self.directory = l3;
        self.owners = l3 + super::directory::DIRECTORY;
        self.shadows.third.start = self.owners + super::owners::OWNERS;
        self.common_words = self.shadows.third.start + self.shadows.third.words();
        let LevelShape { sets, ways, .. } = self.l1d;
        let fits = sets == QUICK_SETS && (ways == 8 || ways == 12);
        self.quick = if fits && !prefetch && !forward && !self.shadows.any() { ways } else { 0 };
        self
    }

    /// Log2 of the size of the page at an address.
    #[inline(always)]
    pub(super) fn page_shift(&self, address: u64) -> u64 {
        if self.huge_pages == 0 { 12 } else { self.huge_page_shift(address) }
    }

    #[cold]
    fn huge_page_shift(&self, address: u64) -> u64 {
        let used = usize::try_from(self.huge_pages).unwrap_or(0);
        let ranges = self.large.as_flattened().get(..used).unwrap_or_default();
        let after = ranges.partition_point(|[_, end, _]| *end <= address);
        ranges.get(after).filter(|[begin, ..]| *begin <= address).map_or(12, |range| range[2] & 63)
    }

    /// The shape as it lies in memory, without large pages.
    pub fn words(&self) -> [u64; SHAPE_WORDS] {
        let mut words = [0; SHAPE_WORDS];
        let levels = [self.l1d, self.l1i, self.l2, self.l3, self.dtlb, self.stlb];
        for (place, level) in words.chunks_exact_mut(3).zip(levels) {
            place.copy_from_slice(&[level.sets, level.ways, level.start]);
        }
        let costs = &self.costs;
        let Shadows { first, second, third } = self.shadows;
        let shadow = |ShadowShape { lines, more, start }| [lines, more, start];
        let shadows = [first, second, third].map(shadow);
        let rest = [
            self.page_hash,
            self.directory,
            self.owners,
            self.prefetch,
            self.forward,
            self.private_words,
            self.common_words,
            self.quick,
        ];
        let costs = costs.lines.iter().chain(&costs.pages).chain([&costs.blocked]);
        let rest = rest.iter().chain(shadows.as_flattened()).chain(costs);
        for (place, word) in words.iter_mut().skip(18).zip(rest) {
            *place = *word;
        }
        words
    }
}

const _: () = assert!(SHAPE_WORDS == 18 + 8 + 9 + 10);
