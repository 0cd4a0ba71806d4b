//! Which threads want the run token.

use core::sync::atomic::Ordering::SeqCst;

use super::shared_words::SharedWords;
use super::wait_slot::THREADS;

/// The threads that want to run: a bit each.
#[derive(Clone, Copy, Debug)]
pub struct TurnQueue<'a> {
    words: SharedWords<'a>,
    /// Words with threads' bits.
    used: usize,
}

impl<'a> TurnQueue<'a> {
    pub(super) const WORDS: usize = THREADS / 64;

    /// Threads' numbers are below `highest`.
    #[inline(always)]
    pub(super) fn new(words: SharedWords<'a>, highest: usize) -> TurnQueue<'a> {
        TurnQueue { words, used: highest.div_ceil(64) }
    }

    #[inline(always)]
    pub fn add(&self, index: usize) {
        if let Some(word) = self.words.word(index / 64) {
            word.fetch_or(1 << (index % 64), SeqCst);
        }
    }

    #[inline(always)]
    pub fn remove(&self, index: usize) {
        if let Some(word) = self.words.word(index / 64) {
            word.fetch_and(!(1 << (index % 64)), SeqCst);
        }
    }

    #[inline(always)]
    pub(super) fn has(&self, index: usize) -> bool {
        self.words.get(index / 64) >> (index % 64) & 1 != 0
    }

    /// The next thread behind one, all around.
    #[inline(always)]
    pub fn next(&self, index: usize) -> Option<usize> {
        let start = index + 1;
        let later = u64::MAX << (start % 64);
        for step in 0..=self.used {
            let mut at = start / 64 + step;
            if at >= self.used {
                at = at.wrapping_sub(self.used).min(self.used);
            }
            let mut bits = if at < self.used { self.words.get(at) } else { 0 };
            if step == 0 {
                bits &= later;
            } else if at == start / 64 {
                bits &= !later;
            }
            if bits != 0 {
                return usize::try_from(bits.trailing_zeros()).ok().map(|bit| at * 64 + bit);
            }
        }
        None
    }

    pub fn count(&self) -> u64 {
        (0..self.used).map(|at| u64::from(self.words.get(at).count_ones())).sum()
    }
}
