//! What a standing session tells of itself, in numbers: to the supervisor,
//! and by that to those who may read it.

use std::sync::atomic::{AtomicU64, Ordering};

use arrayvec::ArrayString;
use recorder::remote::protocol::StandingLine;
use serde::{Deserialize, Serialize};

use crate::fixed_size;

pub(crate) const NAME_BYTES: usize = 48;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
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

impl State {
    const ALL: [State; 6] = [
        State::Starting,
        State::Waiting,
        State::Running,
        State::Unwritten,
        State::Refused,
        State::Down,
    ];

    fn words(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Waiting => "waiting for its target",
            State::Running => "running",
            State::Unwritten => "running, not recorded: no room, or the disk fails",
            State::Refused => "its target cannot be sampled; see the daemon's log",
            State::Down => "its worker broke off; it is started again",
        }
    }

    fn number(self) -> u64 {
        State::ALL.iter().position(|one| *one == self).map_or(0, |at| at as u64)
    }

    fn of(number: u64) -> State {
        let at = usize::try_from(number).ok();
        at.and_then(|at| State::ALL.get(at)).copied().unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) bytes: u64,
    /// Samples in segments.
    pub(crate) written: u64,
    /// Samples that could not be written.
    pub(crate) unwritten: u64,
    /// Samples that writers took too slowly.
    pub(crate) overtaken: u64,
}

impl Stored {
    pub(crate) fn add(&mut self, other: Stored) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.written = self.written.saturating_add(other.written);
        self.unwritten = self.unwritten.saturating_add(other.unwritten);
        self.overtaken = self.overtaken.saturating_add(other.overtaken);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StandingStatus {
    pub(crate) state: State,
    pub(crate) stored: Stored,
}

/// Counted by the writer and the keeper, read by whoever asks.
#[derive(Debug, Default)]
pub(crate) struct Status {
    state: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Samples in segments.
    pub(crate) written: AtomicU64,
    /// Samples that could not be written.
    pub(crate) spool: AtomicU64,
    /// Samples that the writer took too slowly.
    pub(crate) queue: AtomicU64,
}

impl Status {
    pub(crate) fn set(&self, state: State) {
        self.state.store(state.number(), Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> StandingStatus {
        let [state, bytes, written, unwritten, overtaken] =
            [&self.state, &self.bytes, &self.written, &self.spool, &self.queue]
                .map(|word| word.load(Ordering::Relaxed));
        let stored = Stored { bytes, written, unwritten, overtaken };
        StandingStatus { state: State::of(state), stored }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StandingEntry {
    pub(crate) name: ArrayString<NAME_BYTES>,
    pub(crate) event: ArrayString<NAME_BYTES>,
    pub(crate) status: StandingStatus,
}

impl StandingEntry {
    /// Bytes of every line: what the longest needs.
    pub(crate) const BYTES: usize = 2 * NAME_BYTES + 48;

    pub(crate) fn down(mut self) -> StandingEntry {
        self.status.state = State::Down;
        self
    }

    pub(crate) fn encode(&self) -> [u8; StandingEntry::BYTES] {
        fixed_size::encode(self)
    }

    /// None: no line.
    pub(crate) fn decode(bytes: &[u8; StandingEntry::BYTES]) -> Option<StandingEntry> {
        fixed_size::decode(bytes)
    }

    pub(crate) fn into_protocol(self) -> StandingLine {
        let StandingStatus { state, stored } = self.status;
        let Stored { bytes, written, unwritten, overtaken } = stored;
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

/// As much of a text as a name may have.
pub(crate) fn fitting(text: &str) -> ArrayString<NAME_BYTES> {
    let mut fitting = ArrayString::new();
    // From the first character on that finds no room.
    text.chars().try_for_each(|one| fitting.try_push(one)).unwrap_or_default();
    fitting
}

/// Text that is padded with zeros.
pub(crate) fn text(padded: &[u8]) -> String {
    let end = padded.iter().position(|byte| *byte == 0).unwrap_or(padded.len());
    String::from_utf8_lossy(&padded[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in() {
        let stored = Stored { bytes: 1, written: 2, unwritten: 4, overtaken: 0 };
        let status = StandingStatus { state: State::Unwritten, stored };
        let entry = StandingEntry { name: fitting("web"), event: fitting("page_fault"), status };
        assert_eq!(StandingEntry::decode(&entry.encode()), Some(entry.clone()));
        let shown = entry.into_protocol();
        assert!(shown.state.starts_with("running, not recorded"), "{shown:?}");
        assert_eq!((shown.bytes, shown.written, shown.lost["spool"]), (1, 2, 4));
        assert_eq!(shown.lost.len(), 1);
    }

    #[test]
    fn the_longest_line_has_room() {
        let most = u64::MAX;
        let stored = Stored { bytes: most, written: most, unwritten: most, overtaken: most };
        let long = fitting(&"x".repeat(100));
        assert_eq!(long.len(), NAME_BYTES);
        let status = StandingStatus { state: State::Down, stored };
        let entry = StandingEntry { name: long, event: long, status };
        assert_eq!(StandingEntry::decode(&entry.encode()), Some(entry));
    }

    #[test]
    fn states_come_out_as_they_went_in() {
        for state in State::ALL {
            assert_eq!(State::of(state.number()), state);
        }
    }
}
