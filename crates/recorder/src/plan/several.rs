//! The events of one session from those of its parts.

use super::{Outline, OutlinedEvent};
use crate::Refusal;

/// One outline of all events, `most` at most: each with its own name, members
/// still behind their leaders. The first one's carrier of side records serves
/// all: what records have behind them is the same for all events.
pub(crate) fn joined(outlines: Vec<Outline>, most: usize) -> Result<Outline, Refusal> {
    let count = outlines.len();
    let mut parts = outlines.into_iter();
    let Some(mut whole) = parts.next().filter(|_| count <= most) else {
        return Err(Refusal::TooManyEvents { count, most });
    };
    for part in parts {
        let is_known = |event: &OutlinedEvent| {
            let mut known = whole.sampled();
            known.any(|known| known.planned.name == event.planned.name)
        };
        if let Some(twice) = part.sampled().find(|event| is_known(event)) {
            return Err(Refusal::Twice { event: twice.planned.name.clone() });
        }
        let before = whole.events.len();
        whole.name = format!("{},{}", whole.name, part.name);
        whole.events.extend(part.events.into_iter().map(|mut event| {
            event.planned.leader = event.planned.leader.map(|leader| leader + before);
            event
        }));
        for note in part.notes {
            if !whole.notes.contains(&note) {
                whole.notes.push(note);
            }
        }
        whole.side.flags |= part.side.flags;
    }
    Ok(whole)
}
