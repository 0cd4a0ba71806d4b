//! Which segments are kept: so many bytes, so long.

use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a segment at most, and a bit.
const MAX_SEGMENT: u64 = 64 * 1024 * 1024;
/// A segment is closed after that long, so that what is old can go.
const MAX_SEGMENT_AGE: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// The directory that has a directory for each standing session.
    pub directory: PathBuf,
    /// Bytes of all segments together.
    pub bytes: u64,
    /// Since a segment's last record.
    pub age: Duration,
    /// Bytes that the file system is to have free still.
    pub free: u64,
}

impl RetentionLimits {
    pub(crate) fn segment_bytes(&self) -> u64 {
        MAX_SEGMENT.min(self.bytes / 8).max(64 * 1024)
    }

    pub(crate) fn segment_age(&self) -> Duration {
        MAX_SEGMENT_AGE.min(self.age / 8).max(Duration::from_secs(1))
    }
}

/// How many segments, oldest first, are to go, of their bytes, and how long ago
/// their last record was (None: it cannot be told). `writing`: bytes of the one
/// that is written, which stays.
pub(crate) fn expired(
    kept: &[(u64, Option<Duration>)],
    writing: u64,
    limits: &RetentionLimits,
) -> usize {
    let mut total = kept.iter().fold(writing, |sum, (bytes, _)| sum.saturating_add(*bytes));
    let goes = |(bytes, age): &&(u64, Option<Duration>)| {
        let goes = age.is_some_and(|age| age > limits.age) || total > limits.bytes;
        total = total.saturating_sub(*bytes);
        goes
    };
    kept.iter().take_while(goes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_until_the_rest_fits_and_is_young() {
        let day = Duration::from_secs(86_400);
        let limits =
            |bytes, age| RetentionLimits { directory: PathBuf::new(), bytes, age, free: 0 };
        let kept: Vec<_> = (1..=5).rev().map(|days| (10, Some(day * days))).collect();
        for (bytes, days, writing, goes) in [
            (1000, 10, 0, 0),
            (50, 10, 0, 0),
            (50, 10, 1, 1),
            (30, 10, 0, 2),
            (5, 10, 100, 5),
            (1000, 3, 0, 2),
            (30, 1, 0, 4),
        ] {
            let limits = limits(bytes, day * days);
            assert_eq!(expired(&kept, writing, &limits), goes, "{limits:?}");
        }
        assert_eq!(expired(&[(10, None)], 0, &limits(10, Duration::ZERO)), 0);
    }
}
