//! Lines that threads fight over.

use super::words::BatonWords;

/// Lines that went from thread to thread last, by hash.
#[derive(Clone, Copy, Debug)]
pub struct ContestedLines<'a> {
    words: BatonWords<'a>,
}

impl<'a> ContestedLines<'a> {
    pub(super) const WORDS: usize = 256;

    #[inline(always)]
    pub(super) fn new(words: BatonWords<'a>) -> ContestedLines<'a> {
        ContestedLines { words }
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
