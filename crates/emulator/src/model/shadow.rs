//! What a level would hold if any line could be anywhere in it: a fully
//! associative LRU cache of as many lines, and another of a tenth more. Beside
//! them which lines ever came, and which of them another thread took away.
//!
//! The lines of the smaller cache are in a heap by when they were used last.
//! What stands there is a lower bound, brought up to date before a line goes, so
//! that a hit costs nothing: lines of the first level that hit in the table have
//! their stamps there. No line is in that table that is not in the smaller cache,
//! so that one which comes back to it is seen. What goes from it is younger than
//! all that the larger cache has beyond: a list.

use super::seen_lines::{self, LineHistory, SeenLines};
use super::{LevelShape, word};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowShape {
    /// Lines of the smaller cache; 0 when there is no shadow.
    pub lines: u64,
    /// Lines that the larger one has more.
    pub more: u64,
    /// First of its words in the memory of its owner.
    pub start: u64,
}

/// Of each level; words as in [`Shape`](super::Shape).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shadows {
    pub first: ShadowShape,
    pub second: ShadowShape,
    /// Third level, one for all threads.
    pub third: ShadowShape,
}

impl Shadows {
    pub fn any(&self) -> bool {
        self.first.exists() || self.second.exists() || self.third.exists()
    }
}

/// Words before the heap.
const HEAD: usize = 8;
/// Lines in the heap.
const NEAR: usize = 0;
/// Nodes that were ever in use.
const USED: usize = 1;
/// Lines in the list, the youngest of them, and the oldest (node plus 1).
const FAR: usize = 2;
const YOUNGEST: usize = 3;
const OLDEST: usize = 4;
/// Accesses so far, where nobody gives a stamp.
const CLOCK: usize = 5;

/// In a node's line: it is in the list.
const LISTED: u64 = 1;

impl ShadowShape {
    pub fn of(level: LevelShape) -> ShadowShape {
        let lines = level.sets * level.ways;
        let more = if lines == 0 { 0 } else { (lines / 10).max(1) };
        ShadowShape { lines, more, start: 0 }
    }

    #[inline(always)]
    pub fn exists(&self) -> bool {
        self.lines != 0
    }

    fn buckets(&self) -> u64 {
        (2 * (self.lines + self.more)).next_power_of_two()
    }

    pub fn words(&self) -> u64 {
        if !self.exists() {
            return 0;
        }
        let nodes = self.lines + self.more;
        HEAD as u64 + 2 * self.lines + 5 * nodes + self.buckets() + seen_lines::WORDS
    }
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// Its address, and [`LISTED`].
    line: u64,
    /// When it was used last, if the table of the first level knows no better.
    stamp: u64,
    /// The next of its bucket, plus 1.
    chain: u64,
    /// Of those in the list, the next younger one and the next older one, plus 1.
    younger: u64,
    older: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShadowHit {
    /// In both caches.
    Near,
    /// In the larger one alone.
    Far,
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShadowLookup {
    pub(super) found: ShadowHit,
    pub(super) history: LineHistory,
    /// The line that fell out of the smaller cache.
    pub(super) gone: Option<u64>,
}

pub(super) struct Shadow<'w> {
    more: u64,
    head: &'w mut [u64; HEAD],
    heap: &'w mut [[u64; 2]],
    nodes: &'w mut [[u64; 5]],
    buckets: &'w mut [u64],
    pages: SeenLines<'w>,
}

impl<'w> Shadow<'w> {
    /// In the memory of its owner; None: there is none.
    pub(super) fn of(shape: &ShadowShape, words: &'w mut [u64]) -> Option<Shadow<'w>> {
        if !shape.exists() {
            return None;
        }
        let rest = words.get_mut(word(shape.start)..)?;
        let (head, rest) = rest.split_first_chunk_mut::<HEAD>()?;
        let (heap, rest) = rest.split_at_mut_checked(word(2 * shape.lines))?;
        let (nodes, rest) = rest.split_at_mut_checked(word(5 * (shape.lines + shape.more)))?;
        let (buckets, rest) = rest.split_at_mut_checked(word(shape.buckets()))?;
        let (heap, nodes) = (heap.as_chunks_mut().0, nodes.as_chunks_mut().0);
        let pages = SeenLines::new(rest)?;
        Some(Shadow { more: shape.more, head, heap, nodes, buckets, pages })
    }

    /// A stamp of its own, later than all before.
    pub(super) fn next_stamp(&mut self) -> u64 {
        let stamp = self.word(CLOCK) + 1;
        self.set(CLOCK, stamp);
        stamp
    }

    /// Another thread took the line away from the level.
    pub(super) fn take(&mut self, line: u64) {
        self.pages.take(line);
    }

    /// A line was used then, which the table will not know any more.
    pub(super) fn note(&mut self, line: u64, stamp: u64) {
        if let Some(at) = self.find(line)
            && let Some([_, known, ..]) = self.nodes.get_mut(word(at))
        {
            *known = stamp.max(*known);
        }
    }

    /// Enters an access. `latest` knows of lines that were used later than their
    /// nodes say.
    pub(super) fn touch(
        &mut self,
        line: u64,
        stamp: u64,
        latest: impl Fn(u64) -> Option<u64>,
    ) -> ShadowLookup {
        let history = self.pages.enter(line);
        let known = self.find(line);
        if let Some(at) = known {
            let node = self.node(at);
            if node.line & LISTED == 0 {
                self.put(at, Node { stamp, ..node });
                return ShadowLookup { found: ShadowHit::Near, history, gone: None };
            }
            self.unlist(at);
            let gone = self.turn_out(latest);
            let chain = self.node(at).chain;
            self.put(at, Node { line, stamp, chain, ..Node::default() });
            self.put_top(stamp, at);
            return ShadowLookup { found: ShadowHit::Far, history, gone };
        }
        let near = self.word(NEAR);
        let fits = word(near) < self.heap.len();
        let gone = if fits { None } else { self.turn_out(latest) };
        let at = self.free();
        let bucket = self.bucket(line);
        let chain = self.buckets.get(bucket).copied().unwrap_or(0);
        self.put(at, Node { line, stamp, chain, ..Node::default() });
        if let Some(first) = self.buckets.get_mut(bucket) {
            *first = at + 1;
        }
        if !fits {
            self.put_top(stamp, at);
        } else if let Some(last) = self.heap.get_mut(word(near)) {
            // None is younger.
            *last = [stamp, at];
            self.set(NEAR, near + 1);
        }
        ShadowLookup { found: ShadowHit::Nowhere, history, gone }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.head.get(at).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn set(&mut self, at: usize, to: u64) {
        if let Some(word) = self.head.get_mut(at) {
            *word = to;
        }
    }

    #[inline(always)]
    fn node(&self, at: u64) -> Node {
        let [line, stamp, chain, younger, older] =
            self.nodes.get(word(at)).copied().unwrap_or_default();
        Node { line, stamp, chain, younger, older }
    }

    #[inline(always)]
    fn put(&mut self, at: u64, node: Node) {
        if let Some(words) = self.nodes.get_mut(word(at)) {
            *words = [node.line, node.stamp, node.chain, node.younger, node.older];
        }
    }

    #[inline(always)]
    fn bucket(&self, line: u64) -> usize {
        let hash = (line >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        word(hash) & self.buckets.len().wrapping_sub(1)
    }

    fn find(&self, line: u64) -> Option<u64> {
        let mut next = self.buckets.get(self.bucket(line)).copied()?;
        while let Some(at) = next.checked_sub(1) {
            let [here, _, chain, ..] = *self.nodes.get(word(at))?;
            if here & !LISTED == line {
                return Some(at);
            }
            next = chain;
        }
        None
    }

    /// Moves the line that was used the longest time ago from the heap, which is
    /// full, to the list: the top of the heap is to be put anew.
    fn turn_out(&mut self, latest: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        loop {
            let &[key, at] = self.heap.first()?;
            let node = self.node(at);
            let used = latest(node.line).map_or(node.stamp, |hit| hit.max(node.stamp));
            if used > key {
                self.put_top(used, at);
                continue;
            }
            let older = self.word(YOUNGEST);
            self.put(at, Node { line: node.line | LISTED, younger: 0, older, ..node });
            match older.checked_sub(1) {
                Some(older) => {
                    let next = self.node(older);
                    self.put(older, Node { younger: at + 1, ..next });
                }
                None => self.set(OLDEST, at + 1),
            }
            self.set(YOUNGEST, at + 1);
            self.set(FAR, self.word(FAR) + 1);
            return Some(node.line);
        }
    }

    fn unlist(&mut self, at: u64) {
        let Node { younger, older, .. } = self.node(at);
        match younger.checked_sub(1) {
            Some(younger) => {
                let next = self.node(younger);
                self.put(younger, Node { older, ..next });
            }
            None => self.set(YOUNGEST, older),
        }
        match older.checked_sub(1) {
            Some(older) => {
                let next = self.node(older);
                self.put(older, Node { younger, ..next });
            }
            None => self.set(OLDEST, younger),
        }
        self.set(FAR, self.word(FAR).wrapping_sub(1));
    }

    /// A node for a line that is in no cache: that of the oldest one when the list
    /// is longer than the larger cache has room.
    fn free(&mut self) -> u64 {
        if self.word(FAR) <= self.more {
            let used = self.word(USED);
            self.set(USED, used + 1);
            return used;
        }
        let at = self.word(OLDEST).wrapping_sub(1);
        self.unlist(at);
        self.unchain(at);
        at
    }

    fn unchain(&mut self, at: u64) {
        let Node { line, chain, .. } = self.node(at);
        let bucket = self.bucket(line & !LISTED);
        let Some(first) = self.buckets.get_mut(bucket) else { return };
        if *first == at + 1 {
            *first = chain;
            return;
        }
        let mut next = *first;
        while let Some(before) = next.checked_sub(1) {
            let Some([_, _, follows, ..]) = self.nodes.get_mut(word(before)) else { return };
            if *follows == at + 1 {
                *follows = chain;
                return;
            }
            next = *follows;
        }
    }

    /// Puts an entry in the place of the top, and where it belongs from there.
    fn put_top(&mut self, key: u64, node: u64) {
        let mut at = 0_usize;
        let full = self.heap.len();
        loop {
            let left = 2 * at + 1;
            if left >= full {
                break;
            }
            let of = |at: usize| self.heap.get(at).map_or(u64::MAX, |entry| entry[0]);
            let child = if of(left + 1) < of(left) { left + 1 } else { left };
            if of(child) >= key {
                break;
            }
            let moved = self.heap.get(child).copied().unwrap_or_default();
            if let Some(place) = self.heap.get_mut(at) {
                *place = moved;
            }
            at = child;
        }
        if let Some(place) = self.heap.get_mut(at) {
            *place = [key, node];
        }
    }
}
