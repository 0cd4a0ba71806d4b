//! Which samples a count is of: those that the type means, where the fields
//! of a sample tell it at once.
//!
//! Where a CPU has no event for a type, as AMD's IBS has none, most of what
//! is sampled is not meant; a count of all would end with a handful. What
//! only the instruction tells, or nothing, counts.

use perfdata::ibs::Quirks;
use perfdata::sample_filter::{FieldAnswers, Verdict};
use perfdata::{RecordHeader, SampleFilter, SampleLayout};

use crate::PlannedEvent;
use crate::ring::Lent;
use crate::sys::event::NATIVE_ORDER;

/// One event's filter, and how its samples are laid out.
#[derive(Debug)]
pub(super) struct Meant {
    fields: SampleFilter,
    layout: SampleLayout,
    payload: Vec<u8>,
}

impl Meant {
    /// None: each of the event's samples counts.
    pub(super) fn of(event: &PlannedEvent) -> Option<Meant> {
        let (fields, _) = event.filter.split();
        // What cannot be read here the stream's readers will complain of.
        let layout = SampleLayout::new(&event.attr, NATIVE_ORDER).ok();
        let layout = layout.filter(|_| !fields.is_all())?;
        Some(Meant { fields, layout, payload: Vec::new() })
    }

    /// Whether a sample counts.
    pub(super) fn counts(&mut self, lent: Lent<'_>) -> bool {
        self.payload.clear();
        self.payload.extend_from_slice(lent.first);
        self.payload.extend_from_slice(lent.second);
        let payload = self.payload.get(RecordHeader::SIZE..).unwrap_or_default();
        let Ok(sample) = self.layout.decode(lent.header.misc, payload) else { return true };
        let answers = FieldAnswers::new(lent.header.misc, Some(&sample), Some(NATIVE_ORDER));
        // Which CPU it is only readers need to know: what its quirks hide
        // counts.
        let quirks = |caps| Quirks::of(None, caps);
        self.fields.judge(|condition| answers.holds(condition, quirks)) != Verdict::Drop
    }
}

#[cfg(test)]
mod tests;
