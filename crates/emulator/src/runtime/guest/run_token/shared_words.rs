//! Words that threads and the tracer work on alike.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Some of a space's words. Who asks for one that is not there reads 0, and
/// changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedWords<'a>(&'a [AtomicU64]);

impl<'a> SharedWords<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [AtomicU64]) -> SharedWords<'a> {
        SharedWords(words)
    }

    #[inline(always)]
    pub(super) fn part(self, from: usize, count: usize) -> SharedWords<'a> {
        SharedWords(self.0.get(from..from + count).unwrap_or_default())
    }

    #[inline(always)]
    pub(super) fn word(self, at: usize) -> Option<&'a AtomicU64> {
        self.0.get(at)
    }

    #[inline(always)]
    pub(super) fn get(self, at: usize) -> u64 {
        self.word(at).map_or(0, |word| word.load(SeqCst))
    }

    #[inline(always)]
    pub(super) fn put(self, at: usize, value: u64) {
        if let Some(word) = self.word(at) {
            word.store(value, SeqCst);
        }
    }

    pub(super) fn clear(self) {
        for word in self.0 {
            word.store(0, SeqCst);
        }
    }
}

/// Lines that went from thread to thread last, by hash.
#[derive(Clone, Copy, Debug)]
pub struct ContendedLines<'a> {
    words: SharedWords<'a>,
}

impl<'a> ContendedLines<'a> {
    pub(super) const WORDS: usize = 256;

    #[inline(always)]
    pub(super) fn new(words: SharedWords<'a>) -> ContendedLines<'a> {
        ContendedLines { words }
    }

    /// A line went from one thread to another: whether it had done so lately.
    #[inline(always)]
    pub fn moved(&self, line: u64) -> bool {
        let hash = (line >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let at = usize::try_from(hash).unwrap_or(0) % Self::WORDS;
        let before = self.words.get(at);
        self.words.put(at, line);
        before == line
    }
}
