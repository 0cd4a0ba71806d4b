//! EVENT_UPDATE: what a recorder says of an event after its HEADER_ATTR.

use super::description::EventDescription;
use super::{ModelClock, cpu_map, note};
use crate::bytes::{Cursor, Short, text_before_nul};
use crate::header::UpdateKind;
use crate::units::Cpu;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Update {
    Note(String),
    /// A note of the clock and nothing else: there is one a round, of which
    /// the last is kept.
    Clock(ModelClock),
    Unit(String),
    Scale(f64),
    Name(String),
    Cpus(Vec<Cpu>),
    Other,
}

impl Update {
    /// Reads the bytes after type and id.
    pub(super) fn decode(kind: UpdateKind, cursor: &mut Cursor<'_>) -> Result<Update, Short> {
        Ok(match kind {
            UpdateKind::UNIT => {
                let text = text_before_nul(cursor.rest());
                match ModelClock::parse(&text) {
                    Some(clock) if clock.to_string() == text => Update::Clock(clock),
                    _ if note::is_note(&text) => Update::Note(text),
                    _ => Update::Unit(text),
                }
            }
            UpdateKind::SCALE => Update::Scale(f64::from_bits(cursor.u64()?)),
            UpdateKind::NAME => Update::Name(text_before_nul(cursor.rest())),
            UpdateKind::CPUS => Update::Cpus(cpu_map::decode(cursor)?),
            _ => Update::Other,
        })
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn memory(&self) -> usize {
        match self {
            Update::Note(text) => text.len() + 2 * size_of::<String>(),
            Update::Unit(text) | Update::Name(text) => text.len(),
            Update::Cpus(cpus) => 2 * size_of_val(cpus.as_slice()),
            Update::Clock(_) | Update::Scale(_) | Update::Other => 0,
        }
    }

    pub(super) fn apply(self, event: &mut EventDescription) {
        match self {
            Update::Note(text) => {
                event.clock = ModelClock::parse(&text).or(event.clock);
                event.notes.push(text);
            }
            Update::Clock(clock) => event.clock = Some(clock),
            Update::Unit(text) => event.unit = Some(text),
            Update::Scale(scale) => event.scale = Some(scale),
            Update::Name(text) => event.name = Some(text),
            Update::Cpus(cpus) => event.cpus = Some(cpus),
            Update::Other => {}
        }
    }
}
