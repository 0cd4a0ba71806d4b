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
    /// Takes a record; marks of rounds belong to the samples.
    pub(super) fn add(&mut self, is_sample: bool, bytes: &[u8]) {
        if !is_sample {
            match self.others.len() + bytes.len() <= OTHERS {
                true => self.others.extend_from_slice(bytes),
                false => self.lacks_others = true,
            }
            return;
        }
        match self.samples.back_mut() {
            Some(last) if last.len() + bytes.len() <= PIECE => last.extend_from_slice(bytes),
            _ => self.samples.push_back(bytes.to_vec()),
        }
        if self.samples.len() > PIECES {
            self.samples.pop_front();
            self.is_cut = true;
        }
    }

    /// All of it as one stream.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut all = self.others.clone();
        self.samples.iter().for_each(|piece| all.extend_from_slice(piece));
        all
    }

    /// What is to be known of what it holds.
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
        kept.add(false, b"head");
        for piece in 0..=PIECES {
            let sample = vec![u8::try_from(piece).unwrap(); PIECE];
            assert_eq!(kept.note(), None);
            kept.add(true, &sample);
        }
        kept.add(false, b"side");
        let bytes = kept.bytes();
        assert_eq!(&bytes[..9], b"headside\x01");
        assert_eq!(bytes.len(), 8 + PIECES * PIECE);
        assert!(kept.note().unwrap().contains("newest"));
    }
}
