//! The bytes of a stack that were copied, of a little-endian machine.

use crate::ChainEnd;

/// A stack from the stack pointer on, as far as it was copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackCopy<'a> {
    /// Address of the first byte.
    pub(crate) start: u64,
    pub(crate) bytes: &'a [u8],
    /// Whether the stack ends where the copy does.
    pub(crate) is_whole: bool,
}

impl StackCopy<'_> {
    /// The word at an address, or why it is not here.
    #[inline]
    pub(crate) fn word(&self, address: u64) -> Result<u64, ChainEnd> {
        self.sized(address, 8)
    }

    /// An unsigned number of so many bytes, 1 to 8.
    pub(crate) fn sized(&self, address: u64, size: usize) -> Result<u64, ChainEnd> {
        // An empty copy ends where the stack does not: the kernel could read none of it.
        let away = || match address < self.start || self.is_whole {
            _ if self.bytes.is_empty() => ChainEnd::NothingCopied,
            true => ChainEnd::OtherStack,
            false => ChainEnd::CopyTooShort,
        };
        let from = address.checked_sub(self.start).and_then(|it| usize::try_from(it).ok());
        let bytes = from.and_then(|from| self.bytes.get(from..from.checked_add(size)?));
        let bytes = bytes.ok_or_else(away)?;
        let mut word = [0; 8];
        word.get_mut(..size).ok_or_else(away)?.copy_from_slice(bytes);
        Ok(u64::from_le_bytes(word))
    }

    /// What a signal interrupted goes on at another stack pointer than that
    /// of its handler's frame. Further away than such a frame is large, and
    /// not in the copy: on another stack, which no longer copy would reach.
    pub(crate) fn leave(&mut self, handler: u64, interrupted: u64, largest: u64) {
        let is_near = interrupted.checked_sub(handler).is_some_and(|away| away <= largest);
        self.is_whole |= !is_near && !self.holds(interrupted);
    }

    /// Whether an address is on the stack as far as it was copied.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|into| into < self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beyond_the_copy_say_why_they_are_missing() {
        let bytes: Vec<u8> = (0..16).collect();
        let cut = StackCopy { start: 0x1000, bytes: &bytes, is_whole: false };
        assert_eq!(cut.word(0x1000), Ok(0x0706_0504_0302_0100));
        assert_eq!(cut.sized(0x100e, 2), Ok(0x0f0e));
        assert_eq!(cut.word(0x1009), Err(ChainEnd::CopyTooShort), "half of it");
        assert_eq!(cut.word(0xff8), Err(ChainEnd::OtherStack));
        assert_eq!(cut.word(u64::MAX), Err(ChainEnd::CopyTooShort));
        let whole = StackCopy { is_whole: true, ..cut };
        assert_eq!(whole.word(0x1010), Err(ChainEnd::OtherStack));
    }

    #[test]
    fn an_empty_copy_tells_of_no_other_stack() {
        for is_whole in [false, true] {
            let empty = StackCopy { start: 0x1000, bytes: &[], is_whole };
            for address in [0xff8, 0x1000, 0x1008] {
                assert_eq!(empty.word(address), Err(ChainEnd::NothingCopied), "{address:x}");
            }
        }
    }

    #[test]
    fn a_signal_may_have_interrupted_another_stack() {
        let bytes = [0; 16];
        let cut = StackCopy { start: 0x1000, bytes: &bytes, is_whole: false };
        let left = |interrupted| {
            let mut copy = cut;
            copy.leave(0x1008, interrupted, 0x4000);
            copy.word(0x7fff_0000)
        };
        assert_eq!(left(0x100c), Err(ChainEnd::CopyTooShort), "in the copy");
        assert_eq!(left(0x4000), Err(ChainEnd::CopyTooShort), "beside the frame");
        assert_eq!(left(0x7ffe_0000), Err(ChainEnd::OtherStack));
        assert_eq!(left(0x800), Err(ChainEnd::OtherStack), "further in");
    }
}
