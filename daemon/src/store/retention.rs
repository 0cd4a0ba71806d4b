//! Which segments are kept: so many bytes, so long.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Bytes of all segments together.
    pub(crate) bytes: u64,
    /// Since a segment's last record.
    pub(crate) age: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClosedSegment {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// Since its last record; None: it cannot be told.
    pub(crate) age: Option<Duration>,
}

/// How many of these, oldest first, are to go. `writing`: bytes of the one
/// that is written, which stays.
pub(crate) fn expired(kept: &[ClosedSegment], writing: u64, retention: &Retention) -> usize {
    let mut bytes = kept.iter().fold(writing, |sum, one| sum.saturating_add(one.bytes));
    let goes = |one: &&ClosedSegment| {
        let is_old = one.age.is_some_and(|age| age > retention.age);
        let goes = is_old || bytes > retention.bytes;
        bytes = bytes.saturating_sub(one.bytes);
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
        let kept: Vec<ClosedSegment> = (0..5)
            .map(|number| {
                let age = day * u32::try_from(5 - number).unwrap();
                ClosedSegment { number, bytes: 10, age: Some(age) }
            })
            .collect();
        for (bytes, days, writing, goes) in [
            (1000, 10, 0, 0),
            (50, 10, 0, 0),
            (50, 10, 1, 1),
            (30, 10, 0, 2),
            (5, 10, 100, 5),
            (1000, 3, 0, 2),
            (30, 1, 0, 4),
        ] {
            let retention = Retention { bytes, age: day * days };
            assert_eq!(expired(&kept, writing, &retention), goes, "{retention:?}");
        }
        let unknown = [ClosedSegment { number: 0, bytes: 10, age: None }];
        assert_eq!(expired(&unknown, 0, &Retention { bytes: 10, age: Duration::ZERO }), 0);
    }
}
