//! What a writer that died has left behind is mended.

use std::io::{self, BufReader};

use perfdata::segment::{SegmentReadError, SegmentReader};

use super::clock::Clock;
use super::directory::{Directory, ListedSegment, SegmentState};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The number that the next segment gets.
    pub(crate) next: u64,
    /// The writer before did not end as it should.
    pub(crate) gap: Option<SegmentGap>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentGap {
    /// From the last frame that is whole until now, nanoseconds.
    pub(crate) nanoseconds: u64,
    /// Bytes of a frame that was not whole, cut off.
    pub(crate) bytes: u64,
}

/// Cuts damaged ends off, removes what was never finished, and says where
/// to go on.
pub(crate) fn recover(directory: &Directory, clock: &dyn Clock) -> io::Result<Recovered> {
    let listed = directory.list()?;
    let mut recovered = Recovered {
        next: listed.last().map_or(0, |last| last.number.saturating_add(1)),
        gap: None,
    };
    for ListedSegment { number, state, .. } in &listed {
        let whole =
            |state: SegmentState| listed.iter().any(|l| l.number == *number && l.state == state);
        match state {
            SegmentState::Packing => directory.remove(*number, SegmentState::Packing)?,
            SegmentState::Closed if whole(SegmentState::Packed) => {
                directory.remove(*number, SegmentState::Closed)?
            }
            SegmentState::Open => match repair(directory, *number, clock) {
                Ok(gap) => recovered.gap = Some(gap),
                Err(error) => {
                    // Of a newer program, perhaps: it goes when it is old.
                    tracing::warn!(number, %error, "a segment cannot be recovered");
                    directory.rename(*number, SegmentState::Open, SegmentState::Closed)?;
                }
            },
            SegmentState::Closed | SegmentState::Packed => {}
        }
    }
    Ok(recovered)
}

fn repair(
    directory: &Directory,
    number: u64,
    clock: &dyn Clock,
) -> Result<SegmentGap, SegmentReadError> {
    let file = directory.open_for_repair(number, SegmentState::Open)?;
    let size = file.metadata()?.len();
    let mut reader = SegmentReader::new(BufReader::new(&file))?;
    let header = *reader.header();
    let mut last = header.begun;
    while let Some(frame) = reader.next_frame()? {
        last = last.max(frame.time);
    }
    let good = reader.good();
    if good < size {
        file.set_len(good)?;
        file.sync_data()?;
    }
    directory.rename(number, SegmentState::Open, SegmentState::Closed)?;
    let gap = SegmentGap { nanoseconds: clock.age(&header, last), bytes: size - good };
    tracing::warn!(
        number,
        seconds = std::time::Duration::from_nanos(gap.nanoseconds).as_secs_f64(),
        bytes = gap.bytes,
        "the recording broke off here, and goes on now"
    );
    Ok(gap)
}
