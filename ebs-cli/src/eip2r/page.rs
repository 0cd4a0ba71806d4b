//! Output that is put together from short texts.

use super::output::hex_digits;
use std::ops::Range;

/// Most names are shorter. Copying always as many bytes as this takes two
/// instructions; copying as many as there are takes a call.
const STEP: usize = 32;

/// Texts side by side.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Ends with [`STEP`] bytes that belong to no text.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    at: u32,
    length: u32,
}

impl Span {
    /// None beyond 4 GiB.
    pub(super) fn new(range: Range<usize>) -> Option<Span> {
        let number = |number: usize| u32::try_from(number).ok();
        Some(Span { at: number(range.start)?, length: number(range.len())? })
    }

    pub(super) fn is_empty(self) -> bool {
        self.length == 0
    }
}

impl Arena {
    pub(super) fn new(mut bytes: Vec<u8>) -> Arena {
        bytes.resize(bytes.len() + STEP, 0);
        Arena { bytes }
    }

    pub(super) fn get(&self, span: Span) -> &[u8] {
        let at = span.at as usize;
        &self.bytes[at..at + span.length as usize]
    }
}

/// Text that grows, and room behind it.
#[derive(Debug, Default)]
pub(super) struct Page {
    bytes: Vec<u8>,
    end: usize,
}

impl Page {
    pub(super) fn len(&self) -> usize {
        self.end
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    pub(super) fn clear(&mut self) {
        self.end = 0;
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        self.bytes.resize((self.end + room).next_power_of_two(), 0);
    }

    #[inline]
    fn make_room(&mut self, room: usize) {
        if self.bytes.len() - self.end < room {
            self.grow(room);
        }
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.make_room(text.len());
        self.bytes[self.end..][..text.len()].copy_from_slice(text);
        self.end += text.len();
    }

    /// An address in 16 digits.
    pub(super) fn push_address(&mut self, address: u64) {
        self.push(&hex_digits(address));
    }

    /// An address in 16 digits, and a text of `arena`.
    #[inline]
    pub(super) fn push_line(&mut self, address: u64, arena: &Arena, text: Span) {
        let (at, length) = (text.at as usize, text.length as usize);
        self.make_room(16 + STEP + length);
        let room = &mut self.bytes[self.end..];
        let (digits, room) = room.split_at_mut(16);
        digits.copy_from_slice(&hex_digits(address));
        room[..STEP].copy_from_slice(&arena.bytes[at..at + STEP]);
        if length > STEP {
            room[STEP..length].copy_from_slice(&arena.bytes[at + STEP..at + length]);
        }
        self.end += 16 + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_whole_whatever_their_length(
            texts in prop::collection::vec("[a-z]{1,80}", 1..200),
        ) {
            let mut bytes = Vec::new();
            let spans: Vec<Span> = texts.iter().map(|text| {
                let from = bytes.len();
                bytes.extend_from_slice(text.as_bytes());
                Span::new(from..bytes.len()).unwrap()
            }).collect();
            let arena = Arena::new(bytes);
            let (mut page, mut expected) = (Page::default(), String::new());
            for (address, (&span, text)) in (0..).zip(spans.iter().zip(&texts)) {
                page.push_line(address, &arena, span);
                page.push(b"\n");
                expected += &format!("{address:016x}{text}\n");
            }
            prop_assert_eq!(std::str::from_utf8(page.text()).unwrap(), expected);
        }
    }

    #[test]
    fn what_lies_beyond_4_gib_has_no_span() {
        assert_eq!(Span::new(1 << 32..(1 << 32) + 1), None);
        assert!(Span::default().is_empty());
    }
}
