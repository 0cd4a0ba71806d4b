//! Who is to read a standing session, and what: from the supervisor to the
//! worker that keeps it.

use std::time::Duration;

/// What a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Follow {
    /// From so long ago on; None: nothing of what was recorded, if live
    /// records are wanted, else all.
    pub(crate) since: Option<Duration>,
    /// What is sampled from now on.
    pub(crate) live: bool,
    /// Who reads; None: the superuser, or who started the daemon, whom no
    /// other readers keep out.
    pub(crate) reader: Option<u32>,
}

const FOLLOW: &[u8; 8] = b"follow\0\0";

impl Follow {
    /// Bytes of a message of the supervisor to a worker.
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn encode(&self) -> [u8; Follow::BYTES] {
        let since = self.since.map_or(u64::MAX, |since| since.as_secs());
        let mut bytes = [0; Follow::BYTES];
        let reader = self.reader.map_or(u64::MAX, u64::from);
        let words = [u64::from_ne_bytes(*FOLLOW), since, u64::from(self.live), reader];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    /// None: the message is another.
    pub(crate) fn decode(bytes: &[u8; Follow::BYTES]) -> Option<Follow> {
        let ([kind, since, live, reader], []) = bytes.as_chunks::<8>() else { return None };
        let since = u64::from_ne_bytes(*since);
        let since = (since != u64::MAX).then_some(Duration::from_secs(since));
        let reader = u32::try_from(u64::from_ne_bytes(*reader)).ok();
        let live = u64::from_ne_bytes(*live) != 0;
        (kind == FOLLOW).then_some(Follow { since, live, reader })
    }
}
