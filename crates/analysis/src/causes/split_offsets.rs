//! Where accesses begin in lines and pages.

use crate::causes::step_sizes::StepSizes;

const LINE: u64 = 64;
const OFFSETS: usize = 64;
const PAGE: u64 = 4096;
const LINES: u64 = PAGE / LINE;

/// How many accesses begin at each offset in a line.
#[derive(Clone, Debug)]
pub(crate) struct LineOffsets(Box<[u64; OFFSETS]>);

impl Default for LineOffsets {
    fn default() -> LineOffsets {
        LineOffsets(Box::new([0; OFFSETS]))
    }
}

impl LineOffsets {
    pub(crate) fn add(&mut self, address: u64) {
        self.0[usize::try_from(address % LINE).unwrap_or(0)] += 1;
    }

    /// Those that cross the end of the line, if each is of so many bytes.
    pub(crate) fn crossing(&self, width: u64) -> u64 {
        let first = (LINE + 1).saturating_sub(width.clamp(1, LINE));
        let offsets = (0_u64..).zip(self.0.iter());
        offsets.filter(|(offset, _)| *offset >= first).map(|(_, count)| count).sum()
    }
}

/// First bytes of accesses, by where they are in a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct SplitOffsets {
    all: LineOffsets,
    /// Of those, in the last line of a page.
    last: LineOffsets,
    steps: StepSizes,
    before: Option<u64>,
    samples: u64,
}

impl SplitOffsets {
    pub(crate) fn add(&mut self, address: u64) {
        self.samples += 1;
        self.all.add(address);
        if address / LINE % LINES == LINES - 1 {
            self.last.add(address);
        }
        if let Some(before) = self.before.replace(address) {
            self.steps.add(before, address);
        }
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Accesses of so many bytes that cross the end of a line.
    pub(crate) fn crossing(&self, width: u64) -> u64 {
        self.all.crossing(width)
    }

    /// Of these, those that cross the end of a page.
    pub(crate) fn crossing_pages(&self, width: u64) -> u64 {
        self.last.crossing(width)
    }

    /// The offsets in a line that come most, at most so many, with their samples.
    pub(crate) fn commonest(&self, most: usize) -> Vec<OffsetCount> {
        let all = (0_u64..).zip(self.all.0.iter());
        let mut all: Vec<OffsetCount> = all
            .filter(|(_, samples)| **samples > 0)
            .map(|(offset, samples)| OffsetCount { offset, samples: *samples })
            .collect();
        all.sort_by_key(|it| (std::cmp::Reverse(it.samples), it.offset));
        all.truncate(most);
        all
    }

    /// All addresses are a multiple of so many bytes apart; 0: there is one.
    pub(crate) fn apart(&self) -> u64 {
        self.steps.divisor()
    }

    /// How far behind multiples of `size`, a power of two, all addresses are;
    /// None: some are further than others.
    pub(crate) fn behind(&self, size: u64) -> Option<u64> {
        let is_even = self.apart().is_multiple_of(size);
        self.before.filter(|_| is_even).map(|address| address % size)
    }
}

/// An offset in a line and samples that began there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OffsetCount {
    /// Bytes behind the line's first.
    pub offset: u64,
    /// Samples.
    pub samples: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_and_pages_are_crossed() {
        let mut offsets = SplitOffsets::default();
        (0..128).for_each(|line| offsets.add(line * 64 + 60));
        assert_eq!((offsets.crossing(8), offsets.crossing_pages(8)), (128, 2));
        assert_eq!((offsets.crossing(4), offsets.crossing(5)), (0, 128));
        assert_eq!(offsets.commonest(4), [OffsetCount { offset: 60, samples: 128 }]);
        assert_eq!(
            (offsets.apart(), offsets.behind(8), offsets.behind(64)),
            (64, Some(4), Some(60))
        );
        offsets.add(3);
        assert_eq!(offsets.behind(8), None);
        assert_eq!(SplitOffsets::default().behind(8), None);
    }
}
