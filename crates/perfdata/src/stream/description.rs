//! One event of a stream: its attr and what the stream says of it besides.

use super::error::StreamError;
use super::{ModelClock, note};
use crate::attr::Attr;
use crate::header::Misc;
use crate::sample::SampleLayout;
use crate::units::Cpu;

/// One HEADER_ATTR record, those that list more of its ids, and the
/// EVENT_UPDATEs that refer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDescription {
    /// As the kernel was asked.
    pub attr: Attr,
    /// Ids that samples of this event carry: one a CPU or task it was opened
    /// on. Empty from old recorders, which then have one event.
    pub ids: Vec<u64>,
    /// How its samples and trailers are laid out.
    pub layout: SampleLayout,
    /// Why its samples cannot be read: it has fields newer than this program.
    /// Its other records can be.
    pub unreadable: Option<StreamError>,
    /// Name as its user typed it, when the stream says.
    pub name: Option<String>,
    /// Unit of its counts, such as `Joules`.
    pub unit: Option<String>,
    /// What its counts are to be multiplied with to have that unit.
    pub scale: Option<f64>,
    /// CPUs it was restricted to, when the stream says.
    pub cpus: Option<Vec<Cpu>>,
    /// hardmeter's notes in the order they came; see [`super::note`]. Those
    /// of the clock, one a round, are in `clock`.
    pub notes: Vec<String>,
    /// How its times relate to the machine's clock, as far as was told so far;
    /// None: they are of that clock.
    pub clock: Option<ModelClock>,
}

impl EventDescription {
    /// Whether a sample can be read, to its last byte.
    #[inline(never)]
    pub(super) fn is_sound(&self, misc: Misc, payload: &[u8]) -> bool {
        self.unreadable.is_none()
            && payload.len().is_multiple_of(8)
            && self.layout.decode(misc, payload).is_ok()
    }

    /// Whether a recorder of ours described the event, which writes its
    /// promises first and its ledger last, and the ledger has not come.
    pub fn lacks_ledger(&self) -> bool {
        let says = |key| self.notes.iter().any(|text| note::value(text, key).is_some());
        says("source") && !says("delivered")
    }
}
