//! What a standing session tells of itself, in numbers: to the supervisor,
//! and by that to those who may read it.

use arrayvec::ArrayString;
use recorder::remote::protocol::StandingLine;
use serde::{Deserialize, Serialize};

pub(crate) const NAME_BYTES: usize = 48;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StandingState {
    /// Its worker has not said anything yet.
    #[default]
    Starting,
    /// There is no such process, unit or group now.
    Waiting,
    /// It samples, and writes.
    Running,
    /// It samples, and cannot write.
    Unwritten,
    /// Its target is there, and cannot be sampled: the log says why.
    Refused,
    /// Its worker has broken off, and is started again after a while.
    Down,
}

impl StandingState {
    fn words(self) -> &'static str {
        match self {
            StandingState::Starting => "starting",
            StandingState::Waiting => "waiting for its target",
            StandingState::Running => "running",
            StandingState::Unwritten => "running, not recorded: no room, or the disk fails",
            StandingState::Refused => "its target cannot be sampled; see the daemon's log",
            StandingState::Down => "its worker broke off; it is started again",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredCounts {
    pub(crate) bytes: u64,
    /// Samples in segments.
    pub(crate) written: u64,
    /// Samples that could not be written.
    pub(crate) unwritten: u64,
    /// Samples that writers took too slowly.
    pub(crate) overtaken: u64,
}

impl StoredCounts {
    pub(crate) fn add(&mut self, other: StoredCounts) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.written = self.written.saturating_add(other.written);
        self.unwritten = self.unwritten.saturating_add(other.unwritten);
        self.overtaken = self.overtaken.saturating_add(other.overtaken);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StandingStatus {
    pub(crate) state: StandingState,
    pub(crate) stored: StoredCounts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StandingEntry {
    pub(crate) name: ArrayString<NAME_BYTES>,
    pub(crate) event: ArrayString<NAME_BYTES>,
    pub(crate) status: StandingStatus,
}

impl StandingEntry {
    pub(crate) fn into_protocol(self) -> StandingLine {
        let StandingStatus { state, stored } = self.status;
        let StoredCounts { bytes, written, unwritten, overtaken } = stored;
        let lost = [("spool", unwritten), ("queue", overtaken)];
        let lost = lost.into_iter().filter(|(_, lost)| *lost > 0);
        StandingLine {
            name: self.name.to_string(),
            event: self.event.to_string(),
            state: state.words().to_owned(),
            bytes,
            written,
            lost: lost.map(|(stage, lost)| (stage.to_owned(), lost)).collect(),
        }
    }
}

/// As much of a text as finds room.
pub(crate) fn truncated<const BYTES: usize>(text: &str) -> ArrayString<BYTES> {
    let mut truncated = ArrayString::new();
    // From the first character on that finds no room.
    text.chars().try_for_each(|one| truncated.try_push(one)).unwrap_or_default();
    truncated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::passed;

    #[test]
    fn lines_come_out_as_they_went_in() {
        let stored = StoredCounts { bytes: 1, written: 2, unwritten: 4, overtaken: 0 };
        let status = StandingStatus { state: StandingState::Unwritten, stored };
        let entry =
            StandingEntry { name: truncated("web"), event: truncated("page_fault"), status };
        assert_eq!(passed(&entry), Some(entry.clone()));
        let shown = entry.into_protocol();
        assert!(shown.state.starts_with("running, not recorded"), "{shown:?}");
        assert_eq!((shown.bytes, shown.written, shown.lost["spool"]), (1, 2, 4));
        assert_eq!(shown.lost.len(), 1);
    }

    #[test]
    fn the_longest_line_has_room() {
        let most = u64::MAX;
        let stored = StoredCounts { bytes: most, written: most, unwritten: most, overtaken: most };
        let long = truncated(&"x".repeat(100));
        assert_eq!(long.len(), NAME_BYTES);
        let status = StandingStatus { state: StandingState::Down, stored };
        let entry = StandingEntry { name: long, event: long, status };
        assert_eq!(passed(&entry), Some(entry));
    }
}
