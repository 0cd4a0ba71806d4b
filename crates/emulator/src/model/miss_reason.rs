//! Why a level missed: Hill's three classes, and two more.

use super::Core;
use super::seen_lines::LineHistory;
use super::shadow::{Shadow, ShadowHit, ShadowLookup};

/// Why a level did not have a line; numbers as in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum MissReason {
    /// Not told: no shadow is modelled, or it has forgotten.
    #[default]
    Unknown = 0,
    Cold = 1,
    /// Another thread's write took the line away.
    Sharing = 2,
    /// A fully associative cache of the same size would have had it.
    Conflict = 3,
    /// One of a tenth more lines would have.
    Edge = 4,
    /// Neither would.
    Capacity = 5,
}

impl MissReason {
    fn of(touch: ShadowLookup) -> MissReason {
        match (touch.history, touch.found) {
            (LineHistory::New, _) => MissReason::Cold,
            (LineHistory::Taken, _) => MissReason::Sharing,
            (LineHistory::Forgotten, _) => MissReason::Unknown,
            (LineHistory::Known, ShadowHit::Near) => MissReason::Conflict,
            (LineHistory::Known, ShadowHit::Far) => MissReason::Edge,
            (LineHistory::Known, ShadowHit::Nowhere) => MissReason::Capacity,
        }
    }
}

impl Core<'_> {
    /// The shadow of the first level sees an access to data: why it would be a
    /// miss, if it is one.
    #[inline(never)]
    pub(super) fn touch_first(&mut self, line: u64, stamp: u64) -> MissReason {
        let shape = &self.shape.shadows.first;
        let tables = &*self.tables;
        let Some(mut shadow) = Shadow::of(shape, self.words) else { return MissReason::Unknown };
        let touch = shadow.touch(line, stamp, |line| super::first::hit_of::<false>(tables, line));
        if let Some(gone) = touch.gone {
            // Hits of it have to be seen from now on.
            self.retire::<false>(gone);
        }
        MissReason::of(touch)
    }

    /// That of the second level sees what the first one asks for.
    #[inline(never)]
    pub(super) fn touch_second(&mut self, line: u64) -> MissReason {
        touch(Shadow::of(&self.shape.shadows.second, self.words), line)
    }

    #[inline(never)]
    pub(super) fn touch_third(&self, common: &mut [u64], line: u64) -> MissReason {
        touch(Shadow::of(&self.shape.shadows.third, common), line)
    }

    /// The table knew when a line of data was hit, and has it no more.
    #[inline(never)]
    pub(super) fn note_hit(&mut self, line: u64, hit: u64) {
        if let Some(mut shadow) = Shadow::of(&self.shape.shadows.first, self.words) {
            shadow.note(line, hit);
        }
    }

    /// Another thread takes a line from the first level.
    pub(super) fn lose_first(&mut self, line: u64) {
        if let Some(mut shadow) = Shadow::of(&self.shape.shadows.first, self.words) {
            shadow.take(line);
        }
    }

    pub(super) fn lose_second(&mut self, line: u64) {
        if let Some(mut shadow) = Shadow::of(&self.shape.shadows.second, self.words) {
            shadow.take(line);
        }
    }
}

fn touch(shadow: Option<Shadow<'_>>, line: u64) -> MissReason {
    let Some(mut shadow) = shadow else { return MissReason::Unknown };
    let stamp = shadow.next_stamp();
    MissReason::of(shadow.touch(line, stamp, |_| None))
}
