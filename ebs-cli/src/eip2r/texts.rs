//! What stands behind an address in the output, of all routines at once.

use super::direct::Direct;
use super::names::Names;
use super::page::{Arena, Span};

/// Input of fewer bytes is answered before all texts would be there.
pub(super) const WORTHWHILE: u64 = 1 << 20;

/// A blank, the routine's name and a newline, for each stretch of a
/// [`Direct`] that is of a routine. Made once, read by all threads.
#[derive(Debug, Default)]
pub(super) struct Texts {
    direct: Direct,
    arena: Arena,
    spans: Vec<Span>,
    /// First addresses of the routines; a stretch may begin within.
    origins: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Empty: no routine is known to hold it.
    pub(super) text: Span,
    stretch: u32,
}

impl Texts {
    pub(super) fn of(names: &mut Names) -> Texts {
        let direct = names.direct();
        let (mut bytes, mut name) = (Vec::new(), Vec::new());
        let mut texts = Texts::default();
        texts.spans.reserve(direct.len());
        for stretch in 0..u32::try_from(direct.len()).unwrap_or(u32::MAX) {
            let from = bytes.len();
            let mut origin = direct.start(stretch);
            if let Some(routine) = direct.routine(stretch) {
                name.clear();
                origin = names.push_routine(&mut name, routine, origin);
                bytes.push(b' ');
                bytes.extend_from_slice(&name);
                bytes.push(b'\n');
            }
            // What does not fit is asked for by address.
            texts.spans.push(Span::new(from..bytes.len()).unwrap_or_default());
            texts.origins.push(origin);
        }
        Texts { direct, arena: Arena::new(bytes), ..texts }
    }

    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    #[inline]
    pub(super) fn find(&self, address: u64) -> Found {
        let Some(stretch) = self.direct.find(address) else { return Found::default() };
        Found { text: self.spans[stretch as usize], stretch }
    }

    /// How far in its routine an address lies that was found, bytes.
    pub(super) fn offset(&self, found: Found, address: u64) -> u64 {
        address.wrapping_sub(self.origins[found.stretch as usize])
    }
}
