//! The newest part of a stream, for who looks at one routine of it.

use std::collections::VecDeque;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;
/// Pieces of samples that are kept: so many MiB.
const PIECES: usize = 32;
/// Bytes that are kept of all other records.
const OTHERS: usize = 128 << 20;

/// The records of a stream from its begin on, but for the samples, of which
/// the newest are kept.
#[derive(Debug, Default)]
pub(super) struct KeptStream {
    /// What describes events, processes and mappings.
    others: Vec<u8>,
    samples: VecDeque<Vec<u8>>,
    /// Samples were thrown away.
    is_cut: bool,
    /// Other records were.
    lacks_others: bool,
}

impl KeptStream {
    pub(super) fn add_other(&mut self, record: &[u8]) {
        match self.others.len() + record.len() <= OTHERS {
            true => self.others.extend_from_slice(record),
            false => self.lacks_others = true,
        }
    }

    pub(super) fn add_samples(&mut self, records: &[u8]) {
        match self.samples.back_mut() {
            _ if records.is_empty() => return,
            Some(last) if last.len() + records.len() <= PIECE => {
                return last.extend_from_slice(records);
            }
            _ => {}
        }
        // The oldest piece lends its memory.
        let mut piece = match self.samples.len() < PIECES {
            true => Vec::with_capacity(PIECE),
            false => {
                self.is_cut = true;
                self.samples.pop_front().unwrap_or_default()
            }
        };
        piece.clear();
        piece.extend_from_slice(records);
        self.samples.push_back(piece);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut all = self.others.clone();
        self.samples.iter().for_each(|piece| all.extend_from_slice(piece));
        all
    }

    pub(super) fn note(&self) -> Option<&'static str> {
        match (self.lacks_others, self.is_cut) {
            (true, _) => Some("so many processes and mappings were told that names may be missing"),
            (false, true) => Some("of the newest samples, some 32 MiB, alone"),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_samples_and_all_others_are_kept() {
        let mut kept = KeptStream::default();
        kept.add_other(b"head");
        for piece in 0..=PIECES {
            let sample = vec![u8::try_from(piece).unwrap(); PIECE];
            assert_eq!(kept.note(), None);
            kept.add_samples(&sample);
            kept.add_samples(b"");
        }
        kept.add_other(b"side");
        let bytes = kept.bytes();
        assert_eq!(&bytes[..9], b"headside\x01");
        assert_eq!(bytes.len(), 8 + PIECES * PIECE);
        assert!(kept.note().unwrap().contains("newest"));
    }
}
