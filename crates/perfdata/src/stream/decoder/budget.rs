//! How much may be kept of what a recording says of itself.
//!
//! Four bytes can be an empty name, which takes twenty-four here, and eight
//! the first and last of 65,536 CPUs. Recordings are believed, but not to any
//! length: what is kept may take more memory than the recording has bytes,
//! but only so much more.

use crate::stream::error::StreamError;
use crate::stream::feature::{FeatureId, MOST_EVENTS};

/// Bytes beyond those of the recording.
const BYTES: usize = 24 << 20;
/// What an id takes beyond its own bytes: it is in the event's list and in
/// the table that finds events.
const ID: usize = 40;

#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { left: BYTES }
    }
}

impl Budget {
    /// Takes what `kept` bytes of memory are beyond `told` bytes of the
    /// recording; false, and nothing, when that is not left.
    pub(super) fn take(&mut self, kept: usize, told: usize) -> bool {
        match self.left.checked_sub(kept.saturating_sub(told)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Whether so little is left that nothing is worth reading that may take
    /// much.
    pub(super) fn is_spent(&self) -> bool {
        self.left < 1 << 20
    }

    pub(super) fn has_room_for_event(&self, events: usize) -> bool {
        u32::try_from(events).is_ok_and(|events| events < MOST_EVENTS)
    }

    pub(super) fn take_ids(&mut self, count: usize) -> bool {
        self.take(count.saturating_mul(ID), 0)
    }
}

/// Bytes of a feature that are read at most. Longest are the lists of events
/// with an id for each CPU, and of files; of those that only details are in,
/// a few bytes may mean much memory.
pub(crate) fn most_of(id: FeatureId) -> u64 {
    match id {
        FeatureId::EVENT_DESC | FeatureId::BUILD_ID => 8 << 20,
        FeatureId::CACHE => 4 << 20,
        FeatureId::CMDLINE => 2 << 20,
        _ => 1 << 19,
    }
}

pub(super) fn too_much(what: &'static str, offset: u64) -> StreamError {
    StreamError::TooMuch { what, offset }
}
