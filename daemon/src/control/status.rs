//! What a standing session tells of itself, in numbers: to the supervisor,
//! and by that to those who may read it.

use std::sync::atomic::{AtomicU64, Ordering};

use sampling::remote::protocol::StandingLine;

/// Bytes of a name at most.
pub(crate) const NAME_BYTES: usize = 48;

/// What it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Words of a report.
pub(crate) const STATUS_WORDS: usize = 5;

/// What standing sessions have on disk, and what they counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Bytes of all segments.
    pub(crate) bytes: u64,
    /// Samples in segments.
    pub(crate) written: u64,
    /// Samples that could not be written.
    pub(crate) unwritten: u64,
    /// Samples that writers took too slowly.
    pub(crate) overtaken: u64,
}

impl Stored {
    /// Takes what another session has.
    pub(crate) fn add(&mut self, other: Stored) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.written = self.written.saturating_add(other.written);
        self.unwritten = self.unwritten.saturating_add(other.unwritten);
        self.overtaken = self.overtaken.saturating_add(other.overtaken);
    }
}

/// Counted by the writer and the keeper, read by whoever asks.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) state: AtomicU64,
    /// Bytes of all segments.
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

    pub(crate) fn words(&self) -> [u64; STATUS_WORDS] {
        [&self.state, &self.bytes, &self.written, &self.spool, &self.queue]
            .map(|word| word.load(Ordering::Relaxed))
    }
}

/// A line of the list, as the supervisor sends it: fixed size, no pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) event: String,
    pub(crate) status: [u64; STATUS_WORDS],
}

impl Line {
    /// Bytes of a line.
    pub(crate) const BYTES: usize = 2 * NAME_BYTES + 8 * STATUS_WORDS;

    pub(crate) fn down(mut self) -> Line {
        self.status[0] = State::Down.number();
        self
    }

    pub(crate) fn encode(&self) -> [u8; Line::BYTES] {
        let mut bytes = [0; Line::BYTES];
        let (texts, words) = bytes.split_at_mut(2 * NAME_BYTES);
        for (to, text) in texts.chunks_exact_mut(NAME_BYTES).zip([&self.name, &self.event]) {
            let length = text.len().min(NAME_BYTES);
            to[..length].copy_from_slice(&text.as_bytes()[..length]);
        }
        for (to, word) in words.chunks_exact_mut(8).zip(self.status) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; Line::BYTES]) -> Line {
        let (texts, words) = bytes.split_at(2 * NAME_BYTES);
        let mut texts = texts.chunks_exact(NAME_BYTES).map(text);
        let mut line = Line {
            name: texts.next().unwrap_or_default(),
            event: texts.next().unwrap_or_default(),
            ..Line::default()
        };
        for (to, word) in line.status.iter_mut().zip(words.chunks_exact(8)) {
            *to = word.try_into().map_or(0, u64::from_ne_bytes);
        }
        line
    }

    /// What it has on disk, and counted.
    pub(crate) fn stored(&self) -> Stored {
        let [_, bytes, written, unwritten, overtaken] = self.status;
        Stored { bytes, written, unwritten, overtaken }
    }

    /// In the protocol's words.
    pub(crate) fn into_protocol(self) -> StandingLine {
        let [state, bytes, written, spool, queue] = self.status;
        let lost = [("spool", spool), ("queue", queue)].into_iter().filter(|(_, lost)| *lost > 0);
        StandingLine {
            name: self.name,
            event: self.event,
            state: State::of(state).words().to_owned(),
            bytes,
            written,
            lost: lost.map(|(stage, lost)| (stage.to_owned(), lost)).collect(),
        }
    }
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
        let line = Line { name: "web".into(), event: "page_fault".into(), status: [3, 1, 2, 4, 0] };
        assert_eq!(Line::decode(&line.encode()), line);
        let shown = line.into_protocol();
        assert!(shown.state.starts_with("running, not recorded"), "{shown:?}");
        assert_eq!((shown.bytes, shown.written, shown.lost["spool"]), (1, 2, 4));
        assert_eq!(shown.lost.len(), 1);
        let long = Line { name: "x".repeat(100), ..Line::default() };
        assert_eq!(Line::decode(&long.encode()).name.len(), NAME_BYTES);
        assert_eq!(State::of(99), State::Starting, "of a newer program");
    }
}
